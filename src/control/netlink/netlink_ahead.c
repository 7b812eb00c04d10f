// SPDX-License-Identifier: BSD-3-Clause
// netlink_ahead.c - the thread that reads ahead (see netlink_ahead.h)
//
// There are two buffers: the manager processes one while the thread fills the other. Each read has
// a post of `go` before it and one of `ready` after it.
#include "netlink/netlink_ahead.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#define AHEAD_MAX 16              // sockets; each has a thread and half a megabyte of buffers
#define NETLINK_CHUNK (32u << 10) // bytes; the kernel fills at most this much for a dump
#define NETLINK_SKEW 320          // bytes; spreads the chunks over different cache sets
#define NETLINK_STRIDE (NETLINK_CHUNK + NETLINK_SKEW)

struct netlink_ahead {
    pthread_t thread;
    sem_t go, ready;
    _Atomic bool done, ends; // done: the last read has ended
    int fd;
    unsigned max, filling; // index of the batch being filled
    struct netlink_batch batch[2];
};

static unsigned n_ahead; // used by one manager thread only

void netlink_batch_read(struct netlink_batch *b, int fd, unsigned max)
{
    if (!b->buf && !(b->buf = aligned_alloc(64, (size_t)b->room * NETLINK_STRIDE))) {
        b->got = -ENOMEM;
        return;
    }
    for (unsigned i = 0; i < max; i++) {
        b->io[i] = (struct iovec){b->buf + i * NETLINK_STRIDE, NETLINK_CHUNK};
        b->m[i].msg_hdr = (struct msghdr){.msg_name = &b->from[i],
                                          .msg_namelen = sizeof b->from[i],
                                          .msg_iov = &b->io[i],
                                          .msg_iovlen = 1};
    }
    b->got = recvmmsg(fd, b->m, max, MSG_DONTWAIT, NULL);
    // Linux continues a dump inside the call that reads. If the thread that requested the dump has
    // ended it meanwhile, the next read fails with EINVAL. Nothing is lost.
    if (b->got < 0 && errno == EINVAL)
        b->got = recvmmsg(fd, b->m, max, MSG_DONTWAIT, NULL);
    if (b->got < 0)
        b->got = errno == EAGAIN || errno == EINTR ? 0 : -errno;
}

static void *read_on_order(void *arg)
{
    struct netlink_ahead *a = arg;

    for (;;) {
        TEMP_FAILURE_RETRY(sem_wait(&a->go));
        if (atomic_load(&a->ends))
            return NULL;
        netlink_batch_read(&a->batch[a->filling], a->fd, a->max);
        atomic_store(&a->done, true);
        sem_post(&a->ready);
    }
}

static struct netlink_ahead *ahead_new(int fd, unsigned max)
{
    struct netlink_ahead *a = n_ahead < AHEAD_MAX ? calloc(1, sizeof *a) : NULL;

    if (!a)
        return NULL;
    a->fd = fd;
    a->max = a->batch[0].room = a->batch[1].room = max;
    sem_init(&a->go, 0, 0);
    sem_init(&a->ready, 0, 0);
    if (pthread_create(&a->thread, NULL, read_on_order, a)) {
        free(a);
        return NULL;
    }
    pthread_setname_np(a->thread, "netlink_ahead");
    n_ahead++;
    return a;
}

void netlink_ahead_begin(struct netlink_ahead **at, int fd, unsigned max)
{
    struct netlink_ahead *a = *at ? *at : ahead_new(fd, max);

    *at = a;
    if (!a)
        return;
    a->filling = !a->filling;
    atomic_store(&a->done, false);
    sem_post(&a->go);
}

bool netlink_ahead_is_done(const struct netlink_ahead *a)
{
    return atomic_load(&a->done);
}

struct netlink_batch *netlink_ahead_take(struct netlink_ahead *a)
{
    TEMP_FAILURE_RETRY(sem_wait(&a->ready));
    return &a->batch[a->filling];
}

void netlink_ahead_end(struct netlink_ahead **at)
{
    struct netlink_ahead *a = *at;

    if (!a)
        return;
    atomic_store(&a->ends, true);
    sem_post(&a->go);
    pthread_join(a->thread, NULL);
    sem_destroy(&a->ready);
    sem_destroy(&a->go);
    for (unsigned i = 0; i < 2; i++)
        free(a->batch[i].buf);
    free(a);
    *at = NULL;
    n_ahead--;
}
