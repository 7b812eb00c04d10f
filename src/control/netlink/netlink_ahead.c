// SPDX-License-Identifier: BSD-3-Clause
// netlink_ahead.c - the thread that reads ahead (see netlink_ahead.h)
//
// There are two buffers: the manager processes one while the thread fills the other. `order` tells
// which side may work.
#include "netlink/netlink_ahead.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#define AHEAD_MAX 16              // sockets; each has a thread and half a megabyte of buffers
#define NETLINK_CHUNK (32u << 10) // bytes; the kernel fills at most this much for a dump
#define NETLINK_SKEW 320          // bytes; spreads the chunks over different cache sets
#define NETLINK_STRIDE (NETLINK_CHUNK + NETLINK_SKEW)

enum order { ORDER_NONE, ORDER_READ, ORDER_DONE, ORDER_END };

struct netlink_ahead {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    enum order order;
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

    pthread_mutex_lock(&a->lock);
    while (a->order != ORDER_END) {
        if (a->order != ORDER_READ) {
            pthread_cond_wait(&a->changed, &a->lock);
            continue;
        }
        pthread_mutex_unlock(&a->lock);
        netlink_batch_read(&a->batch[a->filling], a->fd, a->max);
        pthread_mutex_lock(&a->lock);
        if (a->order == ORDER_READ)
            __atomic_store_n(&a->order, ORDER_DONE, __ATOMIC_RELEASE);
        pthread_cond_signal(&a->changed);
    }
    pthread_mutex_unlock(&a->lock);
    return NULL;
}

static void give_order(struct netlink_ahead *a, enum order order)
{
    pthread_mutex_lock(&a->lock);
    __atomic_store_n(&a->order, order, __ATOMIC_RELEASE);
    pthread_cond_signal(&a->changed);
    pthread_mutex_unlock(&a->lock);
}

static struct netlink_ahead *ahead_new(int fd, unsigned max)
{
    struct netlink_ahead *a = n_ahead < AHEAD_MAX ? calloc(1, sizeof *a) : NULL;

    if (!a)
        return NULL;
    a->fd = fd;
    a->max = a->batch[0].room = a->batch[1].room = max;
    pthread_mutex_init(&a->lock, NULL);
    pthread_cond_init(&a->changed, NULL);
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
    give_order(a, ORDER_READ);
}

bool netlink_ahead_is_done(const struct netlink_ahead *a)
{
    return __atomic_load_n(&a->order, __ATOMIC_ACQUIRE) == ORDER_DONE;
}

struct netlink_batch *netlink_ahead_take(struct netlink_ahead *a)
{
    pthread_mutex_lock(&a->lock);
    while (a->order == ORDER_READ)
        pthread_cond_wait(&a->changed, &a->lock);
    pthread_mutex_unlock(&a->lock);
    return &a->batch[a->filling];
}

void netlink_ahead_end(struct netlink_ahead **at)
{
    struct netlink_ahead *a = *at;

    if (!a)
        return;
    give_order(a, ORDER_END);
    pthread_join(a->thread, NULL);
    pthread_cond_destroy(&a->changed);
    pthread_mutex_destroy(&a->lock);
    for (unsigned i = 0; i < 2; i++)
        free(a->batch[i].buf);
    free(a);
    *at = NULL;
    n_ahead--;
}
