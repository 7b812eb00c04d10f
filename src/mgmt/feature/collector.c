// SPDX-License-Identifier: BSD-3-Clause
// collector.c - collectors that sFlow and IPFIX are sent to, by the configuration
#include "feature/collector.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "config/leaf.h"
#include "yang/config_tree.h"
#include "yang/yang.h"

void collector_read_address(struct ip_addr *a, const char *text)
{
    struct ip_addr parsed;

    if (!text)
        return;
    bug_on(ip_parse(text, &parsed)); // of the schema's type
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
