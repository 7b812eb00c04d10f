// SPDX-License-Identifier: BSD-3-Clause
// waker.c - wakes a sleeping thread through its eventfd (waker.h)
//
// Of several threads that wake the sleeper at once, only the first to clear `sleeps` makes the
// system call. waker_edge_new() wraps a file into an edge-triggered epoll, so that poll() returns
// once for new data and not for data that the thread has left unread.
#include "core/waker.h"

#include <errno.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

int waker_init(struct waker *w)
{
    w->sleeps = 0;
    w->fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    return w->fd < 0 ? -errno : 0;
}

void waker_fini(struct waker *w)
{
    if (w->fd >= 0)
        close(w->fd);
    w->fd = -1;
}

void waker_write(struct waker *w)
{
    // Of several waking threads only one makes the call. It fails only if the counter is full, and
    // then the sleeper is awake.
    if (__atomic_exchange_n(&w->sleeps, 0, __ATOMIC_RELAXED))
        eventfd_write(w->fd, 1);
}

void waker_done(struct waker *w)
{
    eventfd_t n;

    // If nobody cleared it, nobody wrote, so there is nothing to read. A thread that cleared it but
    // has not written yet causes one spurious wake-up of the next sleep, which reads the eventfd.
    if (!__atomic_exchange_n(&w->sleeps, 0, __ATOMIC_RELAXED))
        eventfd_read(w->fd, &n);
}

bool waker_file_empty(int fd, unsigned bytes)
{
    struct epoll_event e;
    uint64_t count;

    return bytes ? read(fd, &count, bytes) > 0 : epoll_wait(fd, &e, 1, 0) > 0;
}

int waker_edge_new(int fd)
{
    struct epoll_event e = {.events = EPOLLIN | EPOLLET};
    int edge = epoll_create1(EPOLL_CLOEXEC);

    if (edge >= 0 && epoll_ctl(edge, EPOLL_CTL_ADD, fd, &e)) {
        close(edge);
        edge = -1;
    }
    return edge;
}
