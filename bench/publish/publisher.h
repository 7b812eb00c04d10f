// SPDX-License-Identifier: BSD-3-Clause
// publisher.h - ways to replace a table that forwarders are using
//
// The publishers of the Kamuee Zero paper (figure 8) behind one struct. A reader encloses its work
// in read_lock and read_unlock and calls quiescent() once per burst; the writer calls publish(),
// which stores the new pointer and returns when no reader can hold the old one.
//
//     name      cost for a reader                        the writer waits for
//     qsbr      a load and a comparison per burst        every reader to be quiescent
//     signal    two stores per section                   the same, and a signal to each reader
//     mb        two stores, three barriers per section   every reader to leave its section
//     global    a mutex of all readers                   the mutex
//     thread    its own mutex                            the mutex of each reader, one by one
//     none      nothing                                  nothing: it protects nothing, and shows
//                                                        the cost of the others
//
// Everything is always_inline and the structs are constants, so a loop compiled for one of them
// (READER) has no indirect call.
#ifndef BENCH_PUBLISH_PUBLISHER_H
#define BENCH_PUBLISH_PUBLISHER_H

// liburcu's small functions inline, as in a program that needs speed.
#define _LGPL_SOURCE
#include <urcu/urcu-mb.h>
#include <urcu/urcu-qsbr.h>
#if __has_include(<urcu/urcu-signal.h>) // removed in liburcu 0.15
#include <urcu/urcu-signal.h>
#define HAS_SIGNAL 1
#else
#define HAS_SIGNAL 0
#endif
#undef _LGPL_SOURCE

#include <pthread.h>

#define READERS_MAX 64u
#define INLINE static inline __attribute__((always_inline))

struct publisher {
    const char *name, *paper; // name in the paper; NULL: none
    void (*begin)(unsigned reader), (*end)(unsigned reader); // of a reader thread
    void (*read_lock)(unsigned reader), (*read_unlock)(unsigned reader);
    void (*quiescent)(void);
    void (*publish)(void **root, void *next, unsigned n_readers);
};

INLINE void store(void **root, void *next)
{
    __atomic_store_n(root, next,
                     __ATOMIC_RELEASE); // partner: the reader's consume load of the root
}

INLINE void nothing(void)
{
}

INLINE void nothing_of(unsigned reader)
{
}

// --- liburcu ---

#define FORWARD(name, of, params) /* a function of this name that calls `of` */                    \
    INLINE void name params                                                                        \
    {                                                                                              \
        of();                                                                                      \
    }
#define URCU(flavour)                                                                              \
    FORWARD(flavour##_begin, urcu_##flavour##_register_thread, (unsigned reader))                  \
    FORWARD(flavour##_end, urcu_##flavour##_unregister_thread, (unsigned reader))                  \
    FORWARD(flavour##_read_lock, urcu_##flavour##_read_lock, (unsigned reader))                    \
    FORWARD(flavour##_read_unlock, urcu_##flavour##_read_unlock, (unsigned reader))                \
    FORWARD(flavour##_quiescent, urcu_##flavour##_quiescent_state, (void))                         \
    INLINE void flavour##_publish(void **root, void *next, unsigned n_readers)                     \
    {                                                                                              \
        store(root, next);                                                                         \
        urcu_##flavour##_synchronize_rcu();                                                        \
    }                                                                                              \
    static const struct publisher publisher_##flavour __attribute__((unused))
#define URCU_FUNCTIONS(f)                                                                          \
    .begin = f##_begin, .end = f##_end, .read_lock = f##_read_lock,                                \
    .read_unlock = f##_read_unlock, .quiescent = f##_quiescent, .publish = f##_publish

URCU(qsbr) = {.name = "qsbr", .paper = "QSBR", URCU_FUNCTIONS(qsbr)};
#if HAS_SIGNAL
URCU(signal) = {.name = "signal", .paper = "SIGNAL", URCU_FUNCTIONS(signal)};
#define PUBLISHER_SIGNAL(X) X(signal)
#else
#define PUBLISHER_SIGNAL(X)
#endif
URCU(mb) = {.name = "mb", .paper = "MB", URCU_FUNCTIONS(mb)};

// --- locks ---

static pthread_mutex_t publisher_mutex = PTHREAD_MUTEX_INITIALIZER;
static struct publisher_slot {
    pthread_mutex_t mutex;
} __attribute__((aligned(128))) publisher_slot[READERS_MAX] = {
    [0 ... READERS_MAX - 1] = {.mutex = PTHREAD_MUTEX_INITIALIZER}};

INLINE void global_read_lock(unsigned reader)
{
    pthread_mutex_lock(&publisher_mutex);
}

INLINE void global_read_unlock(unsigned reader)
{
    pthread_mutex_unlock(&publisher_mutex);
}

INLINE void global_publish(void **root, void *next, unsigned n_readers)
{
    pthread_mutex_lock(&publisher_mutex);
    store(root, next);
    pthread_mutex_unlock(&publisher_mutex);
}

INLINE void thread_read_lock(unsigned reader)
{
    pthread_mutex_lock(&publisher_slot[reader].mutex);
}

INLINE void thread_read_unlock(unsigned reader)
{
    pthread_mutex_unlock(&publisher_slot[reader].mutex);
}

// Stops the readers one by one: a reader that was stopped has left any section in which it could
// have loaded the old pointer.
INLINE void thread_publish(void **root, void *next, unsigned n_readers)
{
    store(root, next);
    for (unsigned i = 0; i < n_readers; i++) {
        pthread_mutex_lock(&publisher_slot[i].mutex);
        pthread_mutex_unlock(&publisher_slot[i].mutex);
    }
}

INLINE void none_publish(void **root, void *next, unsigned n_readers)
{
    store(root, next);
}

#define LOCK_FUNCTIONS(l)                                                                          \
    .begin = nothing_of, .end = nothing_of, .read_lock = l##_read_lock,                            \
    .read_unlock = l##_read_unlock, .quiescent = nothing, .publish = l##_publish
#define LOCK static const struct publisher __attribute__((unused))
LOCK publisher_global = {.name = "global", .paper = "global mutex", LOCK_FUNCTIONS(global)};
LOCK publisher_thread = {.name = "thread", .paper = "per-thread mutex", LOCK_FUNCTIONS(thread)};
LOCK publisher_none = {.name = "none", .begin = nothing_of, .end = nothing_of,
                       .read_lock = nothing_of, .read_unlock = nothing_of, .quiescent = nothing,
                       .publish = none_publish};

// X(word of the constant): all that protect. `none` must be asked for by name.
#define PUBLISHERS(X)                                                                              \
    X(qsbr) PUBLISHER_SIGNAL(X) X(mb) X(global) X(thread)

#endif
