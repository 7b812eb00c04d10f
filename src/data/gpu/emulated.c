// SPDX-License-Identifier: BSD-3-Clause
// emulated.c - a thread that emulates a GPU, with the same mailboxes and the same lookup code
//
// Copies are orders in a list, executed in turn; served mailboxes are polled between them. So a
// copy reaches the "device" some time after the call, as on a GPU, and a test that holds the device
// sees the same states as with a slow GPU.
#include "gpu/device.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"

#define MAILBOXES 64u
#define IDLE_ROUNDS 2000u // then it sleeps a little, to leave the cores to the code under test

struct order { // a copy
    struct order *next;
    uint64_t due_ns;
    uint64_t at;
    size_t bytes;
    uint8_t data[];
};

struct served {
    struct gpu_mailbox *m;
    uint32_t next;    // number of the next batch
    uint64_t seen_ns; // when it arrived; 0: not yet
};

// Memory from alloc and share, to be counted, and released at the end.
struct piece {
    struct piece *next;
    size_t bytes;
    uint8_t memory[] __attribute__((aligned(64)));
};

struct emulated {
    struct gpu_device device;
    pthread_t thread;
    pthread_mutex_t lock; // protects all below except the flags
    struct order *first, **last;
    uint64_t waiting; // orders, atomic
    struct served served[MAILBOXES];
    struct piece *pieces;
    size_t used;
    uint64_t served_keys;
    struct gpu_emulated_settings settings;
    bool end, lost, held; // atomic
    uint64_t rounds;      // of the thread, atomic
};

static struct emulated *emulated(struct gpu_device *d)
{
    return (struct emulated *)d;
}

static bool is_set(const bool *flag)
{
    return __atomic_load_n(flag, __ATOMIC_ACQUIRE);
}

static int error(struct gpu_device *d)
{
    return is_set(&emulated(d)->lost) ? -ENODEV : 0;
}

// --- memory ---

static void *piece_new(struct emulated *e, size_t bytes)
{
    struct piece *p = NULL;
    size_t room = (sizeof(*p) + bytes + 63) / 64 * 64;

    pthread_mutex_lock(&e->lock);
    if (e->settings.memory == 0 || e->used + bytes <= e->settings.memory)
        p = aligned_alloc(64, room);
    if (p != NULL) {
        p->bytes = bytes;
        p->next = e->pieces;
        e->pieces = p;
        e->used += bytes;
    }
    pthread_mutex_unlock(&e->lock);
    return p == NULL ? NULL : p->memory;
}

static void piece_free(struct emulated *e, void *memory)
{
    pthread_mutex_lock(&e->lock);
    for (struct piece **p = &e->pieces; *p != NULL; p = &(*p)->next)
        if ((*p)->memory == memory) {
            struct piece *gone = *p;
            *p = gone->next;
            e->used -= gone->bytes;
            free(gone);
            break;
        }
    pthread_mutex_unlock(&e->lock);
}

static void *share(struct gpu_device *d, size_t bytes)
{
    void *p = piece_new(emulated(d), bytes);

    return p == NULL ? NULL : memset(p, 0, bytes);
}

static void unshare_it(struct gpu_device *d, void *p)
{
    piece_free(emulated(d), p);
}

static uint64_t alloc(struct gpu_device *d, size_t bytes)
{
    return (uint64_t)(uintptr_t)piece_new(emulated(d), bytes);
}

static void free_at(struct gpu_device *d, uint64_t at)
{
    piece_free(emulated(d), (void *)(uintptr_t)at);
}

// --- orders ---

static int upload(struct gpu_device *d, uint64_t at, const void *from, size_t bytes)
{
    struct emulated *e = emulated(d);
    struct order *o = error(d) != 0 ? NULL : malloc(sizeof(*o) + bytes);

    if (o == NULL)
        return error(d) != 0 ? -ENODEV : -ENOMEM;
    *o = (struct order){.at = at, .bytes = bytes};
    memcpy(o->data, from, bytes);
    pthread_mutex_lock(&e->lock);
    o->due_ns = clock_now_ns() + e->settings.latency_ns;
    *e->last = o;
    e->last = &o->next;
    __atomic_add_fetch(&e->waiting, 1, __ATOMIC_RELAXED);
    pthread_mutex_unlock(&e->lock);
    return 0;
}

static int copied(struct gpu_device *d)
{
    return error(d) != 0 ? -ENODEV : __atomic_load_n(&emulated(d)->waiting, __ATOMIC_ACQUIRE) == 0;
}

// --- the thread ---

// Copies word by word, as readers of the device's memory expect.
static void copy_words(uint64_t at, const uint8_t *from, size_t bytes)
{
    uint32_t *to = (uint32_t *)(uintptr_t)at, w;
    size_t n = at % sizeof(w) == 0 ? bytes / sizeof(w) : 0;

    for (size_t i = 0; i < n; i++) {
        memcpy(&w, from + i * sizeof(w), sizeof(w));
        __atomic_store_n(&to[i], w, __ATOMIC_RELEASE);
    }
    memcpy((uint8_t *)to + n * sizeof(w), from + n * sizeof(w), bytes - n * sizeof(w));
}

static void batch_do(struct emulated *e, struct gpu_mailbox *m, uint32_t place)
{
    struct gpu_slot *s = &m->slot[place];

    for (uint32_t i = 0; i < s->n; i++) {
        gpu_serve_one(m, place, i);
        if (e->settings.wrong_every > 0 && ++e->served_keys % e->settings.wrong_every == 0)
            gpu_values(m, place)[i] ^= 1;
    }
    __atomic_store_n(&s->answer, s->request, __ATOMIC_RELEASE);
}

static bool order_do(struct emulated *e)
{
    struct order *o;

    pthread_mutex_lock(&e->lock);
    o = e->first;
    if (o == NULL || o->due_ns > clock_now_ns()) {
        pthread_mutex_unlock(&e->lock);
        return false;
    }
    e->first = o->next;
    if (e->first == NULL)
        e->last = &e->first;
    pthread_mutex_unlock(&e->lock);
    copy_words(o->at, o->data, o->bytes);
    free(o);
    __atomic_sub_fetch(&e->waiting, 1, __ATOMIC_RELEASE);
    return true;
}

static bool mailbox_look(struct emulated *e, struct served *s)
{
    uint32_t place = (s->next - 1) % GPU_SLOTS;

    if (__atomic_load_n(&s->m->slot[place].request, __ATOMIC_ACQUIRE) != s->next)
        return false;
    if (s->seen_ns == 0 && e->settings.latency_ns > 0)
        s->seen_ns = clock_now_ns();
    if (e->settings.latency_ns > 0 && clock_now_ns() < s->seen_ns + e->settings.latency_ns)
        return true;
    batch_do(e, s->m, place);
    s->next++;
    s->seen_ns = 0;
    return true;
}

static bool mailboxes_look(struct emulated *e)
{
    bool busy = false;

    pthread_mutex_lock(&e->lock);
    for (unsigned i = 0; i < MAILBOXES; i++)
        if (e->served[i].m != NULL)
            busy |= mailbox_look(e, &e->served[i]);
    pthread_mutex_unlock(&e->lock);
    return busy;
}

static void *work(void *arg)
{
    struct emulated *e = arg;
    unsigned idle = 0;

    while (!is_set(&e->end)) {
        bool rests = is_set(&e->held) || is_set(&e->lost);
        bool busy = !rests && order_do(e);

        busy |= !rests && mailboxes_look(e);
        idle = busy ? 0 : idle + 1;
        __atomic_add_fetch(&e->rounds, 1, __ATOMIC_RELEASE);
        if (rests || idle > IDLE_ROUNDS)
            nanosleep(&(struct timespec){0, 20000}, NULL);
    }
    return NULL;
}

// --- mailboxes ---

static int mailbox_start(struct gpu_device *d, struct gpu_mailbox *m)
{
    struct emulated *e = emulated(d);
    int rc = -ENOSPC;

    if (error(d) != 0)
        return -ENODEV;
    pthread_mutex_lock(&e->lock);
    for (unsigned i = 0; i < MAILBOXES && rc != 0; i++)
        if (e->served[i].m == NULL) {
            e->served[i] = (struct served){.m = m, .next = 1};
            rc = 0;
        }
    pthread_mutex_unlock(&e->lock);
    return rc;
}

static void mailbox_stop(struct gpu_device *d, struct gpu_mailbox *m)
{
    struct emulated *e = emulated(d);

    pthread_mutex_lock(&e->lock);
    for (unsigned i = 0; i < MAILBOXES; i++)
        if (e->served[i].m == m)
            e->served[i].m = NULL;
    pthread_mutex_unlock(&e->lock);
}

// --- life ---

static void close_it(struct gpu_device *d)
{
    struct emulated *e = emulated(d);

    __atomic_store_n(&e->end, true, __ATOMIC_RELEASE);
    pthread_join(e->thread, NULL);
    while (e->first != NULL) {
        struct order *o = e->first;
        e->first = o->next;
        free(o);
    }
    while (e->pieces != NULL) {
        struct piece *p = e->pieces;
        e->pieces = p->next;
        free(p);
    }
    pthread_mutex_destroy(&e->lock);
    free(e);
}

static const struct gpu_device_ops ops = {
    "emulated", close_it, share,         unshare_it,   alloc, free_at,
    upload,     copied,   mailbox_start, mailbox_stop, error,
};

struct gpu_device *gpu_emulated_open(const struct gpu_emulated_settings *settings)
{
    struct emulated *e = calloc(1, sizeof(*e));

    if (e == NULL)
        return NULL;
    e->device.ops = &ops;
    e->settings = *settings;
    e->last = &e->first;
    pthread_mutex_init(&e->lock, NULL);
    if (pthread_create(&e->thread, NULL, work, e) != 0) {
        pthread_mutex_destroy(&e->lock);
        free(e);
        return NULL;
    }
    return &e->device;
}

void gpu_emulated_lose(struct gpu_device *d)
{
    snprintf(d->why, sizeof(d->why), "the emulated device was told to be lost");
    __atomic_store_n(&emulated(d)->lost, true, __ATOMIC_RELEASE);
}

void gpu_emulated_hold(struct gpu_device *d, int hold)
{
    struct emulated *e = emulated(d);
    uint64_t round;

    __atomic_store_n(&e->held, hold != 0, __ATOMIC_SEQ_CST);
    round = __atomic_load_n(&e->rounds, __ATOMIC_SEQ_CST);
    while (hold != 0 && __atomic_load_n(&e->rounds, __ATOMIC_ACQUIRE) < round + 2)
        nanosleep(&(struct timespec){0, 20000}, NULL);
}

void gpu_emulated_set(struct gpu_device *d, const struct gpu_emulated_settings *settings)
{
    pthread_mutex_lock(&emulated(d)->lock);
    emulated(d)->settings = *settings;
    pthread_mutex_unlock(&emulated(d)->lock);
}
