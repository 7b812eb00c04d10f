// SPDX-License-Identifier: BSD-3-Clause
// tunnel_ends.c - the interface of a tunnel: its entry in the table, its MAC address and MTU
//
// The table entry is complete before the interface exists, and packets from outside find the tunnel
// last (src/data/table/tunnel.h). rib_manager reports the MTU of the path to the remote end.
#include "tunnel/tunnel_linux.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "base/log.h"
#include "core/thread.h"
#include "interface/control_event.h"
#include "interface/iface_manager.h"
#include "rib/rib_manager.h"
#include "table/port.h"
#include "table/tunnel.h"
#include "table/vr.h"

static uint16_t mtu_wanted[TUNNEL_NUMBERS]; // as configured, 0 = as the path allows

#define TUNNEL_MTU_MIN 68 // RFC 791 3.2

// MTU of the path less the outer header, and at most the configured MTU.
static uint16_t tunnel_mtu(uint16_t number, uint16_t wanted)
{
    const struct tunnel *t = tunnel_get(number);
    unsigned path = __atomic_load_n(&t->path_mtu, __ATOMIC_RELAXED),
             mtu = path != TUNNEL_PATH_ANY ? path : 1500,
             overhead = tunnel_overhead(t->id.kind, t->id.family, t->keyed);

    mtu = mtu > overhead + TUNNEL_MTU_MIN ? mtu - overhead : TUNNEL_MTU_MIN;
    return wanted && (path == TUNNEL_PATH_ANY || wanted < mtu) ? wanted : (uint16_t)mtu;
}

static struct iface *iface_of_tunnel(uint16_t number)
{
    uint16_t id = port_iface(port_get(tunnel_port(number)), 0, tunnel_vlan(number));

    return id ? iface_get(id) : NULL;
}

static void set_path_mtu(const struct iface *i)
{
    uint16_t number = i->kind == IFACE_TUNNEL ? tunnel_of_iface(i) : 0;
    char err[200];

    if (number &&
        iface_manager_set_mtu(i->name, tunnel_mtu(number, mtu_wanted[number]), err, sizeof err))
        log_warning("tunnel: MTU not set: %s", err);
}

static void follow_path(uint16_t number)
{
    static const char *const state[] = {"up", "no-route", "recursion"};
    const struct iface *i = iface_of_tunnel(number);
    const struct tunnel *t = tunnel_get(number);

    thread_must_be(ROLE_CONTROL);
    if (!i)
        return;
    log_info("tunnel: interface=%s state=%s path-mtu=%u", i->name, state[t->state], t->path_mtu);
    set_path_mtu(i);
}

// Before its TAP is up, because later Linux scans all IPv6 routes for it.
static void on_start(const struct control_event *e)
{
    set_path_mtu(e->iface);
}

void tunnel_ends_init(void)
{
    control_event_listen(EVENT_IFACE_STARTS, on_start);
    rib_tunnel_set_event(follow_path);
}

// Derived from name and local end, so that it is the same after a restart and the two ends differ.
static void tunnel_mac(uint8_t mac[6], const char *name, const struct tunnel_settings *s)
{
    uint64_t hash = hash_bytes(&s->id.local, sizeof s->id.local, hash_bytes(name, strlen(name), 0));

    memcpy(mac, &hash, 6);
    mac[0] = 0x02; // locally administered, unicast
}

// A Linux tunnel makes room for a configured one: a tunnel with the same ends, or any other.
static uint16_t tunnel_reserve(const char *name, const struct tunnel_settings *s, char *err,
                               size_t err_size)
{
    uint16_t taken, number = tunnel_new(s, &taken);
    const struct iface *other = taken ? iface_of_tunnel(taken) : NULL;

    for (unsigned k = 0; k < 2 && !number && !s->by_linux; k++) {
        if (!taken)
            control_event_tell(EVENT_ROOM_WANTED);
        else if (other)
            control_event_tell(EVENT_IFACE_WANTED, .iface = other);
        number = tunnel_new(s, &taken);
        other = taken ? iface_of_tunnel(taken) : NULL;
    }
    if (!number && other)
        snprintf(err, err_size,
                 "tunnel %s: tunnel %s has the same kind, ends and key or VNI: change one of them",
                 name, other->name);
    else if (!number)
        snprintf(err, err_size, "tunnel %s: too many tunnels (at most %d)", name, TUNNEL_MAX);
    return number;
}

int tunnel_end_add(const char *name, const struct tunnel_settings *s, uint16_t mtu, const char *vr,
                   const struct tunnel_device *device, char *err, size_t err_size)
{
    uint16_t number = tunnel_reserve(name, s, err, err_size);

    if (!number)
        return -EEXIST;
    struct iface wish = {.port = tunnel_port(number),
                         .vlan = tunnel_vlan(number),
                         .tpid_be = htons(0x8100),
                         .ifindex = device ? device->ifindex : 0};
    struct port *port = port_get(wish.port);
    mtu_wanted[number] = mtu;
    wish.mtu = tunnel_mtu(number, mtu);
    snprintf(wish.name, sizeof wish.name, "%s", name);
    if (device && tunnel_is_ethernet(s->id.kind))
        memcpy(wish.mac, device->mac, sizeof wish.mac);
    else
        tunnel_mac(wish.mac, name, s);
    port->used = true; // visible to captures and traces; all tunnels share that name
    snprintf(port->name, sizeof port->name, "tunnel");
    int r = iface_add(&wish, IFACE_TUNNEL, mtu, vr, err, err_size);
    if (r) {
        tunnel_free(number);
        return r;
    }
    tunnel_publish(number, iface_find_name(name)->id, wish.mac);
    return 0;
}

int iface_manager_add_tunnel(const char *name, const char *outer_vr,
                             const struct tunnel_settings *settings, uint16_t mtu, const char *vr,
                             char *err, size_t err_size)
{
    const struct vr *outer = vr_find(outer_vr);
    struct tunnel_settings s = *settings;

    thread_must_be(ROLE_CONTROL);
    if (!outer) {
        snprintf(err, err_size, "tunnel %s: there is no virtual router %s", name, outer_vr);
        return -ENOENT;
    }
    s.id.vr = outer->id;
    return tunnel_end_add(name, &s, mtu, vr, NULL, err, err_size);
}

int iface_manager_set_tunnel_mtu(const char *name, uint16_t mtu, char *err, size_t err_size)
{
    const struct iface *i = iface_find_name(name);

    thread_must_be(ROLE_CONTROL);
    if (!i || i->kind != IFACE_TUNNEL) {
        snprintf(err, err_size, "there is no tunnel %s", name);
        return -ENOENT;
    }
    mtu_wanted[tunnel_of_iface(i)] = mtu;
    return iface_manager_set_mtu(name, tunnel_mtu(tunnel_of_iface(i), mtu), err, err_size);
}
