// SPDX-License-Identifier: BSD-3-Clause
// service.c - see modules.h
//
// Feeds systemd's watchdog only while all threads are alive: since the last time, rib_manager and
// tap_manager have answered a call in their mailbox and each running forwarder has polled. If one
// hangs, systemd restarts kamueed.
//
// Control may be busy for longer than the watchdog's limit, e.g. with a commit of thousands of
// interfaces. Then the progress of its work (base/progress.h) feeds the watchdog by the same rules.
// During start and stop it extends systemd's timeout.
#include "main/modules.h"

#include <errno.h>
#include <event2/event.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <systemd/sd-daemon.h>

#include "base/log.h"
#include "base/progress.h"
#include "core/aside.h"
#include "core/crash.h"
#include "core/mailbox.h"
#include "core/manager.h"
#include "core/thread.h"
#include "server/mgmt.h"
#include "table/counter.h"
#include "table/plan.h"

#define DRAIN_SLACK_S 15 // longest stop, without the drain
#define EXTENDED_US "60000000" // until the next progress of a start or a stop

static struct event_base *base;
static struct event *signals[4], *watchdog;
static _Atomic bool answered[ROLE_FORWARDER];
static uint64_t polls[FORWARDER_MAX];
static bool restarts;

static void end_loop(void)
{
    event_base_loopbreak(base);
}

// The first signal lets the router drain, if that is configured; the second one does not wait for
// it.
static void on_stop_signal(evutil_socket_t sig, short what, void *arg)
{
    const char *name = sig == SIGTERM ? "TERM" : sig == SIGUSR1 ? "USR1" : "INT";
    uint32_t seconds = mgmt_drain(end_loop);

    restarts = sig == SIGUSR1;
    if (!seconds) {
        log_notice("main: stopping: signal=%s", name);
        end_loop();
        return;
    }
    log_notice("main: draining: signal=%s seconds=%u", name, seconds);
    sd_notifyf(0, "STOPPING=1\nEXTEND_TIMEOUT_USEC=%llu\nSTATUS=draining",
               (seconds + DRAIN_SLACK_S) * 1000000ull);
}

static void reload_now(void *ctx)
{
    char err[512] = "";

    if (mgmt_reload(err, sizeof err))
        log_error("main: configuration not reloaded, the old one stays: %s", err);
    else
        log_notice("main: configuration reloaded");
    sd_notify(0, "READY=1");
}

static void report_reload_refused(void *ctx)
{
    log_error("main: configuration not reloaded, the old one stays: kamueed stops");
    sd_notify(0, "READY=1");
}

static void on_reload_signal(evutil_socket_t sig, short what, void *arg)
{
    sd_notify(0, "RELOADING=1");
    aside_turn(ASIDE_CHANGE, &(struct turn){.run = reload_now, .drop = report_reload_refused});
}

static void set_answered(void *arg)
{
    atomic_store((_Atomic bool *)arg, true);
}

static bool manager_lives(enum thread_role role)
{
    bool lives = atomic_exchange(&answered[role], false);

    if (mailbox_post(role, set_answered, &answered[role]))
        lives = false;
    return lives;
}

static bool forwarder_lives(unsigned i)
{
    if (!__atomic_load_n(&forwarder_slot[i].running, __ATOMIC_RELAXED))
        return true;
    uint64_t now =
        __atomic_load_n(&counter_of_slot(THREAD_SLOT_FORWARDER + i)->polls, __ATOMIC_RELAXED);
    bool lives = now != polls[i];
    polls[i] = now;
    return lives;
}

static void feed_watchdog(evutil_socket_t fd, short what, void *arg)
{
    static char forwarder[16];
    const char *stuck = NULL;

    for (enum thread_role r = ROLE_RIB_MANAGER; r <= ROLE_TAP_MANAGER; r++)
        if (!manager_lives(r))
            stuck = thread_role_name(r);
    for (unsigned i = 0; i < FORWARDER_MAX; i++)
        if (!forwarder_lives(i)) {
            snprintf(forwarder, sizeof forwarder, "forwarder/%u", i);
            stuck = forwarder;
        }
    crash_set_stuck(stuck); // for the crash note, if the watchdog expires
    if (!stuck)
        sd_notify(0, "WATCHDOG=1");
    else
        log_warning("main: a thread does not answer; the watchdog is not fed: thread=%s", stuck);
}

static struct event *add_signal_event(int sig, event_callback_fn fn)
{
    struct event *e = evsignal_new(base, sig, fn, NULL);

    if (e && event_add(e, NULL)) {
        event_free(e);
        e = NULL;
    }
    return e;
}

int service_start(struct event_base *loop)
{
    base = loop;
    signal(SIGPIPE, SIG_IGN);
    signals[0] = add_signal_event(SIGTERM, on_stop_signal);
    signals[1] = add_signal_event(SIGINT, on_stop_signal);
    signals[2] = add_signal_event(SIGHUP, on_reload_signal);
    signals[3] = add_signal_event(SIGUSR1, on_stop_signal);
    return signals[0] && signals[1] && signals[2] && signals[3] ? 0 : -ENOMEM;
}

static void start_watchdog(void)
{
    uint64_t us;

    if (sd_watchdog_enabled(0, &us) <= 0)
        return;
    us /= 3; // three chances within systemd's limit
    struct timeval every = {.tv_sec = (time_t)(us / 1000000), .tv_usec = (long)(us % 1000000)};
    watchdog = event_new(base, -1, EV_PERSIST, feed_watchdog, NULL);
    if (!watchdog || event_add(watchdog, &every)) {
        log_error("main: no memory for the watchdog's timer");
        return;
    }
    for (unsigned r = 0; r < ROLE_FORWARDER; r++)
        atomic_store(&answered[r], true);
    sd_notify(0, "WATCHDOG=1");
}


static void notify_status(const char *text)
{
    sd_notifyf(0, "STATUS=%s", text);
}

static void notify_progress(void)
{
    if (thread_role() != ROLE_CONTROL)
        return; // the watchdog checks other threads through their mailboxes
    if (watchdog)
        feed_watchdog(-1, 0, NULL);
    else
        sd_notify(0, "EXTEND_TIMEOUT_USEC=" EXTENDED_US "\nWATCHDOG=1"); // a start, or a successor
}

void service_report_work(void)
{
    progress_set_status(notify_status);
    progress_set_listener(notify_progress);
}

void service_ready(void)
{
    sd_notify(0, "READY=1\nSTATUS=ready");
    start_watchdog();
}

void service_stopping(void)
{
    drop_event(&watchdog);
    sd_notify(0, "STOPPING=1");
}

void service_stop(void)
{
    for (unsigned i = 0; i < sizeof signals / sizeof *signals; i++)
        drop_event(&signals[i]);
    drop_event(&watchdog);
}

bool service_restarts(void)
{
    return restarts;
}
