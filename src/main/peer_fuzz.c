// SPDX-License-Identifier: BSD-3-Clause
// peer_fuzz.c - any messages from a keeper or another kamueed: they are read to the end, within
// limits, and no descriptor stays open
//
// First byte: the sender. Then messages: length, whether there is a descriptor, and bytes.
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/descriptor.h"
#include "base/log.h"
#include "main/keep.h"
#include "main/keeper_protocol.h"
#include "main/upgrade_protocol.h"

#define MESSAGES_MAX 64

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void close_kept(const char *name, int fd)
{
    bug_on(!memchr(name, 0, KEEPER_NAME_MAX) || fcntl(fd, F_GETFD) < 0);
    close(fd);
}

static void speak(int s, const uint8_t *data, size_t size)
{
    for (unsigned i = 0; i < MESSAGES_MAX && size > 2; i++) {
        size_t n = data[0] + 8u * (data[1] >> 1);
        int fd = data[1] & 1 ? STDERR_FILENO : -1;
        n = n < size - 2 ? n : size - 2;
        if (n)
            descriptor_send(s, data + 2, n, fd);
        data += 2 + n;
        size -= 2 + n;
    }
}

static void read_upgrade(int s)
{
    struct upgrade_message *m = malloc(sizeof *m); // on the heap, so that an overrun is detected
    int fd;

    bug_on(!m);
    while (descriptor_until(s, clock_now_ns() + NS_PER_SECOND) && upgrade_receive(s, m, &fd)) {
        bug_on(!memchr(m->text, 0, sizeof m->text));
        if (fd >= 0)
            close(fd);
    }
    free(m);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint64_t since = clock_now_ns();
    int s[2], lowest = dup(STDERR_FILENO);

    close(lowest);
    if (!size || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, s))
        return 0;
    fcntl(s[1], F_SETFL, O_NONBLOCK);
    speak(s[1], data + 1, size - 1);
    shutdown(s[1], SHUT_WR);
    if (data[0] & 1)
        read_upgrade(s[0]);
    else
        keep_process_take(s[0], close_kept);
    close(s[0]);
    close(s[1]);
    int after = dup(STDERR_FILENO);
    close(after);
    bug_on(after != lowest);
    bug_on(clock_now_ns() - since > 20 * NS_PER_SECOND);
    return 0;
}
