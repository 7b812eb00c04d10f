// SPDX-License-Identifier: BSD-3-Clause
// iface.c - the table of interfaces
//
// New ids are the lowest free ones, so that searches can stop at the highest id ever used. A freed
// entry keeps its content, which a burst may still read, but its kind is NONE; the id is free again
// when its grace ticket is over.
//
// Names have hash chains that only control changes. Another thread may follow an id that moves to
// another chain meanwhile, and miss its name; then it searches all entries.
#include "table/iface.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/hash.h"
#include "base/log.h"
#include "core/mem.h"
#include "core/thread.h"
#include "table/counter.h"
#include "table/grace.h"
#include "table/ledger_vr.h"
#include "table/nexthop_count.h"
#include "table/past.h"
#include "table/tunnel.h"

struct iface *iface_table;
uint64_t (*iface_macs)[IFACE_MACS];
uint16_t iface_acl_out_of_all;
bool iface_police_out;
bool iface_program_out;

#define CHAINS 8192u

enum state { FREE, USED, WAITING };

static struct slot {
    uint8_t state; // enum state
    uint16_t next; // in its chain
    uint64_t ticket;
} * slots;
static unsigned n_ids;             // highest id ever used + 1
static uint32_t n_changes;
static unsigned lowest;            // no id below is free
static uint16_t chain[CHAINS];     // ids, by name
static unsigned acl_out_bound;     // interfaces with an output list
static unsigned police_out_bound;  // interfaces with an output policer
static unsigned program_out_bound; // virtual routers with programs at hook output
static bool program_in[VR_MAX], program_out[VR_MAX];

int iface_table_init(void)
{
    iface_table = mem_map("interfaces", IFACE_MAX * sizeof *iface_table);
    iface_macs = calloc(IFACE_MAX, sizeof *iface_macs);
    slots = calloc(IFACE_MAX, sizeof *slots);
    n_ids = lowest = 1;
    memset(chain, 0, sizeof chain);
    acl_out_bound = police_out_bound = program_out_bound = iface_acl_out_of_all = 0;
    iface_police_out = iface_program_out = false;
    memset(program_in, 0, sizeof program_in);
    memset(program_out, 0, sizeof program_out);
    if (iface_table && iface_macs && slots)
        return 0;
    iface_table_fini();
    return -ENOMEM;
}

void iface_table_fini(void)
{
    mem_unmap(iface_table, IFACE_MAX * sizeof *iface_table);
    iface_table = NULL;
    free(iface_macs);
    iface_macs = NULL;
    free(slots);
    slots = NULL;
}

static struct iface *find_iface(bool (*match)(const struct iface *i, const void *key),
                                const void *key)
{
    unsigned n = __atomic_load_n(&n_ids, __ATOMIC_ACQUIRE); // partner: release in iface_new

    for (unsigned id = 1; id < n; id++)
        if (__atomic_load_n(&slots[id].state, __ATOMIC_ACQUIRE) == USED &&
            match(&iface_table[id], key))
            return &iface_table[id];
    return NULL;
}

static bool has_name(const struct iface *i, const void *key)
{
    return !strcmp(i->name, key);
}

static uint16_t *chain_of(const char *name)
{
    return &chain[hash_bytes(name, strlen(name), 0) % CHAINS];
}

struct iface *iface_find_name(const char *name)
{
    uint16_t id = __atomic_load_n(chain_of(name), __ATOMIC_ACQUIRE); // partner: chain_add

    for (; id; id = __atomic_load_n(&slots[id].next, __ATOMIC_ACQUIRE))
        if (slots[id].state == USED && !strcmp(iface_table[id].name, name))
            return &iface_table[id];
    return thread_role() == ROLE_CONTROL ? NULL : find_iface(has_name, name);
}

static void chain_add(uint16_t id)
{
    uint16_t *first = chain_of(iface_table[id].name);

    __atomic_store_n(&slots[id].next, *first, __ATOMIC_RELEASE);
    __atomic_store_n(first, id, __ATOMIC_RELEASE);
}

static void chain_remove(uint16_t id)
{
    uint16_t *at = chain_of(iface_table[id].name);

    while (*at != id)
        at = &slots[*at].next;
    __atomic_store_n(at, slots[id].next, __ATOMIC_RELEASE);
}

struct index_key {
    uint16_t vr;
    int ifindex;
};

static bool has_index(const struct iface *i, const void *key)
{
    const struct index_key *k = key;

    return i->vr == k->vr && __atomic_load_n(&i->ifindex, __ATOMIC_RELAXED) == k->ifindex;
}

struct iface *iface_find_ifindex(uint16_t vr, int ifindex)
{
    struct index_key key = {vr, ifindex};

    return ifindex > 0 ? find_iface(has_index, &key) : NULL;
}

static void keep_iface(const struct iface *i)
{
    past_keep(PAST_IFACE, i->id, i, sizeof *i);
}

bool iface_was(uint16_t id, uint64_t at_ns, struct iface *was)
{
    *was = *iface_get(id);
    return past_find(PAST_IFACE, id, at_ns, was, sizeof *was) >= 0;
}

static bool is_reusable(struct slot *s)
{
    return s->state == FREE || (s->state == WAITING && grace_over(s->ticket));
}

void iface_set_flags(struct iface *i, unsigned mask, unsigned flags)
{
    thread_must_be(ROLE_CONTROL);
    if ((iface_flags(i) ^ flags) & mask & IFACE_UP)
        keep_iface(i);
    iface_put_flags(i, mask, flags);
}

void iface_set_mpls(uint16_t iface, bool on)
{
    thread_must_be(ROLE_RIB_MANAGER);
    __atomic_store_n(&iface_table[iface].mpls, on, __ATOMIC_RELAXED);
}

void iface_set_vr(struct iface *i, uint16_t vr)
{
    thread_must_be(ROLE_CONTROL);
    if (tunnel_is_port(i->port) && tunnel_get(tunnel_of_iface(i))->id.vr != vr)
        nexthop_cross_begin();
    ledger_vr_move(i->id, vr);
    n_changes++;
    __atomic_store_n(&i->flags_vr, (uint16_t)(i->flags | vr << IFACE_FLAGS_BITS), __ATOMIC_RELEASE);
    iface_set_flags(i, IFACE_PROGRAM, program_in[vr] ? IFACE_PROGRAM : 0);
}

// A concurrent forwarder may miss a MAC for a moment, but finds none that was not set.
bool iface_set_macs(struct iface *i, const uint64_t *mac, unsigned n)
{
    bool changed = false;

    thread_must_be(ROLE_CONTROL);
    for (unsigned k = 0; k < IFACE_MACS; k++) {
        uint64_t w = k < n ? mac[k] : 0;

        changed |= iface_macs[i->id][k] != w;
        __atomic_store_n(&iface_macs[i->id][k], w, __ATOMIC_RELAXED);
    }
    return changed;
}

static void acl_out_compare(void)
{
    uint16_t list = 0;
    bool any = false, same = true;

    for (unsigned id = 1; acl_out_bound && id < n_ids && same; id++) {
        if (slots[id].state != USED)
            continue;
        same = !any || iface_table[id].acl_out == list;
        list = iface_table[id].acl_out;
        any = true;
    }
    __atomic_store_n(&iface_acl_out_of_all, same ? list : 0, __ATOMIC_RELAXED);
}

// Must all interfaces have IFACE_ACL_OUT?
static bool decides_out(void)
{
    return acl_out_bound || police_out_bound || program_out_bound;
}

static void decide_out_set(void)
{
    for (unsigned id = 1; id < n_ids; id++)
        if (slots[id].state == USED)
            iface_set_flags(&iface_table[id], IFACE_ACL_OUT, decides_out() ? IFACE_ACL_OUT : 0);
}

void iface_bind_police(struct iface *i, uint8_t police)
{
    bool was = decides_out();

    thread_must_be(ROLE_CONTROL);
    police_out_bound += !!(police & IFACE_POLICE_OUT);
    police_out_bound -= !!(i->police & IFACE_POLICE_OUT);
    __atomic_store_n(&i->police, police, __ATOMIC_RELEASE); // partner: forwarder/police.c
    __atomic_store_n(&iface_police_out, police_out_bound > 0, __ATOMIC_RELAXED);
    iface_set_flags(i, IFACE_POLICE,
                    police & (IFACE_POLICE_IN | IFACE_PCP_CLASS) ? IFACE_POLICE : 0);
    if (was != decides_out())
        decide_out_set();
}

void iface_bind_acl(struct iface *i, uint16_t in, uint16_t out)
{
    bool was = decides_out(), changes = i->acl_out != out;

    thread_must_be(ROLE_CONTROL);
    acl_out_bound += (unsigned)((out != 0) - (i->acl_out != 0));
    __atomic_store_n(&i->acl_in, in, __ATOMIC_RELAXED);
    __atomic_store_n(&i->acl_out, out, __ATOMIC_RELAXED);
    if (changes)
        acl_out_compare();
    iface_set_flags(i, IFACE_ACL_IN, in ? IFACE_ACL_IN : 0);
    if (was != decides_out())
        decide_out_set();
}

void iface_bind_program(uint16_t vr, bool in, bool out)
{
    bool was = decides_out();

    thread_must_be(ROLE_CONTROL);
    program_out_bound += (unsigned)(out - program_out[vr]);
    program_in[vr] = in;
    program_out[vr] = out;
    __atomic_store_n(&iface_program_out, program_out_bound > 0, __ATOMIC_RELAXED);
    for (unsigned id = 1; id < n_ids; id++)
        if (slots[id].state == USED && iface_table[id].vr == vr)
            iface_set_flags(&iface_table[id], IFACE_PROGRAM, in ? IFACE_PROGRAM : 0);
    if (was != decides_out())
        decide_out_set();
}

unsigned iface_id_end(void)
{
    return __atomic_load_n(&n_ids, __ATOMIC_ACQUIRE); // partner: iface_new
}

uint32_t iface_changes(void)
{
    return n_changes;
}

struct iface *iface_new(const char *name)
{
    thread_must_be(ROLE_CONTROL);
    while (lowest < IFACE_TRIAL && slots[lowest].state == USED)
        lowest++;
    unsigned id = lowest;
    while (id < IFACE_TRIAL && !is_reusable(&slots[id]))
        id++;
    if (id == IFACE_TRIAL)
        return NULL;
    struct iface *i = &iface_table[id];
    n_changes++;
    ledger_vr_end_iface((uint16_t)id);
    i->id = (uint16_t)id;
    keep_iface(i);
    memset(i, 0, sizeof *i);
    i->id = (uint16_t)id;
    snprintf(i->name, sizeof i->name, "%s", name);
    i->flags = decides_out() ? IFACE_ACL_OUT : 0;
    __atomic_store_n(&iface_acl_out_of_all, 0, __ATOMIC_RELAXED); // the new interface has no list
    counter_begin_iface(i->id);
    // After the name; partner: find_iface().
    __atomic_store_n(&slots[id].state, USED, __ATOMIC_RELEASE);
    chain_add(i->id);
    if (id >= n_ids)
        __atomic_store_n(&n_ids, id + 1, __ATOMIC_RELEASE);
    return i;
}

void iface_free(struct iface *i)
{
    thread_must_be(ROLE_CONTROL);
    n_changes++;
    bug_on(slots[i->id].state != USED);
    iface_bind_acl(i, 0, 0);
    iface_bind_police(i, 0);
    iface_set_macs(i, NULL, 0);
    keep_iface(i);
    iface_set_flags(i, IFACE_UP, 0);
    __atomic_store_n(&i->kind, IFACE_NONE, __ATOMIC_RELAXED);
    __atomic_store_n(&slots[i->id].state, WAITING, __ATOMIC_RELEASE);
    chain_remove(i->id);
    if (i->id < lowest)
        lowest = i->id;
    acl_out_compare();
    slots[i->id].ticket = grace_ticket();
}
