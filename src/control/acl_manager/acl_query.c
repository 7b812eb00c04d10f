// SPDX-License-Identifier: BSD-3-Clause
// acl_query.c - answers queries about access lists and address sets in force (acl_query.h)
//
// All are answered at once, except for the query in acl_query_lint.c.
#include "acl_manager/acl_query.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "acl/set.h"
#include "acl_manager/acl_active.h"
#include "core/mailbox.h"
#include "core/manager.h"

struct question {
    void (*answer)(struct question *q); // runs on acl_manager
    acl_query_done done;
    void *ctx;
    char name[ACL_NAME_MAX];
    bool all;
    uint32_t from, max;
    VEC(struct ip_addr) address;
    struct acl_members del, add;
    struct text lines; // text of rule rows
    struct acl_answer a;
};

static void question_free(struct question *q)
{
    vec_free(&q->address);
    vec_free(&q->del.item);
    vec_free(&q->add.item);
    text_free(&q->lines);
    vec_free(&q->a.list);
    vec_free(&q->a.set);
    vec_free(&q->a.rule);
    vec_free(&q->a.counter);
    vec_free(&q->a.found);
    free(q);
}

static void question_deliver(void *arg)
{
    struct question *q = arg;

    q->done(q->ctx, &q->a);
    question_free(q);
}

static void question_run(void *arg)
{
    struct question *q = arg;

    thread_must_be(ROLE_ACL_MANAGER);
    q->answer(q);
    manager_reply(question_deliver, q);
}

static struct question *question_new(const char *name, acl_query_done done, void *ctx)
{
    struct question *q = calloc(1, sizeof *q);

    bug_on(!q);
    q->done = done;
    q->ctx = ctx;
    q->all = !name || !*name;
    strncpy(q->name, name ? name : "", sizeof q->name - 1);
    return q;
}

static int question_post(struct question *q, void (*fn)(struct question *q))
{
    thread_must_be(ROLE_CONTROL);
    q->answer = fn;
    int r = mailbox_post(ROLE_ACL_MANAGER, question_run, q);
    if (r)
        question_free(q);
    return r;
}

static struct acl_active_list *question_list(struct question *q)
{
    struct acl_active_list *l = acl_active_list_find(q->name);

    if (!l)
        q->a.result = -ENOENT;
    return l;
}

static struct acl_active_set *question_set(struct question *q)
{
    struct acl_active_set *s = acl_active_set_find(q->name);

    if (!s)
        q->a.result = -ENOENT;
    return s;
}

// --- lists and sets ------------------------------------------------------------------------------

static uint32_t seconds_since_hit(struct acl_build *b, uint32_t slot, uint32_t now)
{
    uint32_t at = acl_build_last_hit(b, slot)->at_s;

    return at ? now - at : ACL_NEVER;
}

static struct acl_list_row *list_row_new(struct question *q, const struct acl_active_list *l)
{
    struct acl_list_row *row = vec_push(&q->a.list);

    memset(row, 0, sizeof *row);
    memcpy(row->name, l->name, sizeof row->name);
    row->id = l->id;
    row->otherwise = l->build->otherwise;
    row->bytes = acl_build_bytes(l->build);
    row->changed_ns = l->changed_ns;
    row->unmatched = acl_build_hits(l->build, NULL);
    memcpy(row->total, acl_build_totals_lately(l->build), sizeof row->total);
    row->rules = (uint32_t)l->build->number.n;
    return row;
}

static void list_row_fill(struct question *q, const struct acl_active_list *l)
{
    struct acl_list_row *row = list_row_new(q, l);
    struct acl_stats size;
    uint32_t slot;

    acl_build_sample_hits(l->build, 0, 0, acl_last_hit_now_s());
    row->unmatched_s = seconds_since_hit(l->build, ACL_MISS, acl_last_hit_now_s());
    acl_stats(l->build->content->rules, &size);
    row->reader_bytes = size.bytes;
    row->build_ns = l->build->build_ns;
    acl_cost(l->build->content->rules, &row->cost);
    vec_foreach (&l->build->number, number) {
        struct acl_hits n = acl_build_hits(l->build, acl_build_rule(l->build, *number, &slot));
        row->matched.packets += n.packets;
        row->matched.bytes += n.bytes;
    }
}

static void answer_lists(struct question *q)
{
    vec_foreach (&acl_active.list, l)
        if (q->all || !strcmp(l->name, q->name))
            list_row_fill(q, l);
}

static void answer_sets(struct question *q)
{
    struct acl_set_stats n;

    vec_foreach (&acl_active.set, s) {
        if (!q->all && strcmp(s->name, q->name))
            continue;
        struct acl_set_row *row = vec_push(&q->a.set);
        acl_set_stats(s->set, &n);
        *row = (struct acl_set_row){.members = {n.members[0], n.members[1]},
                                    .bytes = n.bytes + n.writer_bytes,
                                    .changed_ns = s->changed_ns};
        memcpy(row->name, s->name, sizeof row->name);
    }
}

static void counter_rows_add(struct question *q, const struct acl_active_list *l)
{
    const struct acl_desired_list *w = acl_desired_list_find(acl_active.wanted, l->name);
    const struct acl_build *b = l->build;
    uint32_t list = (uint32_t)q->a.list.n, slot;

    list_row_new(q, l);
    if (!w)
        return;
    q->a.rules += w->rules.rule.n;
    vec_foreach (&w->rules.rule, wanted) {
        if (q->a.counter.n == ACL_COUNTED_MAX)
            return;
        const struct acl_rule *r = acl_build_rule(b, wanted->number, &slot);
        if (r)
            *vec_push(&q->a.counter) = (struct acl_counter_row){
                list, r->number, b->content->action[slot].verb, acl_build_hits(b, r)};
    }
}

static void answer_counters(struct question *q)
{
    vec_foreach (&acl_active.list, l)
        counter_rows_add(q, l);
    answer_sets(q);
}

int acl_query_lists(const char *name, acl_query_done done, void *ctx)
{
    return question_post(question_new(name, done, ctx), answer_lists);
}

int acl_query_sets(const char *name, acl_query_done done, void *ctx)
{
    return question_post(question_new(name, done, ctx), answer_sets);
}

int acl_query_counters(acl_query_done done, void *ctx)
{
    return question_post(question_new(NULL, done, ctx), answer_counters);
}

// --- rules ---------------------------------------------------------------------------------------

static void answer_rules(struct question *q)
{
    const struct acl_active_list *l = question_list(q);
    size_t i = 0, lines = 0;

    if (!l)
        return;
    struct acl_build *b = l->build;
    q->a.rules = b->number.n;
    while (i < b->number.n && b->number.item[i] < q->from)
        i++;
    acl_build_sample_hits(b, i, q->max, acl_last_hit_now_s());
    for (; i < b->number.n && q->a.rule.n < q->max; i++) {
        uint32_t slot;
        const struct acl_rule *r = acl_build_rule(b, b->number.item[i], &slot);

        acl_line_format(r, b->content->action[slot].verb, acl_build_more(b, slot),
                        (const char(*)[ACL_NAME_MAX])b->set_name, &q->lines);
        text_append(&q->lines, "", 1);
        *vec_push(&q->a.rule) =
            (struct acl_rule_row){.number = r->number,
                                  .hits = acl_build_hits(b, r),
                                  .last_s = seconds_since_hit(b, slot, acl_last_hit_now_s())};
    }
    q->a.next = i < b->number.n ? b->number.item[i] : 0;
    vec_foreach (&q->a.rule, row) { // now that the text does not move any more
        row->line = strchr(q->lines.s + lines, ' ') + 1;
        lines += strlen(q->lines.s + lines) + 1;
    }
}

int acl_query_rules(const char *list, uint32_t from, uint32_t max, acl_query_done done, void *ctx)
{
    struct question *q = question_new(list, done, ctx);

    q->from = from;
    q->max = max;
    return question_post(q, answer_rules);
}

static void answer_clear(struct question *q)
{
    if (!q->all && !question_list(q))
        return;
    vec_foreach (&acl_active.list, l)
        if (q->all || !strcmp(l->name, q->name))
            acl_build_clear(l->build);
}

int acl_query_clear(const char *list, acl_query_done done, void *ctx)
{
    return question_post(question_new(list, done, ctx), answer_clear);
}

// --- members of sets -----------------------------------------------------------------------------

static void answer_contains(struct question *q)
{
    const struct acl_active_set *s = question_set(q);

    if (!s)
        return;
    vec_foreach (&q->address, a) {
        struct prefix *best = vec_push(&q->a.found);

        memset(best, 0, sizeof *best);
        for (unsigned len = 0; len <= ip_bits(a->family); len++) {
            struct prefix p = {.family = a->family, .len = (uint8_t)len};
            struct acl_prefix m = {.family = a->family, .len = (uint8_t)len};

            memcpy(p.b, a->b, a->family == IP4 ? 4 : 16);
            prefix_canon(&p);
            memcpy(m.addr, p.b, 16);
            if (acl_set_has(s->set, &m))
                *best = p;
        }
    }
}

int acl_query_contains(const char *set, const struct ip_addr *address, size_t n,
                       acl_query_done done, void *ctx)
{
    struct question *q = question_new(set, done, ctx);

    for (size_t i = 0; i < n; i++)
        *vec_push(&q->address) = address[i];
    return question_post(q, answer_contains);
}

static void answer_change(struct question *q)
{
    struct acl_active_set *s = question_set(q);

    if (s)
        q->a.result = acl_active_members(s, &q->del, &q->add, &q->a.skipped);
    acl_tidy_later();
}

int acl_query_change(const char *set, struct acl_members *del, struct acl_members *add,
                     acl_query_done done, void *ctx)
{
    struct question *q = question_new(set, done, ctx);

    q->del = *del;
    q->add = *add;
    memset(del, 0, sizeof *del);
    memset(add, 0, sizeof *add);
    return question_post(q, answer_change);
}
