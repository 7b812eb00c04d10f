// SPDX-License-Identifier: BSD-3-Clause
// upgrade_proof.c - chooses addresses, answers and compares lookups for an upgrade
// (upgrade_proof.h)
//
// The addresses come from walks over the RIB, table after table: first from the beginning of each,
// then from random prefixes, with the bits behind the prefix random. With few routes, variations of
// the addresses found so far fill the rest. A group counts as the set of its members, because the
// order of its buckets depends on earlier failures, and neighbors that are not resolved count as
// equal. Control is an RCU reader while it looks up, and is quiescent every 64 lookups.
#include "main/upgrade_proof.h"

#include <errno.h>
#include <event2/event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/hash.h"
#include "core/rcu.h"
#include "core/thread.h"
#include "rib/rib_manager.h"
#include "table/iface.h"
#include "table/nexthop.h"
#include "table/vr.h"

#define CHOOSE_NS NS_PER_SECOND // then varies the addresses found so far
#define MEMBERS_MAX 256

// --- an answer -----------------------------------------------------------------------------------

static uint64_t digest_of_one(uint32_t id)
{
    const struct nexthop *nh = nexthop_get(id);
    uint64_t word = nexthop_word(nh);
    enum nexthop_kind kind = nexthop_word_kind(word);
    uint16_t iface = nexthop_word_iface(word);
    struct {
        char iface[16];
        uint8_t mac[6];
        uint8_t kind;
    } way = {.kind = (uint8_t)kind};

    // Progress and result of neighbor resolution differ between processes.
    if (kind == NEXTHOP_GLEAN || kind == NEXTHOP_FAILED)
        way.kind = NEXTHOP_HOLD;
    if (iface)
        memcpy(way.iface, iface_get(iface)->name, sizeof way.iface);
    if (kind == NEXTHOP_ADJACENCY)
        memcpy(way.mac, nexthop_rewrite(nh, word) + NEXTHOP_REWRITE - nexthop_word_head(word),
               sizeof way.mac);
    return hash_bytes(&way, sizeof way, 0);
}

static bool is_in(const uint32_t *id, unsigned n, uint32_t member)
{
    while (n--)
        if (id[n] == member)
            return true;
    return false;
}

// The members of a group, in any order: their buckets depend on the history of failures.
static uint64_t digest_of_group(const struct nexthop *nh)
{
    uint64_t word = __atomic_load_n(&nh->group.word, __ATOMIC_ACQUIRE), sum = NEXTHOP_GROUP;
    uint32_t seen[MEMBERS_MAX], n = 0;

    for (uint32_t i = 0; i <= (uint32_t)(word >> 32); i++) {
        uint32_t member = nexthop_bucket[(uint32_t)word + i];
        if (is_in(seen, n, member) || n == MEMBERS_MAX)
            continue;
        seen[n++] = member;
        sum += digest_of_one(member);
    }
    return sum;
}

static uint64_t digest_of_way(uint32_t id)
{
    uint32_t real = nexthop_real(id);
    const struct nexthop *nh = nexthop_get(real);
    bool group = nexthop_word_kind(nexthop_word(nh)) == NEXTHOP_GROUP;

    return (group ? digest_of_group(nh) : digest_of_one(real)) + nexthop_route_mtu(id);
}

static uint64_t answer_of(const struct upgrade_lookup *l)
{
    const struct vr *v = vr_find(l->vr);
    const struct fib *f = !v ? NULL : l->addr.family == IP4 ? v->fib4 : v->fib6;

    return f ? digest_of_way(fib_find(f, &l->addr)) : 0;
}

static struct upgrade_lookup *map(int file, size_t *n)
{
    struct stat s;

    if (fstat(file, &s) || (size_t)s.st_size < sizeof(struct upgrade_lookup) ||
        (size_t)s.st_size > UPGRADE_LOOKUPS_N * sizeof(struct upgrade_lookup))
        return NULL;
    *n = (size_t)s.st_size / sizeof(struct upgrade_lookup);
    void *all = mmap(NULL, *n * sizeof(struct upgrade_lookup), PROT_READ | PROT_WRITE, MAP_SHARED,
                     file, 0);
    return all == MAP_FAILED ? NULL : all;
}

// Looks up all addresses of the file. Writes the results; or keeps only the different ones in the
// file, and returns their number. On failure -errno.
static int look_up_all(int file, struct upgrade_lookup *first)
{
    size_t n, differ = 0;
    struct upgrade_lookup *l = map(file, &n);

    thread_must_be(ROLE_CONTROL);
    if (!l)
        return -EINVAL;
    rcu_online();
    for (size_t i = 0; i < n; i++) {
        l[i].vr[sizeof l[i].vr - 1] = 0;
        uint64_t answer = answer_of(&l[i]);
        if (first && l[i].answer != answer)
            l[differ++] = l[i];
        else if (!first)
            l[i].answer = answer;
        if (i % 64 == 0)
            rcu_quiescent();
    }
    rcu_offline();
    if (first)
        *first = l[0];
    munmap(l, n * sizeof *l);
    return differ && ftruncate(file, (off_t)(differ * sizeof *l)) ? -errno : (int)differ;
}

int upgrade_proof_answer(int file)
{
    return look_up_all(file, NULL);
}

int upgrade_proof_compare(int file, struct upgrade_lookup *first)
{
    return look_up_all(file, first);
}

// --- the addresses -------------------------------------------------------------------------------

static struct chooser {
    struct event_base *loop;
    void (*done)(int file);
    struct upgrade_lookup *lookup;
    unsigned n, passes; // over all tables: the first one from their beginnings
    uint64_t until_ns;
    uint16_t vr;
    uint8_t family;
    uint64_t random;
    struct rib_walk *walk;
    bool goes_on; // a walk's last rows and its end may arrive together
} chooser;

static uint64_t next_random(struct chooser *c)
{
    return hash_mix64(c->random += 0x9e3779b97f4a7c15);
}

static void add_lookup(struct chooser *c, const struct prefix *p)
{
    struct upgrade_lookup *l = &c->lookup[c->n++];
    uint64_t random[2] = {next_random(c), next_random(c)};
    unsigned bytes = p->family == IP4 ? 4 : 16;

    *l = (struct upgrade_lookup){.addr.family = p->family};
    memcpy(l->vr, vr_get(c->vr)->name, sizeof l->vr);
    memcpy(l->addr.b, p->b, bytes);
    for (unsigned bit = p->len; bit < bytes * 8; bit++)
        if (random[bit / 64] >> bit % 64 & 1)
            l->addr.b[bit / 8] |= (uint8_t)(0x80 >> bit % 8);
}

// With few routes: an address near an earlier one, or any address.
static void vary_lookup(struct chooser *c)
{
    uint64_t random = next_random(c);
    const struct upgrade_lookup *near = c->n ? &c->lookup[random % c->n] : NULL;
    struct prefix p = {.family = near ? near->addr.family : IP4};

    if (near && random >> 63) {
        p.len = p.family == IP4 ? 24 : 64;
        memcpy(p.b, near->addr.b, p.len / 8);
    }
    add_lookup(c, &p);
}

static void take_rows(struct chooser *c, const struct rib_row *row, unsigned n)
{
    for (unsigned i = 0; i < n && c->n < UPGRADE_LOOKUPS_N; i++)
        add_lookup(c, &row[i].prefix);
}

static void choose_more(evutil_socket_t fd, short what, void *arg);

static void go_on(struct chooser *c)
{
    if (c->goes_on)
        return;
    c->goes_on = true;
    if (event_base_once(c->loop, -1, EV_TIMEOUT, choose_more, c, &(struct timeval){0}))
        c->done(-ENOMEM);
}

static void walk_done(void *ctx, int result)
{
    struct chooser *c = ctx;

    c->walk = NULL;
    go_on(c);
}

static bool take_and_end(void *ctx, const struct rib_row *row, unsigned n)
{
    take_rows(ctx, row, n);
    go_on(ctx);
    return false;
}

// Continues with the next family, then the next virtual router.
static bool find_table(struct chooser *c)
{
    if (c->family == IP4) {
        c->family = IP6;
        return true;
    }
    c->family = IP4;
    for (unsigned i = 0; i < VR_MAX; i++) {
        c->vr = (uint16_t)((c->vr + 1) % VR_MAX);
        c->passes += !c->vr;
        if (vr_get(c->vr)->used)
            return true;
    }
    return false;
}

static int open_walk(struct chooser *c)
{
    struct rib_query q = {.vr = c->vr, .family = c->family, .match = RIB_FROM, .protocol = -1,
                          .type = -1, .prefix = {.family = c->family}};
    uint64_t random = next_random(c);

    if (c->passes > 1) {
        q.prefix.len = 16;
        memcpy(q.prefix.b, &random, 2);
        if (c->family == IP6) // where the routes are
            q.prefix.b[0] = 0x20 | (q.prefix.b[0] & 0xf);
    }
    c->walk = rib_walk_open(&q, take_and_end, walk_done, c);
    return c->walk ? 0 : -ENOMEM;
}

static int write_lookups(const struct chooser *c)
{
    int file = memfd_create("lookups", MFD_CLOEXEC), r = file < 0 ? -errno : 0;

    r = r ? r : file_write(file, c->lookup, c->n * sizeof *c->lookup);
    if (r && file >= 0)
        close(file);
    return r ? r : file;
}

static void choose_more(evutil_socket_t fd, short what, void *arg)
{
    struct chooser *c = arg;

    c->goes_on = false;
    if (c->walk)
        rib_walk_close(c->walk);
    c->walk = NULL;
    if (c->n < UPGRADE_LOOKUPS_N && (c->passes < 2 || clock_now_ns() < c->until_ns) &&
        find_table(c) && !open_walk(c))
        return;
    while (c->n < UPGRADE_LOOKUPS_N)
        vary_lookup(c);
    int file = c->n == UPGRADE_LOOKUPS_N ? write_lookups(c) : -ENOMEM;
    free(c->lookup);
    c->done(file);
}

void upgrade_proof_choose(struct event_base *loop, void (*done)(int file))
{
    thread_must_be(ROLE_CONTROL);
    chooser = (struct chooser){.loop = loop,
                               .done = done,
                               .family = IP6,
                               .vr = VR_MAX - 1,
                               .until_ns = clock_now_ns() + CHOOSE_NS,
                               .random = (uint64_t)getpid() << 32 ^ clock_now_ns(),
                               .lookup = calloc(UPGRADE_LOOKUPS_N, sizeof *chooser.lookup)};
    if (chooser.lookup)
        go_on(&chooser);
    else
        done(-ENOMEM);
}
