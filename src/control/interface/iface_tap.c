// SPDX-License-Identifier: BSD-3-Clause
// iface_tap.c - the TAP of each interface: created or found, served, started, listed
//
// A TAP is complete (settings, flag `up`) before tap_manager reads it and before it comes up, so
// that the kernel sends no frame too early. New TAPs of a change come up together, since each costs
// Linux a scan of all routes; the parts of their start that may wait are done in turns of 32. The
// list for the next process is written only once the configuration is in force, so that a failed
// start leaves the former one.
#include "interface/iface_tap.h"

#include <errno.h>
#include <event2/event.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/vec.h"
#include "core/manager.h"
#include "core/thread.h"
#include "interface/control_event.h"
#include "interface/iface_manager.h"
#include "interface/vr_manager.h"
#include "netlink/netns.h"
#include "rib/rib_manager.h"
#include "table/iface.h"
#include "table/port.h"
#include "table/tunnel.h"
#include "table/vr.h"
#include "tap/tap.h"
#include "tap/tap_manager.h"

#define FINISH_AT 32 // TAPs per turn: clients wait meanwhile

static struct tap *taps; // [IFACE_MAX], by interface

struct tap *iface_tap(const struct iface *i)
{
    return &taps[i->id];
}

// --- the list for the next process ---

static char *state_path;
static bool starting;                 // the configuration is not in force yet
static bool changed;                  // since the list was written
static struct tap_list_entry *former; // TAPs of the former process
static size_t n_former;

static void list_save(void)
{
    VEC(struct tap_list_entry) list = {0};

    changed = false;
    if (!state_path || starting) // until then the former process's list stays
        return;
    iface_each (i) {
        if (taps[i->id].foreign || taps[i->id].unfinished) // the next process starts it anew
            continue;
        struct tap_list_entry *e = vec_push(&list);
        snprintf(e->netns, sizeof e->netns, "%s", vr_get(i->vr)->netns);
        snprintf(e->name, sizeof e->name, "%s", i->name);
        e->ifindex = i->ifindex;
    }
    int r = tap_list_write(state_path, list.item, list.n);
    if (r)
        log_warning("iface_tap: cannot write the list of TAPs: path=%s error=%s", state_path,
                    LOG_VALUE(strerror(-r)));
    vec_free(&list);
}

void iface_tap_list_changed(void)
{
    changed = true;
}

void iface_tap_list_save(void)
{
    if (changed)
        list_save();
}

// List entry of the former process for the interface's TAP; NULL: none.
static const struct tap_list_entry *find_former(const struct iface *i, uint16_t vr)
{
    for (size_t k = 0; k < n_former; k++)
        if (!strcmp(former[k].name, i->name) && !strcmp(former[k].netns, vr_get(vr)->netns))
            return &former[k];
    return NULL;
}

// --- numbers, for SNMP and its like ---

// An ifindex is unique only in its namespace, a number everywhere. The number is the ifindex: TAPs
// in other namespaces than ours are created with an ifindex from NUMBER_FIRST on, which Linux
// seldom reaches by counting. An interface that has another ifindex there (a Linux tunnel, a TAP of
// an older version) gets a number from the same range. Numbers are below 2^24, because sFlow has no
// more bits for them.
enum { NUMBER_FIRST = 1 << 20, NUMBER_END = 1 << 24 };

static int numbers[IFACE_MAX]; // 0 = none

int iface_manager_number(const struct iface *i)
{
    return numbers[i->id];
}

static bool is_taken(int number)
{
    for (size_t k = 0; k < n_former; k++)
        if (former[k].ifindex == number)
            return true;
    iface_each (i)
        if (numbers[i->id] == number)
            return true;
    return false;
}

static int new_number(void)
{
    static int last = NUMBER_FIRST - 1;

    do
        last = last + 1 < NUMBER_END ? last + 1 : NUMBER_FIRST;
    while (is_taken(last));
    return last;
}

static void set_number(const struct iface *i, uint16_t vr, int ifindex, int fresh)
{
    bool unique = vr_manager_netns(vr) == NETNS_OWN || ifindex >= NUMBER_FIRST;

    numbers[i->id] = unique ? ifindex : fresh ? fresh : new_number();
}

// --- frames from the kernel ---

static enum iface_hold held; // TAPs in which they wait

static bool tap_waits(const struct iface *i)
{
    bool routed = i->kind == IFACE_METALINK || i->kind == IFACE_TUNNEL;

    return held == IFACE_HOLD_ALL || (held == IFACE_HOLD_ROUTED && routed) ||
           iface_link_is_presumed(i->port);
}

void iface_tap_read(const struct iface *i)
{
    if (!tap_waits(i))
        tap_manager_read(i->id);
}

void iface_tap_hold(enum iface_hold hold)
{
    thread_must_be(ROLE_CONTROL);
    held = hold;
    iface_each (i)
        iface_tap_read(i);
}

int iface_tap_serve(const struct iface *i, const struct tap *tap)
{
    return tap_manager_set(i->id, tap->fd, !tap_waits(i));
}

// If tap_manager does not answer, it may still use the descriptor later, so we go on with a copy.
void iface_tap_take_back(const struct iface *i, struct tap *tap)
{
    if (tap_manager_set(i->id, -1, false))
        tap->fd = fcntl(tap->fd, F_DUPFD_CLOEXEC, 0);
}

void iface_tap_each(void (*fn)(int fd))
{
    thread_must_be(ROLE_CONTROL);
    iface_each (i)
        if (taps[i->id].fd >= 0)
            fn(taps[i->id].fd);
}

void iface_tap_keep_again(void)
{
    thread_must_be(ROLE_CONTROL);
    iface_tap_each(tap_keep_put);
}

// --- creating and starting ---

static void log_not_started(const struct iface *i, int error)
{
    if (error)
        log_warning("iface_tap: TAP stays down: interface=%s error=%s", i->name,
                    LOG_VALUE(strerror(-error)));
}

static struct event *turn; // finishes TAPs

static void on_turn(evutil_socket_t fd, short what, void *arg)
{
    unsigned n = 0;

    iface_each (i) {
        if (!taps[i->id].unfinished)
            continue;
        if (n++ == FINISH_AT) {
            event_add(turn, &(struct timeval){0});
            return;
        }
        int back = netns_enter(vr_manager_netns(i->vr));
        taps[i->id].unfinished = false;
        if (back < 0)
            continue;
        tap_link_local_finish(&taps[i->id]);
        netns_leave(back);
    }
    list_save();
}

static void finish_later(const struct tap *t)
{
    if (t->unfinished)
        event_add(turn, &(struct timeval){0});
}

int iface_tap_start_loop(struct event_base *loop)
{
    thread_must_be(ROLE_CONTROL);
    turn = event_new(loop, -1, 0, on_turn, NULL);
    return turn ? 0 : -ENOMEM;
}

void iface_tap_start(const struct iface *i, uint16_t vr, struct tap *tap)
{
    struct tap_start s = {.tap = tap, .netns = vr_manager_netns(vr), .carrier = i->carrier};

    tap_start(&s, 1);
    tap->unstarted = false;
    log_not_started(i, s.error);
    finish_later(tap);
}

static VEC(uint16_t) to_start; // ids of interfaces

void iface_tap_start_later(const struct iface *i)
{
    *vec_push(&to_start) = i->id;
}

bool iface_tap_is_unstarted(const struct iface *i)
{
    return taps[i->id].unstarted;
}

// After an error the device stays down; iface_follow.c has ignored that until now.
static void after_start(struct iface *i, int error)
{
    struct tap *t = &taps[i->id];

    t->unstarted = false;
    finish_later(t);
    log_not_started(i, error);
    if (!error)
        return;
    i->admin_up = false;
    iface_link_update_up(i);
    rib_manager_iface_changed(i->id);
}

void iface_tap_start_waiting(void)
{
    VEC(struct tap_start) s = {0};
    size_t n = 0;

    vec_foreach (&to_start, id)
        control_event_tell(EVENT_IFACE_STARTS, .iface = iface_get(*id));
    vec_foreach (&to_start, id)
        if (taps[*id].fd >= 0) // otherwise deleted meanwhile
            *vec_push(&s) = (struct tap_start){.tap = &taps[*id],
                                               .netns = vr_manager_netns(iface_get(*id)->vr),
                                               .carrier = iface_get(*id)->carrier};
    tap_start(s.item, s.n);
    vec_foreach (&to_start, id)
        if (taps[*id].fd >= 0)
            after_start(iface_get(*id), s.item[n++].error);
    vec_clear(&to_start);
    vec_free(&s);
}

// A tunnel that carries IP needs no ARP.
static bool has_no_neighbors(const struct iface *i)
{
    return tunnel_is_port(i->port) && !tunnel_is_ethernet(tunnel_get(tunnel_of_iface(i))->id.kind);
}

// A Linux tunnel: the kernel gets its packets as outer packets (tunnel_back.h).
static int device_attach(struct iface *i, struct tap *tap, char *err, size_t err_size)
{
    int r = tap_adopt(tap, i->name, tap->ifindex, vr_manager_netns(i->vr));

    if (r) {
        snprintf(err, err_size, "interface %s: its device is gone: %s", i->name, strerror(-r));
        return r;
    }
    tap_sysctl_set(tap, vr_manager_netns(i->vr));
    __atomic_store_n(&i->ifindex, tap->ifindex, __ATOMIC_RELAXED);
    set_number(i, i->vr, tap->ifindex, 0);
    i->admin_up = tap_is_up(tap);
    iface_link_update_up(i);
    return 0;
}

int iface_tap_attach(struct iface *i, uint16_t vr, struct tap *tap, char *err, size_t err_size)
{
    if (tap->foreign)
        return device_attach(i, tap, err, err_size);
    if (tap_delete_batch_has(i->name))
        tap_delete_batch_run();
    const struct tap_list_entry *old = find_former(i, vr);
    if (old && old->ifindex)
        tap_restore_name(i->name, vr_manager_netns(vr), old->ifindex, i->mac);
    int number = vr_manager_netns(vr) == NETNS_OWN     ? 0
                 : old && old->ifindex >= NUMBER_FIRST ? old->ifindex
                                                       : new_number();
    int r = tap_open(tap, i->name, vr_manager_netns(vr), number, i->mac, i->mtu, err, err_size);

    if (r)
        return r;
    if (starting && state_path && !old) // a start or a change was killed before the TAP was set up
        tap->found = false;
    tap->unstarted = !tap->found;
    r = has_no_neighbors(i) ? tap_set_noarp(tap) : 0;
    if (r)
        log_warning("iface_tap: ARP stays on: interface=%s error=%s", i->name,
                    LOG_VALUE(strerror(-r)));
    tap_sysctl_set(tap, vr_manager_netns(vr));
    iface_link_presume(i, tap);
    r = iface_tap_serve(i, tap);
    if (r) {
        iface_tap_take_back(i, tap);
        snprintf(err, err_size, "interface %s: cannot serve its TAP: %s", i->name, strerror(-r));
        if (tap->found)
            tap_close(tap);
        else
            tap_delete(tap);
        return r;
    }
    __atomic_store_n(&i->ifindex, tap->ifindex, __ATOMIC_RELAXED);
    set_number(i, vr, tap->ifindex, number);
    i->admin_up = !tap->found || tap_is_up(tap);
    iface_link_update_up(i); // before the kernel sends frames
    if (!tap->kept)
        tap_keep_put(tap->fd);
    return 0;
}

void iface_tap_detach(struct iface *i, struct tap *tap, bool delete)
{
    if (!tap->foreign)
        iface_tap_take_back(i, tap);
    else
        tap_sysctl_give_back(tap, vr_manager_netns(i->vr));
    __atomic_store_n(&i->ifindex, 0, __ATOMIC_RELAXED);
    numbers[i->id] = 0;
    if (delete && !tap->foreign)
        tap_delete_batch_add(tap);
    else
        tap_close(tap);
}

// --- start and end of the process ---

int iface_tap_init(const char *path)
{
    taps = calloc(IFACE_MAX, sizeof *taps);
    state_path = path ? strdup(path) : NULL;
    if (!taps || (path && !state_path))
        return -ENOMEM;
    starting = true;
    n_former = path ? tap_list_read(path, &former) : 0;
    return 0;
}

bool iface_tap_is_starting(void)
{
    return starting;
}

void iface_tap_started(void)
{
    starting = false;
    tap_delete_unclaimed();
    for (size_t k = 0; k < n_former; k++) {
        const struct iface *i = iface_find_name(former[k].name);
        char err[200];
        int netns;
        if ((i && !strcmp(vr_get(i->vr)->netns, former[k].netns)) ||
            netns_open(former[k].netns, &netns, err, sizeof err))
            continue; // in use, or its namespace is gone
        tap_delete_orphan(former[k].name, netns);
        netns_close(netns);
    }
    free(former);
    former = NULL;
    n_former = 0;
    list_save();
}

void iface_tap_fini(void)
{
    tap_keep_fini();
    drop_event(&turn);
    vec_free(&to_start);
    free(taps);
    free(former);
    free(state_path);
    taps = NULL;
    former = NULL;
    state_path = NULL;
}
