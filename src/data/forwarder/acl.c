// SPDX-License-Identifier: BSD-3-Clause
// acl.c - access lists: selects the list of each packet (table/acl.h)
//
//   in     packets with sound headers; at acl_out with an adjacency that takes them
//   out    permitted packets, in the same order
//   exits  ACL_DENIED, ACL_REJECTED, ACL_POLICED, ACL_UNREADABLE; ICMP errors, TCP resets
//
// Packets with the same list are decided together (acl_decide.c), list by list.
//
// Input lists see all IP packets that an interface receives, including packets for us, before they
// are punted or copied. Output lists see forwarded packets, also those back from hold or about to
// be fragmented, and each copy of multicast. Lists do not see non-IP frames (ARP, IS-IS ...),
// packets that the kernel sends by a TAP, and our own ICMP errors.
#include "forwarder/acl.h"

#include "forwarder/drop.h"
#include "forwarder/packet.h"
#include "forwarder/forbidden.h"

static const uint8_t all_places[BURST_MAX] = {
    0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21,
    22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43,
    44, 45, 46, 47, 48, 49, 50, 51, 52, 53, 54, 55, 56, 57, 58, 59, 60, 61, 62, 63};

// Drops the packets without a key, a bit for each in `none`; `at` gets the others. Returns the mask
// of dropped packets.
static __rte_noinline uint64_t drop_unreadable(struct forwarder *f, struct burst *b,
                                              struct acl_group *a, uint8_t *at, uint64_t none)
{
    uint64_t gone = 0;
    unsigned n = 0;

    for (unsigned k = 0; k < a->n; k++) {
        unsigned i = a->at[k];
        if (none >> i & 1) {
            packet_drop_of(f, b, i, DROP_ACL_UNREADABLE);
            gone |= 1ull << i;
        } else {
            at[n++] = (uint8_t)i;
        }
    }
    a->at = at;
    a->n = n;
    return gone;
}

static uint64_t make_keys(const struct burst *b, union acl_keys *key)
{
    return b->family == IP4 ? acl_keys4(b, key->four) : acl_keys6(b, key->six);
}

// All packets of the burst have this list.
static void decide_one_list(struct forwarder *f, struct burst *b, uint16_t list, bool out)
{
    struct acl_group a; // not cleared: its slots are large
    uint64_t gone = 0, none;
    union acl_keys key;
    uint8_t at[BURST_MAX];

    a.c = acl_content_of(list);
    if (!a.c) // no content, or being removed
        return;
    a.list = list;
    a.out = out;
    a.matched = false;
    a.n = b->n;
    a.at = all_places;
    a.key = NULL;
    if (a.c->rules && !acl_match_by_address(f, b, &a)) {
        a.key = &key;
        none = make_keys(b, &key);
        if (unlikely(none))
            gone = drop_unreadable(f, b, &a, at, none);
    }
    if (likely(a.n))
        gone |= acl_decide(f, b, &a);
    if (unlikely(gone))
        burst_remove(b, gone);
}

// Takes the packets with the same list as the first one out of `left`.
static void gather_list(struct acl_group *a, uint8_t *at, const uint16_t *list, uint64_t *left)
{
    a->list = list[__builtin_ctzll(*left)];
    a->c = acl_content_of(a->list);
    a->at = at;
    a->n = 0;
    for (uint64_t rest = *left; rest; rest &= rest - 1) {
        unsigned i = (unsigned)__builtin_ctzll(rest);
        if (list[i] != a->list)
            continue;
        at[a->n++] = (uint8_t)i;
        *left &= ~(1ull << i);
    }
}

// list[i] is the list of packet i, 0 = none. Bursts rarely have several lists.
static __rte_noinline void decide_several_lists(struct forwarder *f, struct burst *b,
                                            const uint16_t *list, bool out)
{
    struct acl_group a = {.out = out};
    uint64_t left = UINT64_MAX >> (BURST_MAX - b->n), gone = 0, none = 0;
    union acl_keys key;
    uint8_t at[BURST_MAX];

    while (left) {
        gather_list(&a, at, list, &left);
        if (!a.c)
            continue;
        if (a.c->rules && !a.key) {
            a.key = &key;
            none = make_keys(b, &key);
        }
        if (a.c->rules && unlikely(none))
            gone |= drop_unreadable(f, b, &a, at, none);
        if (a.n)
            gone |= acl_decide(f, b, &a);
    }
    if (gone)
        burst_remove(b, gone);
}

// n must be positive.
static bool all_same(const uint16_t *word, unsigned n)
{
    uint16_t other = 0;

    for (unsigned i = 1; i < n; i++)
        other |= word[i] ^ word[0];
    return !other;
}

static void decide_burst(struct forwarder *f, struct burst *b, const uint16_t *list, bool out)
{
    if (likely(all_same(list, b->n)))
        decide_one_list(f, b, list[0], out);
    else
        decide_several_lists(f, b, list, out);
}

static uint16_t list_in(uint16_t iface)
{
    return __atomic_load_n(&iface_get(iface)->acl_in, __ATOMIC_RELAXED);
}

static uint16_t list_out(uint16_t iface)
{
    return __atomic_load_n(&iface_get(iface)->acl_out, __ATOMIC_RELAXED);
}

void acl_in(struct forwarder *f, struct burst *b)
{
    uint16_t list[BURST_MAX];

    if (likely(all_same(b->iface, b->n))) {
        decide_one_list(f, b, list_in(b->iface[0]), false);
        return;
    }
    for (unsigned i = 0; i < b->n; i++)
        list[i] = list_in(b->iface[i]);
    decide_burst(f, b, list, false);
}

void acl_out(struct forwarder *f, struct burst *b)
{
    uint16_t list[BURST_MAX], of_all = __atomic_load_n(&iface_acl_out_of_all, __ATOMIC_RELAXED);

    if (of_all) {
        decide_one_list(f, b, of_all, true);
        return;
    }
    list[0] = list_out(nexthop_word_iface(b->word[0])); // n > 0
    for (unsigned i = 1; i < b->n; i++)
        list[i] = list_out(nexthop_word_iface(b->word[i]));
    decide_burst(f, b, list, true);
}

enum drop_reason acl_one(struct forwarder *f, struct burst *b, unsigned i, uint16_t iface,
                         bool out)
{
    uint16_t list = out ? list_out(iface) : list_in(iface);
    const struct acl_content *c = acl_content_of(list);
    struct acl_verdict v = {.c = c, .list = list, .iface = iface, .out = out};
    union acl_keys key;
    uint32_t slot = ACL_MISS;

    if (!c)
        return DROP_NONE;
    if (c->rules) {
        v.key = &key;
        if (!(b->family == IP4 ? acl_key4(b, i, key.four) : acl_key6(b, i, key.six)))
            return DROP_ACL_UNREADABLE;
        const struct acl_asked q = acl_asked_of(c, list);
        acl_cache_classify(acl_cache_for(f, c), &q, acl_family_of(b), &key, &slot, 1);
    }
    v.place = acl_place(c, slot);
    if (!f->dry) {
        c->hits[f->index][v.place].packets++;
        c->hits[f->index][v.place].bytes += b->len[i];
    }
    if (f->record.on)
        acl_record(f, b, &v);
    return c->verb[v.place] == ACL_PERMIT ? DROP_NONE : acl_act(f, b, i, &v);
}
