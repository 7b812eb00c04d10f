// SPDX-License-Identifier: BSD-3-Clause
// port_begin.c - how long ports wait for routes at the start
//
// A timer looks every millisecond whether rib_manager has read the kernel's tables. Meanwhile
// forwarders pass control packets and keep the others, and only TAPs whose packets need no FIB are
// read. After five seconds ports forward in any case, because a router that waits longer loses its
// sessions; in an upgrade, in which another kamueed forwards, after a minute.
#include "port/port_manager.h"

#include <errno.h>
#include <event2/event.h>

#include "base/clock.h"
#include "base/log.h"
#include "core/manager.h"
#include "core/thread.h"
#include "interface/iface_tap.h"
#include "rib/rib_manager.h"
#include "table/plan.h"
#include "thread/thread_manager.h"

#define LOOK_US 1000
#define PATIENCE_NS (5 * NS_PER_SECOND) // waiting longer would cost routing sessions, too
#define UPGRADE_PATIENCE_NS (60 * NS_PER_SECOND) // another kamueed forwards meanwhile

static struct event *timer;
static uint64_t since_ns;
static void (*tell_instead)(bool all_read);

static void look_again(void)
{
    event_add(timer, &(struct timeval){.tv_usec = LOOK_US});
}

static bool kept_is_forwarded(void)
{
    return !__atomic_load_n(&plan_kept, __ATOMIC_RELAXED);
}

static void on_look(evutil_socket_t fd, short what, void *arg)
{
    if (plan_begin == PLAN_BEGIN_KEPT) {
        kept_is_forwarded() ? thread_manager_begin(PLAN_BEGIN_OVER) : look_again();
        return;
    }
    uint64_t waited_ns = clock_now_ns() - since_ns;
    bool behind = rib_manager_is_behind();

    if (behind && waited_ns < (tell_instead ? UPGRADE_PATIENCE_NS : PATIENCE_NS)) {
        look_again();
        return;
    }
    if (tell_instead) {
        tell_instead(!behind);
        return;
    }
    uint32_t kept = __atomic_load_n(&plan_kept, __ATOMIC_RELAXED);
    port_begin_now();
    if (behind)
        log_warning("port_begin: ports forward before all routes have been read");
    else
        log_notice("port_begin: ports forward: waited-ms=%u kept=%u",
                   (unsigned)(waited_ns / NS_PER_MS), kept);
}

void port_begin_instead(void (*fn)(bool all_read))
{
    thread_must_be(ROLE_CONTROL);
    tell_instead = fn;
}

// Control packets pass; packets that need a route are kept.
static void begin_control(void)
{
    thread_manager_begin(PLAN_BEGIN_CONTROL);
    thread_manager_hold(false);
    iface_tap_hold(IFACE_HOLD_ROUTED);
}

void port_begin_now(void)
{
    if (plan_begin == PLAN_BEGIN_CONTROL) {
        thread_manager_begin(PLAN_BEGIN_KEPT);
        look_again();
    }
    thread_manager_hold(false);
    iface_tap_hold(IFACE_HOLD_NONE);
}

int port_begin_init(struct event_base *loop)
{
    thread_must_be(ROLE_CONTROL);
    timer = event_new(loop, -1, 0, on_look, NULL);
    if (!timer)
        return -ENOMEM;
    thread_manager_hold(true);
    iface_tap_hold(IFACE_HOLD_ALL);
    return 0;
}

void port_begin(void)
{
    since_ns = clock_now_ns();
    if (!tell_instead && rib_manager_is_behind())
        begin_control();
    on_look(-1, 0, NULL);
}

void port_begin_fini(void)
{
    drop_event(&timer);
}
