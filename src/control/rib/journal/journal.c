// SPDX-License-Identifier: BSD-3-Clause
// journal.c - the ring of route changes, and the past meanings of next-hop ids
//
// The ring is allocated whole and touched as it fills. An overwritten record releases its next
// hops. The clock is read once per batch of events, not once per record.
//
// Each meaning of a next-hop id is stored once and counted: it is held by the records that name it
// and by the id that has this meaning now. A router has a handful of them, but each next-hop object
// that comes and goes leaves one behind while a record names it. So memory for legs is limited,
// too: beyond the limit only the kind of a next hop is kept.
//
// Invariants:
//   J1  records oldest..next-1 exist, in order of time;
//   J2  they hold each next hop that they name;
//   J3  the journal knows the meaning of each id that a prefix of the FIB names.
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/log.h"
#include "core/manager.h"
#include "core/thread.h"
#include "rib/journal/journal_priv.h"
#include "rib/rib_map.h"
#include "table/limits.h"
#include "table/nexthop.h"
#include "table/past.h"

struct ring journal_ring;
static uint32_t size_mib;
static uint64_t now_ns; // of this batch, 0 = not read yet
static enum journal_cause because;
// Time of the newest record already dropped, or when the journal was switched on.
static uint64_t dropped_ns;

// --- next hops by number, counted ---

struct stored {
    uint32_t holders, hash_next;
    uint64_t hash;
    uint32_t bytes;
    struct journal_nexthop w; // only the first n_legs legs are allocated
};

static VEC(struct stored *) stored; // number 0 is "no route"
static VEC(uint32_t) free_ids;
static struct rib_map by_hash; // first number of each chain
static uint64_t n_bytes, max_bytes, n_refused;
static uint32_t *meaning; // [NEXTHOP_ALL_MAX] -> number in `stored`

static size_t nexthop_size(const struct journal_nexthop *w)
{
    return offsetof(struct journal_nexthop, leg) + w->n_legs * sizeof w->leg[0];
}

static bool nexthops_equal(const struct journal_nexthop *a, const struct journal_nexthop *b)
{
    if (a->nexthop != b->nexthop || a->kind != b->kind || a->n_legs != b->n_legs ||
        a->n_more != b->n_more)
        return false;
    for (unsigned i = 0; i < a->n_legs; i++)
        if (strcmp(a->leg[i].iface, b->leg[i].iface) || a->leg[i].weight != b->leg[i].weight ||
            !label_stack_equal(&a->leg[i].labels, &b->leg[i].labels) ||
            a->leg[i].gateway.family != b->leg[i].gateway.family ||
            (a->leg[i].gateway.family && !ip_equal(&a->leg[i].gateway, &b->leg[i].gateway)))
            return false;
    return true;
}

static uint64_t nexthop_hash(const struct journal_nexthop *w)
{
    uint64_t h = hash_mix64((uint64_t)w->nexthop << 32 | (uint64_t)w->kind << 24 | w->n_legs);

    for (unsigned i = 0; i < w->n_legs; i++) {
        h = hash_bytes(w->leg[i].iface, strlen(w->leg[i].iface), h + w->leg[i].weight);
        h = hash_bytes(w->leg[i].gateway.b, w->leg[i].gateway.family ? 16 : 0, h);
        h = hash_bytes(&w->leg[i].labels, sizeof w->leg[i].labels, h);
    }
    return h;
}

static uint32_t key_of(uint64_t hash)
{
    return (uint32_t)hash | 1;
}

static uint32_t store_nexthop(const struct journal_nexthop *w, uint64_t hash)
{
    size_t bytes = offsetof(struct stored, w) + nexthop_size(w);
    struct stored *made = malloc(bytes);
    uint32_t id;

    bug_on(!made);
    if (free_ids.n) {
        id = free_ids.item[--free_ids.n];
    } else {
        id = (uint32_t)stored.n;
        (void)*vec_push(&stored);
    }
    made->holders = 1;
    made->hash_next = rib_map_number(&by_hash, key_of(hash));
    made->hash = hash;
    made->bytes = (uint32_t)bytes;
    memcpy(&made->w, w, nexthop_size(w));
    rib_map_set_number(&by_hash, key_of(hash), id);
    stored.item[id] = made;
    n_bytes += bytes;
    return id;
}

static uint32_t keep_nexthop(const struct journal_nexthop *w)
{
    struct journal_nexthop bare = {
        .nexthop = w->nexthop, .kind = w->kind, .n_more = (uint16_t)(w->n_legs + w->n_more)};
    uint64_t hash = nexthop_hash(w);

    for (uint32_t id = rib_map_number(&by_hash, key_of(hash)); id; id = stored.item[id]->hash_next)
        if (nexthops_equal(&stored.item[id]->w, w)) {
            stored.item[id]->holders++;
            return id;
        }
    if (w->n_legs && n_bytes + nexthop_size(w) > max_bytes) {
        n_refused++;
        return keep_nexthop(&bare);
    }
    return store_nexthop(w, hash);
}

void journal_nexthop_hold(uint32_t id)
{
    if (id)
        stored.item[id]->holders++;
}

void journal_nexthop_put(uint32_t id)
{
    struct stored *w = stored.item[id];

    if (!id || --w->holders)
        return;
    uint32_t before = rib_map_number(&by_hash, key_of(w->hash));
    if (before == id) {
        rib_map_set_number(&by_hash, key_of(w->hash), w->hash_next);
    } else {
        while (stored.item[before]->hash_next != id)
            before = stored.item[before]->hash_next;
        stored.item[before]->hash_next = w->hash_next;
    }
    stored.item[id] = NULL;
    *vec_push(&free_ids) = id;
    n_bytes -= w->bytes;
    free(w);
}

void journal_nexthop_copy(uint32_t id, struct journal_nexthop *to)
{
    memset(to, 0, sizeof *to);
    memcpy(to, &stored.item[id]->w, nexthop_size(&stored.item[id]->w));
}

uint32_t journal_nexthop_top(void)
{
    return (uint32_t)stored.n;
}

uint32_t journal_nexthop_of(uint32_t nexthop)
{
    return meaning[nexthop];
}

// Takes over the caller's hold.
static void set_meaning(uint32_t nexthop, uint32_t kept)
{
    uint32_t was = meaning[nexthop];

    meaning[nexthop] = kept;
    journal_nexthop_put(was);
}

// --- the ring ---

static void set_nexthop_limit(void)
{
    uint64_t bytes = (uint64_t)size_mib << 17; // an eighth of it

    max_bytes = bytes < 1u << 20 ? 1u << 20 : bytes;
}

int journal_init(void)
{
    thread_must_be(ROLE_RIB_MANAGER);
    journal_ring = (struct ring){.next = FIRST_RECORD, .oldest = FIRST_RECORD};
    size_mib = 0;
    dropped_ns = clock_now_ns();
    set_nexthop_limit();
    meaning = calloc(NEXTHOP_ALL_MAX, sizeof *meaning);
    *vec_push(&stored) = NULL;
    n_bytes = n_refused = 0;
    return meaning ? 0 : -ENOMEM;
}

void journal_fini(void)
{
    free(journal_ring.at);
    journal_ring = (struct ring){0};
    vec_foreach (&stored, w)
        free(*w);
    vec_free(&stored);
    vec_free(&free_ids);
    rib_map_fini(&by_hash);
    free(meaning);
    meaning = NULL;
    past_limit(PAST_NEXTHOP, 0);
}

static void drop_oldest(void)
{
    const struct record *r = record_at(journal_ring.oldest++);

    dropped_ns = r->time_ns;
    journal_nexthop_put(r->was);
    journal_nexthop_put(r->is);
}

int journal_resize(uint32_t mib)
{
    // 13/16 are for records, 1/16 for earlier next hops (past.h), the rest for descriptions
    uint64_t room = (uint64_t)mib * (13u << 16) / sizeof(struct record);
    struct record *at = NULL;

    thread_must_be(ROLE_RIB_MANAGER);
    if (mib == size_mib)
        return 0;
    if (room && !(at = calloc(room, sizeof *at)))
        return -ENOMEM;
    while (journal_ring.next - journal_ring.oldest > room)
        drop_oldest();
    for (uint64_t n = journal_ring.oldest; n < journal_ring.next; n++)
        at[n % room] = *record_at(n);
    free(journal_ring.at);
    journal_ring.at = at;
    journal_ring.room = room;
    if (!size_mib)
        dropped_ns = clock_now_ns();
    size_mib = mib;
    set_nexthop_limit();
    past_limit(PAST_NEXTHOP, (size_t)mib << 16);
    return 0;
}

void journal_because(enum journal_cause c)
{
    because = c;
}

void journal_new_moment(void)
{
    now_ns = 0;
}

uint64_t journal_reach(uint64_t begin_ns)
{
    if (!begin_ns || !journal_ring.room)
        return UINT64_MAX;
    return begin_ns > dropped_ns ? begin_ns : dropped_ns;
}

static struct record *append_record(void)
{
    struct ring *g = &journal_ring;
    struct record *r;

    if (g->next - g->oldest == g->room)
        drop_oldest();
    if (!now_ns)
        now_ns = clock_now_ns();
    r = &g->at[g->next++ % g->room];
    r->time_ns = now_ns;
    r->cause = (uint8_t)because;
    return r;
}

bool journal_knows(uint32_t nexthop)
{
    return journal_nexthop_of(nexthop) != 0;
}

void journal_describe(uint16_t vr, uint32_t nexthop, uint8_t kind, const struct journal_leg *leg,
                      unsigned n_legs)
{
    struct journal_nexthop w = {.nexthop = nexthop, .kind = kind};
    uint32_t was = journal_nexthop_of(nexthop), is;

    w.n_legs = (uint8_t)(n_legs < JOURNAL_LEGS ? n_legs : JOURNAL_LEGS);
    w.n_more = (uint16_t)(n_legs - w.n_legs);
    if (w.n_legs)
        memcpy(w.leg, leg, w.n_legs * sizeof *leg);
    if (was && nexthops_equal(&stored.item[was]->w, &w))
        return;
    is = keep_nexthop(&w);
    if (was && was != is && journal_ring.room) {
        struct record *r = append_record();

        journal_nexthop_hold(was);
        journal_nexthop_hold(is);
        r->was = was;
        r->is = is;
        r->vr = vr;
        r->family = r->len = r->was_protocol = r->protocol = 0;
        memset(r->b, 0, sizeof r->b);
    }
    set_meaning(nexthop, is);
}

void journal_forget(uint32_t nexthop)
{
    set_meaning(nexthop, 0);
}

void journal_route(uint16_t vr, const struct prefix *p, uint32_t was, uint8_t was_protocol,
                   uint32_t is, uint8_t protocol)
{
    struct record *r;

    if (!journal_ring.room)
        return;
    r = append_record();
    r->was_leaf = (uint16_t)was;
    r->leaf = (uint16_t)is;
    r->was = journal_nexthop_of(nexthop_real(was));
    r->is = journal_nexthop_of(nexthop_real(is));
    journal_nexthop_hold(r->was);
    journal_nexthop_hold(r->is);
    memcpy(r->b, p->b, sizeof r->b);
    r->vr = vr;
    r->family = p->family;
    r->len = p->len;
    r->was_protocol = was_protocol;
    r->protocol = protocol;
}

// --- saved across a planned stop ---

// Inserts before the oldest record; false: no space, or it would not be older (J1).
static bool put_before(const struct journal_answer *a, const struct journal_row *row,
                       uint64_t time_ns)
{
    struct ring *g = &journal_ring;
    struct record *r;

    if (g->next - g->oldest == g->room ||
        (g->next != g->oldest && record_at(g->oldest)->time_ns < time_ns))
        return false;
    r = &g->at[--g->oldest % g->room];
    *r = (struct record){.time_ns = time_ns,
                         .was = row->was ? keep_nexthop(&a->nexthop.item[row->was - 1]) : 0,
                         .is = row->is ? keep_nexthop(&a->nexthop.item[row->is - 1]) : 0,
                         .vr = row->vr,
                         .len = row->prefix.len,
                         .was_protocol = row->was_protocol,
                         .protocol = row->protocol,
                         .family = row->prefix.family,
                         .cause = row->cause};
    memcpy(r->b, row->prefix.b, sizeof r->b);
    return true;
}

static int restore_rows(void *arg)
{
    const struct journal_answer *a = *(const struct journal_answer **)arg;
    uint64_t now = clock_now_ns(), wall = clock_wall_ns();

    thread_must_be(ROLE_RIB_MANAGER);
    vec_foreach (&a->row, row)
        if (row->wall_ns <= wall && wall - row->wall_ns < now)
            put_before(a, row, now - (wall - row->wall_ns));
    return 0;
}

int journal_restore(const struct journal_answer *a)
{
    return manager_call(ROLE_RIB_MANAGER, restore_rows, &a, sizeof a);
}

const char *journal_cause_name(enum journal_cause c)
{
    static const char *const name[JOURNAL_CAUSES] = {"kernel", "link", "neighbor", "resync",
                                                     "audit", "import"};

    return name[c];
}

void journal_stats(struct journal_stats *s)
{
    *s = (struct journal_stats){.mib = size_mib,
                                .room = journal_ring.room,
                                .records = journal_ring.next - journal_ring.oldest,
                                .changes = journal_ring.next - FIRST_RECORD,
                                .nexthops = stored.n - 1 - free_ids.n,
                                .nexthop_bytes = n_bytes,
                                .nexthops_refused = n_refused};
    if (!s->records)
        return;
    s->since_ns = clock_wall_ns() - (clock_now_ns() - record_at(journal_ring.oldest)->time_ns);
}
