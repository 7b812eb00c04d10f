// SPDX-License-Identifier: BSD-3-Clause
// iface_follow.c - follows, restores or reports changes that the operator makes to TAPs (iproute2)
//
//     up, down      followed: the interface goes down in the data plane too, and the other end of a
//                   metalink loses its carrier
//     MAC           followed if the port has none configured and its device takes it; a vport and
//                   a metalink's end may have their own
//     MTU, carrier  restored: they are the port's
//     name          restored: it is the interface's
//     deletion      the TAP is made again
//     macvlans      their MACs are accepted for the interface
//     VLAN device   reported: it gets no frames, because vports take the tags
//     master        reported: packets for the router go to the bridge or bond, not to the TAP
// An announcement may be outdated when it is read, and our own changes are announced as well. So
// each one only makes us read the TAP's present state.
#include "port/port_manager.h"

#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/plain.h"
#include "base/text.h"
#include "core/thread.h"
#include "interface/iface_manager.h"
#include "interface/iface_tap.h"
#include "interface/kernel_state.h"
#include "rib/rib_manager.h"
#include "table/iface.h"
#include "table/vr.h"
#include "tap/tap.h"

#define TABLE_MAIN 254

static void follow_admin_state(struct iface *i, bool up)
{
    if (up == i->admin_up || iface_tap_is_unstarted(i))
        return;
    i->admin_up = up;
    iface_set_flags(i, IFACE_UP, up && i->carrier ? IFACE_UP : 0);
    log_info("iface_follow: interface=%s admin=%s", i->name, up ? "up" : "down");
    rib_manager_iface_changed(i->id);
    iface_manager_end_changed(i);
}

static void restore_mtu(const struct iface *i, const struct tap_state *now)
{
    if (now->mtu == tap_mtu(i->mtu))
        return;
    log_notice("iface_follow: MTU of a TAP restored, it follows the port (set port NAME mtu N): "
               "interface=%s mtu=%u",
               i->name, tap_mtu(i->mtu));
    tap_set_mtu(iface_tap(i), i->mtu);
}

static void restore_carrier(const struct iface *i, const struct tap_state *now)
{
    if (!now->up || now->carrier == i->carrier) // unknown while the TAP is down
        return;
    log_notice("iface_follow: carrier of a TAP restored, it follows the port (port stop NAME): "
               "interface=%s carrier=%s",
               i->name, i->carrier ? "on" : "off");
    tap_set_carrier(iface_tap(i), i->carrier);
}

static void restore_name(const struct iface *i, const struct tap_state *now)
{
    char shown[PLAIN_NAME_SHOWN];
    int r = strcmp(now->name, i->name) ? tap_rename(iface_tap(i), now->name) : 0;

    if (!r && strcmp(now->name, i->name))
        log_notice("iface_follow: name of a TAP restored, it follows the interface: interface=%s "
                   "renamed=%s",
                   i->name, LOG_VALUE(now->name));
    kernel_state_set(i->name, "name", r,
                     "its TAP was renamed to '%s' and cannot be renamed back: %s: ip link set if%d "
                     "down; ip link set if%d name %s",
                     plain_name_shown(now->name, shown), strerror(-r), i->ifindex, i->ifindex,
                     i->name);
}

static void follow_mac(struct iface *i, const struct tap_state *now)
{
    char err[200], mac[MAC_TEXT_MAX];

    if (!memcmp(now->mac, i->mac, sizeof i->mac))
        return;
    text_format_mac(now->mac, mac);
    int r = i->kind == IFACE_PORT ? port_manager_follow_mac(i->name, now->mac, err, sizeof err) : 0;
    if (r) {
        text_format_mac(i->mac, mac);
        log_notice("iface_follow: %s, MAC of the TAP restored: interface=%s mac=%s", err, i->name,
                   mac);
        tap_set_mac(iface_tap(i), i->mac);
        return;
    }
    if (i->kind != IFACE_PORT) {
        memcpy(i->mac, now->mac, sizeof i->mac); // a frame may be dropped as not ours meanwhile
        rib_manager_iface_changed(i->id);
    }
    port_manager_update_filter(i->port);
    log_notice("iface_follow: MAC of a TAP changed, followed: interface=%s mac=%s%s", i->name, mac,
               i->kind == IFACE_PORT ? " until the next start (to keep it: set port NAME mac M)"
                                     : "");
}

static void follow_macvlans(struct iface *i, const struct iface_kernel_event *e)
{
    if (iface_set_macs(i, e->mac, e->n_macs < IFACE_MACS ? e->n_macs : IFACE_MACS)) {
        log_info("iface_follow: MACs of macvlans: interface=%s n=%u", i->name, e->n_macs);
        port_manager_update_filter(i->port);
    }
    kernel_state_set(i->name, "macvlans", e->n_macs > IFACE_MACS,
                     "its TAP has %u macvlans, but only the MACs of %d are accepted: delete some",
                     e->n_macs, IFACE_MACS);
}

static void report_master(const struct iface *i, const struct iface_kernel_event *e)
{
    const struct vr *v = vr_get(i->vr);
    uint32_t expected = v->table == TABLE_MAIN ? 0 : v->table;
    bool in_vrf = expected && e->vrf_table == expected;

    kernel_state_set(i->name, "master", e->master[0] && !in_vrf,
                     "its TAP is a member of %s: Linux gives packets to the router to that device, "
                     "while forwarding ignores it; remove it: ip link set %s nomaster",
                     e->master, i->name);
    // If there is no VRF device at all, the virtual router itself has the alarm route-not-followed.
    kernel_state_set(
        i->name, "vrf", expected && e->has_vrf && !in_vrf,
        "virtual router %s uses table %u, but its TAP is not in a VRF device with "
        "that table, so its connected routes are in another table; add it: ip link set "
        "%s master VRF",
        v->name, expected, i->name);
}

static void report_vlan_device(const struct iface *i, const struct iface_kernel_event *e)
{
    kernel_state_set(i->name, "vlan", e->vlan_device[0],
                     "the VLAN device %s stands on its TAP and gets no frames, because tags are "
                     "taken by vports; replace it: ip link del %s, then set vport %s port PORT "
                     "vlan %u",
                     e->vlan_device, e->vlan_device, e->vlan_device, e->vlan);
}

// The interface may have another id by now.
static struct iface *iface_of_event(const struct iface_kernel_event *e)
{
    struct iface *i = iface_get(e->iface);

    return e->ifindex > 0 && i->kind != IFACE_NONE && i->vr == e->vr && i->ifindex == e->ifindex
               ? i
               : iface_find_ifindex(e->vr, e->ifindex);
}

static void on_kernel_event(const struct iface_kernel_event *e)
{
    struct iface *i = iface_of_event(e);
    struct tap_state now;

    thread_must_be(ROLE_CONTROL);
    if (e->settings) {
        tap_sysctl_changed(e->vr, e->ifindex, i, e->upper);
        return;
    }
    if (!i || i->kind == IFACE_NONE)
        return;
    bool foreign = iface_tap(i)->foreign; // tunnel_linux.c does the rest
    if (e->gone && !foreign)
        iface_recreate_tap(i);
    if (e->gone || tap_read_state(iface_tap(i), &now)) // gone: another event follows
        return;
    if (foreign) {
        follow_admin_state(i, now.up);
        return;
    }
    restore_name(i, &now);
    restore_mtu(i, &now);
    restore_carrier(i, &now);
    follow_mac(i, &now);
    follow_macvlans(i, e);
    report_master(i, e);
    report_vlan_device(i, e);
    follow_admin_state(i, now.up);
}

void iface_follow_init(void)
{
    rib_iface_set_event(on_kernel_event);
}
