// SPDX-License-Identifier: BSD-3-Clause
// acl_gate.c - a commit waits until its access lists are built
#include "config/acl_gate.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "acl_manager/acl_manager.h"
#include "base/vec.h"

static VEC(struct waiting {
    void (*fn)(void *ctx);
    void *ctx;
}) waiting;
static struct acl_wanted *refused; // what the last preparation was for, when it failed
static struct text why_refused;
static bool busy;
static void (*when_empty)(void);

// Those who wait now, in the order in which they came; each may wait again.
static void open_gate(void)
{
    size_t n = waiting.n;
    struct waiting *now = waiting.item;

    memset(&waiting, 0, sizeof waiting);
    for (size_t i = 0; i < n; i++)
        now[i].fn(now[i].ctx);
    free(now);
    if (!waiting.n && when_empty)
        when_empty();
}

void acl_gate_when_empty(void (*fn)(void))
{
    when_empty = fn;
}

void acl_gate_wait(void (*fn)(void *ctx), void *ctx)
{
    *vec_push(&waiting) = (struct waiting){fn, ctx};
}

void acl_gate_leave(void)
{
    if (acl_manager_prepared())
        acl_manager_end(false);
}

static void add_lines(struct errors *e, const char *lines)
{
    char *copy = strdup(lines), *next = copy;

    bug_on(!copy);
    for (char *line; (line = strsep(&next, "\n"));)
        errors_add(e, 0, "%s", line);
    free(copy);
}

static void forget_refusal(void)
{
    acl_wanted_put(refused);
    refused = NULL;
    text_clear(&why_refused);
}

static void prepared(void *ctx, int result, const char *why)
{
    busy = false;
    forget_refusal();
    if (result && result != -EAGAIN) {
        refused = ctx;
        text_printf(&why_refused, "%s", why);
    } else {
        acl_wanted_put(ctx);
    }
    open_gate();
}

int acl_gate(const struct model *from, const struct model *to, struct errors *e)
{
    const struct acl_wanted *ready = acl_manager_prepared();
    int r;

    if (acl_wanted_equal(from->acl, to->acl) || (ready && acl_wanted_equal(ready, to->acl)))
        return 0;
    if (refused && acl_wanted_equal(refused, to->acl)) {
        add_lines(e, text_str(&why_refused));
        forget_refusal();
        return -EINVAL;
    }
    acl_gate_leave();
    if (busy)
        return -EINPROGRESS;
    r = acl_manager_prepare(&(struct acl_prepare_ask){
        .wanted = to->acl, .done = prepared, .ctx = acl_wanted_get(to->acl)});
    if (!r) {
        busy = true;
        return -EINPROGRESS;
    }
    acl_wanted_put(to->acl);
    errors_add(e, 0, "acl_manager is busy (%s); try again", strerror(-r));
    return r;
}

// --- files again ---------------------------------------------------------------------------------

static void reloaded(void *ctx, int result, const char *why)
{
    struct acl_reload *r = ctx;
    char err[512] = "";

    busy = false;
    if (result == -EAGAIN)
        why = "the configuration has changed meanwhile; try again";
    if (!result) {
        result = acl_manager_commit(err, sizeof err);
        acl_manager_end(!result);
        why = err;
    }
    r->done(r->ctx, result, why);
    free(r);
    open_gate();
}

int acl_reload(const struct acl_reload *r)
{
    struct acl_reload *copy;
    int e;

    if (busy)
        return -EINPROGRESS;
    acl_gate_leave();
    copy = malloc(sizeof *copy);
    bug_on(!copy);
    *copy = *r;
    e = acl_manager_prepare(&(struct acl_prepare_ask){.wanted = acl_manager_wanted(),
                                                      .set = r->set,
                                                      .list = r->list,
                                                      .done = reloaded,
                                                      .ctx = copy});
    if (e)
        free(copy);
    else
        busy = true;
    return e;
}
