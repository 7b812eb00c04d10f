// SPDX-License-Identifier: BSD-3-Clause
// nexthop.c - next hops: ids and adjacencies (groups: nexthop_group.c)
//
// An adjacency has two copies of its rewrite. A change fills the unused copy and then names it in
// `word`, with interface and port, by one release store (N3): no reader sees one's port with the
// other's header. A burst in flight may still read the other copy, so the change draws a grace
// ticket, and the next change of the same id waits for it.
//
// A freed id keeps its content until it is reused, after its grace ticket is over (N2): a burst
// that still holds the id sends as before. Ids are reused in the order of freeing.
#include "table/nexthop.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/vec.h"
#include "core/mem.h"
#include "core/thread.h"
#include "table/grace.h"
#include "table/iface.h"
#include "table/label.h"
#include "table/nexthop_count.h"
#include "table/nexthop_group.h"
#include "table/past.h"
#include "table/sum.h"
#include "table/vr.h"

struct nexthop *nexthop_table;
struct ip_addr *nexthop_address;
uint8_t *nexthop_used_mark[FORWARDER_MAX];
uint64_t *nexthop_chosen[FORWARDER_MAX];
uint8_t nexthop_used_epoch = 1; // 0 in a mark means never

enum state { FREE, LIVE, WAITING };

static struct slot {
    uint8_t state;        // enum state
    uint64_t flip_ticket; // of the last change of the rewrite
} *slots;

struct waiting {
    uint64_t ticket;
    uint32_t id;
};
static struct ids {
    VEC(struct waiting) waiting; // freed ids, oldest first from `head` on
    size_t head;
    uint32_t next, end; // highest id ever used + 1; the highest possible one + 1
    unsigned n_used;
} all_ids[2]; // ids below NEXTHOP_MAX; ids of labels
static uint8_t *marks;
static uint64_t *chosen;

int nexthop_table_init(void)
{
    nexthop_table = mem_map("next hops", NEXTHOP_ALL_MAX * sizeof *nexthop_table);
    nexthop_address = mem_map("addresses of next hops", NEXTHOP_MAX * sizeof *nexthop_address);
    marks = mem_map("next hops in use", (size_t)FORWARDER_MAX * NEXTHOP_MAX);
    chosen = mem_map("next hops chosen", FORWARDER_MAX * NEXTHOP_MAX * sizeof *chosen);
    slots = calloc(NEXTHOP_ALL_MAX, sizeof *slots);
    all_ids[0] = (struct ids){.next = 1, .end = NEXTHOP_TRIAL};
    all_ids[1] = (struct ids){.next = NEXTHOP_MAX, .end = NEXTHOP_ALL_MAX};
    if (!nexthop_table || !nexthop_address || !marks || !chosen || !slots || nexthop_group_init() ||
        prefix_count_init()) {
        nexthop_table_fini();
        return -ENOMEM;
    }
    for (unsigned i = 0; i < FORWARDER_MAX; i++) {
        nexthop_used_mark[i] = marks + (size_t)i * NEXTHOP_MAX;
        nexthop_chosen[i] = chosen + (size_t)i * NEXTHOP_MAX;
    }
    return 0;
}

void nexthop_table_fini(void)
{
    prefix_count_fini();
    nexthop_group_fini();
    mem_unmap(nexthop_table, NEXTHOP_ALL_MAX * sizeof *nexthop_table);
    mem_unmap(marks, (size_t)FORWARDER_MAX * NEXTHOP_MAX);
    mem_unmap(nexthop_address, NEXTHOP_MAX * sizeof *nexthop_address);
    nexthop_table = NULL;
    mem_unmap(chosen, FORWARDER_MAX * NEXTHOP_MAX * sizeof *chosen);
    nexthop_address = NULL;
    marks = NULL;
    chosen = NULL;
    memset(nexthop_chosen, 0, sizeof nexthop_chosen);
    memset(nexthop_used_mark, 0, sizeof nexthop_used_mark);
    free(slots);
    slots = NULL;
    for (unsigned i = 0; i < 2; i++)
        vec_free(&all_ids[i].waiting);
}

static struct ids *ids_of(uint32_t id)
{
    return &all_ids[id >= NEXTHOP_MAX];
}

// The lowest one above `id` that has ever been used; NEXTHOP_ALL_MAX: none.
static uint32_t id_after(uint32_t id)
{
    if (++id < ids_of(id - 1)->next)
        return id;
    return id <= NEXTHOP_MAX && all_ids[1].next > NEXTHOP_MAX ? NEXTHOP_MAX : NEXTHOP_ALL_MAX;
}
#define nexthop_each(id) for (uint32_t id = id_after(0); id < NEXTHOP_ALL_MAX; id = id_after(id))

bool nexthop_is_live(uint32_t id)
{
    return id && id < NEXTHOP_ALL_MAX && slots[id].state == LIVE;
}

// --- earlier contents ---

// Returns the bytes used.
static size_t copy_now(uint32_t id, struct nexthop_past *p)
{
    p->is = nexthop_table[id];
    p->address = id < NEXTHOP_MAX ? nexthop_address[id] : (struct ip_addr){0};
    p->n = 0;
    if (p->is.kind == NEXTHOP_GROUP) {
        p->n = (uint32_t)(p->is.group.word >> 32) + 1;
        memcpy(p->bucket, &nexthop_bucket[(uint32_t)p->is.group.word], p->n * sizeof *p->bucket);
    }
    return offsetof(struct nexthop_past, bucket) + p->n * sizeof *p->bucket;
}

void nexthop_keep(uint32_t id)
{
    static struct nexthop_past was; // rib_manager's

    past_keep(PAST_NEXTHOP, id, &was, copy_now(id, &was));
}

bool nexthop_was(uint32_t id, uint64_t at_ns, struct nexthop_past *p)
{
    int r = past_find(PAST_NEXTHOP, id, at_ns, p, sizeof *p);

    if (r)
        return r > 0;
    copy_now(id, p);
    // If it has changed while it was copied, the copy made before is there now.
    return past_find(PAST_NEXTHOP, id, at_ns, p, sizeof *p) >= 0;
}

static void word_set(struct nexthop *nh, struct nexthop with)
{
    // Release, partner: acquire in nexthop_word. The rewrite is complete before `word` names it.
    __atomic_store_n(&nh->word, with.word, __ATOMIC_RELEASE);
}

static void kind_set(struct nexthop *nh, enum nexthop_kind kind)
{
    word_set(nh, (struct nexthop){.kind = (uint8_t)kind,
                                  .rewrite_at = nh->rewrite_at,
                                  .iface = nh->iface,
                                  .mtu = nh->mtu,
                                  .port = nh->port,
                                  .head = nh->head});
}

// The MTU of packets that get n labels, 0 = none.
static uint16_t mtu_below(uint16_t mtu, unsigned n)
{
    const unsigned labels = n * 4;

    return mtu > labels ? (uint16_t)(mtu - labels) : mtu ? 1 : 0;
}

// Output by `iface`, 0 = none.
static struct nexthop output_by(enum nexthop_kind kind, uint16_t iface)
{
    const struct iface *i = iface_get(iface);

    return (struct nexthop){.kind = (uint8_t)kind,
                            .rewrite_at = offsetof(struct nexthop, rewrite),
                            .iface = iface,
                            .mtu = iface ? i->mtu : 0,
                            .port = iface ? (uint8_t)i->port : 0};
}

static uint32_t id_take(struct ids *ids)
{
    if (ids->head < ids->waiting.n && grace_over(ids->waiting.item[ids->head].ticket)) {
        uint32_t id = ids->waiting.item[ids->head++].id;
        if (ids->head == ids->waiting.n)
            ids->head = ids->waiting.n = 0;
        return id;
    }
    return ids->next < ids->end ? ids->next++ : 0;
}

static void id_give(struct ids *ids, uint32_t id)
{
    if (ids->head > 1024 && ids->head > ids->waiting.n / 2) {
        memmove(ids->waiting.item, ids->waiting.item + ids->head,
                (ids->waiting.n - ids->head) * sizeof *ids->waiting.item);
        ids->waiting.n -= ids->head;
        ids->head = 0;
    }
    *vec_push(&ids->waiting) = (struct waiting){.ticket = grace_ticket(), .id = id};
}

// Forgets what was known of an id that leads to packets itself. Reading untouched pages commits no
// memory.
static void forget(uint32_t id)
{
    if (nexthop_address[id].family)
        nexthop_address[id] = (struct ip_addr){0};
    for (unsigned f = 0; f < FORWARDER_MAX; f++) {
        if (nexthop_used_mark[f][id])
            nexthop_used_mark[f][id] = 0;
        if (nexthop_chosen[f][id])
            nexthop_chosen[f][id] = 0;
    }
}

static uint32_t id_new(struct ids *ids, enum nexthop_kind kind, uint16_t iface)
{
    uint32_t id = id_take(ids);

    if (!id)
        return 0;
    struct nexthop *nh = &nexthop_table[id];
    nexthop_keep(id);
    memset(nh, 0, sizeof *nh);
    slots[id] = (struct slot){.state = LIVE};
    if (id < NEXTHOP_MAX)
        forget(id);
    nexthop_count_clear(id);
    word_set(nh, output_by(kind, iface));
    ids->n_used++;
    return id;
}

uint32_t nexthop_id_new(enum nexthop_kind kind, uint16_t iface)
{
    return id_new(&all_ids[0], kind, iface);
}

uint32_t nexthop_new(enum nexthop_kind kind, uint16_t iface)
{
    thread_must_be(ROLE_RIB_MANAGER);
    bug_on(kind == NEXTHOP_NONE || kind == NEXTHOP_GROUP || kind == NEXTHOP_ADJACENCY ||
           kind == NEXTHOP_ALIAS || kind == NEXTHOP_ENCAP);
    return nexthop_id_new(kind, iface);
}

void nexthop_set_address(uint32_t id, const struct ip_addr *addr)
{
    thread_must_be(ROLE_RIB_MANAGER);
    bug_on(!nexthop_is_live(id));
    nexthop_address[id] = *addr;
}

void nexthop_set_kind(uint32_t id, enum nexthop_kind kind)
{
    struct nexthop *nh = &nexthop_table[id];

    thread_must_be(ROLE_RIB_MANAGER);
    bug_on(!nexthop_is_live(id) || nexthop_word_kind(nh->word) == NEXTHOP_GROUP ||
           nexthop_word_kind(nh->word) == NEXTHOP_ENCAP);
    bug_on(kind == NEXTHOP_NONE || kind == NEXTHOP_GROUP || kind == NEXTHOP_ENCAP);
    bug_on(kind == NEXTHOP_ADJACENCY && !nh->head); // no rewrite yet
    nexthop_keep(id);
    kind_set(nh, kind);
}

// Writes dst MAC, src MAC [, type of the outer tag, TCI] [, 0x8100, TCI] at the end of a rewrite;
// priorities 0. Returns `head`.
static uint8_t rewrite_fill(uint8_t rewrite[NEXTHOP_REWRITE], const struct iface *i,
                            const uint8_t dst_mac[6])
{
    uint8_t head = i->outer_vlan ? 22 : i->vlan ? 18 : 14, *at = rewrite + NEXTHOP_REWRITE - head;

    memset(rewrite, 0, NEXTHOP_REWRITE);
    memcpy(at, dst_mac, 6);
    memcpy(at + 6, i->mac, 6);
    if (i->outer_vlan) {
        memcpy(at + 12, &i->tpid_be, 2);
        memcpy(at + 14, (uint8_t[2]){(uint8_t)(i->outer_vlan >> 8), (uint8_t)i->outer_vlan}, 2);
    }
    if (i->vlan)
        memcpy(at + head - 6, (uint8_t[4]){0x81, 0x00, (uint8_t)(i->vlan >> 8), (uint8_t)i->vlan},
               4);
    return head;
}

static void rewrite_set(uint32_t id, enum nexthop_kind kind, uint16_t iface,
                        const uint8_t dst_mac[6])
{
    struct nexthop *nh = &nexthop_table[id], with = output_by(kind, iface);

    thread_must_be(ROLE_RIB_MANAGER);
    bug_on(!nexthop_is_live(id) || nexthop_word_kind(nh->word) == NEXTHOP_GROUP ||
           nexthop_word_kind(nh->word) == NEXTHOP_ALIAS ||
           nexthop_word_kind(nh->word) == NEXTHOP_ENCAP);
    if (!grace_over(slots[id].flip_ticket))
        grace_wait(); // the copy to be filled may still have readers
    nexthop_keep(id);
    unsigned copy = nh->rewrite_at == offsetof(struct nexthop, rewrite[0]);
    with.head = rewrite_fill(nh->rewrite[copy], iface_get(iface), dst_mac);
    with.rewrite_at = (uint8_t)((uint8_t *)nh->rewrite[copy] - (uint8_t *)nh);
    word_set(nh, with);
    slots[id].flip_ticket = grace_ticket();
}

void nexthop_set_adjacency(uint32_t id, uint16_t iface, const uint8_t dst_mac[6])
{
    rewrite_set(id, NEXTHOP_ADJACENCY, iface, dst_mac);
}

void nexthop_set_broadcast(uint32_t id, uint16_t iface)
{
    static const uint8_t everybody[6] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff};

    bug_on(nexthop_word_kind(nexthop_table[id].word) != NEXTHOP_BROADCAST);
    rewrite_set(id, NEXTHOP_BROADCAST, iface, everybody);
}

void nexthop_refresh_iface(uint16_t iface)
{
    thread_must_be(ROLE_RIB_MANAGER);
    nexthop_each(id)
    {
        struct nexthop *nh = &nexthop_table[id];
        if (slots[id].state != LIVE || nh->iface != iface)
            continue;
        if (nexthop_word_kind(nh->word) == NEXTHOP_ADJACENCY) {
            uint8_t mac[6];
            memcpy(mac, nexthop_rewrite(nh, nh->word) + NEXTHOP_REWRITE - nh->head, sizeof mac);
            nexthop_set_adjacency(id, iface, mac);
        } else if (nexthop_word_kind(nh->word) == NEXTHOP_BROADCAST) {
            nexthop_set_broadcast(id, iface);
        } else if (nexthop_word_kind(nh->word) != NEXTHOP_GROUP) {
            struct nexthop with = output_by(nh->kind, iface);
            if (nh->kind == NEXTHOP_ENCAP)
                with.mtu = mtu_below(with.mtu, nh->encap.n);
            with.rewrite_at = nh->rewrite_at;
            with.head = nh->head;
            nexthop_keep(id);
            word_set(nh, with);
        }
    }
}

void nexthop_free(uint32_t id)
{
    thread_must_be(ROLE_RIB_MANAGER);
    bug_on(!nexthop_is_live(id));
    if (nexthop_word_kind(nexthop_table[id].word) == NEXTHOP_GROUP) {
        nexthop_keep(id); // others may get its buckets
        nexthop_group_free(id);
    }
    slots[id].state = WAITING;
    ids_of(id)->n_used--;
    id_give(ids_of(id), id);
}

// --- attributes of a prefix beside its next hop: MTU, counter, uRPF data ---
//
// Prefixes share next hops, so a next hop cannot hold attributes of one prefix. The few prefixes
// whose route has an MTU, that need more data for uRPF, or that are counted, name an alias, which
// holds these attributes and names the shared next hop. The forwarding path follows it like a
// group.

static bool is_plain(uint32_t id)
{
    return id < NEXTHOP_MAX && nexthop_is_live(id) &&
           nexthop_word_kind(nexthop_table[id].word) != NEXTHOP_ALIAS;
}

uint32_t nexthop_alias_new(const struct nexthop_alias *a)
{
    thread_must_be(ROLE_RIB_MANAGER);
    bug_on(!is_plain(a->target) || a->n > NEXTHOP_ALIAS_MAX || a->counter >= PREFIX_COUNT_MAX);
    uint32_t id = nexthop_id_new(NEXTHOP_ALIAS, 0);
    if (id)
        nexthop_table[id].alias = *a; // no FIB names it yet
    return id;
}

static int nexthop_alias_check(uint32_t id, char *why, unsigned n)
{
    const struct nexthop *nh = &nexthop_table[id];
    bool sound = is_plain(nh->alias.target) && nh->alias.n <= NEXTHOP_ALIAS_MAX;

    for (unsigned i = 0; sound && i < nh->alias.n; i++)
        sound = is_plain(nh->alias.other[i]);
    if (!sound)
        snprintf(why, n, "N1: alias %u of %u names a dead next hop or an alias", id,
                 nh->alias.target);
    return sound ? 0 : -EINVAL;
}

// --- labels ---

// May an ENCAP out of `iface` name it?
static bool is_via(uint32_t id, uint16_t iface)
{
    enum nexthop_kind kind = nexthop_word_kind(nexthop_table[id].word);

    return is_plain(id) && kind != NEXTHOP_GROUP && kind != NEXTHOP_ENCAP &&
           nexthop_table[id].iface == iface;
}

static bool labels_can_be_sent(const struct nexthop_encap *e)
{
    bool can = e->n <= NEXTHOP_LABEL_MAX;

    for (unsigned i = 0; can && i < e->n; i++)
        can = nexthop_label_number(e->label_be[i]) != LABEL_IMPLICIT_NULL;
    return can;
}

uint32_t nexthop_encap_new(const struct nexthop_encap *e)
{
    uint16_t iface = e->via ? nexthop_table[e->via].iface : 0;

    thread_must_be(ROLE_RIB_MANAGER);
    bug_on((e->via && !is_via(e->via, iface)) || !labels_can_be_sent(e) || e->vr >= VR_MAX);
    if (!e->via && vr_several())
        nexthop_cross_begin(); // packets may leave from another virtual router than they came in by
    uint32_t id = id_new(&all_ids[e->flags & NEXTHOP_ENCAP_LABEL ? 1 : 0], NEXTHOP_ENCAP, iface);
    if (!id)
        return 0;
    struct nexthop *nh = &nexthop_table[id]; // neither a FIB nor a label names it yet
    nh->encap = *e;
    nh->mtu = mtu_below(nh->mtu, e->n);
    return id;
}

static int nexthop_encap_check(uint32_t id, char *why, unsigned n)
{
    const struct nexthop *nh = &nexthop_table[id];

    const bool of_label = nh->encap.flags & NEXTHOP_ENCAP_LABEL;

    if (of_label != (id >= NEXTHOP_MAX)) {
        snprintf(why, n, "N6: ENCAP %u is%s of a label alone", id, of_label ? "" : " not");
        return -EINVAL;
    }
    if (labels_can_be_sent(&nh->encap) && (!nh->encap.via || is_via(nh->encap.via, nh->iface)))
        return 0;
    snprintf(why, n, "N5: ENCAP %u with %u labels names %u", id, nh->encap.n, nh->encap.via);
    return -EINVAL;
}

static bool group_leads_out(const struct nexthop *nh, uint16_t iface)
{
    if (__atomic_load_n(&nh->group.iface[0], __ATOMIC_ACQUIRE) == NEXTHOP_IFACES_MANY) {
        uint64_t word = __atomic_load_n(&nh->group.word, __ATOMIC_ACQUIRE);
        for (uint32_t i = 0; i <= word >> 32; i++) {
            uint32_t member =
                __atomic_load_n(&nexthop_bucket[(uint32_t)word + i], __ATOMIC_RELAXED);
            if (member && nexthop_word_iface(nexthop_word(nexthop_get(member))) == iface)
                return true;
        }
        return false;
    }
    bool found = false;
    for (unsigned i = 0; i < NEXTHOP_GROUP_IFACES; i++)
        found |= __atomic_load_n(&nh->group.iface[i], __ATOMIC_RELAXED) == iface;
    return found;
}

bool nexthop_leads_out(uint32_t id, uint16_t iface)
{
    const struct nexthop *nh = nexthop_get(id);
    uint64_t word = nexthop_word(nh);

    if (nexthop_word_kind(word) == NEXTHOP_GROUP)
        return group_leads_out(nh, iface);
    return nexthop_word_iface(word) == iface;
}

// --- use, checks ---

unsigned nexthop_used(void)
{
    return all_ids[0].n_used;
}

bool nexthop_used_since(uint32_t id, unsigned epochs)
{
    for (unsigned f = 0; id < NEXTHOP_MAX && f < FORWARDER_MAX; f++) {
        uint8_t mark = __atomic_load_n(&nexthop_used_mark[f][id], __ATOMIC_RELAXED);
        if (mark && (uint8_t)(nexthop_used_epoch - mark) < epochs)
            return true;
    }
    return false;
}

uint64_t nexthop_chosen_packets(uint32_t id)
{
    uint64_t n = 0;

    if (id < NEXTHOP_MAX)
        sum_rows(&n, &chosen[id], NEXTHOP_MAX * sizeof n, FORWARDER_MAX, sizeof n);
    return n;
}

const char *nexthop_kind_name(enum nexthop_kind kind)
{
    static const char *const names[NEXTHOP_KIND_N] = {
        [NEXTHOP_NONE] = "none",
        [NEXTHOP_ADJACENCY] = "adjacency",
        [NEXTHOP_GROUP] = "group",
        [NEXTHOP_HOLD] = "hold",
        [NEXTHOP_GLEAN] = "glean",
        [NEXTHOP_LOCAL] = "local",
        [NEXTHOP_BLACKHOLE] = "blackhole",
        [NEXTHOP_UNREACHABLE] = "unreachable",
        [NEXTHOP_PROHIBIT] = "prohibit",
        [NEXTHOP_FAILED] = "failed",
        [NEXTHOP_BROADCAST] = "broadcast",
        [NEXTHOP_ALIAS] = "alias",
        [NEXTHOP_NO_ROUTE] = "no-route",
        [NEXTHOP_ENCAP] = "encap",
    };
    return kind < NEXTHOP_KIND_N ? names[kind] : "none";
}

int nexthop_check(char *why, unsigned n)
{
    unsigned live = 0;

    nexthop_each(id)
    {
        const struct nexthop *nh = &nexthop_table[id];
        enum nexthop_kind kind = nexthop_word_kind(nh->word);
        if (slots[id].state != LIVE)
            continue;
        live++;
        if (kind == NEXTHOP_NONE || kind >= NEXTHOP_KIND_N) {
            snprintf(why, n, "live next hop %u has kind %u", id, kind);
            return -EINVAL;
        }
        if (kind == NEXTHOP_ADJACENCY && nh->head != 14 && nh->head != 18 && nh->head != 22) {
            snprintf(why, n, "N3: adjacency %u has a rewrite of %u bytes", id, nh->head);
            return -EINVAL;
        }
        if (kind == NEXTHOP_GROUP && nexthop_group_check(id, why, n))
            return -EINVAL;
        if (kind == NEXTHOP_ALIAS && nexthop_alias_check(id, why, n))
            return -EINVAL;
        if (kind == NEXTHOP_ENCAP && nexthop_encap_check(id, why, n))
            return -EINVAL;
    }
    for (unsigned r = 0; r < 2; r++)
        for (size_t i = all_ids[r].head; i < all_ids[r].waiting.n; i++)
            if (slots[all_ids[r].waiting.item[i].id].state != WAITING) {
                snprintf(why, n, "N2: id %u waits for its grace period and is in use",
                         all_ids[r].waiting.item[i].id);
                return -EINVAL;
            }
    if (live != all_ids[0].n_used + all_ids[1].n_used) {
        snprintf(why, n, "%u next hops are live, %u are counted", live,
                 all_ids[0].n_used + all_ids[1].n_used);
        return -EINVAL;
    }
    return 0;
}
