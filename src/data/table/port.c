// SPDX-License-Identifier: BSD-3-Clause
// port.c - ports as forwarders see them: one fixed array, mapped at start
//
// Frames with two tags are looked up in two steps: the port's outer_row[] has a row of port_inner[]
// for each outer VLAN with sub-interfaces; the row has an interface for each inner VLAN. An empty
// row is reused for another outer VLAN when no burst can be reading it (grace ticket).
#include "table/port.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/mem.h"
#include "core/thread.h"
#include "table/grace.h"

struct port *port_table;
uint16_t (*port_inner)[4096];

static struct row {
    unsigned used; // entries in use
    uint64_t ticket;
    bool was_used;
} *rows;

int port_table_init(void)
{
    port_table = mem_map("ports", PORT_MAX * sizeof *port_table);
    port_inner = mem_map("inner VLANs", OUTER_VLAN_MAX * sizeof *port_inner);
    rows = calloc(OUTER_VLAN_MAX, sizeof *rows);
    if (port_table && port_inner && rows)
        return 0;
    port_table_fini();
    return -ENOMEM;
}

void port_table_fini(void)
{
    mem_unmap(port_table, PORT_MAX * sizeof *port_table);
    mem_unmap(port_inner, OUTER_VLAN_MAX * sizeof *port_inner);
    free(rows);
    port_table = NULL;
    port_inner = NULL;
    rows = NULL;
}

// Returns an empty row without readers, waiting for them if necessary; 0: none.
static uint16_t row_take(void)
{
    for (int again = 0; again < 2; again++) {
        for (uint16_t r = 1; r < OUTER_VLAN_MAX; r++)
            if (!rows[r].used && (!rows[r].was_used || grace_over(rows[r].ticket)))
                return r;
        grace_wait();
    }
    return 0;
}

static void entry_store(struct port *p, uint16_t outer, uint16_t vlan, uint16_t value)
{
    // After the interface is complete.
    __atomic_store_n(outer ? &p->outer_row[outer] : &p->vlan_iface[vlan], value, __ATOMIC_RELEASE);
}

// Sets an entry of the port, and of the collecting members if it is a LAG.
static void entry_set(struct port *p, uint16_t outer, uint16_t vlan, uint16_t value)
{
    uint16_t id = (uint16_t)(p - port_table);

    entry_store(p, outer, vlan, value);
    for (uint16_t m = 0; lag_is(id) && m < LAG_FIRST; m++)
        if (port_get(m)->collects && port_get(m)->lag == id)
            entry_store(port_get(m), outer, vlan, value);
}

static int lead_pair(struct port *p, uint16_t outer, uint16_t vlan, uint16_t id)
{
    uint16_t row = p->outer_row[outer];

    if (!row && !id)
        return 0;
    if (!row && !(row = row_take()))
        return -ENOSPC;
    uint16_t before = port_inner[row][vlan];
    rows[row].used = rows[row].used + (id != 0) - (before != 0);
    rows[row].was_used = true;
    // After the interface is complete.
    __atomic_store_n(&port_inner[row][vlan], id, __ATOMIC_RELEASE);
    entry_set(p, outer, 0, rows[row].used ? row : 0);
    if (!rows[row].used)
        rows[row].ticket = grace_ticket();
    return 0;
}

int port_lead(struct port *p, uint16_t outer, uint16_t vlan, uint16_t id)
{
    thread_must_be(ROLE_CONTROL);
    if (outer)
        return lead_pair(p, outer, vlan, id);
    entry_set(p, 0, vlan, id);
    return 0;
}

void port_lead_as(struct port *p, const struct port *before)
{
    thread_must_be(ROLE_CONTROL);
    memcpy(p->vlan_iface, before->vlan_iface, sizeof p->vlan_iface);
    memcpy(p->outer_row, before->outer_row, sizeof p->outer_row);
}

void port_collect(struct port *p, bool on)
{
    const struct port *lag = port_get(p->lag);

    thread_must_be(ROLE_CONTROL);
    p->collects = on;
    for (uint16_t vlan = 0; vlan < 4096; vlan++) {
        entry_store(p, 0, vlan, on ? lag->vlan_iface[vlan] : 0);
        if (vlan)
            entry_store(p, vlan, 0, on ? lag->outer_row[vlan] : 0);
    }
}

// --- a LAG's buckets ---
//
// All members get the same number of buckets, or one more. Two passes move as few as possible:
// first each bucket stays where it is, as long as its member is active and has no more than its
// share; then the others go to the member with the fewest. A byte store moves a bucket, so
// forwarders need no lock.

struct lag lag_table[LAG_MAX];

static void set_bucket(struct lag *lag, unsigned b, uint8_t member)
{
    __atomic_store_n(&lag->bucket[b], member, __ATOMIC_RELAXED);
}

// Returns the member with the fewest buckets.
static uint8_t neediest_member(const uint8_t *member, unsigned n, const unsigned *has)
{
    uint8_t least = member[0];

    for (unsigned i = 1; i < n; i++)
        if (has[member[i]] < has[least])
            least = member[i];
    return least;
}

void lag_share(struct lag *lag, const uint8_t *member, unsigned n)
{
    // `more` members have one more than the others.
    unsigned has[256] = {0}, base = n ? LAG_BUCKETS / n : 0, more = n ? LAG_BUCKETS % n : 0;
    bool in[256] = {false}, left[LAG_BUCKETS];

    thread_must_be(ROLE_CONTROL);
    for (unsigned i = 0; i < n; i++)
        in[member[i]] = true;
    for (unsigned b = 0; b < LAG_BUCKETS; b++) {
        uint8_t m = lag->bucket[b];
        bool one_more = in[m] && has[m] == base && more;
        bool keeps = in[m] && (has[m] < base || one_more);
        left[b] = !keeps;
        has[m] += keeps;
        more -= one_more;
    }
    for (unsigned b = 0; b < LAG_BUCKETS; b++) {
        if (!left[b])
            continue;
        uint8_t m = n ? neediest_member(member, n, has) : LAG_NO_MEMBER;
        has[m]++;
        set_bucket(lag, b, m);
    }
}
