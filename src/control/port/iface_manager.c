// SPDX-License-Identifier: BSD-3-Clause
// iface_manager.c - interfaces, their TAPs and their virtual router
// An interface is complete before a packet can find it, and no packet finds it when it is taken
// apart:
//
//     add   table entry -> TAP -> tap_manager -> rib_manager -> the port leads to it
//     del   the port leads nowhere -> rib_manager -> tap_manager -> TAP -> table entry
// Forwarders look at the flag `up`: the operator's IFF_UP on the TAP and the carrier of the port.
// iface_follow.c handles what others do to a TAP.
#include "port/iface_manager.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/vec.h"
#include "core/thread.h"
#include "netlink/netns.h"
#include "port/iface_add.h"
#include "port/iface_follow.h"
#include "port/iface_policy.h"
#include "port/kernel_state.h"
#include "port/port_queue_manager.h"
#include "port/tap.h"
#include "port/tap_address.h"
#include "port/tap_alias.h"
#include "port/tap_delete_batch.h"
#include "port/tap_keep.h"
#include "port/tap_list.h"
#include "port/tap_manager.h"
#include "port/tap_sysctl.h"
#include "port/tunnel_ends.h"
#include "port/tunnel_linux.h"
#include "port/vr_manager.h"
#include "port/watch_manager.h"
#include "rib/rib_manager.h"
#include "table/iface.h"
#include "table/metalink.h"
#include "table/port.h"
#include "table/tunnel.h"
#include "table/vr.h"

static struct own { // what only control needs to know of an interface
    struct tap tap;
    uint16_t mtu_wanted;         // 0 = the port's
    char description[TAP_ALIAS]; // as configured
    bool changing;               // while control waits for rib_manager: its TAP is not recreated
    bool lost;                   // but should be afterwards
} *own;

#define for_each_iface(i)                                                                          \
    for (struct iface *i = iface_get(1); i < iface_get(0) + iface_id_end(); i++)                   \
        if (i->kind != IFACE_NONE)

// --- the list of TAPs, for the next process ---

static char *state_path;
static bool starting;                 // the configuration is not in force yet
static bool changed;                  // since the list was written
static struct tap_list_entry *former; // TAPs of the former process
static size_t n_former;

static void tap_list_save(void)
{
    VEC(struct tap_list_entry) list = {0};

    changed = false;
    if (!state_path || starting) // keep the former process' list until then
        return;
    for_each_iface (i) {
        if (own[i->id].tap.foreign)
            continue;
        struct tap_list_entry *e = vec_push(&list);
        snprintf(e->netns, sizeof e->netns, "%s", vr_get(i->vr)->netns);
        snprintf(e->name, sizeof e->name, "%s", i->name);
        e->ifindex = i->ifindex;
    }
    int r = tap_list_write(state_path, list.item, list.n);
    if (r)
        log_warning("iface_manager: cannot write the list of TAPs: path=%s error=%s", state_path,
                    LOG_VALUE(strerror(-r)));
    vec_free(&list);
}

static void tap_recreate(struct iface *i);
static struct tap *iface_tap(const struct iface *i);

int iface_manager_init(const char *path)
{
    thread_must_be(ROLE_CONTROL);
    iface_follow_init(tap_recreate, iface_tap);
    tunnel_ends_init();
    tunnel_linux_init();
    own = calloc(IFACE_MAX, sizeof *own);
    state_path = path ? strdup(path) : NULL;
    if (!own || (path && !state_path))
        return -ENOMEM;
    starting = true;
    n_former = path ? tap_list_read(path, &former) : 0;
    return 0;
}

void iface_manager_started(void)
{
    starting = false;
    tap_keep_delete_rest();
    for_each_iface (i)
        if (i->port == PORT_METALINK)
            iface_update_carrier(i); // it may have been presumed
    for (size_t k = 0; k < n_former; k++) {
        const struct iface *i = iface_find_name(former[k].name);
        char err[200];
        int netns;
        if ((i && !strcmp(vr_get(i->vr)->netns, former[k].netns)) ||
            netns_open(former[k].netns, &netns, err, sizeof err))
            continue; // in use, or gone with its namespace
        tap_delete_orphan(former[k].name, netns);
        netns_close(netns);
    }
    free(former);
    former = NULL;
    n_former = 0;
    tap_list_save();
}

static bool port_up[PORT_MAX];       // its link
static bool port_told[PORT_MAX];     // the former is what the port has reported
static bool port_presumed[PORT_MAX]; // it is up, because a kept TAP has carrier

static bool iface_has_carrier(const struct iface *i)
{
    const struct iface *peer = iface_manager_peer(i);

    if (vr_get(i->vr)->stopped)
        return false;
    if (i->port == PORT_METALINK)
        return peer && peer->admin_up && !vr_get(peer->vr)->stopped;
    if (tunnel_is_port(i->port))
        return true; // whether the remote end is there, nobody knows: BFD
    return port_up[i->port];
}

static void iface_update_up_flag(struct iface *i)
{
    iface_set_flags(i, IFACE_UP | IFACE_OFFLOAD,
                    (i->admin_up && i->carrier ? IFACE_UP : 0) |
                        (port_get(i->port)->offload ? IFACE_OFFLOAD : 0));
}

// --- the TAP ---

// Without its carrier a kept TAP would lose its routes. So it stays up, and with it what is on its
// port, until the port tells its link. Its frames wait in the kernel meanwhile.
static void presume_link(struct iface *i, const struct tap *tap)
{
    struct tap_state now;

    if (!tap->kept || tap_read_state(tap, &now) || !now.carrier || vr_get(i->vr)->stopped)
        return;
    if (i->port == PORT_METALINK) {
        i->carrier = true;
    } else if (!i->vlan && !port_told[i->port]) {
        port_up[i->port] = port_presumed[i->port] = true;
        i->carrier = true;
    }
}

void iface_manager_end_presumed(uint16_t port)
{
    thread_must_be(ROLE_CONTROL);
    if (port_presumed[port])
        iface_manager_port_link(port, false);
}

static enum iface_hold held; // what the kernel sends waits in the TAPs

static bool tap_waits(const struct iface *i)
{
    bool routed = i->kind == IFACE_METALINK || i->kind == IFACE_TUNNEL;

    return held == IFACE_HOLD_ALL || (held == IFACE_HOLD_ROUTED && routed) ||
           port_presumed[i->port];
}

void iface_manager_hold(enum iface_hold hold)
{
    thread_must_be(ROLE_CONTROL);
    held = hold;
    for_each_iface (i)
        if (!tap_waits(i))
            tap_manager_read(i->id);
}

void iface_manager_each_tap(void (*fn)(int fd))
{
    thread_must_be(ROLE_CONTROL);
    for_each_iface (i)
        if (own[i->id].tap.fd >= 0)
            fn(own[i->id].tap.fd);
}

void iface_manager_keep_again(void)
{
    thread_must_be(ROLE_CONTROL);
    iface_manager_each_tap(tap_keep_put);
}

// From tap_manager. If that does not answer, it may use the descriptor later: ours is another then.
static void tap_take_back(const struct iface *i, struct tap *tap)
{
    if (tap_manager_del(i->id))
        tap->fd = fcntl(tap->fd, F_DUPFD_CLOEXEC, 0);
}

static void log_not_started(const struct iface *i, int error)
{
    if (error)
        log_warning("iface_manager: TAP stays down: interface=%s error=%s", i->name,
                    LOG_VALUE(strerror(-error)));
}

static void tap_start_one(const struct iface *i, uint16_t vr, struct tap *tap)
{
    struct tap_start s = {.tap = tap, .netns = vr_manager_netns(vr), .carrier = i->carrier};

    tap_start(&s, 1);
    log_not_started(i, s.error);
}

// Those of new sub-interfaces and tunnels wait for the end of the change: there may be thousands.
static VEC(uint16_t) to_start; // interfaces

static void start_taps(void)
{
    VEC(struct tap_start) s = {0};
    size_t n = 0;

    vec_foreach (&to_start, id)
        if (own[*id].tap.fd >= 0) // else deleted meanwhile
            *vec_push(&s) = (struct tap_start){.tap = &own[*id].tap,
                                               .netns = vr_manager_netns(iface_get(*id)->vr),
                                               .carrier = iface_get(*id)->carrier};
    tap_start(s.item, s.n);
    vec_foreach (&to_start, id)
        if (own[*id].tap.fd >= 0)
            log_not_started(iface_get(*id), s.item[n++].error);
    vec_clear(&to_start);
    vec_free(&s);
}

// A tunnel of Linux: what is for it goes to the kernel as its outer packet (tunnel_back.h).
static int device_attach(struct iface *i, struct tap *tap, char *err, size_t err_size)
{
    int r = tap_adopt(tap, i->name, tap->ifindex, vr_manager_netns(i->vr));

    if (r) {
        snprintf(err, err_size, "interface %s: its device is gone: %s", i->name, strerror(-r));
        return r;
    }
    tap_sysctl_set(tap, vr_manager_netns(i->vr));
    __atomic_store_n(&i->ifindex, tap->ifindex, __ATOMIC_RELAXED);
    i->admin_up = tap_is_up(tap);
    iface_update_up_flag(i);
    return 0;
}

// What the former process has listed of the interface's TAP; NULL: nothing.
static const struct tap_list_entry *find_former(const struct iface *i, uint16_t vr)
{
    for (size_t k = 0; k < n_former; k++)
        if (!strcmp(former[k].name, i->name) && !strcmp(former[k].netns, vr_get(vr)->netns))
            return &former[k];
    return NULL;
}

// Makes or finds the TAP in virtual router `vr` and hands it to tap_manager; it is to be started.
static int tap_attach(struct iface *i, uint16_t vr, struct tap *tap, char *err, size_t err_size)
{
    if (tap->foreign)
        return device_attach(i, tap, err, err_size);
    if (tap_delete_batch_has(i->name))
        tap_delete_batch_run();
    const struct tap_list_entry *old = find_former(i, vr);
    if (old && old->ifindex && !tap_keep_restore_name(i->name, vr_manager_netns(vr), old->ifindex))
        tap_restore_name(i->name, vr_manager_netns(vr), old->ifindex, i->mac);
    int r = tap_open(tap, i->name, vr_manager_netns(vr), i->mac, i->mtu, err, err_size);

    if (r)
        return r;
    if (starting && state_path && !old) // a start or a change was killed before it was set up
        tap->found = false;
    r = tunnel_end_prepare(i, tap);
    if (r)
        log_warning("iface_manager: ARP stays on: interface=%s error=%s", i->name,
                    LOG_VALUE(strerror(-r)));
    tap_sysctl_set(tap, vr_manager_netns(vr));
    presume_link(i, tap);
    r = tap_manager_add(i->id, tap->fd, !tap_waits(i));
    if (r) {
        tap_take_back(i, tap);
        snprintf(err, err_size, "interface %s: cannot serve its TAP: %s", i->name, strerror(-r));
        if (tap->found)
            tap_close(tap);
        else
            tap_delete(tap);
        return r;
    }
    __atomic_store_n(&i->ifindex, tap->ifindex, __ATOMIC_RELAXED);
    i->admin_up = !tap->found || tap_is_up(tap);
    iface_update_up_flag(i); // before the kernel sends
    if (!tap->kept)
        tap_keep_put(tap->fd);
    if (own[i->id].description[0])
        tap_alias_set(tap, own[i->id].description);
    return 0;
}

static void tap_detach(struct iface *i, struct tap *tap, bool delete)
{
    if (!tap->foreign)
        tap_take_back(i, tap);
    __atomic_store_n(&i->ifindex, 0, __ATOMIC_RELAXED);
    if (delete && !tap->foreign)
        tap_delete_batch_add(tap);
    else
        tap_close(tap);
}

struct iface *iface_manager_find(const char *name, char *err, size_t err_size)
{
    struct iface *i = iface_find_name(name);

    thread_must_be(ROLE_CONTROL);
    if (!i)
        snprintf(err, err_size, "there is no interface %s", name);
    return i;
}

// --- adding and deleting ---

// What an end of a metalink sends leads to the other one, so frames for it have the other's VLAN.
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
    int r = tap_attach(i, i->vr, &own[i->id].tap, err, err_size);

    if (r)
        return r;
    __atomic_store_n(&i->kind, kind, __ATOMIC_RELEASE);
    r = rib_manager_iface_add(i->id);
    if (r) {
        snprintf(err, err_size, "interface %s: rib_manager cannot add it: %s", i->name,
                 strerror(-r));
        tap_detach(i, &own[i->id].tap, !own[i->id].tap.found);
        return r;
    }
    r = point_port_at(i, i->id);
    if (r) {
        snprintf(err, err_size, "interface %s: too many outer VLANs (at most %d)", i->name,
                 OUTER_VLAN_MAX - 1);
        rib_manager_iface_del(i->id);
        tap_detach(i, &own[i->id].tap, !own[i->id].tap.found);
        return r;
    }
    if (kind == IFACE_VPORT || kind == IFACE_TUNNEL)
        *vec_push(&to_start) = i->id;
    else
        tap_start_one(i, i->vr, &own[i->id].tap);
    changed = true;
    log_info(
        "iface_manager: added: interface=%s id=%u port=%s outer-vlan=%u vlan=%u vr=%s ifindex=%d",
        i->name, i->id, port_get(i->port)->name, i->outer_vlan, i->vlan, vr_get(i->vr)->name,
        i->ifindex);
    return 0;
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
        tunnel_linux_yield(iface_find_name(wish->name));
    if (iface_find_name(wish->name)) {
        snprintf(err, err_size, "interface %s already exists", wish->name);
        return -EEXIST;
    }
    struct iface *i = iface_new(wish->name);
    if (!i) {
        snprintf(err, err_size, "interface %s: too many interfaces (at most %d)", wish->name,
                 IFACE_MAX - 1);
        return -ENOSPC;
    }
    iface_set_vr(i, v->id);
    i->port = wish->port;
    i->vlan = wish->vlan;
    i->outer_vlan = wish->outer_vlan;
    i->tpid_be = wish->tpid_be;
    i->mtu = wish->mtu;
    if (kind == IFACE_PORT)
        port_up[i->port] = port_told[i->port] = port_presumed[i->port] = false;
    i->carrier = iface_has_carrier(i);
    memcpy(i->mac, wish->mac, sizeof i->mac);
    own[i->id] = (struct own){.mtu_wanted = mtu_wanted, .tap = {.fd = -1, .sock = -1}};
    own[i->id].tap.ifindex = wish->ifindex;
    own[i->id].tap.foreign = wish->ifindex;
    int r = iface_attach(i, kind, err, err_size);
    if (r)
        iface_free(i);
    watch_manager_port_changed();
    if (kind != IFACE_TUNNEL)
        tunnel_linux_look_again();
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

void iface_update_carrier(struct iface *i)
{
    if (i->carrier == iface_has_carrier(i))
        return;
    __atomic_store_n(&i->carrier, !i->carrier, __ATOMIC_RELAXED);
    rib_manager_iface_link(i->id); // first, as of a port
    tap_set_carrier(&own[i->id].tap, i->carrier);
    iface_update_up_flag(i);
    rib_manager_iface_changed(i->id);
}

int iface_manager_del(const char *name, char *err, size_t err_size)
{
    struct iface *i = iface_manager_find(name, err, err_size);

    if (!i)
        return -ENOENT;
    if (i->kind == IFACE_PORT) {
        for_each_iface (v) {
            if (v->kind == IFACE_VPORT && v->port == i->port) {
                snprintf(err, err_size, "port %s still has sub-interface %s: delete it first", name,
                         v->name);
                return -EBUSY;
            }
        }
    }
    own[i->id].changing = true;
    point_port_at(i, 0);
    tunnel_end_hide(i);
    rib_manager_iface_del(i->id);
    tunnel_end_free(i);
    tap_detach(i, &own[i->id].tap, !(starting && own[i->id].tap.found));
    kernel_state_forget(i->name);
    log_info("iface_manager: deleted: interface=%s id=%u", name, i->id);
    iface_free(i);
    watch_manager_port_changed();
    if (i->policy.urpf[0] || i->policy.urpf[1])
        iface_policy_publish_sources();
    changed = true;
    return 0;
}

void iface_manager_end_change(void)
{
    thread_must_be(ROLE_CONTROL);
    tunnel_linux_settle();
    tunnel_ends_end_change();
    vec_foreach (&to_start, id)
        tunnel_end_set_mtu(iface_get(*id)); // Linux looks at all IPv6 routes for that, too
    start_taps();
    tap_delete_batch_run();
    if (changed)
        tap_list_save();
    port_queue_manager_refresh();
}

// --- changing ---

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
    // No route uses it until rib_manager has it again.
    rib_manager_iface_del(i->id);
    int r = 0;
    if (!same_netns) {
        tap_take_back(i, &own[i->id].tap);
        r = tap_attach(i, to->id, &tap, err, err_size);
        if (!r)
            tap_start_one(i, to->id, &tap);
    }
    unsigned left = 0,
             carried = r || same_netns ? 0 : tap_addresses_copy(&own[i->id].tap, &tap, &left);
    if (!r) {
        iface_set_vr(i, to->id);
        iface_policy_publish_sources();
        if (!same_netns) {
            tap_delete_batch_add(&own[i->id].tap);
            own[i->id].tap = tap;
            changed = true;
        }
        log_info("iface_manager: moved: interface=%s from=%s to=%s addresses=%u left-behind=%u",
                 name, vr_get(from)->name, to->name, carried, left);
    } else {
        if (tap_manager_add(i->id, own[i->id].tap.fd, !tap_waits(i))) // keep the old TAP
            log_error("iface_manager: TAP lost: interface=%s", name);
        __atomic_store_n(&i->ifindex, own[i->id].tap.ifindex, __ATOMIC_RELAXED);
    }
    int back = rib_manager_iface_add(i->id);
    if (back)
        log_error("iface_manager: rib_manager cannot add it: interface=%s error=%s", name,
                  LOG_VALUE(strerror(-back)));
    own[i->id].changing = false;
    iface_update_carrier(i);
    if (own[i->id].lost && (r || same_netns)) // else it has another TAP
        tap_recreate(i);
    return r;
}

static int iface_apply_mtu(struct iface *i, uint16_t mtu)
{
    if (i->mtu == mtu)
        return 0;
    int r = tap_set_mtu(&own[i->id].tap, mtu);
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
        for_each_iface (v) {
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
    int r = i ? tap_alias_set(&own[i->id].tap, description) : -ENOENT;
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
        tap_alias_get(&own[id].tap, description);
}

void iface_manager_port_link(uint16_t port, bool up)
{
    bool presumed = port_presumed[port];

    thread_must_be(ROLE_CONTROL);
    port_presumed[port] = false;
    port_told[port] = true;
    port_up[port] = up;
    for_each_iface (i) {
        if (i->port == port)
            __atomic_store_n(&i->carrier, iface_has_carrier(i), __ATOMIC_RELAXED);
    }
    rib_manager_port_link(port); // first: flows wait for it, and the TAPs' carrier takes time
    for_each_iface (i) {
        if (i->port != port)
            continue;
        tap_set_carrier(&own[i->id].tap, i->carrier);
        iface_update_up_flag(i);
        if (presumed && !tap_waits(i))
            tap_manager_read(i->id);
    }
}

void iface_manager_vr_changed(uint16_t vr)
{
    thread_must_be(ROLE_CONTROL);
    for_each_iface (i)
        if (i->vr == vr) {
            iface_update_carrier(i);
            iface_manager_end_changed(i);
        }
    changed = true; // of the list of TAPs
}

void iface_manager_port_mac(uint16_t port, const uint8_t mac[6])
{
    uint8_t was[6] = {0};

    thread_must_be(ROLE_CONTROL);
    for_each_iface (i)
        if (i->port == port && i->kind == IFACE_PORT)
            memcpy(was, i->mac, sizeof was);
    for_each_iface (i) {
        if (i->port != port || memcmp(i->mac, was, sizeof was) ||
            !memcmp(i->mac, mac, sizeof i->mac)) // vports may have their own
            continue;
        memcpy(i->mac, mac, sizeof i->mac); // a frame in between may be dropped as not ours
        tap_set_mac(&own[i->id].tap, mac);
        rib_manager_iface_changed(i->id);
    }
}

void iface_manager_port_moved(uint16_t from, uint16_t to)
{
    thread_must_be(ROLE_CONTROL);
    port_up[to] = port_up[from];
    port_told[to] = port_told[from];
    port_presumed[to] = port_presumed[from];
    for_each_iface (i) {
        if (i->port != from)
            continue;
        point_port_at(i, 0);
        __atomic_store_n(&i->port, to, __ATOMIC_RELAXED);
        if (point_port_at(i, i->id))
            log_error("iface_manager: too many outer VLANs: interface=%s", i->name);
        rib_manager_iface_changed(i->id);
    }
}

// --- for iface_follow.c ---

static struct tap *iface_tap(const struct iface *i)
{
    return &own[i->id].tap;
}

static void tap_recreate(struct iface *i)
{
    char err[200];

    bool moved = tap_exists(&own[i->id].tap);

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
    tap_detach(i, &own[i->id].tap, moved);
    tap_delete_batch_run();
    int r = tap_attach(i, i->vr, &own[i->id].tap, err, sizeof err);
    if (r) {
        log_error("iface_manager: %s", err);
        i->admin_up = false;
        iface_update_up_flag(i);
    }
    if (!r) {
        tap_start_one(i, i->vr, &own[i->id].tap);
        rib_manager_iface_add(i->id);
    }
    iface_manager_end_changed(i);
    tap_list_save();
}

// The TAPs stay with their addresses; rib_manager's tables end with the process.
void iface_manager_fini(void)
{
    if (!own)
        return;
    tap_delete_batch_run();
    for_each_iface (i) {
        point_port_at(i, 0);
        tap_detach(i, &own[i->id].tap, false);
        iface_free(i);
    }
    tap_keep_fini();
    vec_free(&to_start);
    free(own);
    free(former);
    free(state_path);
    own = NULL;
    former = NULL;
    state_path = NULL;
}
