// SPDX-License-Identifier: BSD-3-Clause
// descriptor_test.c - descriptors over a socket: one arrives, none is fine, two are closed
#include "base/descriptor.h"
#include "tests/unit.h"

#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static int pair[2];

static int open_pair(void **state)
{
    return socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair);
}

static int close_pair(void **state)
{
    return close(pair[0]) | close(pair[1]);
}

static unsigned n_open(void)
{
    unsigned n = 0;

    for (int fd = 0; fd < 100; fd++)
        n += fcntl(fd, F_GETFD) >= 0;
    return n;
}

#define pair_test(name) unit_test_of(name, open_pair, close_pair)

pair_test(a_descriptor_comes_with_its_message)
{
    char got[16];
    int from[2], fd;

    assert_int_equal(pipe(from), 0);
    assert_true(descriptor_send(pair[0], "word", 4, from[0]));
    assert_int_equal(descriptor_receive(pair[1], got, sizeof got, &fd), 4);
    assert_memory_equal(got, "word", 4);
    assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
    assert_int_equal(write(from[1], "x", 1), 1);
    assert_int_equal(read(fd, got, sizeof got), 1);
    for (unsigned i = 0; i < 2; i++)
        close(from[i]);
    close(fd);
}

pair_test(a_message_may_have_none)
{
    char got[16];
    int fd = 5;

    assert_true(descriptor_send(pair[0], "word", 4, -1));
    assert_int_equal(descriptor_receive(pair[1], got, sizeof got, &fd), 4);
    assert_int_equal(fd, -1);
    shutdown(pair[0], SHUT_RDWR);
    assert_int_equal(descriptor_receive(pair[1], got, sizeof got, &fd), 0);
    assert_int_equal(fd, -1);
    assert_false(descriptor_send(pair[0], "word", 4, -1));
}

// As sent by an attacker to exhaust our descriptors.
pair_test(two_descriptors_are_closed)
{
    const int both[2] = {STDIN_FILENO, STDERR_FILENO};
    char control[CMSG_SPACE(sizeof both)] __attribute__((aligned(8))) = {0}, got[16];
    struct iovec v = {"word", 4};
    struct msghdr m = {.msg_iov = &v, .msg_iovlen = 1, .msg_control = control,
                       .msg_controllen = sizeof control};
    unsigned before = n_open();
    int fd;

    *CMSG_FIRSTHDR(&m) = (struct cmsghdr){CMSG_LEN(sizeof both), SOL_SOCKET, SCM_RIGHTS};
    memcpy(CMSG_DATA(CMSG_FIRSTHDR(&m)), both, sizeof both);
    assert_int_equal(sendmsg(pair[0], &m, 0), 4);
    assert_int_equal(descriptor_receive(pair[1], got, sizeof got, &fd), 4);
    assert_int_equal(fd, -1);
    assert_int_equal(n_open(), before);
}

// If the other end closes with unread messages, Linux reports ECONNRESET first.
pair_test(last_words_arrive_from_one_that_did_not_listen)
{
    char got[16];
    int fd;

    assert_true(descriptor_send(pair[1], "unread", 6, -1));
    assert_true(descriptor_send(pair[0], "why", 3, -1));
    close(pair[0]);
    pair[0] = dup(pair[1]);
    assert_int_equal(descriptor_receive(pair[1], got, sizeof got, &fd), 3);
    assert_memory_equal(got, "why", 3);
    assert_int_equal(descriptor_receive(pair[1], got, sizeof got, &fd), 0);
}
