// SPDX-License-Identifier: BSD-3-Clause
// acl.c - the table of access lists: ids, contents, counters (acl.h)
//
// A content has four arrays, indexed by slot: verbs, one byte each, which forwarders read for every
// packet; actions; a row of counters for each forwarder; and the amounts that the writer adds. A
// verb is stored last, with release, so its action is complete. An id is free, used, or waiting for
// the grace period after its release.
#include "table/acl.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>

#include "base/log.h"
#include "core/mem.h"
#include "core/thread.h"
#include "table/acl_meter.h"
#include "table/grace.h"
#include "table/sum.h"

#define ROW_ALIGN 128u // CPUs fetch cache lines in pairs
// Arrays of all forwarders' rows with a size between these two grow to the larger one, which
// mem_map() does not put on explicit huge pages: those are taken at once for the whole array, and
// most rows are never touched.
#define ROWS_LARGE ((size_t)2 << 20)
#define ROWS_LEAST ((size_t)17 << 20)

struct acl_list *acl_table;
uint8_t acl_secret[16];
struct acl_cache *acl_caches[FORWARDER_MAX];

enum state { FREE, USED, WAITING };

int acl_table_init(void)
{
    acl_table = mem_map("access lists", (ACL_LIST_MAX + 2) * sizeof *acl_table);
    if (!acl_table)
        return -ENOMEM;
    (void)acl_kernel_name(); // chooses the kernel, which may measure the CPU: not while others read
    return getrandom(acl_secret, sizeof acl_secret, 0) == sizeof acl_secret ? 0 : -EIO;
}

void acl_table_fini(void)
{
    mem_unmap(acl_table, (ACL_LIST_MAX + 2) * sizeof *acl_table);
    acl_table = NULL;
}

static bool list_is_free(struct acl_list *l)
{
    return l->state == FREE || (l->state == WAITING && grace_over(l->ticket));
}

uint16_t acl_list_new(const char *name)
{
    thread_must_be(ROLE_ACL_MANAGER);
    for (uint16_t id = 1; id < ACL_LIST_MAX; id++) {
        struct acl_list *l = &acl_table[id];
        if (!list_is_free(l))
            continue;
        l->state = USED;
        snprintf(l->name, sizeof l->name, "%s", name);
        return id;
    }
    return 0;
}

void acl_list_free(uint16_t id)
{
    struct acl_list *l = &acl_table[id];

    thread_must_be(ROLE_ACL_MANAGER);
    bug_on(l->state != USED || l->content);
    l->state = WAITING;
    l->ticket = grace_ticket();
}

static size_t row_bytes(uint32_t slots)
{
    size_t row = ((slots + 1) * sizeof(struct acl_hits) + ROW_ALIGN - 1) / ROW_ALIGN * ROW_ALIGN;

    if (row * FORWARDER_MAX >= ROWS_LARGE && row * FORWARDER_MAX < ROWS_LEAST)
        row = (ROWS_LEAST + FORWARDER_MAX - 1) / FORWARDER_MAX / ROW_ALIGN * ROW_ALIGN;
    return row;
}

struct acl_content *acl_content_new(struct acl *rules, uint32_t slots)
{
    struct acl_content *c = calloc(1, sizeof *c);
    size_t n = slots + 1ul, row = row_bytes(slots);

    if (!c)
        return NULL;
    c->rules = rules;
    c->slots = slots;
    c->cached = rules != NULL;
    c->bytes[0] = n;
    c->bytes[1] = n * sizeof *c->action;
    c->bytes[2] = row * FORWARDER_MAX;
    c->bytes[3] = n * sizeof *c->added;
    c->verb = mem_map("acl verbs", c->bytes[0]);
    c->action = mem_map("acl actions", c->bytes[1]);
    char *rows = mem_map("acl counters", c->bytes[2]);
    c->added = mem_map("acl counters", c->bytes[3]);
    for (unsigned f = 0; f < FORWARDER_MAX; f++)
        c->hits[f] = rows ? (struct acl_hits *)(rows + f * row) : NULL;
    if (c->verb && c->action && rows && c->added)
        return c;
    acl_content_free(c);
    errno = ENOMEM;
    return NULL;
}

void acl_content_free(struct acl_content *c)
{
    if (!c)
        return;
    mem_unmap(c->verb, c->bytes[0]);
    mem_unmap(c->action, c->bytes[1]);
    mem_unmap(c->hits[0], c->bytes[2]);
    mem_unmap(c->added, c->bytes[3]);
    free(c);
}

void acl_content_set(struct acl_content *c, uint32_t slot, const struct acl_action *a)
{
    uint32_t at = acl_place(c, slot);

    bug_on(slot != ACL_MISS && at != slot);
    c->action[at] = *a;
    __atomic_store_n(&c->verb[at], (uint8_t)(a->verb | (a->extra & ~ACL_TEMPORARY ? ACL_MORE : 0)),
                     __ATOMIC_RELEASE);
}

struct acl_content *acl_publish(uint16_t id, struct acl_content *c)
{
    struct acl_list *l = &acl_table[id];
    struct acl_content *old = l->content;

    thread_must_be(ROLE_ACL_MANAGER);
    bug_on(l->state != USED);
    if (c)
        c->epoch = ++l->epoch;
    rcu_publish(&l->content, c);
    if (old)
        rcu_synchronize();
    return old;
}

void acl_changed(uint16_t id)
{
    struct acl_list *l = &acl_table[id];

    thread_must_be(ROLE_ACL_MANAGER);
    bug_on(!l->content);
    // Release: a reader of this epoch sees the current rules. Partner: acquire load of
    // forwarders.
    __atomic_store_n(&l->content->epoch, ++l->epoch, __ATOMIC_RELEASE);
}

void acl_hits_add(struct acl_content *c, uint32_t slot, struct acl_hits more)
{
    struct acl_hits *a = &c->added[acl_place(c, slot)];

    __atomic_fetch_add(&a->packets, more.packets, __ATOMIC_RELAXED);
    __atomic_fetch_add(&a->bytes, more.bytes, __ATOMIC_RELAXED);
}

void acl_hits_clear(struct acl_content *c, uint32_t slot)
{
    struct acl_hits now = acl_hits_read(c, slot);

    acl_hits_add(c, slot, (struct acl_hits){-now.packets, -now.bytes});
}

struct acl_hits acl_hits_read(const struct acl_content *c, uint32_t slot)
{
    uint32_t at = acl_place(c, slot);
    struct acl_hits sum = {0};

    sum_add(&sum, &c->added[at], sizeof sum);
    for (unsigned f = 0; f < FORWARDER_MAX; f++)
        sum_add(&sum, &c->hits[f][at], sizeof sum);
    return sum;
}

// --- meters of the police action (acl_meter.h) ---
//
// A rate is stored as ticks per byte in fixed point, or ticks per packet, so a forwarder only
// multiplies. A freed meter is reused after a grace period, until which a burst may still charge
// it.

struct acl_meter acl_meter_table[ACL_METER_MAX];

// 0: none is free.
static uint16_t meter_find(void)
{
    thread_must_be(ROLE_ACL_MANAGER);
    for (uint16_t id = 1; id < ACL_METER_MAX; id++) {
        const struct acl_meter *m = &acl_meter_table[id];
        if (m->state != USED && (m->state != WAITING || grace_over(m->ticket)))
            return id;
    }
    return 0;
}

uint16_t acl_meter_new(uint64_t kbps, uint64_t burst_bytes)
{
    uint16_t id = kbps && burst_bytes ? meter_find() : 0;
    double per_byte = id ? (double)token_bucket_hz() * 8 / ((double)kbps * 1000) : 0;

    if (id)
        acl_meter_table[id] =
            (struct acl_meter){.per_byte = (uint64_t)(per_byte * (1u << ACL_METER_SHIFT)),
                               .depth = (uint64_t)(per_byte * (double)burst_bytes),
                               .state = USED};
    return id;
}

uint16_t acl_meter_new_of_packets(uint32_t per_s, uint32_t burst)
{
    uint16_t id = per_s && burst ? meter_find() : 0;
    uint64_t per_packet = id ? token_bucket_hz() / per_s : 0;

    if (id)
        acl_meter_table[id] = (struct acl_meter){
            .per_packet = per_packet, .depth = per_packet * burst, .state = USED};
    return id;
}

void acl_meter_share(uint16_t id)
{
    thread_must_be(ROLE_ACL_MANAGER);
    acl_meter_table[id].sharers++;
}

void acl_meter_free(uint16_t id)
{
    thread_must_be(ROLE_ACL_MANAGER);
    bug_on(acl_meter_table[id].state != USED);
    if (acl_meter_table[id].sharers) {
        acl_meter_table[id].sharers--;
        return;
    }
    acl_meter_table[id].state = WAITING;
    acl_meter_table[id].ticket = grace_ticket();
}
