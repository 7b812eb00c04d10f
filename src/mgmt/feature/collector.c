// SPDX-License-Identifier: BSD-3-Clause
// collector.c - shared by sFlow and IPFIX: collectors, and sampled interfaces
#include "feature/collector.h"

#include "config/leaf.h"
#include "table/iface.h"
#include "yang/yang.h"

static const struct column address_columns[] = {
    COLUMN(struct export_collector, addr, "address"),
    COLUMN(struct export_collector, port, "port"),
    {0}};
const struct column collector_columns[] = {
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
    unsigned n = 0;

    leaf_foreach (first, yang_child(NULL, container, true), "collector", entry)
        if (n < EXPORT_COLLECTORS)
            columns_read(lyd_child(entry), address_columns, &c[n++]);
    return n;
}

void collector_write_interfaces(struct jwrite *j, uint8_t sample)
{
    jwrite_begin(j, "interface", '[');
    iface_each (i)
        if (i->policy.sample & sample)
            jwrite_string(j, NULL, i->name);
    jwrite_end(j, ']');
}
