// SPDX-License-Identifier: BSD-3-Clause
// mirror_manager.c - see mirror_manager.h
// For a TAP, forwarders copy frames into slots, which tap_manager writes. For a port, they send the
// frames themselves (forwarder/mirror.c).
#include "tap/mirror_manager.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "core/thread.h"
#include "netlink/netns.h"
#include "table/acl_target.h"
#include "tap/tap.h"
#include "tap/tap_manager.h"
#include "thread/watch_manager.h"

#define TAP_MTU 9600
#define TAP_SLOTS 1024u

static struct mirror_entry {
    bool used;
    struct mirror mirror;
    unsigned watch;
} mirrors[WATCH_MAX];

static struct monitor { // a mirror TAP
    unsigned users;
    struct tap tap;
} monitor[WATCH_MAX];

static struct monitor *monitor_find(const char *name)
{
    for (unsigned i = 0; i < WATCH_MAX; i++)
        if (monitor[i].users && !strcmp(monitor[i].tap.name, name))
            return &monitor[i];
    return NULL;
}

// Keeps the kernel from sending on it: the TAP is for listeners only.
static void silence_tap(const char *name)
{
    netns_sysctl_set("ipv6/conf/%s/disable_ipv6", name, 1);
    netns_sysctl_set("ipv4/conf/%s/arp_ignore", name, 8); // answers for no address
}

static struct monitor *monitor_get(const char *name, char *err, size_t err_size)
{
    struct monitor *m = monitor_find(name);

    for (unsigned i = 0; i < WATCH_MAX && !m; i++)
        if (!monitor[i].users)
            m = &monitor[i];
    if (!m) { // cannot happen: there are as many as watches
        snprintf(err, err_size, "too many captures and mirrors (at most %d)", WATCH_FLOWS);
        return NULL;
    }
    if (!m->users) {
        static const uint8_t mac[6] = {0x02, 'm', 'i', 'r', 'r', 0};
        if (tap_open(&m->tap, name, NETNS_OWN, 0, mac, TAP_MTU, err, err_size))
            return NULL;
        tap_clear_persist(&m->tap);
        silence_tap(name);
        tap_start(&(struct tap_start){.tap = &m->tap, .netns = NETNS_OWN, .carrier = true}, 1);
    }
    m->users++;
    return m;
}

static void monitor_put(const char *name)
{
    struct monitor *m = monitor_find(name);

    if (m && !--m->users)
        tap_close(&m->tap); // closes the last descriptor, which removes the TAP
}

static int mirror_to_tap(struct mirror_entry *k, struct watch_spec *s, char *err, size_t err_size)
{
    struct monitor *m = monitor_get(k->mirror.to_tap, err, err_size);

    if (!m)
        return -EIO;
    s->to = WATCH_TO_SLOTS;
    s->snap = WATCH_SNAP_MAX;
    s->n_slots = TAP_SLOTS;
    s->wakes = true;
    int fd = dup(m->tap.fd), r = watch_manager_add(s, NULL, err, err_size);
    if (fd < 0 || r < 0)
        goto fail;
    k->watch = (unsigned)r;
    r = tap_manager_mirror(k->watch, fd);
    if (!r)
        return 0;
    snprintf(err, err_size, "tap_manager cannot add it: %s", strerror(-r));
    watch_manager_del(k->watch);
fail:
    if (fd >= 0)
        close(fd);
    monitor_put(k->mirror.to_tap);
    return r < 0 ? r : -EMFILE;
}

static int mirror_to_port(struct mirror_entry *k, struct watch_spec *s, char *err, size_t err_size)
{
    s->to = WATCH_TO_PORT;
    snprintf(s->to_port, sizeof s->to_port, "%s", k->mirror.to_port);
    int r = watch_manager_add(s, NULL, err, err_size);
    if (r < 0)
        return r;
    k->watch = (unsigned)r;
    return 0;
}

static void log_mirror(const struct mirror *m, const char *what)
{
    const char *to = m->to_tap[0] ? m->to_tap : m->to_port;

    if (m->session[0])
        log_info("mirror: %s: session=%s to=%s", what, m->session, to);
    else
        log_info("mirror: %s: port=%s to=%s", what, m->port, to);
}

static void mirror_stop(struct mirror_entry *k)
{
    if (k->mirror.session[0])
        acl_mirror_lead(k->mirror.session, WATCH_MAX);
    if (k->mirror.to_tap[0])
        tap_manager_mirror(k->watch, -1);
    watch_manager_del(k->watch);
    if (k->mirror.to_tap[0])
        monitor_put(k->mirror.to_tap);
    k->used = false;
}

int mirror_manager_add(const struct mirror *m, char *err, size_t err_size)
{
    struct watch_spec s = {.points = m->points};
    unsigned i = 0;

    thread_must_be(ROLE_CONTROL);
    while (i < WATCH_MAX && mirrors[i].used)
        i++;
    if (i == WATCH_MAX) {
        snprintf(err, err_size, "too many mirrors: at most %d", WATCH_MAX);
        return -EBUSY;
    }
    snprintf(s.port, sizeof s.port, "%s", m->port);
    mirrors[i].mirror = *m;
    int r = m->to_tap[0] ? mirror_to_tap(&mirrors[i], &s, err, err_size)
                         : mirror_to_port(&mirrors[i], &s, err, err_size);
    if (r)
        return r;
    mirrors[i].used = true;
    if (m->session[0] && acl_mirror_lead(m->session, mirrors[i].watch)) {
        snprintf(err, err_size, "access-list rules use too many mirror sessions: at most %d",
                 ACL_MIRROR_MAX - 1);
        mirror_stop(&mirrors[i]);
        return -ENOSPC;
    }
    log_mirror(m, "started");
    return 0;
}

static bool same_mirror(const struct mirror *a, const struct mirror *b)
{
    return a->points == b->points && !strcmp(a->port, b->port) && !strcmp(a->session, b->session) &&
           !strcmp(a->to_port, b->to_port) && !strcmp(a->to_tap, b->to_tap);
}

void mirror_manager_del(const struct mirror *m)
{
    thread_must_be(ROLE_CONTROL);
    for (unsigned i = 0; i < WATCH_MAX; i++) {
        struct mirror_entry *k = &mirrors[i];
        if (!k->used || !same_mirror(&k->mirror, m))
            continue;
        mirror_stop(k);
        log_mirror(m, "ended");
        return;
    }
}

bool mirror_manager_at(unsigned i, struct mirror *m, struct watch_count *n)
{
    for (unsigned at = 0; at < WATCH_MAX; at++) {
        if (!mirrors[at].used || i--)
            continue;
        *m = mirrors[at].mirror;
        *n = watch_sum(mirrors[at].watch);
        return true;
    }
    return false;
}
