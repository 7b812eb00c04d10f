// SPDX-License-Identifier: BSD-3-Clause
// keeper.c - kamuee-keeper: holds descriptors while no kamueed runs
//
// kamueed starts it with a listening socket as descriptor 3 (keep_process.c). It only holds
// descriptors (keeper_protocol.h), so that it has nothing that could crash. It drops a descriptor
// whose device was deleted. It ends at kamueed's END, when kamueed has gone and left nothing, or
// KEEPER_WAIT_S after kamueed has gone.
//
// It serves one kamueed at a time, the newest connection. Only this user and root may connect.
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "main/keeper_protocol.h"

static struct kept { // indexed by descriptor
    bool used;
    char name[KEEPER_NAME_MAX];
} *kept;
static int n_kept;      // size of `kept`
static unsigned n_used; // entries in use
static int set = -1, client = -1;

static void watch_descriptor(int fd, uint32_t events)
{
    struct epoll_event e = {.events = events, .data.fd = fd};

    epoll_ctl(set, EPOLL_CTL_ADD, fd, &e); // a file that cannot be watched (memory) cannot vanish
}

static void drop_client(void)
{
    if (client >= 0)
        close(client);
    client = -1;
}

static void hold(const char *name, int fd)
{
    if (fd >= n_kept) {
        int n = fd * 2;
        struct kept *more = realloc(kept, (size_t)n * sizeof *kept);
        if (!more) {
            close(fd);
            return;
        }
        memset(more + n_kept, 0, (size_t)(n - n_kept) * sizeof *kept);
        kept = more;
        n_kept = n;
    }
    kept[fd].used = true;
    n_used++;
    memcpy(kept[fd].name, name, sizeof kept[fd].name);
    watch_descriptor(fd, 0); // errors only: the device is gone
}

static void drop(int fd)
{
    epoll_ctl(set, EPOLL_CTL_DEL, fd, NULL); // its file may live on elsewhere
    close(fd);
    kept[fd].used = false;
    n_used--;
}

static bool give_all(void)
{
    bool there = true;

    for (int fd = 0; fd < n_kept && there; fd++)
        if (kept[fd].used)
            there = keeper_send(client, KEEPER_HAVE, kept[fd].name, fd);
    return there && keeper_send(client, KEEPER_DONE, "", -1);
}

static void serve_client(void)
{
    struct keeper_message m;
    int fd;
    bool there = keeper_receive(client, &m, &fd);

    if (there && m.word == KEEPER_END) {
        close(KEEPER_LISTEN_FD); // first: after our end a kamueed must find nobody here
        exit(0);
    }
    if (there && m.word == KEEPER_TAKE)
        there = give_all();
    if (there && m.word == KEEPER_PUT && fd >= 0)
        hold(m.name, fd);
    else if (fd >= 0)
        close(fd);
    if (!there)
        drop_client();
}

// Reads all that a crashed kamueed has put, for the next one.
static void hear_out_client(void)
{
    struct pollfd p = {.fd = client, .events = POLLIN};

    while (client >= 0 && poll(&p, 1, 0) == 1)
        serve_client();
    drop_client();
}

static void take_client(void)
{
    int s = accept4(KEEPER_LISTEN_FD, NULL, NULL, SOCK_CLOEXEC);

    if (s < 0)
        return;
    if (!keeper_is_ours(s)) {
        close(s);
        return;
    }
    hear_out_client();
    client = s;
    watch_descriptor(s, EPOLLIN);
}

static void serve_event(const struct epoll_event *e)
{
    if (e->data.fd == KEEPER_LISTEN_FD)
        take_client();
    else if (e->data.fd == client)
        serve_client();
    else if (e->data.fd < n_kept && kept[e->data.fd].used)
        drop(e->data.fd);
}

static void set_up(void)
{
    struct rlimit n;
    int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);

    for (int fd = 0; nothing >= 0 && fd < KEEPER_LISTEN_FD; fd++) // somebody may wait for their end
        dup2(nothing, fd);
    if (!getrlimit(RLIMIT_NOFILE, &n)) {
        n.rlim_cur = n.rlim_max;
        setrlimit(RLIMIT_NOFILE, &n);
    }
    signal(SIGHUP, SIG_IGN);
    signal(SIGINT, SIG_IGN); // from a terminal, meant for kamueed
    prctl(PR_SET_DUMPABLE, 0); // protects the descriptors from /proc and ptrace
    listen(KEEPER_LISTEN_FD, 4); // a peer sees our pid (SO_PEERCRED)
    if (chdir("/"))
        exit(1);
}

int main(int argc, char **argv)
{
    time_t alone_since = 0;
    bool served = false;
    struct timespec now;
    socklen_t size = sizeof(int);
    int listens = 0;

    if (getsockopt(KEEPER_LISTEN_FD, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) || !listens) {
        fprintf(stderr, "kamuee-keeper: kamueed starts it\n");
        return 2;
    }
    time_t wait_s = argc > 1 ? atoi(argv[1]) : KEEPER_WAIT_S;
    set_up();
    set = epoll_create1(EPOLL_CLOEXEC);
    watch_descriptor(KEEPER_LISTEN_FD, EPOLLIN);
    for (;;) {
        struct epoll_event e;
        if (epoll_wait(set, &e, 1, 1000) == 1)
            serve_event(&e);
        clock_gettime(CLOCK_MONOTONIC, &now);
        if (client >= 0 || !alone_since)
            alone_since = now.tv_sec;
        served |= client >= 0;
        if (now.tv_sec - alone_since >= wait_s || (served && client < 0 && !n_used))
            return 0;
    }
}
