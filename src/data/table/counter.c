// SPDX-License-Identifier: BSD-3-Clause
// counter.c - per-thread counters, and the zero-loss ledger
//
// Blocks of all slots are mapped at once and committed when touched, so a block never moves and
// needs no registration. Sums read each word once, relaxed: approximate under traffic, exact at
// rest, as the ledger needs (ledger_read waits for two equal passes).
#include "table/counter.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "core/mem.h"
#include "table/exchange.h"
#include "table/ledger_vr.h"
#include "table/sum.h"

#define SEVERITY_NORMAL "normal"
#define SEVERITY_CONFIG "config"
#define SEVERITY_LOSS "loss"
#define SEVERITY_ATTACK "attack"

// Names are stored in writable arrays, because counter_init() lowers their case.
const struct drop_info drop_info[DROP_N] = {
    [DROP_NONE] = {"none", SEVERITY_NORMAL, "not a drop", ""},
#define DROP(id, level, text, reference)                                                           \
    [DROP_##id] = {(char[]){#id}, SEVERITY_##level, text, reference},
#include "table/drops.def"
#undef DROP
};

const char *const stage_name[STAGE_N] = {
    [STAGE_RX] = "rx",           [STAGE_ETHER_IN] = "ether_in", [STAGE_IP4_IN] = "ip4_in",
    [STAGE_LABELS] = "labels",
    [STAGE_IP4_FWD] = "ip4_fwd", [STAGE_IP6_IN] = "ip6_in",     [STAGE_IP6_FWD] = "ip6_fwd",
    [STAGE_CHECKS_IN] = "features", [STAGE_CHECKS_OUT] = "acl_out",
    [STAGE_ETHER_OUT] = "ether_out", [STAGE_TX] = "tx",         [STAGE_OTHER] = "other",
};

static struct counter_block *blocks;
static uint64_t since_wall_ns_of[IFACE_MAX];
static struct counter_cleared cleared[IFACE_MAX];
static unsigned restored_by = THREAD_SLOT_MAX; // slot of counter_restore_vr_drop

int counter_init(void)
{
    for (unsigned i = DROP_NONE + 1; i < DROP_N; i++)
        for (char *c = (char *)drop_info[i].name; *c; c++)
            *c = (char)tolower((unsigned char)*c);
    blocks = mem_map("counters", THREAD_SLOT_MAX * sizeof *blocks);
    return blocks ? 0 : -errno;
}

void counter_fini(void)
{
    mem_unmap(blocks, THREAD_SLOT_MAX * sizeof *blocks);
    restored_by = THREAD_SLOT_MAX;
    blocks = NULL;
}

struct counter_block *counter_mine(void)
{
    return &blocks[thread_slot()];
}

const struct counter_block *counter_of_slot(unsigned slot)
{
    return &blocks[slot];
}

static uint64_t read_word(const uint64_t *p)
{
    return __atomic_load_n(p, __ATOMIC_RELAXED);
}

// `first`: in the first block.
static void sum_slots(void *sum, const void *first, size_t bytes)
{
    sum_rows(sum, first, sizeof *blocks, THREAD_SLOT_MAX, bytes);
}

void counter_sum_iface(uint16_t iface, struct counter_iface *sum)
{
    sum_slots(sum, &blocks->iface[iface], sizeof *sum);
}

uint64_t counter_sum_drop(enum drop_reason reason)
{
    uint64_t n;

    sum_slots(&n, &blocks->drop[reason], sizeof n);
    return n;
}

// Without a drop for that reason, a thread has no page there, and reading must not create one. The
// thread that restored drops may have none of its own.
static bool has_vr_drop(unsigned slot, enum drop_reason reason)
{
    return slot == restored_by || read_word(&blocks[slot].drop[reason]);
}

uint64_t counter_sum_vr_drop(uint16_t vr, enum drop_reason reason)
{
    uint64_t n = 0;

    for (unsigned s = 0; s < THREAD_SLOT_MAX; s++)
        if (has_vr_drop(s, reason))
            n += read_word(&blocks[s].vr_drop[vr][reason]);
    return n;
}

void counter_sum_vr(uint16_t vr, struct counter_vr *sum)
{
    sum_slots(sum, &blocks->vr[vr], sizeof *sum);
}

struct counter_punt counter_sum_punt(enum punt_class class)
{
    struct counter_punt sum;

    sum_slots(&sum, &blocks->punt_class[class], sizeof sum);
    return sum;
}

struct counter_offload counter_sum_offload(uint16_t port)
{
    struct counter_offload sum;

    sum_slots(&sum, &blocks->offload[port], sizeof sum);
    return sum;
}

struct counter_icmp counter_sum_icmp(void)
{
    struct counter_icmp sum;

    sum_slots(&sum, &blocks->icmp, sizeof sum);
    return sum;
}

// No thread counts on this id now: the interface is new, or its grace period is over.
void counter_begin_iface(uint16_t iface)
{
    static const struct counter_iface none;

    thread_must_be(ROLE_CONTROL);
    for (unsigned s = 0; s < THREAD_SLOT_MAX; s++) // reading untouched pages commits no memory
        if (memcmp(&blocks[s].iface[iface], &none, sizeof none))
            blocks[s].iface[iface] = none;
    since_wall_ns_of[iface] = clock_wall_ns();
    cleared[iface].wall_ns = 0;
}

void counter_begin_vr(uint16_t vr)
{
    static const struct counter_vr none;

    thread_must_be(ROLE_CONTROL);
    for (unsigned s = 0; s < THREAD_SLOT_MAX; s++)
        for (unsigned r = DROP_NONE + 1; r < DROP_N; r++)
            if (has_vr_drop(s, r))
                blocks[s].vr_drop[vr][r] = 0;
    for (unsigned s = 0; s < THREAD_SLOT_MAX; s++)
        if (memcmp(&blocks[s].vr[vr], &none, sizeof none))
            blocks[s].vr[vr] = none;
    ledger_vr_begin(vr);
}

void counter_clear_iface(uint16_t iface)
{
    thread_must_be(ROLE_CONTROL);
    cleared[iface].wall_ns = clock_wall_ns();
    counter_sum_iface(iface, &cleared[iface].at);
}

const struct counter_cleared *counter_cleared_iface(uint16_t iface)
{
    return &cleared[iface];
}

uint64_t counter_since_iface(uint16_t iface)
{
    return since_wall_ns_of[iface];
}

// --- counters of an earlier process ---

void counter_restore_iface(uint16_t iface, const struct counter_iface *c, uint64_t since_wall_ns,
                           const struct counter_cleared *before)
{
    thread_must_be(ROLE_CONTROL);
    ledger_vr_except_iface(iface, c);
    sum_add(&counter_mine()->iface[iface], c, sizeof *c);
    since_wall_ns_of[iface] = since_wall_ns;
    cleared[iface] = *before;
}

void counter_restore_ledger(const struct ledger *l, const uint64_t drop[DROP_N])
{
    struct counter_block *mine = counter_mine();

    thread_must_be(ROLE_CONTROL);
    mine->rx += l->rx;
    mine->inject += l->inject;
    mine->tx += l->tx;
    mine->punt += l->punt;
    sum_add(mine->drop, drop, sizeof mine->drop);
}

void counter_restore_vr_drop(uint16_t vr, enum drop_reason reason, uint64_t packets)
{
    thread_must_be(ROLE_CONTROL);
    restored_by = thread_slot();
    ledger_vr_except_drops(vr, packets);
    counter_mine()->vr_drop[vr][reason] += packets;
}

void counter_restore_punt(enum punt_class class, const struct counter_punt *c)
{
    thread_must_be(ROLE_CONTROL);
    sum_add(&counter_mine()->punt_class[class], c, sizeof *c);
}

void counter_restore_icmp(const struct counter_icmp *c)
{
    thread_must_be(ROLE_CONTROL);
    sum_add(&counter_mine()->icmp, c, sizeof *c);
}

static void ledger_pass(struct ledger *l)
{
    uint64_t drop[DROP_N];

    memset(l, 0, sizeof *l);
    sum_slots(l, &blocks->rx, offsetof(struct ledger, drops));
    sum_slots(drop, blocks->drop, sizeof drop);
    for (unsigned i = DROP_NONE + 1; i < DROP_N; i++)
        l->drops += drop[i];
    l->held += exchange_held();
    l->imbalance = (int64_t)(l->rx + l->inject - l->tx - l->punt - l->held - l->drops);
}

void ledger_read(struct ledger *l, unsigned tries)
{
    struct ledger again;

    ledger_pass(l);
    for (unsigned i = 0; i < tries; i++) {
        ledger_pass(&again);
        bool same = !memcmp(l, &again, sizeof again);
        *l = again;
        if (same)
            return;
    }
}
