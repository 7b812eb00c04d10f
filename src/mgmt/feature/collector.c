// SPDX-License-Identifier: BSD-3-Clause
// collector.c - shared by sFlow and IPFIX: collectors, and sampled interfaces
#include "feature/collector.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "config/leaf.h"
#include "table/iface.h"
#include "yang/config_tree.h"
#include "yang/yang.h"

void collector_read_address(struct ip_addr *a, const char *text)
{
    struct ip_addr parsed;

    if (!text)
        return;
    bug_on(ip_parse(text, &parsed)); // checked by the schema's type
    a->family = parsed.family;
    memcpy(a->b, parsed.b, 16);
}

unsigned collector_read(struct export_collector *c, const struct lyd_node *first,
                        const char *container)
{
    const struct lysc_node *parent = yang_child(NULL, container, true);
    struct lyd_nodes v = {0};
    unsigned n = 0;

    config_children(first, yang_child(parent, "collector", true), &v);
    for (; n < v.n && n < EXPORT_COLLECTORS; n++) {
        const struct lyd_node *leaves = lyd_child(v.item[n]);
        collector_read_address(&c[n].addr, config_value(leaves, "address"));
        c[n].port = (uint16_t)leaf_number(leaves, "port", 0);
    }
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
    for (unsigned i = 0; i < n; i++) {
        jwrite_begin(j, NULL, '{');
        jwrite_ip(j, "address", &c[i].to.addr);
        jwrite_int(j, "port", c[i].to.port);
        jwrite_u64(j, "datagrams", c[i].datagrams);
        jwrite_u64(j, "bytes", c[i].bytes);
        jwrite_u64(j, "datagrams-lost", c[i].lost);
        jwrite_string_any(j, "error", c[i].error);
        jwrite_end(j, '}');
    }
    jwrite_end(j, ']');
}
