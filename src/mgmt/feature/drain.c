// SPDX-License-Identifier: BSD-3-Clause
// drain.c - `set drain`: forwarding continues for some time while traffic moves elsewhere
//
//     SIGTERM -> drain_begin() -> script runs, BFD packets are dropped -> time is up, or the script
//     has ended -> done()
//
// When the time is up, a running script is stopped (its process group), without waiting for it.
// main/service.c calls drain_begin at the first stop signal; a second one stops at once.
#include "feature/drain.h"

#include <errno.h>
#include <event2/event.h>
#include <string.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "config/feature_config.h"
#include "core/child.h"
#include "core/starter.h"
#include "core/thread.h"
#include "http/http.h"
#include "mgmt/feature.h"
#include "restconf/column.h"
#include "table/punt.h"
#include "yang/config_tree.h"

#define TIME_DEFAULT_S 10
#define LOOK_US 50000
#define SCRIPT_END_MS 200 // time for the script to end during a stop

struct model_drain {
    uint32_t seconds;
    char script[256];
    bool bfd;
};

static struct {
    struct model_drain wish; // configuration in force
    struct event *timer;
    void (*done)(void);
    uint64_t until_ns; // 0 = not draining
} drain;

// --- configuration -------------------------------------------------------------------------------

static const struct model_drain *drain_of(const struct model *m)
{
    return m->part[FEATURE_drain];
}

static const struct column drain_columns[] = {
    COLUMN(struct model_drain, script, "script"),
    COLUMN(struct model_drain, bfd, "bfd"),
    COLUMN(struct model_drain, seconds, "time"),
    {0}};

static void read_drain(const struct lyd_node *first, const struct column *c, void *value)
{
    struct model_drain *d = value;

    columns_read(first, c, d);
    if ((d->bfd || *d->script) && !config_value(first, "time"))
        d->seconds = TIME_DEFAULT_S;
}

static void check_drain(const struct model *m, struct errors *e)
{
    const char *script = drain_of(m)->script;
    char places[512];

    if (*script && !file_allowed(FILE_READ, script))
        errors_add(e, 0, "drain: 'script' is '%s', expected a file below %s", script,
                   file_places(FILE_READ, places, sizeof places));
}

static void check_script(const struct model *from, const struct model *to, struct errors *e)
{
    const char *script = drain_of(to)->script;
    int r = *script && strcmp(script, drain_of(from)->script) ? starter_check(script) : 0;

    if (r)
        errors_add(e, 0, "drain: 'script' is '%s', expected a program that can be run: %s", script,
                   r == -EPERM ? "it must be root's and writable by root only (chown, chmod)"
                               : strerror(-r));
}

static int set_drain(const struct step *s, const void *from, const void *to, char *err, size_t n)
{
    drain.wish = *(const struct model_drain *)to;
    return 0;
}

static const struct feature_config drain_config = {
    .part_size = sizeof(struct model_drain),
    .values =
        (const struct feature_value[]){{.phase = PHASE_SETTINGS, .step = {"", set_drain},
                                        .size = sizeof(struct model_drain), .read = read_drain,
                                        .inside = "drain", .columns = drain_columns},
                                       {0}},
    .check = check_drain,
    .check_host = check_script,
};

// --- the script ----------------------------------------------------------------------------------

static void script_ended(struct child *c)
{
    if (c->stage)
        return; // stopped by us
    if (!c->status)
        log_notice("drain: the script has ended");
    else
        log_error("drain: the script failed; forwarding continues until the drain ends: why=%s",
                  LOG_VALUE(child_how(c)));
}

static struct child script = {.name = "drain script", .ended = script_ended};

static void start_script(const char *path)
{
    int r = *path ? child_start(&script, path, "drain", -1, CHILD_NO_LIMIT) : 0;

    if (r)
        log_error("drain: the script cannot be run: script=%s error=\"%s\"", LOG_VALUE(path),
                  strerror(-r));
}

static void give_up_script(void)
{
    if (!child_runs(&script))
        return;
    log_error("drain: the script has not ended in time: pid=%d", (int)script.pid);
    child_stop(&script);
}

// --- the time ------------------------------------------------------------------------------------

// A class with a queue length of 0 drops its packets (forwarder/punt.c). FRR and BIRD receive no
// BFD packets and tell their peers after their own detection time.
static void silence_bfd(void)
{
    struct punt_limit none = punt_policy[PUNT_BFD].limit;

    none.queue = 0;
    punt_policy_set(PUNT_BFD, &none);
}

static void look_again(evutil_socket_t fd, short what, void *arg)
{
    child_wait(&script, 0);
    if (clock_now_ns() < drain.until_ns)
        return;
    give_up_script();
    event_del(drain.timer);
    log_notice("drain: ended");
    drain.done();
}

static void stop_drain(void)
{
    child_stop(&script);
    child_wait(&script, SCRIPT_END_MS);
    child_kill(&script);
    child_wait(&script, SCRIPT_END_MS);
    child_forget(&script);
    if (drain.timer)
        event_free(drain.timer);
    memset(&drain, 0, sizeof drain);
}

uint32_t drain_begin(void (*done)(void))
{
    const struct model_drain *d = &drain.wish;
    const struct timeval every = {.tv_usec = LOOK_US};

    thread_must_be(ROLE_CONTROL);
    if (!d->seconds || drain.until_ns)
        return 0;
    drain.timer = event_new(http_loop(), -1, EV_PERSIST, look_again, NULL);
    if (!drain.timer || event_add(drain.timer, &every))
        return 0;
    drain.done = done;
    drain.until_ns = clock_now_ns() + d->seconds * NS_PER_SECOND;
    log_notice("drain: started: seconds=%u script=%s bfd=%s", d->seconds, LOG_VALUE(d->script),
               d->bfd ? "true" : "false");
    start_script(d->script);
    if (d->bfd)
        silence_bfd();
    return d->seconds;
}

bool drain_runs(void)
{
    return drain.until_ns != 0;
}

const struct feature drain_feature = {
    "drain",
    .config = &drain_config,
    .stop = stop_drain,
};
