// SPDX-License-Identifier: BSD-3-Clause
// waker.h - waking a thread that sleeps because it had nothing to do
//
// The thread owns the waker and sleeps in poll() on its eventfd and other files. Another thread
// stores something for it, in a ring or a field, and calls waker_wake(): a fence and a load while
// it is awake, one write() when it sleeps. No wake-up is lost, because each side stores first and
// looks second:
//
//     sleeper                              giver
//     waker_prepare(): sleeps = 1          enqueue, publish …
//     full fence                           full fence
//     looks once more: anything there?     sleeps? then write(fd)
//     poll(fd, …)
//     waker_done(): sleeps = 0, empties fd
//
// On two cache lines of its own: both sides write it, rarely.
#ifndef CORE_WAKER_H
#define CORE_WAKER_H

#include <stdbool.h>
#include <stdint.h>

struct waker {
    uint32_t sleeps; // its thread sleeps or is about to; taken back by the first who wakes it
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
// Makes another file that ended a sleep unreadable: reads `bytes` of it, 8 of an eventfd, 4 of a
// UIO device; 0: it is an edge (waker_edge_new). False: there was nothing to read.
bool waker_file_empty(int fd, unsigned bytes);

// --- any thread ---
void waker_write(struct waker *w); // the part of waker_wake that is a system call
static inline void waker_wake(struct waker *w)
{
    __atomic_thread_fence(__ATOMIC_SEQ_CST); // partner: waker_prepare
    if (__builtin_expect(__atomic_load_n(&w->sleeps, __ATOMIC_RELAXED), 0))
        waker_write(w);
}

// A file that becomes readable each time another one does, though nobody empties that one: an epoll
// set with it, edge-triggered. -1 with errno; close() ends it.
int waker_edge_new(int fd);

#endif
