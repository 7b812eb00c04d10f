// SPDX-License-Identifier: BSD-3-Clause
// apply.c - from one model to another through the managers: all or nothing
//
// The difference of two models becomes a list of steps (apply_step.h), which each area says in its
// apply_X.c. The order (apply_plan) is the one in which nothing is ever used after it went or
// before it came: access lists come or change; multicast routes and counted prefixes go, queues
// leave threads, vports go, interfaces leave virtual routers that go, ports go, virtual routers go;
// then all of it comes in the opposite order. A thing that cannot be changed in place (a vport's
// VLAN, a virtual router's namespace) goes and comes.
//
// Between two steps others are served (aside_pause): they see what is so far, and change nothing of
// it.
#include "apply/apply.h"


#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "apply/apply_acl.h"
#include "apply/apply_api.h"
#include "apply/apply_counted.h"
#include "apply/apply_export.h"
#include "apply/apply_interface.h"
#include "apply/apply_listen.h"
#include "apply/apply_mirror.h"
#include "apply/apply_multicast.h"
#include "apply/apply_settings.h"
#include "apply/apply_thread.h"
#include "apply/apply_vr.h"
#include "base/log.h"
#include "base/work.h"
#include "core/aside.h"
#include "core/thread.h"
#include "port/iface_manager.h"

void apply_plan(struct plan_steps *p, const struct model *from, const struct model *to)
{
    *p = (struct plan_steps){.from = from, .to = to};
    plan_threads_begin(p);
    plan_settings(p);
    plan_acls(p);

    plan_multicast_going(p);
    plan_counted_going(p);
    plan_mirrors_going(p);
    plan_threads_going(p);
    plan_interfaces_going(p);
    plan_vrs_going(p);

    plan_engines(p);
    plan_vrs_coming(p);
    plan_interfaces_coming(p);
    plan_threads_coming(p);
    plan_mirrors_coming(p);
    plan_multicast_coming(p);
    plan_counted_coming(p);
    plan_listens(p);
    plan_export(p);
    plan_api(p); // last: who closes his own listener still gets an answer
}

void apply_plan_free(struct plan_steps *p)
{
    vec_free(&p->step);
    plan_threads_end(p);
}

static void blame(const struct step *s, const char *sentence, struct errors *e)
{
    char subject[64];

    step_subject(s, subject, sizeof subject);
    if (!strncmp(sentence, subject, strlen(subject)))
        errors_add(e, s->line, "%s", sentence);
    else
        errors_add(e, s->line, "%s: %s", subject, *sentence ? sentence : "refused");
}

static void undo(const struct plan_steps *p, size_t done)
{
    char err[256] = "", subject[64];

    while (done--) {
        aside_pause();
        if (!step_run(&p->step.item[done], false, err, sizeof err))
            continue;
        log_error("config: not undone: what=\"%s\" error=\"%s\"",
                  step_subject(&p->step.item[done], subject, sizeof subject), err);
    }
}

int apply_change(const struct model *from, const struct model *to, struct errors *e)
{
    struct plan_steps p;
    struct work w = {0};
    int r = 0;

    thread_must_be(ROLE_CONTROL);
    apply_plan(&p, from, to);
    for (size_t i = 0; i < p.step.n && !r; i++) {
        char err[256] = "";

        work_at(&w, i + 1, p.step.n);
        aside_pause(); // not behind the last one, which may close the listener that the answer goes
                       // to
        if (aside_stopped()) {
            errors_add(e, 0, "kamueed is stopping: the change was not completed");
            r = -ECANCELED; // nothing is undone, since all of it ends
            break;
        }
        r = step_run(&p.step.item[i], true, err, sizeof err);
        if (r) {
            blame(&p.step.item[i], err, e);
            undo(&p, i);
        }
    }
    iface_manager_settle();
    plan_acls_end(&p, !r);
    apply_plan_free(&p);
    return r;
}
