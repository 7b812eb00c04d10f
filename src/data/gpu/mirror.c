// SPDX-License-Identifier: BSD-3-Clause
// mirror.c - see mirror.h
//
// Changes are recorded as ranges of the host's memory. If there are too many, or the arena has
// outgrown its copy, the whole group is copied into new memory, with a new list of tables.
#include "gpu/mirror.h"

#include "poptrie/image.h"
#include "poptrie/poptrie.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define RANGES 4096u // recorded between two commits
#define SPARE ((size_t)1 << 20)
#define LOOKS 500u // for the arrival of copies, at the end of a batch of changes

struct range {
    const uint8_t *from;
    uint64_t to; // on the device
    size_t bytes;
};

struct room { // device memory
    uint64_t at; // 0: none
    size_t bytes;
};

// The tables of one group, which share an arena.
struct region {
    struct region *next;
    struct gpu_mirror *mirror;
    const uint8_t *arena;
    struct room copy;
    bool whole;            // copy everything
    struct poptrie *watch; // one of its tables
    struct range *range;   // [RANGES]
    size_t n;              // ranges that have changed
};

struct entry {
    struct poptrie *table;
    struct region *region;
    struct room dir;
    bool touched; // its floor or `outside` changed
};

struct gpu_mirror {
    struct gpu_device *device;
    struct region *regions;
    struct entry entry[GPU_TABLES_MAX];
    unsigned n;
    struct room tables;
    uint64_t changes, on_device; // versions, atomic; changes begins at 1
    int state;                   // enum gpu_state, atomic
    const struct gpu_reader *reader[GPU_READERS_MAX];
    bool copying; // copies of `version` are on their way
    uint64_t version;
    uint64_t bytes, copied_bytes; // atomic
};

// --- recording changes ---------------------------------------------------------------------------

static void change_begins(void *ctx)
{
    struct region *r = ctx;

    // before any change that readers can see: partners: gpu_mirror_version_is, batches_are_back
    __atomic_add_fetch(&r->mirror->changes, 1, __ATOMIC_SEQ_CST);
}

static void range_note(struct region *r, const void *from, uint64_t at, size_t bytes)
{
    struct range *last = r->n > 0 ? &r->range[r->n - 1] : NULL;

    if (r->whole)
        return;
    if (last != NULL && last->from + last->bytes == from && last->to + last->bytes == at)
        last->bytes += bytes;
    else if (r->n < RANGES)
        r->range[r->n++] = (struct range){from, at, bytes};
    else
        r->whole = true;
}

static uint64_t arena_address(const struct region *r, const void *at)
{
    return r->copy.at + (uint64_t)((const uint8_t *)at - r->arena);
}

static void block_note(void *ctx, const void *at, size_t bytes)
{
    struct region *r = ctx;

    range_note(r, at, arena_address(r, at), bytes);
}

static struct entry *entry_of(struct gpu_mirror *m, const struct poptrie *t)
{
    for (unsigned i = 0; i < m->n; i++)
        if (m->entry[i].table == t)
            return &m->entry[i];
    return NULL;
}

static void words_note(void *ctx, const struct poptrie *t, const void *at, size_t bytes)
{
    struct region *r = ctx;
    struct entry *e = entry_of(r->mirror, t);
    struct poptrie_image image;
    const uint8_t *p = at, *dir;

    poptrie_image(t, &image);
    dir = (const uint8_t *)image.dir;
    if (p >= r->arena && p < r->arena + image.arena_bytes) // possibly of a tree that tables share
        range_note(r, p, arena_address(r, p), bytes);
    else if (e != NULL && p >= dir && p < dir + image.dir_bytes)
        range_note(r, p, e->dir.at + (uint64_t)(p - dir), bytes);
    else if (e != NULL)
        e->touched = true;
}

static void changes_end(void *ctx)
{
    struct region *r = ctx;

    for (unsigned k = 0; k < LOOKS && gpu_mirror_work(r->mirror); k++)
        ;
}

static void table_ends(void *ctx, const struct poptrie *t)
{
    struct region *r = ctx;
    struct gpu_mirror *m = r->mirror;

    if (entry_of(m, t) == NULL)
        return;
    gpu_mirror_fail(m, GPU_GONE);
    gpu_mirror_unwatch(m);
}

// --- life ---

struct gpu_mirror *gpu_mirror_new(struct gpu_device *d)
{
    struct gpu_mirror *m = calloc(1, sizeof(*m));

    if (m == NULL)
        return NULL;
    m->device = d;
    m->changes = 1;
    return m;
}

static void region_free(struct region *r)
{
    if (r->watch != NULL)
        poptrie_watch(r->watch, NULL);
    free(r->range);
    free(r);
}

void gpu_mirror_unwatch(struct gpu_mirror *m)
{
    while (m != NULL && m->regions != NULL) {
        struct region *r = m->regions;
        m->regions = r->next;
        region_free(r);
    }
}

void gpu_mirror_free(struct gpu_mirror *m)
{
    gpu_mirror_unwatch(m);
    free(m);
}

static struct region *region_new(struct gpu_mirror *m, struct poptrie *t, const uint8_t *arena)
{
    struct region *r = calloc(1, sizeof(*r));

    if (r == NULL)
        return NULL;
    r->mirror = m;
    r->arena = arena;
    r->range = calloc(RANGES, sizeof(*r->range));
    if (r->range == NULL) {
        region_free(r);
        return NULL;
    }
    r->watch = t;
    r->next = m->regions;
    m->regions = r;
    poptrie_watch(t, &(struct poptrie_watch){.begins = change_begins,
                                             .adds_block = block_note,
                                             .changes_words = words_note,
                                             .commits = changes_end,
                                             .ends = table_ends,
                                             .ctx = r});
    return r;
}

int gpu_mirror_add(struct gpu_mirror *m, struct poptrie *t)
{
    struct poptrie_image image;
    struct region *r = m->regions;

    if (m->n == GPU_TABLES_MAX)
        return -ENOSPC;
    poptrie_image(t, &image);
    while (r != NULL && r->arena != image.arena)
        r = r->next;
    if (r == NULL)
        r = region_new(m, t, image.arena);
    if (r == NULL)
        return -ENOMEM;
    r->whole = true;
    m->entry[m->n] = (struct entry){.table = t, .region = r};
    change_begins(r);
    return (int)m->n++;
}

// --- copies ---

static int copy(struct gpu_mirror *m, uint64_t to, const void *from, size_t bytes)
{
    __atomic_add_fetch(&m->copied_bytes, bytes, __ATOMIC_RELAXED);
    return m->device->ops->upload(m->device, to, from, bytes);
}

static int room_replace(struct gpu_mirror *m, struct room *r, size_t bytes)
{
    if (r->at != 0)
        m->device->ops->free(m->device, r->at);
    __atomic_add_fetch(&m->bytes, bytes - r->bytes, __ATOMIC_RELAXED);
    *r = (struct room){m->device->ops->alloc(m->device, bytes), bytes};
    return r->at != 0 ? 0 : -ENOMEM;
}

static int region_copy(struct gpu_mirror *m, struct region *r)
{
    struct poptrie_image image;
    int rc;

    poptrie_image(r->watch, &image);
    rc = room_replace(m, &r->copy,
                      image.arena_bytes + image.arena_bytes / 2 + SPARE + ARENA_TAIL_BYTES);
    if (rc == 0)
        rc = copy(m, r->copy.at, r->arena, image.arena_bytes);
    for (unsigned i = 0; i < m->n && rc == 0; i++) {
        struct entry *e = &m->entry[i];

        if (e->region != r)
            continue;
        poptrie_image(e->table, &image);
        rc = room_replace(m, &e->dir, image.dir_bytes);
        if (rc == 0)
            rc = copy(m, e->dir.at, image.dir, image.dir_bytes);
    }
    return rc;
}

static struct gpu_table entry_view(const struct entry *e)
{
    struct poptrie_image image;
    struct gpu_table g;

    poptrie_image(e->table, &image);
    g = (struct gpu_table){.dir = e->dir.at,
                           .arena = e->region->copy.at,
                           .key_bits = image.key_bits,
                           .outside = *image.outside};
    memcpy(g.floor, image.floor, sizeof(g.floor));
    return g;
}

static int tables_copy(struct gpu_mirror *m)
{
    size_t bytes = m->n * sizeof(struct gpu_table);
    struct gpu_table *list = malloc(bytes);
    int rc = list == NULL ? -ENOMEM : room_replace(m, &m->tables, bytes);

    for (unsigned i = 0; i < m->n && rc == 0; i++)
        list[i] = entry_view(&m->entry[i]);
    if (rc == 0)
        rc = copy(m, m->tables.at, list, bytes);
    free(list);
    return rc;
}

// Copies the fields of an entry that change in place.
static int entry_patch(struct gpu_mirror *m, unsigned i)
{
    struct gpu_table g = entry_view(&m->entry[i]);
    size_t from = offsetof(struct gpu_table, outside);

    return copy(m, m->tables.at + i * sizeof(g) + from, (const char *)&g + from,
                sizeof(g) - from);
}

static int ranges_copy(struct gpu_mirror *m, const struct region *r)
{
    int rc = 0;

    for (size_t i = 0; i < r->n && rc == 0; i++)
        rc = copy(m, r->range[i].to, r->range[i].from, r->range[i].bytes);
    return rc;
}

static int everything_copy(struct gpu_mirror *m)
{
    bool moved = false;
    int rc = 0;

    for (struct region *r = m->regions; r != NULL && rc == 0; r = r->next) {
        moved |= r->whole;
        rc = r->whole ? region_copy(m, r) : ranges_copy(m, r);
    }
    if (rc == 0 && moved)
        rc = tables_copy(m);
    for (unsigned i = 0; i < m->n && rc == 0 && !moved; i++)
        rc = m->entry[i].touched ? entry_patch(m, i) : 0;
    return rc;
}

static void notes_clear(struct gpu_mirror *m)
{
    for (struct region *r = m->regions; r != NULL; r = r->next) {
        r->n = 0;
        r->whole = false;
    }
    for (unsigned i = 0; i < m->n; i++)
        m->entry[i].touched = false;
}

// Copies that have outgrown their room are also made again.
static void regions_check(struct gpu_mirror *m)
{
    struct poptrie_image image;

    for (struct region *r = m->regions; r != NULL; r = r->next) {
        poptrie_image(r->watch, &image);
        r->whole |= image.arena_bytes + ARENA_TAIL_BYTES > r->copy.bytes;
    }
}

static void copies_send(struct gpu_mirror *m)
{
    int rc;

    regions_check(m);
    m->version = __atomic_load_n(&m->changes, __ATOMIC_RELAXED);
    rc = everything_copy(m);
    if (rc != 0)
        gpu_mirror_fail(m, rc == -ENOMEM ? GPU_FULL : GPU_LOST);
    notes_clear(m);
    m->copying = true;
}

static void copies_await(struct gpu_mirror *m)
{
    int rc = m->device->ops->copied(m->device);

    if (rc < 0)
        gpu_mirror_fail(m, GPU_LOST);
    if (rc != 1)
        return;
    m->copying = false;
    __atomic_store_n(&m->on_device, m->version, __ATOMIC_SEQ_CST);
}

// Is no batch in progress? Partner: gpu_queue_send, which counts a batch before it looks for
// changes.
static bool batches_are_back(const struct gpu_mirror *m)
{
    for (unsigned i = 0; i < GPU_READERS_MAX; i++)
        if (m->reader[i] != NULL && __atomic_load_n(&m->reader[i]->sent, __ATOMIC_SEQ_CST) !=
                                        __atomic_load_n(&m->reader[i]->received, __ATOMIC_ACQUIRE))
            return false;
    return true;
}

bool gpu_mirror_work(struct gpu_mirror *m)
{
    if (gpu_mirror_state(m) == GPU_ON && m->copying)
        copies_await(m);
    if (gpu_mirror_state(m) == GPU_ON && !m->copying && gpu_mirror_version(m) == 0 &&
        batches_are_back(m))
        copies_send(m);
    return gpu_mirror_state(m) == GPU_ON && gpu_mirror_version(m) == 0;
}

// --- state ---

uint64_t gpu_mirror_copied_bytes(const struct gpu_mirror *m)
{
    return __atomic_load_n(&m->copied_bytes, __ATOMIC_RELAXED);
}

uint64_t gpu_mirror_bytes(const struct gpu_mirror *m)
{
    return __atomic_load_n(&m->bytes, __ATOMIC_RELAXED);
}

enum gpu_state gpu_mirror_state(const struct gpu_mirror *m)
{
    return (enum gpu_state)__atomic_load_n(&m->state, __ATOMIC_ACQUIRE);
}

void gpu_mirror_fail(struct gpu_mirror *m, enum gpu_state why)
{
    int on = GPU_ON;

    __atomic_compare_exchange_n(&m->state, &on, (int)why, false, __ATOMIC_ACQ_REL,
                                __ATOMIC_ACQUIRE);
}

const char *gpu_mirror_why(const struct gpu_mirror *m)
{
    switch (gpu_mirror_state(m)) {
    case GPU_LOST:
        return m->device->why;
    case GPU_LATE:
        return "a batch was not answered in time";
    case GPU_WRONG:
        return "an answer was not what the table says";
    case GPU_FULL:
        return "it has no memory left for the tables";
    case GPU_GONE:
        return "a table has been replaced";
    default:
        return "";
    }
}

// --- for queues ---

int gpu_mirror_join(struct gpu_mirror *m, const struct gpu_reader *r)
{
    for (unsigned i = 0; i < GPU_READERS_MAX; i++)
        if (m->reader[i] == NULL) {
            m->reader[i] = r;
            return 0;
        }
    return -ENOSPC;
}

void gpu_mirror_leave(struct gpu_mirror *m, const struct gpu_reader *r)
{
    for (unsigned i = 0; i < GPU_READERS_MAX; i++)
        if (m->reader[i] == r)
            m->reader[i] = NULL;
}

struct gpu_device *gpu_mirror_device(const struct gpu_mirror *m)
{
    return m->device;
}

uint64_t gpu_mirror_tables(const struct gpu_mirror *m)
{
    return m->tables.at;
}

uint64_t gpu_mirror_version(const struct gpu_mirror *m)
{
    uint64_t version = __atomic_load_n(&m->on_device, __ATOMIC_SEQ_CST);

    return gpu_mirror_version_is(m, version) ? version : 0;
}

bool gpu_mirror_version_is(const struct gpu_mirror *m, uint64_t version)
{
    __atomic_thread_fence(__ATOMIC_SEQ_CST); // after the earlier lookups
    return __atomic_load_n(&m->changes, __ATOMIC_SEQ_CST) == version;
}
