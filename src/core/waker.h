// SPDX-License-Identifier: BSD-3-Clause
// waker.h - wakes a thread that sleeps because it has nothing to do
//
// The thread owns the waker and sleeps in poll() on its eventfd and other files. Another thread
// stores work for it, in a ring or a field, and calls waker_wake(): a fence and a load while the
// thread is awake, one write() if it sleeps. No wake-up is lost, because each side stores first and
// checks second:
//
//     sleeper                              waking thread
//     waker_prepare(): sleeps = 1          enqueue, publish …
//     full fence                           full fence
//     checks once more for work            sleeps? then write(fd)
//     poll(fd, …)
//     waker_done(): sleeps = 0, empties fd
//
// On two cache lines of its own: both sides write it, rarely.
#ifndef CORE_WAKER_H
#define CORE_WAKER_H

#include <stdbool.h>
#include <stdint.h>

struct waker {
    uint32_t sleeps; // its thread sleeps or is about to; cleared by the first thread that wakes it
    int fd;          // eventfd, non-blocking; readable = woken
} __attribute__((aligned(128)));

int waker_init(struct waker *w); // 0 or -errno
void waker_fini(struct waker *w);

// --- the thread that sleeps ---
static inline void waker_prepare(struct waker *w)
{
    __atomic_store_n(&w->sleeps, 1, __ATOMIC_RELAXED);
    __atomic_thread_fence(__ATOMIC_SEQ_CST); // partner: waker_wake
}
void waker_done(struct waker *w);
// Empties another file that ended a sleep: reads `bytes` of it, 8 from an eventfd, 4 from a UIO
// device; 0: it is an edge (waker_edge_new). False: there was nothing to read.
bool waker_file_empty(int fd, unsigned bytes);

// --- any thread ---
void waker_write(struct waker *w); // the system call of waker_wake
static inline void waker_wake(struct waker *w)
{
    __atomic_thread_fence(__ATOMIC_SEQ_CST); // partner: waker_prepare
    if (__builtin_expect(__atomic_load_n(&w->sleeps, __ATOMIC_RELAXED), 0))
        waker_write(w);
}

// A file that becomes readable at each event of another file, even if nobody empties that one: an
// epoll set with it, edge-triggered. -1 with errno; release it with close().
int waker_edge_new(int fd);

#endif
