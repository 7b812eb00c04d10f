// SPDX-License-Identifier: BSD-3-Clause
// iface_manager.c - interfaces and their virtual router; iface_tap.c has their TAPs
// An interface is complete before a packet can find it, and packets no longer find it when it is
// taken apart:
//
//     add   table entry -> TAP -> tap_manager -> rib_manager -> the port leads to it
//     del   the port leads nowhere -> rib_manager -> tap_manager -> TAP -> table entry
// Forwarders read the flag `up`: the operator's IFF_UP on the TAP and the carrier of the port.
// iface_follow.c handles changes that others make to a TAP.
#include "interface/iface_manager.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "core/thread.h"
#include "interface/control_event.h"
#include "interface/iface_tap.h"
#include "interface/kernel_state.h"
#include "rib/rib_manager.h"
#include "table/grace.h"
#include "table/iface.h"
#include "table/metalink.h"
#include "table/port.h"
#include "table/tunnel.h"
#include "table/vr.h"
#include "tap/tap.h"
#include "thread/watch_manager.h"

static struct own {              // interface data that only control needs
    uint16_t mtu_wanted;         // 0 = the port's
    char description[TAP_ALIAS]; // as configured
    bool changing;               // control waits for rib_manager: do not recreate the TAP
    bool lost;                   // TAP lost meanwhile: recreate it afterwards
} *own;

static void on_vr_switched(const struct control_event *e)
{
    iface_each (i)
        if (i->vr == e->vr) {
            iface_update_carrier(i);
            iface_manager_end_changed(i);
        }
    iface_tap_list_changed();
}

int iface_manager_init(const char *path)
{
    thread_must_be(ROLE_CONTROL);
    control_event_listen(EVENT_VR_SWITCHED, on_vr_switched);
    own = calloc(IFACE_MAX, sizeof *own);
    return own ? iface_tap_init(path) : -ENOMEM;
}

void iface_manager_started(void)
{
    thread_must_be(ROLE_CONTROL);
    iface_each (i)
        if (i->port == PORT_METALINK)
            iface_update_carrier(i); // its carrier may have been presumed
    iface_tap_started();
}

void iface_manager_end_presumed(uint16_t port)
{
    thread_must_be(ROLE_CONTROL);
    if (iface_link_is_presumed(port))
        iface_manager_port_link(port, false);
}

// --- adding and deleting ---

// A frame for an end of a metalink has the VLAN of the other end, which sent it.
static int point_port_at(const struct iface *i, uint16_t id)
{
    uint16_t vlan = i->kind == IFACE_METALINK ? metalink_vlan_peer(i->vlan) : i->vlan;

    return port_lead(port_get(i->port), i->outer_vlan, vlan, id);
}

static uint16_t clamp_vport_mtu(const char *name, uint16_t wanted, uint16_t port_mtu)
{
    if (wanted > port_mtu)
        log_warning("iface_manager: using the MTU of the port: interface=%s mtu=%u port-mtu=%u",
                    name, wanted, port_mtu);
    return wanted && wanted < port_mtu ? wanted : port_mtu;
}

static int iface_attach(struct iface *i, enum iface_kind kind, char *err, size_t err_size)
{
    int r = iface_tap_attach(i, i->vr, iface_tap(i), err, err_size);

    if (r)
        return r;
    __atomic_store_n(&i->kind, kind, __ATOMIC_RELEASE);
    r = rib_manager_iface_add(i->id);
    if (r) {
        snprintf(err, err_size, "interface %s: rib_manager cannot add it: %s", i->name,
                 strerror(-r));
        iface_tap_detach(i, iface_tap(i), !iface_tap(i)->found);
        return r;
    }
    r = point_port_at(i, i->id);
    if (r) {
        snprintf(err, err_size, "interface %s: too many outer VLANs (at most %d)", i->name,
                 OUTER_VLAN_MAX - 1);
        rib_manager_iface_del(i->id);
        iface_tap_detach(i, iface_tap(i), !iface_tap(i)->found);
        return r;
    }
    if (kind == IFACE_VPORT || kind == IFACE_TUNNEL)
        iface_tap_start_later(i);
    else
        iface_tap_start(i, i->vr, iface_tap(i));
    iface_tap_list_changed();
    log_info(
        "iface_manager: added: interface=%s id=%u port=%s outer-vlan=%u vlan=%u vr=%s ifindex=%d",
        i->name, i->id, port_get(i->port)->name, i->outer_vlan, i->vlan, vr_get(i->vr)->name,
        i->ifindex);
    return 0;
}

void iface_manager_claim(const char *name)
{
    const struct iface *i = iface_find_name(name);

    if (i)
        control_event_tell(EVENT_IFACE_WANTED, .iface = i);
}

int iface_add(const struct iface *wish, enum iface_kind kind, uint16_t mtu_wanted, const char *vr,
              char *err, size_t err_size)
{
    const struct vr *v = vr_find(vr && vr[0] ? vr : "default");

    thread_must_be(ROLE_CONTROL);
    if (!v) {
        snprintf(err, err_size, "interface %s: there is no virtual router %s", wish->name, vr);
        return -ENOENT;
    }
    if (!wish->ifindex)
        iface_manager_claim(wish->name);
    if (iface_find_name(wish->name)) {
        snprintf(err, err_size, "interface %s already exists", wish->name);
        return -EEXIST;
    }
    struct iface *i = iface_new(wish->name);
    if (!i && !wish->ifindex) {
        control_event_tell(EVENT_ROOM_WANTED);
        grace_wait();
        i = iface_new(wish->name);
    }
    if (!i) {
        snprintf(err, err_size, "interface %s: too many interfaces (at most %d)", wish->name,
                 IFACE_TRIAL - 1);
        return -ENOSPC;
    }
    iface_set_vr(i, v->id);
    i->port = wish->port;
    i->vlan = wish->vlan;
    i->outer_vlan = wish->outer_vlan;
    i->tpid_be = wish->tpid_be;
    i->mtu = wish->mtu;
    if (kind == IFACE_PORT)
        iface_link_new_port(i->port);
    i->carrier = iface_link_carrier(i);
    memcpy(i->mac, wish->mac, sizeof i->mac);
    own[i->id] = (struct own){.mtu_wanted = mtu_wanted};
    *iface_tap(i) =
        (struct tap){.fd = -1, .sock = -1, .ifindex = wish->ifindex, .foreign = wish->ifindex};
    int r = iface_attach(i, kind, err, err_size);
    if (r)
        iface_free(i);
    watch_manager_port_changed();
    if (kind != IFACE_TUNNEL)
        control_event_tell(EVENT_IFACE_ADDED);
    return r;
}

int iface_manager_add_port(const char *name, uint16_t port, const uint8_t mac[6], uint16_t mtu,
                           const char *vr, char *err, size_t err_size)
{
    struct iface wish = {.port = port, .mtu = mtu};

    snprintf(wish.name, sizeof wish.name, "%s", name);
    memcpy(wish.mac, mac, sizeof wish.mac);
    return iface_add(&wish, IFACE_PORT, 0, vr_find(vr) ? vr : "", err, err_size);
}

static int check_vport_tags(const char *name, struct vport_tags t, char *err, size_t err_size)
{
    bool outer_right =
        t.outer ? t.outer <= 4094 && (t.tpid == 0x88a8 || t.tpid == 0x8100 || t.tpid == 0x9100)
                : !t.tpid;

    if (!t.vlan || t.vlan > 4094) {
        snprintf(err, err_size, "vport %s: VLAN %u is out of range, expected 1..4094", name,
                 t.vlan);
        return -EINVAL;
    }
    if (!outer_right) {
        snprintf(err, err_size, "vport %s: there is no outer tag of VLAN %u and type %#x", name,
                 t.outer, t.tpid);
        return -EINVAL;
    }
    return 0;
}

int iface_manager_add_vport(const char *name, const char *port, struct vport_tags tags,
                            uint16_t mtu, const char *vr, char *err, size_t err_size)
{
    const struct iface *parent = iface_find_name(port);
    struct iface wish = {.vlan = tags.vlan,
                         .outer_vlan = tags.outer,
                         .tpid_be = htons(tags.outer ? tags.tpid : 0x8100)};

    if (!parent || parent->kind != IFACE_PORT) {
        snprintf(err, err_size, "vport %s: there is no port %s", name, port);
        return -ENOENT;
    }
    int r = check_vport_tags(name, tags, err, err_size);
    if (r)
        return r;
    uint16_t other = port_iface(port_get(parent->port), tags.outer, tags.vlan);
    if (other) {
        snprintf(err, err_size, "vport %s: VLAN %u of port %s already belongs to %s", name,
                 tags.vlan, port, iface_get(other)->name);
        return -EEXIST;
    }
    snprintf(wish.name, sizeof wish.name, "%s", name);
    wish.port = parent->port;
    wish.mtu = clamp_vport_mtu(name, mtu, parent->mtu);
    memcpy(wish.mac, parent->mac, sizeof wish.mac);
    return iface_add(&wish, IFACE_VPORT, mtu, vr, err, err_size);
}

void iface_manager_end_changed(const struct iface *end)
{
    struct iface *peer = iface_manager_peer(end);

    thread_must_be(ROLE_CONTROL);
    if (peer)
        iface_update_carrier(peer);
}

void iface_update_carrier(struct iface *i)
{
    if (i->carrier == iface_link_carrier(i))
        return;
    __atomic_store_n(&i->carrier, !i->carrier, __ATOMIC_RELAXED);
    rib_manager_iface_link(i->id); // first, as for a port
    tap_set_carrier(iface_tap(i), i->carrier);
    iface_link_update_up(i);
    rib_manager_iface_changed(i->id);
}

int iface_manager_del(const char *name, char *err, size_t err_size)
{
    struct iface *i = iface_manager_find(name, err, err_size);

    if (!i)
        return -ENOENT;
    if (i->kind == IFACE_PORT) {
        iface_each (v) {
            if (v->kind == IFACE_VPORT && v->port == i->port) {
                snprintf(err, err_size, "port %s still has sub-interface %s: delete it first", name,
                         v->name);
                return -EBUSY;
            }
        }
    }
    own[i->id].changing = true;
    point_port_at(i, 0);
    if (i->kind == IFACE_TUNNEL)
        tunnel_hide(tunnel_of_iface(i));
    rib_manager_iface_del(i->id);
    if (i->kind == IFACE_TUNNEL)
        tunnel_free(tunnel_of_iface(i));
    iface_tap_detach(i, iface_tap(i), !(iface_tap_is_starting() && iface_tap(i)->found));
    iface_link_forget(i->id);
    kernel_state_forget(i->name);
    log_info("iface_manager: deleted: interface=%s id=%u", name, i->id);
    iface_free(i);
    watch_manager_port_changed();
    if (i->policy.urpf[0] || i->policy.urpf[1])
        iface_policy_publish_sources();
    iface_tap_list_changed();
    return 0;
}

void iface_manager_end_change(void)
{
    thread_must_be(ROLE_CONTROL);
    control_event_tell(EVENT_CHANGE_ENDS);
    if (tunnel_index_update()) // packets from outside find the new tunnels
        rib_manager_tunnels_changed();
    iface_tap_start_waiting();
    tap_delete_batch_run();
    iface_tap_list_save();
    control_event_tell(EVENT_CHANGE_ENDED);
}

// --- changing ---

static void put_description(const struct iface *i, const struct tap *tap)
{
    if (own[i->id].description[0])
        tap_alias_set(tap, own[i->id].description);
}

int iface_manager_set_vr(const char *name, const char *vr, char *err, size_t err_size)
{
    struct iface *i = iface_find_name(name);
    const struct vr *to = vr_find(vr);
    struct tap tap = {.fd = -1, .sock = -1};

    thread_must_be(ROLE_CONTROL);
    if (!i || !to) {
        snprintf(err, err_size, "there is no %s %s", i ? "virtual router" : "interface",
                 i ? vr : name);
        return -ENOENT;
    }
    if (i->vr == to->id)
        return 0;
    uint16_t from = i->vr;
    bool same_netns = !strcmp(to->netns, vr_get(from)->netns);
    own[i->id].changing = true;
    own[i->id].lost = false;
    // From here on no route uses it, until rib_manager gets it back.
    rib_manager_iface_del(i->id);
    int r = 0;
    if (!same_netns) {
        iface_tap_take_back(i, iface_tap(i));
        r = iface_tap_attach(i, to->id, &tap, err, err_size);
        if (!r) {
            put_description(i, &tap);
            iface_tap_start(i, to->id, &tap);
        }
    }
    unsigned left = 0,
             carried = r || same_netns ? 0 : tap_addresses_copy(iface_tap(i), &tap, &left);
    if (!r) {
        iface_set_vr(i, to->id);
        iface_policy_publish_sources();
        if (!same_netns) {
            tap_delete_batch_add(iface_tap(i));
            *iface_tap(i) = tap;
            iface_tap_list_changed();
        }
        log_info("iface_manager: moved: interface=%s from=%s to=%s addresses=%u left-behind=%u",
                 name, vr_get(from)->name, to->name, carried, left);
    } else {
        if (iface_tap_serve(i, iface_tap(i))) // keep the old TAP
            log_error("iface_manager: TAP lost: interface=%s", name);
        __atomic_store_n(&i->ifindex, iface_tap(i)->ifindex, __ATOMIC_RELAXED);
    }
    int back = rib_manager_iface_add(i->id);
    if (back)
        log_error("iface_manager: rib_manager cannot add it: interface=%s error=%s", name,
                  LOG_VALUE(strerror(-back)));
    own[i->id].changing = false;
    iface_update_carrier(i);
    if (own[i->id].lost && (r || same_netns)) // otherwise it has a new TAP
        iface_recreate_tap(i);
    return r;
}

static int iface_apply_mtu(struct iface *i, uint16_t mtu)
{
    if (i->mtu == mtu)
        return 0;
    int r = tap_set_mtu(iface_tap(i), mtu);
    if (r)
        return r;
    __atomic_store_n(&i->mtu, mtu, __ATOMIC_RELAXED);
    return rib_manager_iface_changed(i->id);
}

int iface_manager_set_mtu(const char *name, uint16_t mtu, char *err, size_t err_size)
{
    struct iface *i = iface_manager_find(name, err, err_size);

    if (!i)
        return -ENOENT;
    int r;
    if (i->kind == IFACE_VPORT) {
        own[i->id].mtu_wanted = mtu;
        r = iface_apply_mtu(i, clamp_vport_mtu(name, mtu, port_get(i->port)->mtu));
    } else {
        r = iface_apply_mtu(i, mtu);
    }
    if (i->kind == IFACE_PORT)
        iface_each (v) {
            if (!r && v->kind == IFACE_VPORT && v->port == i->port)
                r = iface_apply_mtu(v, clamp_vport_mtu(v->name, own[v->id].mtu_wanted, mtu));
        }
    if (r)
        snprintf(err, err_size, "interface %s: MTU %u: %s", name, mtu, strerror(-r));
    return r;
}

int iface_manager_set_description(const char *name, const char *description, char *err,
                                  size_t err_size)
{
    struct iface *i = iface_find_name(name);

    thread_must_be(ROLE_CONTROL);
    int r = i ? tap_alias_set(iface_tap(i), description) : -ENOENT;
    if (r)
        snprintf(err, err_size, "interface %s: cannot set the description as the TAP's alias: %s",
                 name, strerror(-r));
    else
        snprintf(own[i->id].description, sizeof own[i->id].description, "%s", description);
    return r;
}

void iface_manager_description(uint16_t id, char description[256])
{
    thread_must_be(ROLE_CONTROL);
    if (own[id].description[0])
        memcpy(description, own[id].description, TAP_ALIAS);
    else
        tap_alias_get(iface_tap(iface_get(id)), description);
}

void iface_manager_port_link(uint16_t port, bool up)
{
    bool presumed = iface_link_is_presumed(port);

    thread_must_be(ROLE_CONTROL);
    iface_link_set_port(port, up);
    iface_each (i) {
        if (i->port == port)
            __atomic_store_n(&i->carrier, iface_link_carrier(i), __ATOMIC_RELAXED);
    }
    rib_manager_port_link(port); // first: flows wait, and the TAPs take time
    iface_each (i) {
        if (i->port != port)
            continue;
        tap_set_carrier(iface_tap(i), i->carrier);
        iface_link_update_up(i);
        if (presumed)
            iface_tap_read(i);
    }
}

void iface_manager_port_mac(uint16_t port, const uint8_t mac[6])
{
    uint8_t was[6] = {0};

    thread_must_be(ROLE_CONTROL);
    iface_each (i)
        if (i->port == port && i->kind == IFACE_PORT)
            memcpy(was, i->mac, sizeof was);
    iface_each (i) {
        if (i->port != port || memcmp(i->mac, was, sizeof was) ||
            !memcmp(i->mac, mac, sizeof i->mac)) // a vport may have its own MAC
            continue;
        memcpy(i->mac, mac, sizeof i->mac); // a frame may be dropped as not ours meanwhile
        tap_set_mac(iface_tap(i), mac);
        rib_manager_iface_changed(i->id);
    }
}

void iface_manager_port_moved(uint16_t from, uint16_t to)
{
    thread_must_be(ROLE_CONTROL);
    iface_link_port_moved(from, to);
    iface_each (i) {
        if (i->port != from)
            continue;
        point_port_at(i, 0);
        __atomic_store_n(&i->port, to, __ATOMIC_RELAXED);
        if (point_port_at(i, i->id))
            log_error("iface_manager: too many outer VLANs: interface=%s", i->name);
        rib_manager_iface_changed(i->id);
    }
}

void iface_recreate_tap(struct iface *i)
{
    char err[200];

    bool moved = tap_exists(iface_tap(i));

    own[i->id].lost = own[i->id].changing;
    if (own[i->id].changing)
        return;
    if (moved)
        log_warning("iface_manager: the TAP was moved to another namespace (use 'set interface "
                    "NAME vr VR'), recreating it: interface=%s",
                    i->name);
    else
        log_warning("iface_manager: the TAP was deleted, recreating it: interface=%s", i->name);
    rib_manager_iface_del(i->id);
    iface_set_macs(i, NULL, 0);
    iface_tap_detach(i, iface_tap(i), moved);
    tap_delete_batch_run();
    int r = iface_tap_attach(i, i->vr, iface_tap(i), err, sizeof err);
    if (r) {
        log_error("iface_manager: %s", err);
        i->admin_up = false;
        iface_link_update_up(i);
    }
    if (!r) {
        put_description(i, iface_tap(i));
        iface_tap_start(i, i->vr, iface_tap(i));
        rib_manager_iface_add(i->id);
    }
    iface_manager_end_changed(i);
    iface_tap_list_changed();
    iface_tap_list_save();
}

// The TAPs stay, with their addresses; rib_manager's tables end with the process.
void iface_manager_fini(void)
{
    if (!own)
        return;
    tap_delete_batch_run();
    iface_each (i) {
        point_port_at(i, 0);
        iface_tap_detach(i, iface_tap(i), false);
        iface_free(i);
    }
    iface_tap_fini();
    free(own);
    own = NULL;
}
