// SPDX-License-Identifier: BSD-3-Clause
// acl_query.c - answers queries about access lists and address sets in force (acl_query.h)
//
// All are answered at once, except for the one in acl_query_lint.c.
#include "acl_manager/acl_query.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "acl/set.h"
#include "acl_manager/acl_active.h"
#include "base/clock.h"
#include "core/mailbox.h"
#include "core/manager.h"

struct question {
    enum acl_query_kind kind;
    struct acl_query ask;
    acl_query_done done;
    void *ctx;
    uint64_t since_ns;
    bool goes_on;      // the answer takes another call
    struct text lines; // text of rule rows
    struct acl_answer a;
};

static struct acl_active_list *question_list(struct question *q)
{
    struct acl_active_list *l = acl_active_list_find(q->ask.name);

    if (!l)
        q->a.result = -ENOENT;
    return l;
}

static struct acl_active_set *question_set(struct question *q)
{
    struct acl_active_set *s = acl_active_set_find(q->ask.name);

    if (!s)
        q->a.result = -ENOENT;
    return s;
}

// Is it about this list or set?
static bool asks_for(const struct question *q, const char *name)
{
    return !q->ask.name[0] || !strcmp(name, q->ask.name);
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
    row->unmatched = acl_build_hits(l->build, ACL_MISS);
    memcpy(row->total, acl_build_totals_lately(l->build), sizeof row->total);
    row->rules = (uint32_t)acl_build_order(l->build)->n;
    row->temporary = l->build->temporary;
    return row;
}

static void list_row_fill(struct question *q, const struct acl_active_list *l)
{
    struct acl_list_row *row = list_row_new(q, l);
    struct acl_stats size;

    acl_build_sample_hits(l->build, 0, 0, acl_last_hit_now_s());
    row->unmatched_s = seconds_since_hit(l->build, ACL_MISS, acl_last_hit_now_s());
    acl_stats(l->build->content->rules, &size);
    row->reader_bytes = size.bytes;
    row->build_ns = l->build->build_ns;
    acl_cost(l->build->content->rules, &row->cost);
    vec_foreach (acl_build_order(l->build), place) {
        struct acl_hits n = acl_build_hits(l->build, (uint32_t)*place);
        row->matched.packets += n.packets;
        row->matched.bytes += n.bytes;
    }
}

static void answer_lists(struct question *q)
{
    vec_foreach (&acl_active.list, l)
        if (asks_for(q, l->name))
            list_row_fill(q, l);
}

static void answer_sets(struct question *q)
{
    struct acl_set_stats n;

    vec_foreach (&acl_active.set, s) {
        if (!asks_for(q, s->name))
            continue;
        struct acl_set_row *row = vec_push(&q->a.set);
        acl_set_stats(s->set, &n);
        *row = (struct acl_set_row){.members = {n.members[0], n.members[1]},
                                    .bytes = n.bytes + n.writer_bytes,
                                    .changed_ns = s->changed_ns};
        memcpy(row->name, s->name, sizeof row->name);
    }
}

static void counter_row_add(struct question *q, size_t list, const struct acl_build *b,
                            uint32_t number, uint32_t slot)
{
    *vec_push(&q->a.counter) = (struct acl_counter_row){
        (uint32_t)list, number, b->content->action[slot].verb, acl_build_hits(b, slot)};
}

static void count_configured(struct question *q, size_t list, const struct acl_active_list *l)
{
    const struct acl_desired_list *w = acl_desired_list_find(acl_active.wanted, l->name);

    if (!w)
        return;
    q->a.rules += w->rules.rule.n;
    vec_foreach (&w->rules.rule, wanted) {
        if (q->a.counter.n == ACL_COUNTED_MAX)
            return;
        uint32_t slot = acl_slot_of(l->build->content->rules, wanted->number);
        if (slot != ACL_MISS)
            counter_row_add(q, list, l->build, wanted->number, slot);
    }
}

static void count_temporary(struct question *q, size_t list, const struct acl_build *b)
{
    const struct acl_order *o = acl_build_order(b);
    uint32_t left = b->temporary;

    q->a.rules += left;
    for (size_t i = 0; left && q->a.counter.n < ACL_COUNTED_MAX; i++) {
        uint64_t place = o->item[i];

        if (acl_build_is_temporary(b, (uint32_t)place)) {
            counter_row_add(q, list, b, (uint32_t)(place >> 32), (uint32_t)place);
            left--;
        }
    }
}

static void answer_counters(struct question *q)
{
    vec_foreach (&acl_active.list, l)
        list_row_new(q, l);
    for (size_t i = 0; i < acl_active.list.n; i++)
        count_configured(q, i, &acl_active.list.item[i]);
    for (size_t i = 0; i < acl_active.list.n; i++)
        count_temporary(q, i, acl_active.list.item[i].build);
    answer_sets(q);
}

// --- rules ---------------------------------------------------------------------------------------

static void answer_rules(struct question *q)
{
    const struct acl_active_list *l = question_list(q);
    size_t i = 0, lines = 0;

    if (!l)
        return;
    struct acl_build *b = l->build;
    const struct acl_order *o = acl_build_order(b);
    q->a.rules = o->n;
    while (i < o->n && o->item[i] >> 32 < q->ask.from)
        i++;
    acl_build_sample_hits(b, i, q->ask.max, acl_last_hit_now_s());
    for (; i < o->n && q->a.rule.n < q->ask.max; i++) {
        uint32_t slot = (uint32_t)o->item[i];
        const struct acl_rule *r = acl_rule_of(b->content->rules, slot);

        acl_line_format(r, b->content->action[slot].verb, acl_build_more(b, slot),
                        (const char(*)[ACL_NAME_MAX])b->set_name, &q->lines);
        text_append(&q->lines, "", 1);
        *vec_push(&q->a.rule) =
            (struct acl_rule_row){.number = r->number,
                                  .hits = acl_build_hits(b, slot),
                                  .last_s = seconds_since_hit(b, slot, acl_last_hit_now_s())};
    }
    q->a.next = i < o->n ? (uint32_t)(o->item[i] >> 32) : 0;
    vec_foreach (&q->a.rule, row) { // now that the text does not move any more
        row->line = strchr(q->lines.s + lines, ' ') + 1;
        lines += strlen(q->lines.s + lines) + 1;
    }
}

static void answer_clear(struct question *q)
{
    if (q->ask.name[0] && !question_list(q))
        return;
    vec_foreach (&acl_active.list, l)
        if (asks_for(q, l->name))
            acl_build_clear(l->build);
}

// --- members of sets -----------------------------------------------------------------------------

static void answer_contains(struct question *q)
{
    const struct acl_active_set *s = question_set(q);

    if (!s)
        return;
    vec_foreach (&q->ask.address, a) {
        struct acl_found_row *row = vec_push(&q->a.found);

        *row = (struct acl_found_row){.address = *a};
        for (unsigned len = 0; len <= ip_bits(a->family); len++) {
            struct prefix p = {.family = a->family, .len = (uint8_t)len};

            memcpy(p.b, a->b, sizeof p.b);
            prefix_canon(&p);
            if (acl_set_has(s->set, &p))
                row->member = p;
        }
    }
}

static void answer_change(struct question *q)
{
    struct acl_active_set *s = question_set(q);

    if (s) {
        q->a.result = acl_active_members(s, &q->ask.del, &q->ask.add, &q->a.skipped);
        acl_active_by_client(s->set);
    }
    acl_tidy_later();
}

// --- a question ----------------------------------------------------------------------------------

static void answer_lint(struct question *q)
{
    const struct acl_active_list *l = question_list(q);

    q->goes_on = l && acl_lint_answer(&q->ask, l, q->since_ns, &q->a);
}

static void (*const answers[ACL_QUERIES])(struct question *q) = {
    [ACL_QUERY_LISTS] = answer_lists,       [ACL_QUERY_SETS] = answer_sets,
    [ACL_QUERY_COUNTERS] = answer_counters, [ACL_QUERY_RULES] = answer_rules,
    [ACL_QUERY_LINT] = answer_lint,         [ACL_QUERY_CLEAR] = answer_clear,
    [ACL_QUERY_CONTAINS] = answer_contains, [ACL_QUERY_CHANGE] = answer_change};

static void free_fields(const struct acl_query *ask)
{
    free(ask->address.item);
    free(ask->del.item.item);
    free(ask->add.item.item);
}

static void question_deliver(void *arg)
{
    struct question *q = arg;

    q->done(q->ctx, &q->a);
    free_fields(&q->ask);
    text_free(&q->lines);
    vec_free(&q->a.list);
    vec_free(&q->a.set);
    vec_free(&q->a.rule);
    vec_free(&q->a.counter);
    vec_free(&q->a.lint);
    vec_free(&q->a.found);
    free(q);
}

static void question_run(void *arg);

static void question_go_on(void *arg)
{
    struct question *q = arg;

    q->a.result = mailbox_post(ROLE_ACL_MANAGER, question_run, q);
    if (q->a.result)
        question_deliver(q);
}

static void question_run(void *arg)
{
    struct question *q = arg;

    thread_must_be(ROLE_ACL_MANAGER);
    answers[q->kind](q);
    manager_reply(q->goes_on ? question_go_on : question_deliver, q);
}

int acl_query(enum acl_query_kind kind, const struct acl_query *ask, acl_query_done done, void *ctx)
{
    struct question *q = calloc(1, sizeof *q);

    thread_must_be(ROLE_CONTROL);
    bug_on(!q);
    *q = (struct question){
        .kind = kind, .ask = *ask, .done = done, .ctx = ctx, .since_ns = clock_now_ns()};
    int r = mailbox_post(ROLE_ACL_MANAGER, question_run, q);
    if (r) {
        free_fields(ask);
        free(q);
    }
    return r;
}
