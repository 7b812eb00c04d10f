// SPDX-License-Identifier: BSD-3-Clause
// tap_socket.c - see tap.h
//
// A namespace is identified by its inode, which is not reused while our socket is in it.
#include "tap/tap.h"

#include <errno.h>
#include <pthread.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/vec.h"

#define NETNS_HERE "/proc/thread-self/ns/net"

static struct shared {
    ino_t netns;
    int sock;
    unsigned users;
} *last; // most TAPs follow others of their namespace
static VEC(struct shared) all;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; // TAPs are deleted aside

static int open_socket(void)
{
    return socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
}

static struct shared *find_shared(ino_t netns)
{
    if (last && last->netns == netns)
        return last;
    vec_foreach (&all, s)
        if (s->netns == netns)
            return s;
    return NULL;
}

static int share_socket(ino_t netns)
{
    struct shared *s = find_shared(netns);

    if (!s) {
        int sock = open_socket();
        if (sock < 0)
            return -1;
        s = vec_push(&all);
        *s = (struct shared){.netns = netns, .sock = sock};
    }
    s->users++;
    last = s;
    return s->sock;
}

int tap_socket_get(void)
{
    struct stat here;

    if (stat(NETNS_HERE, &here))
        return open_socket();
    pthread_mutex_lock(&lock);
    int sock = share_socket(here.st_ino);
    pthread_mutex_unlock(&lock);
    return sock;
}

// Returns true if others use it.
static bool unshare_socket(int sock)
{
    vec_foreach (&all, s)
        if (s->sock == sock) {
            if (--s->users)
                return true;
            *s = all.item[--all.n];
            last = NULL;
            return false;
        }
    return false;
}

void tap_socket_put(int sock)
{
    if (sock < 0)
        return;
    pthread_mutex_lock(&lock);
    if (!unshare_socket(sock))
        close(sock);
    if (!all.n)
        vec_free(&all);
    pthread_mutex_unlock(&lock);
}
