// SPDX-License-Identifier: BSD-3-Clause
// handover.c - preloaded into the new kamueed of an upgrade: makes its side of the handover fail
//
// KAMUEE_HANDOVER selects the fault: `says-99`: it speaks protocol 99; `hears-99`: the old one
// does; `dies`: it ends when the old one has halted; `late`: it learns that only after the old
// one's patience; `chatters`: it sends PHASE instead, again and again; `gives-up`: it sends FAILED
// instead; `begins`: it ends after BEGUN; `lookups`: it gets other lookup answers than the old one
// gave; `stands`: it has received everything and stops there; `leaves`: the same, and its socket is
// closed; `waits-FILE`: when the old one has halted, it creates the file and waits until it is
// gone; `random-SEED`: any of these and others at random, until BEGUN. Only messages of the socket
// that it is started with are changed (src/main/upgrade_protocol.h).
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "main/upgrade_proof.h"
#include "main/upgrade_protocol.h"

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

static const char *wish;
static ino_t handover;
static int lookups = -1; // shared file of addresses and answers

__attribute__((constructor)) static void begin(void)
{
    struct stat s;

    wish = getenv("KAMUEE_HANDOVER");
    if (!wish || fstat(UPGRADE_FD, &s))
        abort();
    handover = s.st_ino;
}

static unsigned random_below(unsigned n)
{
    static unsigned long long seed;

    if (!seed)
        seed = strtoull(wish + strlen("random-"), NULL, 10) * 2654435761u + 1;
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(seed >> 33) % n;
}

static int is_handover(int fd)
{
    struct stat s;

    return !fstat(fd, &s) && s.st_ino == handover;
}

// "PROTOCOL VERSION …" with another PROTOCOL.
static size_t with_99(char *to, size_t room, const char *text)
{
    const char *rest = strchr(text, ' ');
    size_t n = strlen(rest);

    if (n + 2 >= room)
        abort();
    memmove(to + 2, rest, n + 1);
    memcpy(to, "99", 2);
    return n + 2;
}

static void say(int fd, enum upgrade_word word, const char *text)
{
    char m[UPGRADE_TEXT_MAX];

    *m = (char)word;
    strcpy(m + 1, text);
    send(fd, m, 1 + strlen(text), MSG_NOSIGNAL);
}

static void chatter(int fd, unsigned times)
{
    for (unsigned i = 0; i < times; i++) {
        say(fd, UPGRADE_PHASE, "comparing");
        usleep(100000);
    }
}

static void stand_still(void)
{
    signal(SIGTERM, SIG_IGN);
    for (;;)
        pause();
}

// `halted`: the old one waits for us, but not for long.
static void do_anything(int fd, int halted)
{
    static const char words[] = "HFPDpLGlhBCSEXz";

    switch (random_below(halted ? 14 : 40)) {
    case 0: _exit((int)random_below(256));
    case 1: abort();
    case 2: close(fd); stand_still(); break;
    case 3: say(fd, (enum upgrade_word)words[random_below(sizeof words - 1)], "1 2 3 4 5"); break;
    case 4: chatter(fd, random_below(10)); break;
    case 5: usleep(random_below(1000000)); break;
    case 6: say(fd, UPGRADE_FAILED, "by chance"); break;
    case 7:
        if (halted)
            chatter(fd, 60);
        break;
    case 8:
        if (halted)
            stand_still();
        break;
    case 9:
        if (halted)
            raise(SIGSTOP);
    }
}

static int is_random(void)
{
    return !strncmp(wish, "random-", strlen("random-"));
}

ssize_t sendmsg(int fd, const struct msghdr *m, int flags)
{
    char *first = m->msg_iovlen ? m->msg_iov->iov_base : NULL, text[UPGRADE_TEXT_MAX + 1] = "H";
    struct iovec v = {text, 0};
    struct msghdr other = {.msg_iov = &v, .msg_iovlen = 1};

    if (!first || !is_handover(fd))
        return REAL(sendmsg)(fd, m, flags);
    if (*first == UPGRADE_LOOKUPS && m->msg_control)
        memcpy(&lookups, CMSG_DATA(CMSG_FIRSTHDR((struct msghdr *)m)), sizeof lookups);
    if (is_random() && *first == UPGRADE_BEGUN) {
        wish = "nothing";
        return REAL(sendmsg)(fd, m, flags);
    }
    if (is_random() && *first != UPGRADE_HELLO)
        do_anything(fd, 0);
    if (*first == UPGRADE_BEGUN && !strcmp(wish, "begins")) {
        REAL(sendmsg)(fd, m, flags);
        close(fd); // the rest of the exit takes longer
        _exit(9);
    }
    if (*first != UPGRADE_HELLO || strcmp(wish, "says-99"))
        return REAL(sendmsg)(fd, m, flags);
    char said[UPGRADE_TEXT_MAX + 1] = "";
    memcpy(said, first + 1, m->msg_iov->iov_len - 1);
    v.iov_len = 1 + with_99(text + 1, sizeof text - 1, said);
    return REAL(sendmsg)(fd, &other, flags) == (ssize_t)v.iov_len ? (ssize_t)m->msg_iov->iov_len
                                                                   : -1;
}

static void change_answers(void)
{
    struct stat s;

    if (fstat(lookups, &s))
        abort();
    struct upgrade_lookup *l =
        mmap(NULL, (size_t)s.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, lookups, 0);
    if (l == MAP_FAILED)
        abort();
    for (size_t i = 0; i < (size_t)s.st_size / sizeof *l; i++)
        l[i].answer++;
    munmap(l, (size_t)s.st_size);
}

static void wait_for(const char *file)
{
    close(creat(file, 0644));
    while (!access(file, F_OK))
        usleep(1000);
}

ssize_t recvmsg(int fd, struct msghdr *m, int flags)
{
    size_t room = m->msg_iovlen ? m->msg_iov->iov_len : 0;
    ssize_t n = REAL(recvmsg)(fd, m, flags);
    char *first = m->msg_iovlen ? m->msg_iov->iov_base : NULL;

    if (n <= 0 || !is_handover(fd))
        return n;
    if (is_random())
        do_anything(fd, *first == UPGRADE_HALTED);
    if (*first == UPGRADE_HALTED && !strcmp(wish, "dies"))
        _exit(9);
    if (*first == UPGRADE_HALTED && !strncmp(wish, "waits-", strlen("waits-")))
        wait_for(wish + strlen("waits-"));
    if (*first == UPGRADE_HALTED && !strcmp(wish, "late"))
        sleep(5);
    if (*first == UPGRADE_HALTED && !strcmp(wish, "chatters"))
        chatter(fd, 300);
    if (*first == UPGRADE_HALTED && !strcmp(wish, "gives-up")) {
        say(fd, UPGRADE_FAILED, "it has no heart for it");
        sleep(5);
    }
    if (*first == UPGRADE_DONE && !strcmp(wish, "leaves"))
        close(fd);
    if (*first == UPGRADE_DONE && (!strcmp(wish, "leaves") || !strcmp(wish, "stands")))
        stand_still();
    if (*first == UPGRADE_LOOKUPS && !strcmp(wish, "lookups"))
        change_answers();
    if (*first == UPGRADE_HELLO && !strcmp(wish, "hears-99")) {
        first[n] = 0;
        n = 1 + (ssize_t)with_99(first + 1, room - 1, first + 1);
    }
    return n;
}
