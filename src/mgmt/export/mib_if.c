// SPDX-License-Identifier: BSD-3-Clause
// mib_if.c - IF-MIB (RFC 2863): ifTable, ifXTable with 64-bit counters, ifStackTable
//
// A row is an interface; ifIndex is its id. Forwarders count packets and bytes of an interface, not
// whom they are for, so all are counted as unicast, and the columns for multicast and broadcast are
// not there. What is not counted is not shown as 0.
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "core/thread.h"
#include "export/mib.h"
#include "port/iface_manager.h"
#include "port/port_manager.h"
#include "port/port_queue_manager.h"
#include "table/counter.h"
#include "table/iface.h"
#include "table/port.h"

enum { IF_TYPE_ETHERNET = 6, IF_TYPE_VIRTUAL = 53, IF_TYPE_VLAN = 135 };
enum { STATUS_UP = 1, STATUS_DOWN = 2, TRUTH_TRUE = 1, TRUTH_FALSE = 2 };

static struct seen { // of each interface, when it was looked at last
    bool there, up;
    uint32_t changed; // mib_uptime_ticks
} seen[IFACE_MAX];
static uint32_t table_changed;

uint32_t mib_uptime_ticks(void)
{
    static uint64_t began;
    uint64_t now = clock_now_ns();

    began = began ? began : now;
    return (uint32_t)((now - began) / (NS_PER_SECOND / 100));
}

static bool exists(uint16_t id)
{
    return id && id < IFACE_MAX && iface_get(id)->kind != IFACE_NONE;
}

static bool is_up(const struct iface *i)
{
    return i->admin_up && i->carrier;
}

struct value mib_if_status(uint16_t id, bool admin)
{
    const struct iface *i = iface_get(id);

    return value_integer((admin ? i->admin_up : is_up(i)) ? STATUS_UP : STATUS_DOWN);
}

void mib_if_look(void (*told)(void *ctx, uint16_t id, bool up), void *ctx)
{
    thread_must_be(ROLE_CONTROL);
    for (uint16_t id = 1; id < IFACE_MAX; id++) {
        struct seen *s = &seen[id];
        bool there = exists(id), up = there && is_up(iface_get(id)), was = s->there;
        if (there == s->there && up == s->up)
            continue;
        if (there != was)
            table_changed = mib_uptime_ticks();
        *s = (struct seen){.there = there, .up = up, .changed = mib_uptime_ticks()};
        if (told && there && (was || up))
            told(ctx, id, up);
    }
}

// --- columns ------------------------------------------------------------------------------------

static uint32_t speed_mbps(const struct iface *i)
{
    struct port_state p;

    return port_manager_state(port_get(i->port)->name, &p) ? 0 : p.speed_mbps;
}

static bool promiscuous(const struct iface *i)
{
    struct port_state p;

    return !port_manager_state(port_get(i->port)->name, &p) && p.config.promiscuous;
}

static struct value text_value(const char *s)
{
    return value_string(s, (unsigned)strlen(s));
}

static struct value description(const struct iface *i)
{
    char s[64];

    if (i->kind == IFACE_PORT)
        snprintf(s, sizeof s, "port %s", i->name);
    else if (i->kind == IFACE_METALINK)
        snprintf(s, sizeof s, "metalink end %s", i->name);
    else if (i->kind == IFACE_TUNNEL)
        snprintf(s, sizeof s, "tunnel %s", i->name);
    else
        snprintf(s, sizeof s, "vport %s of port %s", i->name, port_get(i->port)->name);
    return text_value(s);
}

static struct value alias(const struct iface *i)
{
    char s[256];

    iface_manager_description(i->id, s);
    return text_value(s);
}

static struct counter_iface interface_counters(const struct iface *i)
{
    struct counter_iface c;

    counter_sum_iface(i->id, &c);
    return c;
}

// --- what queues have dropped: read for all interfaces at once, at most once a second -----------

static struct {
    uint64_t read_ns, of_iface[IFACE_MAX];
} discards;

static uint64_t client_drops(const struct port_queue_client_state *c)
{
    uint64_t n = 0;

    for (unsigned k = 0; k < QUEUE_CLASSES; k++) {
        const struct queue_class_stats *t = &c->class[k].total;

        n += t->refused_class + t->refused_client + t->refused_share + t->dropped_codel +
             t->dropped_old + t->dropped_flow;
    }
    return n;
}

static void add_discards(const char *iface, uint64_t n)
{
    const struct iface *i = iface_find_name(iface);

    if (i)
        discards.of_iface[i->id] += n;
}

// A sub-interface without a queue of its own drops as its virtual router, at the port.
static void read_discards(void)
{
    struct port_queue_client_state c;
    struct port_queue_state q;

    memset(discards.of_iface, 0, sizeof discards.of_iface);
    for (unsigned i = 0; port_queue_manager_at(i, &q); i++) {
        uint64_t all = q.refused_port + q.refused_ring;

        for (unsigned k = 0; port_queue_manager_client(q.port, k, &c); k++) {
            all += client_drops(&c);
            if (c.vport[0])
                add_discards(c.vport, client_drops(&c));
        }
        add_discards(q.port, all);
    }
}

static uint64_t queue_discards(const struct iface *i)
{
    uint64_t now = clock_now_ns();

    if (!discards.read_ns || now - discards.read_ns > NS_PER_SECOND) {
        discards.read_ns = now;
        read_discards();
    }
    return discards.of_iface[i->id];
}

// ifEntry; false: the column is not there.
static bool if_column(const struct iface *i, uint32_t column, struct value *v)
{
    static const struct oid none = {2, {0, 0}};
    struct counter_iface c;
    uint64_t bps;

    switch (column) {
    case 1: *v = value_integer(i->id); return true;
    case 2: *v = description(i); return true;
    case 3:
        *v = value_integer(i->kind == IFACE_PORT       ? IF_TYPE_ETHERNET
                           : i->kind == IFACE_METALINK ? IF_TYPE_VIRTUAL
                                                       : IF_TYPE_VLAN);
        return true;
    case 4: *v = value_integer(i->mtu); return true;
    case 5:
        bps = speed_mbps(i) * 1000000ull;
        *v = value_unsigned(VALUE_GAUGE32, bps > UINT32_MAX ? UINT32_MAX : bps);
        return true;
    case 6: *v = value_string(i->mac, 6); return true;
    case 7: *v = mib_if_status(i->id, true); return true;
    case 8: *v = mib_if_status(i->id, false); return true;
    case 9: *v = value_unsigned(VALUE_TIME_TICKS, seen[i->id].changed); return true;
    case 19: *v = value_unsigned(VALUE_COUNTER32, queue_discards(i)); return true;
    case 22: *v = (struct value){.type = VALUE_OID, .oid = none}; return true;
    }
    c = interface_counters(i);
    switch (column) {
    case 10: *v = value_unsigned(VALUE_COUNTER32, c.rx_bytes); return true;
    case 11: *v = value_unsigned(VALUE_COUNTER32, c.rx_packets); return true;
    case 13: *v = value_unsigned(VALUE_COUNTER32, c.drop_packets); return true;
    case 16: *v = value_unsigned(VALUE_COUNTER32, c.tx_bytes); return true;
    case 17: *v = value_unsigned(VALUE_COUNTER32, c.tx_packets); return true;
    }
    return false;
}

// ifXEntry
static bool ifx_column(const struct iface *i, uint32_t column, struct value *v)
{
    struct counter_iface c;

    switch (column) {
    case 1: *v = text_value(i->name); return true;
    case 14: *v = value_integer(TRUTH_TRUE); return true; // linkUp and linkDown are told
    case 15: *v = value_unsigned(VALUE_GAUGE32, speed_mbps(i)); return true;
    case 16: *v = value_integer(promiscuous(i) ? TRUTH_TRUE : TRUTH_FALSE); return true;
    case 17: *v = value_integer(i->kind == IFACE_PORT ? TRUTH_TRUE : TRUTH_FALSE); return true;
    case 18: *v = alias(i); return true;
    case 19: *v = value_unsigned(VALUE_TIME_TICKS, 0); return true;
    }
    c = interface_counters(i);
    switch (column) {
    case 6: *v = value_unsigned(VALUE_COUNTER64, c.rx_bytes); return true;
    case 7: *v = value_unsigned(VALUE_COUNTER64, c.rx_packets); return true;
    case 10: *v = value_unsigned(VALUE_COUNTER64, c.tx_bytes); return true;
    case 11: *v = value_unsigned(VALUE_COUNTER64, c.tx_packets); return true;
    }
    return false;
}

// --- tables -------------------------------------------------------------------------------------

struct if_place { // TREE.1.column.index[.second]
    uint32_t column, index[2];
    bool at; // the place itself is asked for too
};

// Where in the table `from` is. False: behind all of it.
static bool place_of(const struct oid *tree, const struct oid *from, bool include, unsigned n_index,
                     struct if_place *p)
{
    const uint32_t *id = from->id + tree->n;
    unsigned n = oid_is_in(from, tree) ? from->n - tree->n : 0;

    *p = (struct if_place){.at = true};
    if (!n || id[0] < 1)
        return true;
    if (id[0] > 1)
        return false;
    p->column = n > 1 ? id[1] : 0;
    for (unsigned i = 0; i < n_index && i + 2 < n; i++)
        p->index[i] = id[2 + i];
    p->at = n < 2 + n_index || (n == 2 + n_index && include);
    return true;
}

static void place_name(const struct oid *tree, const struct if_place *p, unsigned n_index,
                       struct oid *name)
{
    *name = *tree;
    oid_add(name, 1);
    oid_add(name, p->column);
    for (unsigned i = 0; i < n_index; i++)
        oid_add(name, p->index[i]);
}

static enum mib_found
next_interface(const struct oid *tree, const struct oid *from, bool include, uint32_t last_column,
               bool (*column)(const struct iface *i, uint32_t column, struct value *v),
               struct oid *name, struct value *v)
{
    struct if_place p;

    if (!place_of(tree, from, include, 1, &p))
        return MIB_END;
    uint64_t id = (uint64_t)p.index[0] + !p.at;
    for (; p.column <= last_column; p.column++, id = 0) {
        for (; id < IFACE_MAX; id++) {
            if (!exists((uint16_t)id))
                continue;
            if (!column(iface_get((uint16_t)id), p.column, v))
                break; // nobody has it
            p.index[0] = (uint32_t)id;
            place_name(tree, &p, 1, name);
            return MIB_FOUND;
        }
    }
    return MIB_END;
}

static const struct oid if_number = {9, {1, 3, 6, 1, 2, 1, 2, 1, 0}},
                        if_table = {8, {1, 3, 6, 1, 2, 1, 2, 2}},
                        ifx_table = {9, {1, 3, 6, 1, 2, 1, 31, 1, 1}},
                        stack_table = {9, {1, 3, 6, 1, 2, 1, 31, 1, 2}},
                        if_changed = {10, {1, 3, 6, 1, 2, 1, 31, 1, 5, 0}};

enum mib_found mib_if_number(const struct mib_question *q, const struct oid *from, bool include,
                             struct oid *name, struct value *v)
{
    int32_t n = 0;

    for (uint16_t id = 1; id < IFACE_MAX; id++)
        n += exists(id);
    *v = value_integer(n);
    return mib_scalar(&if_number, from, include, name);
}

enum mib_found mib_if_changed(const struct mib_question *q, const struct oid *from, bool include,
                              struct oid *name, struct value *v)
{
    *v = value_unsigned(VALUE_TIME_TICKS, table_changed);
    return mib_scalar(&if_changed, from, include, name);
}

enum mib_found mib_if_table(const struct mib_question *q, const struct oid *from, bool include,
                            struct oid *name, struct value *v)
{
    return next_interface(&if_table, from, include, 22, if_column, name, v);
}

enum mib_found mib_ifx_table(const struct mib_question *q, const struct oid *from, bool include,
                             struct oid *name, struct value *v)
{
    return next_interface(&ifx_table, from, include, 19, ifx_column, name, v);
}

// --- ifStackTable: who runs on top of whom ------------------------------------------------------

static bool has_upper(uint16_t id)
{
    if (iface_get(id)->kind != IFACE_PORT)
        return false;
    for (uint16_t v = 1; v < IFACE_MAX; v++)
        if (iface_get(v)->kind == IFACE_VPORT && iface_get(v)->port == iface_get(id)->port)
            return true;
    return false;
}

// Of the rows of a `higher`, the first whose `lower` is `low` or more; false: none.
static bool stack_row(uint64_t higher, uint64_t low, uint32_t *lower)
{
    if (higher) {
        const struct iface *i = iface_get((uint16_t)higher);
        *lower = i->kind == IFACE_VPORT ? port_get(i->port)->untagged : 0;
        return low <= *lower;
    }
    for (; low < IFACE_MAX; low++)
        if (exists((uint16_t)low) && !has_upper((uint16_t)low)) {
            *lower = (uint32_t)low;
            return true;
        }
    return false;
}

enum mib_found mib_stack_table(const struct mib_question *q, const struct oid *from, bool include,
                               struct oid *name, struct value *v)
{
    const uint32_t status = 3; // its only readable column
    struct if_place p;

    if (!place_of(&stack_table, from, include, 2, &p) || p.column > status)
        return MIB_END;
    if (p.column < status)
        p = (struct if_place){.column = status, .at = true};
    uint64_t low = (uint64_t)p.index[1] + !p.at;
    for (uint64_t higher = p.index[0]; higher < IFACE_MAX; higher++, low = 0) {
        if ((higher && !exists((uint16_t)higher)) || !stack_row(higher, low, &p.index[1]))
            continue;
        p.index[0] = (uint32_t)higher;
        place_name(&stack_table, &p, 2, name);
        *v = value_integer(1); // active
        return MIB_FOUND;
    }
    return MIB_END;
}
