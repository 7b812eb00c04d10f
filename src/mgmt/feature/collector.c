// SPDX-License-Identifier: BSD-3-Clause
// collector.c - shared by sFlow and IPFIX: collectors, and sampled interfaces
#include "feature/collector.h"

#include <stdlib.h>
#include <string.h>

#include "restconf/column.h"
#include "table/iface.h"
#include "yang/config_tree.h"
#include "yang/yang.h"

static const struct column collector_columns[] = {
    COLUMN(struct export_collector, addr, "address"),
    COLUMN(struct export_collector, port, "port"),
    {0}};
static const struct column state_columns[] = {
    COLUMN(struct collector_state, to.addr, "address"),
    COLUMN(struct collector_state, to.port, "port"),
    COLUMN(struct collector_state, datagrams, "datagrams"),
    COLUMN(struct collector_state, bytes, "bytes"),
    COLUMN(struct collector_state, lost, "datagrams-lost"),
    COLUMN(struct collector_state, error, "error", .any = true),
    {0}};

unsigned collector_read(struct export_collector *c, const struct lyd_node *first,
                        const char *container)
{
    const struct lysc_node *parent = yang_child(NULL, container, true);
    struct lyd_nodes v = {0};
    unsigned n = 0;

    config_children(first, yang_child(parent, "collector", true), &v);
    for (; n < v.n && n < EXPORT_COLLECTORS; n++)
        columns_read(lyd_child(v.item[n]), collector_columns, &c[n]);
    free(v.item);
    return n;
}

void collector_write_interfaces(struct jwrite *j, uint8_t sample)
{
    jwrite_begin(j, "interface", '[');
    for (uint16_t id = 1; id < IFACE_MAX; id++)
        if (iface_get(id)->kind != IFACE_NONE && iface_get(id)->policy.sample & sample)
            jwrite_string(j, NULL, iface_get(id)->name);
    jwrite_end(j, ']');
}

void collector_write_states(struct jwrite *j, const struct collector_state *c, unsigned n)
{
    jwrite_begin(j, "collector", '[');
    for (unsigned i = 0; i < n; i++)
        columns_object(j, NULL, state_columns, &c[i]);
    jwrite_end(j, ']');
}
