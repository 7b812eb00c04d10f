// SPDX-License-Identifier: BSD-3-Clause
// operation_clear.c - clear-counters: counters of interfaces and ports begin anew where people read
// them (table/counter.h); clear-neighbor
#include <string.h>

#include "base/log.h"
#include "http/refuse.h"
#include "restconf/operation.h"
#include "port/port_manager.h"
#include "rib/rib_manager.h"
#include "table/counter.h"
#include "table/iface.h"
#include "table/vr.h"

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
        http_refuse(h, 404, "invalid-value", "there is no %s '%s'", *of ? of : "interface or port",
                    name);
        return;
    }
    log_notice("operation: counters cleared: of=\"%s\" name=\"%s\" by=%s", *of ? of : "all", name,
               LOG_VALUE(http_peer(h)));
    http_reply(h, 204, NULL, NULL);
}

static void neighbors_cleared(void *ctx, unsigned n, int error)
{
    struct http *h = ctx;
    struct text t = {0};
    struct jwrite j;

    if (http_gone(h)) {
        http_reply(h, 200, NULL, NULL);
        return;
    }
    if (error && !n) {
        http_refuse(h, 409, "resource-denied", "the kernel cannot delete neighbors: %s",
                    strerror(-error));
        return;
    }
    output_begin(&j, &t);
    jwrite_int(&j, "count", n);
    output_send(h, &j);
}

void operation_clear_neighbor(struct http *h, const struct lyd_node *op)
{
    const char *vr = operation_input(op, "vr"), *name = operation_input(op, "interface"),
               *address = operation_input(op, "address");
    const struct vr *v = *vr ? vr_find(vr) : NULL;
    struct ip_addr addr = {0};

    if (*vr && !v)
        http_refuse(h, 404, "invalid-value", "there is no vr '%s'", vr);
    else if (*name && !iface_find_name(name))
        http_refuse(h, 404, "invalid-value", "there is no interface '%s'", name);
    else if (*address && ip_parse(address, &addr))
        http_refuse(h, 400, "invalid-value", "'%s' is not an address", address);
    else { // the kernel tells of those that go
        log_notice("operation: neighbors cleared: vr=\"%s\" interface=\"%s\" address=\"%s\" by=%s",
                   vr, name, address, LOG_VALUE(http_peer(h)));
        int r = rib_manager_neigh_clear(v ? v->id : -1, name, &addr, neighbors_cleared, h);
        if (r)
            http_refuse_busy(h, "rib_manager", r);
    }
}
