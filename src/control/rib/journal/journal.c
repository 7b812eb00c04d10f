// SPDX-License-Identifier: BSD-3-Clause
// journal.c - the ring of route changes
//
// The ring is allocated whole and touched as it fills. An overwritten record releases its next
// hops. The clock is read once per batch of events, not once per record.
//
// Invariants:
//   J1  records oldest..next-1 exist, in order of time;
//   J2  they hold each next hop that they name;
//   J3  the journal knows the meaning of each id that a prefix of the FIB names.
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "core/manager.h"
#include "core/thread.h"
#include "rib/journal/journal_priv.h"
#include "table/limits.h"

struct ring journal_ring;
static uint32_t size_mib;
static uint64_t now_ns; // of this batch, 0 = not read yet
static enum journal_cause because;
static uint64_t begin_ns[VR_MAX][2]; // time of the table's load; 0 = not loaded yet
// Time of the newest record already dropped, or when the journal was switched on.
static uint64_t dropped_ns;

static void set_nexthop_limit(void)
{
    uint64_t bytes = (uint64_t)size_mib << 17; // an eighth of it

    journal_nexthop_limit(bytes < 1u << 20 ? 1u << 20 : bytes);
}

int journal_init(void)
{
    thread_must_be(ROLE_RIB_MANAGER);
    journal_ring = (struct ring){.next = FIRST_RECORD, .oldest = FIRST_RECORD};
    memset(begin_ns, 0, sizeof begin_ns);
    size_mib = 0;
    dropped_ns = clock_now_ns();
    set_nexthop_limit();
    return journal_nexthop_init();
}

void journal_fini(void)
{
    free(journal_ring.at);
    journal_ring = (struct ring){0};
    journal_nexthop_fini();
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
    // the rest is for next hops
    uint64_t room = (((uint64_t)mib << 20) - ((uint64_t)mib << 17)) / sizeof(struct record);
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

void journal_loaded(uint16_t vr, uint8_t family)
{
    begin_ns[vr][family == IP6] = clock_now_ns();
}

uint64_t journal_reach(uint16_t vr, uint8_t family)
{
    uint64_t begin = begin_ns[vr][family == IP6];

    if (!begin || !journal_ring.room)
        return UINT64_MAX;
    return begin > dropped_ns ? begin : dropped_ns;
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
    if (journal_nexthop_is(was, &w))
        return;
    is = journal_nexthop_get(&w);
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
    journal_nexthop_set(nexthop, is);
}

void journal_forget(uint32_t nexthop)
{
    journal_nexthop_set(nexthop, 0);
}

void journal_route(uint16_t vr, const struct prefix *p, uint32_t was, uint8_t was_protocol,
                   uint32_t is, uint8_t protocol)
{
    struct record *r;

    if (!journal_ring.room)
        return;
    r = append_record();
    r->was = journal_nexthop_of(was);
    r->is = journal_nexthop_of(is);
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
                         .was = row->was ? journal_nexthop_get(&a->nexthop.item[row->was - 1]) : 0,
                         .is = row->is ? journal_nexthop_get(&a->nexthop.item[row->is - 1]) : 0,
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
                                .changes = journal_ring.next - FIRST_RECORD};
    journal_nexthop_stats(s);
    if (!s->records)
        return;
    s->since_ns = clock_wall_ns() - (clock_now_ns() - record_at(journal_ring.oldest)->time_ns);
}
