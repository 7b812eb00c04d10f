// SPDX-License-Identifier: BSD-3-Clause
// fake_acl.c - an acl_manager that builds nothing, for unit tests of mgmt
#include <errno.h>
#include <event2/event.h>
#include <stdio.h>
#include <string.h>

#include "acl_manager/acl_manager.h"
#include "acl_manager/acl_query.h"
#include "fake/fake_acl.h"
#include "fake/fake_call.h"
#include "interface/iface_manager.h"

static struct acl_desired *held, *before, *ready;
static struct fake_binding {
    char name[16];
    uint16_t in, out;
} bindings[64];
static unsigned n_bindings;
static struct acl_prepare_request pending;
static const char *refuses;
struct event_base *fake_acl_loop;

static void put(struct acl_desired **w)
{
    acl_desired_put(*w);
    *w = NULL;
}

void fake_acl_reset(void)
{
    put(&held);
    put(&before);
    put(&ready);
    n_bindings = 0;
    refuses = NULL;
    memset(&pending, 0, sizeof pending);
    held = acl_desired_new();
}

void fake_acl_refuse(const char *why)
{
    refuses = why;
}

static int decide(const struct acl_desired *wanted)
{
    if (!refuses)
        ready = acl_desired_get(wanted);
    return refuses ? -EINVAL : 0;
}

static void get_ready(evutil_socket_t fd, short what, void *arg)
{
    fake_acl_ready();
}

int acl_manager_prepare(const struct acl_prepare_request *ask)
{
    static const struct timeval soon = {.tv_usec = 1000};

    if (pending.done || ready)
        return -EBUSY;
    pending = *ask;
    acl_desired_get(pending.wanted);
    if (fake_acl_loop)
        event_base_once(fake_acl_loop, -1, EV_TIMEOUT, get_ready, NULL, &soon);
    return 0;
}

bool fake_acl_ready(void)
{
    struct acl_prepare_request p = pending;

    if (!p.done)
        return false;
    memset(&pending, 0, sizeof pending);
    int r = decide(p.wanted);
    p.done(r, r ? refuses : "");
    acl_desired_put((struct acl_desired *)(uintptr_t)p.wanted);
    return true;
}

int acl_manager_prepare_now(const struct acl_desired *wanted, struct text *why)
{
    put(&ready);
    int r = decide(wanted);
    if (r)
        text_printf(why, "%s", refuses);
    return r;
}

bool acl_manager_is_building(void)
{
    return pending.done;
}

const struct acl_desired *acl_manager_prepared(void)
{
    return ready;
}

const struct acl_desired *acl_manager_desired(void)
{
    return held;
}

// Files are empty here.
uint32_t acl_manager_temporary(const char *list)
{
    return 0;
}

uint64_t acl_manager_rules(const char *list)
{
    const struct acl_desired *w = ready ? ready : held;
    const struct acl_desired_list *l = w ? acl_desired_list_find(w, list) : NULL;

    return l ? l->rules.rule.n : 0;
}

uint64_t acl_manager_members(const char *set)
{
    const struct acl_desired *w = ready ? ready : held;
    const struct acl_desired_set *s = w ? acl_desired_set_find(w, set) : NULL;

    return s ? s->member.item.n : 0;
}

struct acl_content *acl_manager_content(const char *list)
{
    return NULL;
}

bool acl_manager_had(const char *list, uint64_t at_ns)
{
    return true;
}

unsigned acl_manager_version(void)
{
    return 0;
}

int acl_manager_commit(char *err, size_t err_size)
{
    int r = fake_called(err, err_size, "change", "acl");

    if (r)
        return r;
    before = held;
    held = acl_desired_get(ready);
    return 0;
}

void acl_manager_undo(void)
{
    put(&held);
    held = before;
    before = NULL;
}

void acl_manager_end(bool stays)
{
    bug_on(stays && !before);
    put(&before);
    put(&ready);
}

// A list's id is its index among the held lists, followed by those about to go.
uint16_t acl_manager_id(const char *name)
{
    for (size_t i = 0; held && i < held->list.n; i++)
        if (!strcmp(held->list.item[i].name, name))
            return (uint16_t)(i + 1);
    for (size_t i = 0; before && i < before->list.n; i++)
        if (!strcmp(before->list.item[i].name, name))
            return (uint16_t)(i + 101);
    return 0;
}

int iface_manager_set_acl(const char *name, uint16_t in, uint16_t out, char *err, size_t err_size)
{
    unsigned i = 0;
    int r = fake_called(err, err_size, "bind", name);

    if (r)
        return r;
    while (i < n_bindings && strcmp(bindings[i].name, name))
        i++;
    bug_on(i == sizeof bindings / sizeof *bindings);
    n_bindings += i == n_bindings;
    bindings[i] = (struct fake_binding){.in = in, .out = out};
    snprintf(bindings[i].name, sizeof bindings[i].name, "%s", name);
    return 0;
}

void fake_acl_state(struct text *t)
{
    for (size_t i = 0; held && i < held->set.n; i++)
        text_printf(t, "%s", text_str(&held->set.item[i].text));
    for (size_t i = 0; held && i < held->list.n; i++)
        text_printf(t, "%s", text_str(&held->list.item[i].text));
    for (unsigned i = 0; i < n_bindings; i++)
        if (bindings[i].in || bindings[i].out)
            text_printf(t, "interface %s acl %u %u\n", bindings[i].name, bindings[i].in,
                        bindings[i].out);
}

// --- queries: an empty answer, at once ---

int acl_query(enum acl_query_kind kind, const struct acl_query *ask, acl_query_done done, void *ctx)
{
    free(ask->address.item);
    free(ask->del.item.item);
    free(ask->add.item.item);
    done(ctx, &(struct acl_answer){.complete = true, .progress = 100});
    return 0;
}
