// SPDX-License-Identifier: BSD-3-Clause
// config_confirm.c - waits for the confirmation of a commit (config_confirm.h)
//
// The timer only asks for a turn of ASIDE_CHANGE; when the turn comes, the revision number shows
// whether the commit has been confirmed meanwhile. Another commit before the confirmation keeps the
// first way back. A rollback that fails is tried again every AGAIN_S seconds.
#include "config/config_confirm.h"

#include <errno.h>
#include <event2/event.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/text.h"
#include "config/change.h"
#include "config/revision.h"
#include "core/aside.h"
#include "core/thread.h"
#include "event/event.h"

#define AGAIN_S 10 // after a failed rollback

static struct {
    struct event *timer;
    struct snapshot *back; // NULL: no commit is pending
    uint64_t until_ns;
    struct confirm told;
} wait;

static void end_waiting(void)
{
    if (wait.timer)
        event_del(wait.timer);
    snapshot_unref(wait.back);
    wait.back = NULL;
}

static void start_timer(unsigned seconds)
{
    wait.until_ns = clock_now_ns() + seconds * NS_PER_SECOND;
    event_add(wait.timer, &(struct timeval){.tv_sec = seconds});
}

static void tell_rollback(void)
{
    event_publish("configuration-change",
                  json_pack("{s:s, s:i, s:s, s:[]}", "by", wait.told.by, "lines", 0, "comment",
                            "not confirmed, rolled back", "change"));
}

static void go_back(void *ctx) // ctx: the revision
{
    struct errors e = {0};
    struct text t = {0};

    if (!wait.back || wait.told.revision != (uintptr_t)ctx) // confirmed meanwhile
        return;
    if (commit_prepare(config_model(), wait.back->model, &e) ||
        config_running_apply(wait.back, &e)) {
        errors_text(&e, NULL, &t);
        log_error("config: not confirmed, but the rollback failed; retrying: revision=%" PRIu64
                  " by=%s error=%s",
                  wait.told.revision, LOG_VALUE(wait.told.by), LOG_VALUE(text_str(&t)));
        start_timer(AGAIN_S);
    } else {
        log_warning("config: not confirmed, rolled back: revision=%" PRIu64 " by=%s to=%" PRIu64,
                    wait.told.revision, LOG_VALUE(wait.told.by), wait.back->revision);
        config_running_take(snapshot_ref(wait.back));
        tell_rollback();
        end_waiting();
    }
    text_free(&t);
    errors_free(&e);
}

static void stays(void *ctx) // kamueed stops, and will start with the confirmed revision
{
}

static void time_is_over(evutil_socket_t fd, short what, void *ctx)
{
    aside_turn(ASIDE_CHANGE,
               &(struct turn){go_back, stays, (void *)(uintptr_t)wait.told.revision, NULL});
}

void confirm_init(struct event_base *loop)
{
    thread_must_be(ROLE_CONTROL);
    confirm_fini();
    wait.timer = loop ? evtimer_new(loop, time_is_over, NULL) : NULL;
    bug_on(loop && !wait.timer);
}

void confirm_fini(void)
{
    end_waiting();
    if (wait.timer)
        event_free(wait.timer);
    wait.timer = NULL;
}

const struct confirm *confirm_waiting(void)
{
    uint64_t now = clock_now_ns();

    if (!wait.back)
        return NULL;
    wait.told.seconds = now < wait.until_ns ? (unsigned)((wait.until_ns - now) / NS_PER_SECOND) : 0;
    return &wait.told;
}

bool confirm_is_of(uint64_t session, const char *by)
{
    const struct confirm *w = &wait.told;

    return wait.back && w->session == session && (session || !strcmp(w->by, by));
}

void confirm_say(struct text *t)
{
    const struct confirm *w = confirm_waiting();

    if (w && w->session)
        text_printf(t,
                    "a commit by %s in session %" PRIu64
                    " must be confirmed in that session ('configure %" PRIu64
                    "' to take it over) or will be rolled back in %u s",
                    w->by, w->session, w->session, w->seconds);
    else if (w)
        text_printf(t,
                    "a commit by %s must be confirmed ('confirm') or will be rolled back in %u s",
                    w->by, w->seconds);
}

void confirm_session_ended(uint64_t session)
{
    if (wait.told.session == session)
        wait.told.session = 0;
}

void confirm_wait(const struct snapshot *back, const char *by, uint64_t session, unsigned seconds)
{
    bug_on(!wait.timer);
    if (!wait.back)
        wait.back = snapshot_ref(back);
    wait.told.revision = config_snapshot()->revision;
    wait.told.session = session;
    snprintf(wait.told.by, sizeof wait.told.by, "%s", by);
    start_timer(seconds);
}

int confirm_now(const char *by, char *err, size_t err_size)
{
    if (!wait.back)
        return 0;
    int r = revision_confirm(wait.told.revision, err, err_size);
    if (r)
        return r;
    log_notice("config: confirmed: revision=%" PRIu64 " by=%s", wait.told.revision, LOG_VALUE(by));
    end_waiting();
    return 0;
}

void confirm_superseded(const char *by)
{
    char err[600];

    if (confirm_now(by, err,
                    sizeof err)) { // it is just not marked as confirmed: the later one is valid
        log_warning("config: %s", err);
        end_waiting();
    }
}
