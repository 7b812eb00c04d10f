// SPDX-License-Identifier: BSD-3-Clause
// nexthop.c - where a FIB entry leads: ids and adjacencies (groups: nexthop_group.c)
//
// An adjacency has two copies of its rewrite. A change fills the copy that is
// not in use and then flips bit 8 of `word` by a release store (N3). The copy that was
// left may still be read by a burst in flight: so the flip draws a grace
// ticket, and the next change of the same id waits for it if it is not over.
//
// A freed id keeps its content until it is handed out again, which happens only
// when its grace ticket is over (N2): a burst that still holds the id sends as
// before. Ids are handed out in the order in which they were freed.
#include "table/nexthop.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/vec.h"
#include "core/mem.h"
#include "core/thread.h"
#include "table/grace.h"
#include "table/iface.h"
#include "table/nexthop_group.h"

struct nexthop *nexthop_table;
uint8_t *nexthop_used_mark[FORWARDER_MAX];
uint8_t nexthop_used_epoch = 1; // 0 in a mark means never

enum state { FREE, LIVE, WAITING };

static struct slot {
    uint8_t state;        // enum state
    uint64_t flip_ticket; // of the last flip of `word` bit 8
} *slots;

struct waiting {
    uint64_t ticket;
    uint32_t id;
};
static VEC(struct waiting) waiting; // freed ids, oldest first from waiting_head on
static size_t waiting_head;
static uint32_t n_ids; // ids handed out so far + 1; grows up to NEXTHOP_MAX
static unsigned n_used;
static uint8_t *marks;

int nexthop_table_init(void)
{
    nexthop_table = mem_map("next hops", NEXTHOP_MAX * sizeof *nexthop_table);
    marks = mem_map("next hops in use", (size_t)FORWARDER_MAX * NEXTHOP_MAX);
    slots = calloc(NEXTHOP_MAX, sizeof *slots);
    n_ids = 1;
    if (!nexthop_table || !marks || !slots || nexthop_group_init()) {
        nexthop_table_fini();
        return -ENOMEM;
    }
    for (unsigned i = 0; i < FORWARDER_MAX; i++)
        nexthop_used_mark[i] = marks + (size_t)i * NEXTHOP_MAX;
    return 0;
}

void nexthop_table_fini(void)
{
    nexthop_group_fini();
    mem_unmap(nexthop_table, NEXTHOP_MAX * sizeof *nexthop_table);
    mem_unmap(marks, (size_t)FORWARDER_MAX * NEXTHOP_MAX);
    nexthop_table = NULL;
    marks = NULL;
    memset(nexthop_used_mark, 0, sizeof nexthop_used_mark);
    free(slots);
    slots = NULL;
    vec_free(&waiting);
    waiting_head = 0;
    n_used = 0;
}

bool nexthop_is_live(uint32_t id)
{
    return id && id < NEXTHOP_MAX && slots[id].state == LIVE;
}

static void word_set(struct nexthop *nh, enum nexthop_kind kind, unsigned copy)
{
    // Release, partner: acquire in nexthop_word. All other fields are complete before it.
    __atomic_store_n(&nh->word, (uint16_t)(kind | copy << 8), __ATOMIC_RELEASE);
}

static unsigned copy_now(const struct nexthop *nh)
{
    return nh->word >> 8 & 1;
}

static uint32_t id_take(void)
{
    if (waiting_head < waiting.n && grace_over(waiting.item[waiting_head].ticket)) {
        uint32_t id = waiting.item[waiting_head++].id;
        if (waiting_head == waiting.n)
            waiting_head = waiting.n = 0;
        return id;
    }
    return n_ids < NEXTHOP_MAX ? n_ids++ : 0;
}

static void id_give(uint32_t id)
{
    if (waiting_head > 1024 && waiting_head > waiting.n / 2) {
        memmove(waiting.item, waiting.item + waiting_head,
                (waiting.n - waiting_head) * sizeof *waiting.item);
        waiting.n -= waiting_head;
        waiting_head = 0;
    }
    *vec_push(&waiting) = (struct waiting){.ticket = grace_ticket(), .id = id};
}

static void way_out_set(struct nexthop *nh, uint16_t iface)
{
    const struct iface *i = iface_get(iface);

    nh->iface = iface;
    nh->port = iface ? i->port : 0;
    nh->mtu = iface ? i->mtu : 0;
}

uint32_t nexthop_id_new(enum nexthop_kind kind, uint16_t iface)
{
    uint32_t id = id_take();

    if (!id)
        return 0;
    struct nexthop *nh = &nexthop_table[id];
    memset(nh, 0, sizeof *nh);
    slots[id] = (struct slot){.state = LIVE};
    for (unsigned f = 0; f < FORWARDER_MAX; f++)
        if (nexthop_used_mark[f][id]) // reads of untouched marks commit no memory
            nexthop_used_mark[f][id] = 0;
    way_out_set(nh, iface);
    word_set(nh, kind, 0);
    n_used++;
    return id;
}

uint32_t nexthop_new(enum nexthop_kind kind, uint16_t iface)
{
    thread_must_be(ROLE_RIB_MANAGER);
    bug_on(kind == NEXTHOP_NONE || kind == NEXTHOP_GROUP || kind == NEXTHOP_ADJACENCY);
    return nexthop_id_new(kind, iface);
}

void nexthop_set_kind(uint32_t id, enum nexthop_kind kind)
{
    struct nexthop *nh = &nexthop_table[id];

    thread_must_be(ROLE_RIB_MANAGER);
    bug_on(!nexthop_is_live(id) || nexthop_word_kind(nh->word) == NEXTHOP_GROUP);
    bug_on(kind == NEXTHOP_NONE || kind == NEXTHOP_GROUP);
    bug_on(kind == NEXTHOP_ADJACENCY && !nh->rewrite_len); // nothing to send with yet
    word_set(nh, kind, copy_now(nh));
}

// dst MAC, src MAC [, 0x8100, TCI]; returns its length.
static uint8_t rewrite_fill(uint8_t rewrite[16], const struct iface *i, const uint8_t dst_mac[6])
{
    memcpy(rewrite, dst_mac, 6);
    memcpy(rewrite + 6, i->mac, 6);
    if (!i->vlan)
        return 12;
    rewrite[12] = 0x81;
    rewrite[13] = 0x00;
    rewrite[14] = (uint8_t)(i->vlan >> 8);
    rewrite[15] = (uint8_t)i->vlan;
    return 16;
}

void nexthop_set_adjacency(uint32_t id, uint16_t iface, const uint8_t dst_mac[6])
{
    struct nexthop *nh = &nexthop_table[id];
    const struct iface *i = iface_get(iface);
    uint8_t rewrite[16] = {0};

    thread_must_be(ROLE_RIB_MANAGER);
    bug_on(!nexthop_is_live(id) || nexthop_word_kind(nh->word) == NEXTHOP_GROUP);
    uint8_t len = rewrite_fill(rewrite, i, dst_mac);
    bool elsewhere = nh->iface != iface || nh->port != i->port || nh->rewrite_len != len;
    // Port and rewrite must not mix: nobody may be reading while the way out itself changes.
    if (elsewhere && nexthop_word_kind(nh->word) == NEXTHOP_ADJACENCY) {
        word_set(nh, NEXTHOP_HOLD, copy_now(nh));
        grace_wait();
    } else if (!grace_over(slots[id].flip_ticket)) {
        grace_wait(); // the copy to be filled may still be read
    }
    unsigned copy = !copy_now(nh);
    memcpy(nh->rewrite[copy], rewrite, sizeof rewrite);
    way_out_set(nh, iface);
    nh->rewrite_len = len;
    word_set(nh, NEXTHOP_ADJACENCY, copy);
    slots[id].flip_ticket = grace_ticket();
}

void nexthop_refresh_iface(uint16_t iface)
{
    thread_must_be(ROLE_RIB_MANAGER);
    for (uint32_t id = 1; id < n_ids; id++) {
        struct nexthop *nh = &nexthop_table[id];
        if (slots[id].state != LIVE || nh->iface != iface)
            continue;
        if (nexthop_word_kind(nh->word) == NEXTHOP_ADJACENCY) {
            uint8_t mac[6];
            memcpy(mac, nh->rewrite[copy_now(nh)], sizeof mac);
            nexthop_set_adjacency(id, iface, mac);
        } else if (nexthop_word_kind(nh->word) != NEXTHOP_GROUP) {
            way_out_set(nh, iface);
        }
    }
}

void nexthop_free(uint32_t id)
{
    thread_must_be(ROLE_RIB_MANAGER);
    bug_on(!nexthop_is_live(id));
    if (nexthop_word_kind(nexthop_table[id].word) == NEXTHOP_GROUP)
        nexthop_group_free(id);
    slots[id].state = WAITING;
    n_used--;
    id_give(id);
}

unsigned nexthop_used(void)
{
    return n_used;
}

bool nexthop_used_since(uint32_t id, unsigned epochs)
{
    for (unsigned f = 0; f < FORWARDER_MAX; f++) {
        uint8_t mark = __atomic_load_n(&nexthop_used_mark[f][id], __ATOMIC_RELAXED);
        if (mark && (uint8_t)(nexthop_used_epoch - mark) < epochs)
            return true;
    }
    return false;
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
    };
    return kind < NEXTHOP_KIND_N ? names[kind] : "none";
}

int nexthop_check(char *why, unsigned n)
{
    unsigned live = 0;

    for (uint32_t id = 1; id < n_ids; id++) {
        const struct nexthop *nh = &nexthop_table[id];
        enum nexthop_kind kind = nexthop_word_kind(nh->word);
        if (slots[id].state != LIVE)
            continue;
        live++;
        if (kind == NEXTHOP_NONE || kind >= NEXTHOP_KIND_N) {
            snprintf(why, n, "live next hop %u has kind %u", id, kind);
            return -EINVAL;
        }
        if (kind == NEXTHOP_ADJACENCY && nh->rewrite_len != 12 && nh->rewrite_len != 16) {
            snprintf(why, n, "N3: adjacency %u has a rewrite of %u bytes", id, nh->rewrite_len);
            return -EINVAL;
        }
        if (kind == NEXTHOP_GROUP && nexthop_group_check(id, why, n))
            return -EINVAL;
    }
    for (size_t i = waiting_head; i < waiting.n; i++)
        if (slots[waiting.item[i].id].state != WAITING) {
            snprintf(why, n, "N2: id %u waits for its grace period and is in use", waiting.item[i].id);
            return -EINVAL;
        }
    if (live != n_used) {
        snprintf(why, n, "%u next hops are live, %u are counted", live, n_used);
        return -EINVAL;
    }
    return 0;
}
