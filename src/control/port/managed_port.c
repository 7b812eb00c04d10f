// SPDX-License-Identifier: BSD-3-Clause
// managed_port.c - the list of ports with a device, and the link of each
//
// A change of a link goes first to the port's LAG, whose flows wait for another member, then to the
// interfaces, where rib_manager hears of it before the TAPs do, and last to management.
#include "port/managed_port.h"

#include <string.h>

#include "base/log.h"
#include "core/thread.h"
#include "interface/control_event.h"
#include "interface/iface_manager.h"

struct managed managed;
const struct port_lags *port_lags;

struct managed_port *managed_port_find(const char *name)
{
    vec_foreach (&managed.port, p)
        if (!strcmp((*p)->wish.name, name))
            return *p;
    return NULL;
}

static void (*link_listener)(const char *port, bool up);

void port_manager_on_link(void (*fn)(const char *port, bool up))
{
    thread_must_be(ROLE_CONTROL);
    link_listener = fn;
}

void managed_port_announce(const char *port, bool up)
{
    if (link_listener)
        link_listener(port, up);
}

void managed_port_update_link(struct managed_port *p)
{
    struct rte_eth_link link;
    bool up = p->started && port_device_link(&p->device, &link);

    if (up == p->link_up)
        return;
    p->link_up = up;
    control_event_tell(EVENT_PORT_LINK, .port = p);
    p->link_changes += p->started;
    log_notice("port_manager: link: port=%s state=%s", p->wish.name, up ? "up" : "down");
    iface_manager_port_link(p->device.id, up);
    managed_port_announce(p->wish.name, up);
}
