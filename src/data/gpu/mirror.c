// SPDX-License-Identifier: BSD-3-Clause
// mirror.c - see mirror.h
//
// Changes are recorded as ranges of the host's memory. If there are too many, or the arena has
// outgrown its copy, the whole group is copied into new memory, with a new list of tables, which
// batches use when everything has arrived.
#include "gpu/mirror.h"

#include "poptrie/image.h"
#include "poptrie/poptrie.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define RANGES 4096u // recorded between two commits
#define SPARE ((size_t)1 << 20)

struct range {
    const uint8_t *from;
    uint64_t to; // on the device
    size_t bytes;
};

struct ranges {
    struct range *range;
    size_t n;
};

// The tables of one group, which share an arena.
struct region {
    struct region *next;
    struct gpu_mirror *mirror;
    const uint8_t *arena;
    uint64_t at;           // of the copy; 0: none yet
    size_t room;           // of the copy
    bool whole;            // copy everything
    struct poptrie *watch; // one of its tables
    struct ranges blocks, words;
};

struct entry {
    struct poptrie *table;
    struct region *region;
    uint64_t dir;
    bool touched; // its floor or `outside` changed
};

struct gpu_mirror {
    struct gpu_device *device;
    struct region *regions;
    struct entry entry[GPU_TABLES_MAX];
    unsigned n;
    uint64_t tables, next_tables; // on the device; tables: atomic
    uint64_t changes, on_device;  // versions, atomic; changes begins at 1
    int state;                    // enum gpu_state, atomic
    const struct gpu_reader *reader[GPU_READERS_MAX];
    // the commit in progress
    enum { NOTHING, COPIES, BATCHES } waits_for;
    uint64_t mark, version, before[GPU_READERS_MAX];
    uint64_t committed, passed; // tickets
    uint64_t *retired;          // memory to free when the commit has passed
    size_t n_retired, retired_room;
    uint64_t copied_bytes;
};

// --- recording changes ---------------------------------------------------------------------------

static void change_begins(void *ctx)
{
    struct region *r = ctx;

    // before any change that readers can see: partner: gpu_mirror_version_is
    __atomic_add_fetch(&r->mirror->changes, 1, __ATOMIC_SEQ_CST);
}

static void range_note(struct region *r, struct ranges *to, const void *from, uint64_t at,
                       size_t bytes)
{
    struct range *last = to->n > 0 ? &to->range[to->n - 1] : NULL;

    if (r->whole)
        return;
    if (last != NULL && last->from + last->bytes == from && last->to + last->bytes == at)
        last->bytes += bytes;
    else if (to->n < RANGES)
        to->range[to->n++] = (struct range){from, at, bytes};
    else
        r->whole = true;
}

static uint64_t arena_address(const struct region *r, const void *at)
{
    return r->at + (uint64_t)((const uint8_t *)at - r->arena);
}

static void block_note(void *ctx, const void *at, size_t bytes)
{
    struct region *r = ctx;

    range_note(r, &r->blocks, at, arena_address(r, at), bytes);
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
        range_note(r, &r->words, p, arena_address(r, p), bytes);
    else if (e != NULL && p >= dir && p < dir + image.dir_bytes)
        range_note(r, &r->words, p, e->dir + (uint64_t)(p - dir), bytes);
    else if (e != NULL)
        e->touched = true;
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
    free(r->blocks.range);
    free(r->words.range);
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
    if (m != NULL)
        free(m->retired);
    free(m);
}

static struct region *region_new(struct gpu_mirror *m, struct poptrie *t, const uint8_t *arena)
{
    struct region *r = calloc(1, sizeof(*r));

    if (r == NULL)
        return NULL;
    r->mirror = m;
    r->arena = arena;
    r->blocks.range = calloc(RANGES, sizeof(struct range));
    r->words.range = calloc(RANGES, sizeof(struct range));
    if (r->blocks.range == NULL || r->words.range == NULL) {
        region_free(r);
        return NULL;
    }
    r->watch = t;
    r->next = m->regions;
    m->regions = r;
    poptrie_watch(t, &(struct poptrie_watch){change_begins, block_note, words_note, r});
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
    m->copied_bytes += bytes;
    return m->device->ops->upload(m->device, to, from, bytes);
}

static bool retired_reserve(struct gpu_mirror *m, size_t more)
{
    uint64_t *room;

    if (m->n_retired + more <= m->retired_room)
        return true;
    room = realloc(m->retired, (m->n_retired + more) * sizeof(*room));
    if (room == NULL)
        return false;
    m->retired = room;
    m->retired_room = m->n_retired + more;
    return true;
}

// Replaces the memory at *at.
static int memory_replace(struct gpu_mirror *m, uint64_t *at, size_t bytes)
{
    uint64_t fresh = retired_reserve(m, 1) ? m->device->ops->alloc(m->device, bytes) : 0;

    if (fresh == 0)
        return -ENOMEM;
    if (*at != 0)
        m->retired[m->n_retired++] = *at;
    *at = fresh;
    return 0;
}

static int region_copy(struct gpu_mirror *m, struct region *r)
{
    struct poptrie_image image;
    size_t room;
    int rc;

    poptrie_image(r->watch, &image);
    room = image.arena_bytes + image.arena_bytes / 2 + SPARE;
    rc = memory_replace(m, &r->at, room + ARENA_TAIL_BYTES);
    if (rc == 0) {
        r->room = room;
        rc = copy(m, r->at, r->arena, image.arena_bytes);
    }
    for (unsigned i = 0; i < m->n && rc == 0; i++) {
        struct entry *e = &m->entry[i];

        if (e->region != r)
            continue;
        poptrie_image(e->table, &image);
        rc = memory_replace(m, &e->dir, image.dir_bytes);
        if (rc == 0)
            rc = copy(m, e->dir, image.dir, image.dir_bytes);
    }
    return rc;
}

static struct gpu_table entry_view(const struct entry *e)
{
    struct poptrie_image image;
    struct gpu_table g;

    poptrie_image(e->table, &image);
    g = (struct gpu_table){.dir = e->dir,
                           .arena = e->region->at,
                           .key_bits = image.key_bits,
                           .outside = *image.outside};
    memcpy(g.floor, image.floor, sizeof(g.floor));
    return g;
}

static int tables_copy(struct gpu_mirror *m)
{
    size_t bytes = m->n * sizeof(struct gpu_table);
    struct gpu_table *list = malloc(bytes);
    int rc = list == NULL ? -ENOMEM : memory_replace(m, &m->next_tables, bytes);

    for (unsigned i = 0; i < m->n && rc == 0; i++)
        list[i] = entry_view(&m->entry[i]);
    if (rc == 0)
        rc = copy(m, m->next_tables, list, bytes);
    free(list);
    return rc;
}

// Copies the fields of an entry that change in place.
static int entry_patch(struct gpu_mirror *m, unsigned i)
{
    struct gpu_table g = entry_view(&m->entry[i]);
    size_t from = offsetof(struct gpu_table, outside);

    return copy(m, m->next_tables + i * sizeof(g) + from, (const char *)&g + from,
                sizeof(g) - from);
}

static int ranges_copy(struct gpu_mirror *m, const struct ranges *r)
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
        rc = r->whole ? region_copy(m, r) : ranges_copy(m, &r->blocks);
    }
    for (struct region *r = m->regions; r != NULL && rc == 0; r = r->next)
        rc = r->whole ? 0 : ranges_copy(m, &r->words);
    if (rc == 0 && moved)
        rc = tables_copy(m);
    for (unsigned i = 0; i < m->n && rc == 0 && !moved; i++)
        rc = m->entry[i].touched ? entry_patch(m, i) : 0;
    return rc;
}

static void notes_clear(struct gpu_mirror *m)
{
    for (struct region *r = m->regions; r != NULL; r = r->next) {
        r->blocks.n = r->words.n = 0;
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
        r->whole |= image.arena_bytes > r->room;
    }
}

int gpu_mirror_commit(struct gpu_mirror *m, uint64_t *ticket)
{
    int rc;

    gpu_mirror_poll(m);
    if (gpu_mirror_state(m) != GPU_ON)
        return -ENODEV;
    if (m->waits_for != NOTHING)
        return -EAGAIN;
    regions_check(m);
    m->version = m->changes;
    rc = everything_copy(m);
    if (rc == 0)
        rc = m->device->ops->mark(m->device, &m->mark);
    if (rc != 0) { // a partial copy is useless
        for (struct region *r = m->regions; r != NULL; r = r->next)
            r->whole = true;
        if (rc == -ENODEV)
            gpu_mirror_fail(m, GPU_LOST);
        return rc;
    }
    notes_clear(m);
    m->waits_for = COPIES;
    *ticket = ++m->committed;
    return 0;
}

// --- tickets ---

static void copies_arrived(struct gpu_mirror *m)
{
    __atomic_store_n(&m->tables, m->next_tables, __ATOMIC_SEQ_CST);
    __atomic_store_n(&m->on_device, m->version, __ATOMIC_SEQ_CST);
    // Partner: gpu_queue_send, which counts a batch before it reads `tables`.
    gpu_mirror_sent(m, m->before);
    m->waits_for = BATCHES;
}

void gpu_mirror_sent(const struct gpu_mirror *m, uint64_t sent[GPU_READERS_MAX])
{
    for (unsigned i = 0; i < GPU_READERS_MAX; i++)
        sent[i] = m->reader[i] == NULL ? 0 : __atomic_load_n(&m->reader[i]->sent, __ATOMIC_SEQ_CST);
}

bool gpu_mirror_are_back(const struct gpu_mirror *m, const uint64_t sent[GPU_READERS_MAX])
{
    for (unsigned i = 0; i < GPU_READERS_MAX; i++)
        if (m->reader[i] != NULL &&
            __atomic_load_n(&m->reader[i]->received, __ATOMIC_ACQUIRE) < sent[i])
            return false;
    return true;
}

uint64_t gpu_mirror_poll(struct gpu_mirror *m)
{
    int rc;

    if (gpu_mirror_state(m) != GPU_ON)
        return m->passed = m->committed;
    if (m->waits_for == COPIES) {
        rc = m->device->ops->passed(m->device, m->mark);
        if (rc < 0)
            gpu_mirror_fail(m, GPU_LOST);
        else if (rc == 1)
            copies_arrived(m);
    }
    if (m->waits_for == BATCHES && gpu_mirror_are_back(m, m->before)) {
        while (m->n_retired > 0)
            m->device->ops->free(m->device, m->retired[--m->n_retired]);
        m->passed = m->committed;
        m->waits_for = NOTHING;
    }
    return m->passed;
}

uint64_t gpu_mirror_copied_bytes(const struct gpu_mirror *m)
{
    return m->copied_bytes;
}

uint64_t gpu_mirror_bytes(const struct gpu_mirror *m)
{
    struct poptrie_image image;
    uint64_t sum = m->n * sizeof(struct gpu_table);

    for (const struct region *r = m->regions; r != NULL; r = r->next)
        sum += r->room + ARENA_TAIL_BYTES;
    for (unsigned i = 0; i < m->n; i++) {
        poptrie_image(m->entry[i].table, &image);
        sum += image.dir_bytes;
    }
    return sum;
}

bool gpu_mirror_has(const struct gpu_mirror *m, const struct poptrie *t)
{
    for (unsigned i = 0; i < m->n; i++)
        if (m->entry[i].table == t)
            return true;
    return false;
}

uint64_t gpu_mirror_ticket(const struct gpu_mirror *m)
{
    return m->committed + (m->version != m->changes);
}

// --- state ---

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
            m->before[i] = 0;
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
    return __atomic_load_n(&m->tables, __ATOMIC_SEQ_CST);
}

const struct poptrie *gpu_mirror_table(const struct gpu_mirror *m, unsigned number)
{
    return m->entry[number].table;
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
