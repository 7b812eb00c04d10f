// SPDX-License-Identifier: BSD-3-Clause
// operation_clear.c - the operation clear-counters: counters of interfaces and ports begin anew where people read them (table/counter.h)
#include <string.h>

#include "base/log.h"
#include "http/refuse.h"
#include "operation/operation.h"
#include "port/port_manager.h"
#include "table/counter.h"
#include "table/iface.h"

// Each returns how many of that name there are; "": all.
static unsigned clear_interfaces(const char *name)
{
    unsigned n = 0;

    for (unsigned id = 1; id < IFACE_MAX; id++) {
        const struct iface *i = iface_get((uint16_t)id);

        if (i->kind == IFACE_NONE || (*name && strcmp(i->name, name)))
            continue;
        counter_clear_iface(i->id);
        n++;
    }
    return n;
}

static unsigned clear_ports(const char *wanted)
{
    char name[PORT_MAX][16];
    unsigned n = 0, listed = port_manager_list(name, PORT_MAX);

    for (unsigned i = 0; i < listed; i++)
        if (!*wanted || !strcmp(name[i], wanted))
            n += !port_manager_clear(name[i]);
    return n;
}

void operation_clear_counters(struct http *h, const struct lyd_node *op)
{
    const char *of = operation_input(op, "of"), *name = operation_input(op, "name");
    unsigned n = 0;

    if (strcmp(of, "port"))
        n += clear_interfaces(name);
    if (strcmp(of, "interface"))
        n += clear_ports(name);
    if (*name && !n) {
        http_refuse(h, 404, "invalid-value", "there is no %s '%s'", *of ? of : "interface or port", name);
        return;
    }
    log_notice("operation: counters cleared: of=\"%s\" name=\"%s\" by=%s", *of ? of : "all", name, LOG_VALUE(http_peer(h)));
    http_reply(h, 204, NULL, NULL);
}
