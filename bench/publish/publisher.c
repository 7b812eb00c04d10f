// SPDX-License-Identifier: BSD-3-Clause
// publisher.c - the locks of publisher.h
#include "publish/publisher.h"

pthread_mutex_t publisher_mutex = PTHREAD_MUTEX_INITIALIZER;
// glibc's default prefers readers: while one is always inside, a writer would wait forever.
pthread_rwlock_t publisher_rw = PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP;
struct publisher_slot publisher_slot[READERS_MAX] = {
    [0 ... READERS_MAX - 1] = {.mutex = PTHREAD_MUTEX_INITIALIZER}};
