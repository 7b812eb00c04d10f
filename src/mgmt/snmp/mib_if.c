// SPDX-License-Identifier: BSD-3-Clause
// mib_if.c - IF-MIB (RFC 2863): ifTable, ifXTable with 64-bit counters, ifStackTable
//
// Forwarders count packets and bytes of an interface without their kind of destination, so all
// count as unicast, and the multicast and broadcast columns are missing. A counter that does not
// exist is missing instead of 0.
#include <stdio.h>
#include <string.h>

#include "base/vec.h"
#include "snmp/interfaces.h"
#include "snmp/mib.h"

enum { TRUTH_TRUE = 1, TRUTH_FALSE = 2, ROW_ACTIVE = 1 };

static int find_interface(const char *vr, const struct key *key, bool include,
                          const struct key **row)
{
    const struct interfaces *all;
    int r = interfaces_read(&all);

    *row = r ? NULL : rows_behind(all->row.item, all->row.n, sizeof *all->row.item, key, include);
    return r;
}

static void put_description(netsnmp_variable_list *v, const struct interface *i)
{
    char s[64];

    if (!i->ours)
        snprintf(s, sizeof s, "%s", i->name);
    else if (!strcmp(i->kind, "metalink"))
        snprintf(s, sizeof s, "metalink end %s", i->name);
    else if (!strcmp(i->kind, "vport"))
        snprintf(s, sizeof s, "vport %s of port %s", i->name, i->port);
    else
        snprintf(s, sizeof s, "%s %s", i->kind, i->name);
    value_text(v, s, 255);
}

// ifEntry
static void if_value(netsnmp_variable_list *v, const struct key *row, unsigned column)
{
    static const oid none[] = {0, 0};
    const struct interface *i = (const struct interface *)row;
    uint64_t bps = i->speed_mbps * 1000000ull;

    switch (column) {
    case 1: value_integer(v, row->id[0]); break;
    case 2: put_description(v, i); break;
    case 3: value_integer(v, i->type); break;
    case 4: value_integer(v, i->mtu); break;
    case 5: value_unsigned(v, ASN_GAUGE, bps > UINT32_MAX ? UINT32_MAX : bps); break;
    case 6: value_bytes(v, i->mac, i->n_mac); break;
    case 7: value_integer(v, i->admin); break;
    case 8: value_integer(v, i->oper); break;
    case 9: value_unsigned(v, ASN_TIMETICKS, i->changed.ticks); break;
    case 10: value_unsigned(v, ASN_COUNTER, i->rx_bytes); break;
    case 11: value_unsigned(v, ASN_COUNTER, i->rx_packets); break;
    case 13: value_unsigned(v, ASN_COUNTER, i->rx_drops); break;
    case 16: value_unsigned(v, ASN_COUNTER, i->tx_bytes); break;
    case 17: value_unsigned(v, ASN_COUNTER, i->tx_packets); break;
    case 19: value_unsigned(v, ASN_COUNTER, i->tx_drops); break;
    case 22: snmp_set_var_typed_value(v, ASN_OBJECT_ID, none, sizeof none); break;
    }
}

// ifXEntry
static void ifx_value(netsnmp_variable_list *v, const struct key *row, unsigned column)
{
    const struct interface *i = (const struct interface *)row;

    switch (column) {
    case 1: value_text(v, i->name, 255); break;
    case 6: value_unsigned(v, ASN_COUNTER64, i->rx_bytes); break;
    case 7: value_unsigned(v, ASN_COUNTER64, i->rx_packets); break;
    case 10: value_unsigned(v, ASN_COUNTER64, i->tx_bytes); break;
    case 11: value_unsigned(v, ASN_COUNTER64, i->tx_packets); break;
    case 14: value_integer(v, i->ours ? 1 : 2); break; // linkUp and linkDown are sent: enabled
    case 15: value_unsigned(v, ASN_GAUGE, i->speed_mbps); break;
    case 16: value_integer(v, i->promiscuous ? TRUTH_TRUE : TRUTH_FALSE); break;
    case 17:
        value_integer(v, i->type == 6 && strcmp(i->kind, "vport") ? TRUTH_TRUE : TRUTH_FALSE);
        break;
    case 18: value_text(v, i->alias, 64); break;
    case 19: value_unsigned(v, ASN_TIMETICKS, i->began.ticks); break;
    }
}

// --- scalars -------------------------------------------------------------------------------------

static int find_scalar(const char *vr, const struct key *key, bool include, const struct key **row)
{
    const struct interfaces *all;
    int r = interfaces_read(&all);

    return r ? r : scalar_find(key, include, row);
}

static void number_value(netsnmp_variable_list *v, const struct key *row, unsigned column)
{
    const struct interfaces *all;

    interfaces_read(&all);
    value_integer(v, (long)all->row.n);
}

static void changed_value(netsnmp_variable_list *v, const struct key *row, unsigned column)
{
    value_unsigned(v, ASN_TIMETICKS, interfaces_changed_ticks());
}

// --- ifStackTable: interface layers --------------------------------------------------------------

struct stacked {
    struct key key; // higher, lower
};
static VEC(struct stacked) stack;
static uint64_t stack_version; // version of the interfaces it was built from

static void add_pair(uint32_t higher, uint32_t lower)
{
    *vec_push(&stack) = (struct stacked){.key = {2, {higher, lower}}};
}

static bool is_under(const struct interfaces *all, const struct interface *port)
{
    vec_foreach (&all->row, i)
        if (!strcmp(i->kind, "vport") && !strcmp(i->port, port->name))
            return true;
    return false;
}

static void make_stack(const struct interfaces *all)
{
    vec_clear(&stack);
    vec_foreach (&all->row, i) {
        bool vport = !strcmp(i->kind, "vport"), port = !strcmp(i->kind, "port");
        add_pair(i->key.id[0], vport ? interfaces_number(i->port) : 0);
        if (!port || !is_under(all, i))
            add_pair(0, i->key.id[0]);
    }
    rows_sort(stack.item, &stack.n, sizeof *stack.item);
    stack_version = all->version;
}

static int find_stacked(const char *vr, const struct key *key, bool include, const struct key **row)
{
    const struct interfaces *all;
    int r = interfaces_read(&all);

    if (r)
        return r;
    if (stack_version != all->version)
        make_stack(all);
    *row = rows_behind(stack.item, stack.n, sizeof *stack.item, key, include);
    return 0;
}

static void stack_value(netsnmp_variable_list *v, const struct key *row, unsigned column)
{
    value_integer(v, ROW_ACTIVE);
}

#define C(n) (1u << (n))
const struct mib_tree mib_if_trees[] = {
    {.name = "ifNumber",
     MIB_ROOT(1, 3, 6, 1, 2, 1, 2, 1),
     .find = find_scalar,
     .value = number_value},
    {.name = "ifTable",
     MIB_ROOT(1, 3, 6, 1, 2, 1, 2, 2),
     .columns = C(1) | C(2) | C(3) | C(4) | C(5) | C(6) | C(7) | C(8) | C(9) | C(10) | C(11) |
                C(13) | C(16) | C(17) | C(19) | C(22),
     .find = find_interface,
     .value = if_value},
    {.name = "ifXTable",
     MIB_ROOT(1, 3, 6, 1, 2, 1, 31, 1, 1),
     .columns = C(1) | C(6) | C(7) | C(10) | C(11) | C(14) | C(15) | C(16) | C(17) | C(18) | C(19),
     .find = find_interface,
     .value = ifx_value},
    {.name = "ifStackTable",
     MIB_ROOT(1, 3, 6, 1, 2, 1, 31, 1, 2),
     .columns = C(3),
     .find = find_stacked,
     .value = stack_value},
    {.name = "ifTableLastChange",
     MIB_ROOT(1, 3, 6, 1, 2, 1, 31, 1, 5),
     .find = find_scalar,
     .value = changed_value},
    {0}};
