// SPDX-License-Identifier: BSD-3-Clause
// acl_change.c - commits a prepared change, and reverts it
//
// Sets first: new lists name new sets. Replaced or removed content stays readable until a grace
// period after acl_change_end, so reverting means publishing it again. All steps are short:
// acl_prepare has done the long work.
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "acl_manager/acl_active.h"
#include "base/clock.h"
#include "table/grace.h"

#define RULES_LOOKED_AT 20000u // per second

struct acl_active acl_active = {.ns_per_rule = 3000};

struct acl_active_set *acl_active_set_find(const char *name)
{
    vec_foreach (&acl_active.set, s)
        if (!strcmp(s->name, name))
            return s;
    return NULL;
}

struct acl_active_list *acl_active_list_find(const char *name)
{
    vec_foreach (&acl_active.list, l)
        if (!strcmp(l->name, name))
            return l;
    return NULL;
}

static uint64_t set_bytes(const struct acl_set *s)
{
    struct acl_set_stats n;

    acl_set_stats(s, &n);
    return n.bytes + n.writer_bytes;
}

uint64_t acl_active_bytes(void)
{
    uint64_t n = 0;

    vec_foreach (&acl_active.set, s)
        n += set_bytes(s->set);
    vec_foreach (&acl_active.list, l)
        n += acl_build_bytes(l->build);
    return n;
}

// --- grace periods -------------------------------------------------------------------------------

// Reclaims memory of changes in place. One ticket at a time, so that a set that changes all the
// time gets its memory back, too.
static bool set_tidy(struct acl_active_set *h)
{
    if (h->ticket && grace_over(h->ticket)) {
        acl_set_reclaim(h->set, h->epoch);
        h->ticket = 0;
    }
    if (!h->ticket && h->changed) {
        h->epoch = acl_set_epoch(h->set);
        h->ticket = grace_ticket();
        h->changed = false;
    }
    return h->ticket;
}

bool acl_active_tidy(void)
{
    bool more = false;

    vec_foreach (&acl_active.list, l)
        more |= acl_build_tidy(l->build);
    vec_foreach (&acl_active.set, s)
        more |= set_tidy(s);
    return more;
}

// --- last hits -----------------------------------------------------------------------------------

void acl_active_sample_hits(void)
{
    static size_t list, rule; // where the next call continues
    uint32_t now_s = acl_last_hit_now_s();
    size_t left = RULES_LOOKED_AT;

    for (size_t lists = 0; left && lists < acl_active.list.n; lists++) {
        if (list >= acl_active.list.n)
            list = rule = 0;
        struct acl_build *b = acl_active.list.item[list].build;
        size_t rules = acl_build_order(b)->n, n = rules > rule ? rules - rule : 0;
        acl_build_sample_hits(b, rule, left, now_s);
        if (n > left) { // not done in one call
            rule += left;
            return;
        }
        left -= n;
        list++;
        rule = 0;
    }
}

// --- lists ---------------------------------------------------------------------------------------

static int list_create(struct acl_list_change *x)
{
    x->id = acl_list_new(x->name);
    if (!x->id)
        return -ENOSPC;
    struct acl_active_list *l = vec_push(&acl_active.list);
    *l = (struct acl_active_list){.id = x->id, .build = x->fresh, .changed_ns = clock_now_ns()};
    memcpy(l->name, x->name, sizeof l->name);
    acl_publish(x->id, x->fresh->content);
    return 0;
}

static void list_swap_build(struct acl_list_change *x, struct acl_build *to)
{
    struct acl_active_list *l = acl_active_list_find(x->name);

    if (to == x->fresh) { // it continues counting where the old one stopped
        x->old = l->build;
        to->before = x->old;
    } else {
        x->fresh->before = NULL;
    }
    l->build = to;
    l->changed_ns = clock_now_ns();
    acl_publish(x->id, to->content);
}

static int list_change_rule(struct acl_list_change *x, bool forward)
{
    struct acl_active_list *l = acl_active_list_find(x->name);
    struct acl_build *b = l->build;
    struct acl_file_sign file = b->file;
    int r;

    l->changed_ns = clock_now_ns();
    b->file = x->file;
    x->file = file;
    if (x->adds == forward) {
        r = acl_build_add(b, x->id, &x->rule, &x->how, x->has_more ? &x->more : NULL);
        if (!r && !forward) { // restore its counts
            uint32_t slot = acl_slot_of(b->content->rules, x->rule.number);
            acl_hits_add(b->content, slot, x->hits);
            *acl_build_last_hit(b, slot) = x->seen;
        }
        return r;
    }
    uint32_t slot = acl_slot_of(b->content->rules, x->rule.number);
    x->seen = *acl_build_last_hit(b, slot);
    x->hits = acl_build_hits(b, slot);
    return acl_build_del(b, x->id, x->rule.number);
}

static int list_do(struct acl_list_change *x)
{
    switch (x->kind) {
    case ACL_NEW:
        return list_create(x);
    case ACL_REPLACE:
        list_swap_build(x, x->fresh);
        return 0;
    case ACL_IN_PLACE:
        return list_change_rule(x, true);
    case ACL_GOES: // in acl_change_end, when nothing is bound to it any more
        break;
    }
    return 0;
}

static void list_undo(struct acl_list_change *x)
{
    if (x->kind == ACL_NEW) {
        acl_publish(x->id, NULL);
        acl_list_free(x->id);
        struct acl_active_list *l = acl_active_list_find(x->name);
        vec_del_swap(&acl_active.list, l - acl_active.list.item);
    } else if (x->kind == ACL_REPLACE) {
        list_swap_build(x, x->old);
        x->old = NULL;
    } else if (x->kind == ACL_IN_PLACE) {
        int r = list_change_rule(x, false);
        if (r)
            log_error("acl_manager: rule change not undone: acl=%s rule=%u error=%s", x->name,
                      x->rule.number, LOG_VALUE(strerror(-r)));
    }
}

// --- sets ----------------------------------------------------------------------------------------

// Verdict caches of lists that name the set must not use their entries any more.
static void set_changed(const struct acl_set *s)
{
    vec_foreach (&acl_active.list, l)
        for (unsigned i = 0; i < l->build->n_sets; i++)
            if (l->build->set[i] == s) {
                acl_changed(l->id);
                break;
            }
}

int acl_active_members(struct acl_active_set *h, const struct acl_members *del,
                       const struct acl_members *add, uint64_t *skipped)
{
    int r =
        acl_set_change(h->set, del->item.item, del->item.n, add->item.item, add->item.n, skipped);

    if (r)
        return r;
    set_changed(h->set);
    h->changed_ns = clock_now_ns();
    h->changed = true;
    return 0;
}

static int set_do(struct acl_set_change *x)
{
    struct acl_active_set *h;

    switch (x->kind) {
    case ACL_NEW:
        h = vec_push(&acl_active.set);
        *h = (struct acl_active_set){.set = x->fresh, .changed_ns = clock_now_ns()};
        memcpy(h->name, x->name, sizeof h->name);
        return 0;
    case ACL_REPLACE:
        h = acl_active_set_find(x->name);
        x->old = h->set;
        h->set = x->fresh;
        h->changed_ns = clock_now_ns();
        h->ticket = 0;
        h->changed = false;
        return 0;
    case ACL_IN_PLACE:
        return acl_active_members(acl_active_set_find(x->name), &x->del, &x->add, NULL);
    case ACL_GOES:
        break;
    }
    return 0;
}

static void set_undo(struct acl_set_change *x)
{
    struct acl_active_set *h = acl_active_set_find(x->name);

    if (x->kind == ACL_NEW) {
        vec_del_swap(&acl_active.set, h - acl_active.set.item);
    } else if (x->kind == ACL_REPLACE) {
        h->set = x->old;
        x->old = NULL;
    } else if (x->kind == ACL_IN_PLACE) {
        int r = acl_active_members(h, &x->add, &x->del, NULL);
        if (r)
            log_error("acl_manager: member change not undone: address-set=%s error=%s", x->name,
                      LOG_VALUE(strerror(-r)));
    }
}

void acl_active_by_client(const struct acl_set *s)
{
    vec_foreach (&acl_active.list, l)
        for (unsigned i = 0; i < l->build->n_sets; i++)
            if (l->build->set[i] == s)
                l->client_ns = clock_now_ns();
}

// --- a change ------------------------------------------------------------------------------------

// Temporary rules, or files that were read again.
static void note_client(const struct acl_change *c)
{
    vec_foreach (&c->list, x)
        acl_active_list_find(x->name)->client_ns = clock_now_ns();
    vec_foreach (&c->set, x)
        acl_active_by_client(acl_active_set_find(x->name)->set);
}

int acl_change_do(struct acl_change *c, struct text *why)
{
    int r = 0;

    for (c->sets_done = 0; !r && c->sets_done < c->set.n; c->sets_done += !r)
        r = set_do(&c->set.item[c->sets_done]);
    if (r)
        text_printf(why, "address-set %s: not changed: %s", c->set.item[c->sets_done].name,
                    strerror(-r));
    for (c->lists_done = 0; !r && c->lists_done < c->list.n; c->lists_done += !r) {
        r = list_do(&c->list.item[c->lists_done]);
        if (r)
            text_printf(why, "acl %s: not changed: %s", c->list.item[c->lists_done].name,
                        strerror(-r));
    }
    if (r) {
        acl_change_undo(c);
        return r;
    }
    if (c->wanted == acl_active.wanted)
        note_client(c);
    c->old_wanted = acl_active.wanted;
    acl_active.wanted = acl_desired_get(c->wanted);
    return 0;
}

void acl_change_undo(struct acl_change *c)
{
    while (c->lists_done)
        list_undo(&c->list.item[--c->lists_done]);
    while (c->sets_done)
        set_undo(&c->set.item[--c->sets_done]);
    if (!c->old_wanted)
        return;
    acl_desired_put(acl_active.wanted);
    acl_active.wanted = c->old_wanted;
    c->old_wanted = NULL;
}

// Nothing leads to a removed list now: interfaces no longer name it, and acl_publish waits for
// forwarders.
static void list_end(struct acl_list_change *x, bool stays)
{
    if (x->kind == ACL_GOES && stays) {
        struct acl_active_list *l = acl_active_list_find(x->name);
        struct acl_build *b = l->build;

        if (l->client_ns)
            acl_active.lost_ns = clock_now_ns();
        acl_publish(x->id, NULL);
        acl_list_free(x->id);
        vec_del_swap(&acl_active.list, l - acl_active.list.item);
        acl_build_free(b);
    } else if (x->kind == ACL_REPLACE && stays) {
        x->fresh->keeps = true; // acl_build_tidy takes over the old counters and frees it
    } else if (!stays) {
        acl_build_free(x->fresh);
    }
}

// After the lists: lists that named the set are gone or name another one.
static void set_end(struct acl_set_change *x, bool stays)
{
    struct acl_set *going = stays ? x->old : x->fresh;
    if (going)
        acl_set_free(going);
    if (x->kind == ACL_GOES && stays) {
        struct acl_active_set *h = acl_active_set_find(x->name);
        vec_del_swap(&acl_active.set, h - acl_active.set.item);
    }
    vec_free(&x->add.item);
    vec_free(&x->del.item);
}

void acl_sizes_free(struct acl_sizes *s)
{
    vec_free(&s->rules);
    vec_free(&s->members);
}

void acl_change_end(struct acl_change *c, bool stays)
{
    vec_foreach (&c->list, x)
        list_end(x, stays);
    vec_foreach (&c->set, x)
        set_end(x, stays);
    vec_free(&c->list);
    vec_free(&c->set);
    acl_sizes_free(&c->sizes);
    acl_desired_put(c->wanted);
    acl_desired_put(c->old_wanted);
    free(c);
}
