// SPDX-License-Identifier: BSD-3-Clause
// iface_link.c - the link of each port, and the flag `up` of its interfaces
//
// An interface is up if the operator has set its TAP up and it has carrier: that of its port, or
// for a metalink the other end's state; a tunnel always has it, an interface of a stopped virtual
// router never. After a restart a port may be presumed up until it reports its link, because Linux
// deletes the routes of a TAP that loses its carrier.
#include "interface/iface_tap.h"

#include "base/clock.h"
#include "core/thread.h"
#include "interface/iface_manager.h"
#include "table/iface.h"
#include "table/port.h"
#include "table/tunnel.h"
#include "table/vr.h"
#include "tap/tap.h"

static uint64_t changed_ns[IFACE_MAX]; // wall clock, 0 = not yet up or down
static struct port_link {              // of the port
    bool up;
    bool told;     // `up` was reported by the port
    bool presumed; // presumed up, because a kept TAP has carrier
} port_link[PORT_MAX];

struct iface *iface_manager_peer(const struct iface *end)
{
    uint16_t id = end->kind == IFACE_METALINK ? port_iface(port_get(end->port), 0, end->vlan) : 0;

    return id ? iface_get(id) : NULL;
}

bool iface_link_carrier(const struct iface *i)
{
    const struct iface *peer = iface_manager_peer(i);

    if (vr_get(i->vr)->stopped)
        return false;
    if (i->port == PORT_METALINK)
        return peer && peer->admin_up && !vr_get(peer->vr)->stopped;
    if (tunnel_is_port(i->port))
        return true; // only BFD can tell whether the remote end is alive
    return port_link[i->port].up;
}

void iface_link_update_up(struct iface *i)
{
    bool up = i->admin_up && i->carrier;

    if (!changed_ns[i->id] || up != !!(iface_flags(i) & IFACE_UP))
        changed_ns[i->id] = clock_wall_ns();
    iface_set_flags(i, IFACE_UP | IFACE_OFFLOAD,
                    (up ? IFACE_UP : 0) |
                        (port_get(i->port)->offload ? IFACE_OFFLOAD : 0));
}

uint64_t iface_manager_changed_ns(uint16_t id)
{
    return changed_ns[id];
}

void iface_link_forget(uint16_t id)
{
    changed_ns[id] = 0;
}

void iface_manager_restore_changed(uint16_t id, bool up, uint64_t changed)
{
    thread_must_be(ROLE_CONTROL);
    if (up == !!(iface_flags(iface_get(id)) & IFACE_UP) && changed < changed_ns[id])
        changed_ns[id] = changed;
}

void iface_link_new_port(uint16_t port)
{
    port_link[port] = (struct port_link){0};
}

void iface_link_set_port(uint16_t port, bool up)
{
    port_link[port] = (struct port_link){.up = up, .told = true};
}

void iface_link_port_moved(uint16_t from, uint16_t to)
{
    port_link[to] = port_link[from];
}

// Without carrier a kept TAP would lose its routes. So its interface stays up, and so do the other
// interfaces of its port, until the port reports its link. Frames from the TAP wait in the kernel
// meanwhile.
void iface_link_presume(struct iface *i, const struct tap *tap)
{
    struct tap_state now;

    if (!tap->kept || tap_read_state(tap, &now) || !now.carrier || vr_get(i->vr)->stopped)
        return;
    if (i->port == PORT_METALINK) {
        i->carrier = true;
    } else if (!i->vlan && !port_link[i->port].told) {
        port_link[i->port].up = port_link[i->port].presumed = true;
        i->carrier = true;
    }
}

bool iface_link_is_presumed(uint16_t port)
{
    return port_link[port].presumed;
}
