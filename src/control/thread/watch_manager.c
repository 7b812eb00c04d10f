// SPDX-License-Identifier: BSD-3-Clause
// watch_manager.c - see watch_manager.h
// A watch names ports and interfaces. Its bits and ids are derived again whenever a port comes or
// goes, so that it also sees ports that come later or come back.
#include "thread/watch_manager.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/hash.h"
#include "core/thread.h"
#include "table/grace.h"
#include "table/iface.h"
#include "table/vr.h"
#include "table/port.h"

static struct watch_entry {
    struct watch_spec spec;
    struct watch_filter *filter;
    bool used;
} watches[WATCH_MAX];

static struct port *port_by_name(const char *name)
{
    for (unsigned p = 0; p < PORT_MAX; p++)
        if (port_get((uint16_t)p)->used && !strcmp(port_get((uint16_t)p)->name, name))
            return port_get((uint16_t)p);
    return NULL;
}

// True if the port has an interface with sampling.
static bool has_sampled(const struct watch_spec *s, const struct port *p)
{
    for (uint16_t id = 1; id < IFACE_MAX; id++) {
        const struct iface *i = iface_get(id);
        if (i->kind != IFACE_NONE && i->policy.sample & s->sample && port_get(i->port) == p)
            return true;
    }
    return false;
}

// True if the watch sees frames of the port.
static bool sees_port(const struct watch_spec *s, const struct port *p)
{
    const struct iface *i = s->interface[0] ? iface_find_name(s->interface) : NULL;

    if (!p->used || (s->port[0] && strcmp(s->port, p->name)))
        return false;
    if (s->every)
        return s->flows ? p - port_table < PORT_DEVICE_MAX : has_sampled(s, p);
    return !s->interface[0] || (i && port_get(i->port) == p);
}

static void update_watch_bits(unsigned index)
{
    const struct watch_entry *k = &watches[index];
    unsigned points = k->used ? k->spec.points : 0;

    for (unsigned p = 0; p < PORT_MAX; p++) {
        struct port *port = port_get((uint16_t)p);
        bool sees =
            points &&
            (sees_port(&k->spec, port) ||
             (port->lag &&
              sees_port(&k->spec, port_get(port->lag)))); // a LAG's frames belong to its members
        watch_bit_set(&port->watch_rx, index, sees && points & 1u << WATCH_RX);
        watch_bit_set(&port->watch_tx, index, sees && points & 1u << WATCH_TX);
    }
    watch_bit_set(&watch_drop, index, points & 1u << WATCH_DROP);
    watch_bit_set(&watch_punt, index, points & 1u << WATCH_PUNT);
}

static int check_spec(const struct watch_spec *s, char *err, size_t err_size)
{
    const char *missing = s->port[0] && !port_by_name(s->port)                  ? s->port
                          : s->to == WATCH_TO_PORT && !port_by_name(s->to_port) ? s->to_port
                                                                                : NULL;

    if (missing)
        snprintf(err, err_size, "there is no port %s", missing);
    else if (s->interface[0] && !iface_find_name(s->interface))
        snprintf(err, err_size, "there is no interface %s", s->interface);
    else if (s->vr[0] && !vr_find(s->vr))
        snprintf(err, err_size, "there is no virtual router %s", s->vr);
    else
        return 0;
    return -ENOENT;
}

// The ids of the ports, the interface and the virtual router, which may change. Each is one word,
// read once per frame.
static void update_watch_ids(const struct watch_spec *s, struct watch *w)
{
    const struct iface *i = iface_find_name(s->interface);
    const struct vr *v = vr_find(s->vr);
    const struct port *p = port_by_name(s->port), *to = port_by_name(s->to_port);
    uint16_t iface = i ? i->id : WATCH_GONE, vr = v ? v->id + 1 : WATCH_GONE,
             port = p ? (uint16_t)(p - port_table) : WATCH_GONE;

    __atomic_store_n(&w->iface, s->interface[0] ? iface : 0, __ATOMIC_RELAXED);
    __atomic_store_n(&w->vr, s->vr[0] ? vr : 0, __ATOMIC_RELAXED);
    __atomic_store_n(&w->port, s->port[0] ? port : PORT_NONE, __ATOMIC_RELAXED);
    __atomic_store_n(&w->to_port, to ? (uint16_t)(to - port_table) : WATCH_GONE, __ATOMIC_RELAXED);
}

int watch_manager_add(const struct watch_spec *s, struct watch_filter *filter, char *err,
                      size_t err_size)
{
    struct watch w = {
        .to = s->to, .snap = s->snap, .wakes = s->wakes, .every = s->every, .sample = s->sample,
        .flows = s->flows};

    thread_must_be(ROLE_CONTROL);
    int r = check_spec(s, err, err_size);
    if (r)
        return r;
    if (filter) {
        w.filter = filter->bpf;
        w.filter_code = filter->code;
    }
    update_watch_ids(s, &w);
    w.seed = hash_mix64(clock_now_ns());
    r = watch_new(&w, s->to == WATCH_TO_SLOTS ? s->n_slots : 0);
    if (r < 0) {
        snprintf(err, err_size,
                 r == -EBUSY ? "too many captures and mirrors: at most %d; stop one"
                             : "no memory for the frames of a capture",
                 WATCH_FLOWS);
        return r;
    }
    watches[r] = (struct watch_entry){.spec = *s, .filter = filter, .used = true};
    update_watch_bits((unsigned)r);
    return r;
}

void watch_manager_del(unsigned index)
{
    thread_must_be(ROLE_CONTROL);
    watches[index].used = false;
    update_watch_bits(index);
    grace_wait();
    watch_free(index);
    watch_filter_free(watches[index].filter);
    watches[index] = (struct watch_entry){0};
}

void watch_manager_vr_renamed(const char *from, const char *to)
{
    thread_must_be(ROLE_CONTROL);
    for (unsigned i = 0; i < WATCH_MAX; i++)
        if (watches[i].used && !strcmp(watches[i].spec.vr, from))
            snprintf(watches[i].spec.vr, sizeof watches[i].spec.vr, "%s", to);
}

void watch_manager_port_changed(void)
{
    for (unsigned i = 0; i < WATCH_MAX; i++)
        if (watches[i].used) {
            update_watch_ids(&watches[i].spec, &watch_table[i]);
            update_watch_bits(i);
        }
}
