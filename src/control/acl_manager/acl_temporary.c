// SPDX-License-Identifier: BSD-3-Clause
// acl_temporary.c - plans a change of temporary rules, which a client adds and deletes by an
// operation
//
// They are in the list beside the rules of the configuration and of the file, until they are
// deleted or kamueed stops; other changes of the list keep them. A few are added and deleted in
// place, new ones first; more, or a changed rule, make a new list.
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "acl_manager/acl_active.h"
#include "base/text.h"

#define IN_PLACE_MAX 2048u // rules added or deleted

enum { UNTOUCHED, STAYS, GOES }; // a rule in force

struct rule_plan {
    const struct acl_build *b;
    struct acl_lines add; // with rules that are in force already
    VEC(uint32_t) fresh;  // indexes in `add` of new rules
    VEC(uint32_t) gone;   // numbers of rules to delete
    uint8_t *mark;        // [slots]
    bool changes_rules;   // some number keeps its place and gets another rule
};

static void push_rule(struct acl_lines *l, const struct acl_build *b, uint32_t slot)
{
    const struct acl_more *more = acl_build_more(b, slot);

    if (more)
        *vec_push(&l->more) = *more;
    *vec_push(&l->rule) = *acl_rule_of(b->content->rules, slot);
    *vec_push(&l->how) = (struct acl_how){.verb = b->content->action[slot].verb,
                                          .temporary = acl_build_is_temporary(b, slot),
                                          .more = more ? (uint32_t)l->more.n : 0};
}

void acl_temporary_append(struct acl_lines *l, const struct acl_build *b)
{
    for (size_t i = 0; b->temporary && i < acl_build_order(b)->n; i++)
        if (acl_build_is_temporary(b, (uint32_t)acl_build_order(b)->item[i]))
            push_rule(l, b, (uint32_t)acl_build_order(b)->item[i]);
}

static bool not_temporary(const struct acl_temporary *t, uint32_t number, struct text *why)
{
    text_printf(why,
                "acl %s: rule %u is in the configuration or in the list's file: expected the "
                "number of a temporary rule, or a free one",
                t->list, number);
    return false;
}

static void mark_gone(struct rule_plan *p, uint32_t number, uint32_t slot)
{
    if (p->mark[slot] != UNTOUCHED)
        return;
    p->mark[slot] = GOES;
    *vec_push(&p->gone) = number;
}

static bool plan_additions(struct rule_plan *p, const struct acl_temporary *t, struct text *why)
{
    char said[300];
    size_t at;

    if (acl_file_text(t->add, &p->add, said, sizeof said)) {
        text_printf(why, "acl %s: %s", t->list, said);
        return false;
    }
    if (acl_lines_sort(&p->add, &at)) {
        text_printf(why, "acl %s: rule %u appears twice", t->list, p->add.rule.item[at].number);
        return false;
    }
    if (p->add.n_sets) {
        text_printf(why, "acl %s: a temporary rule names address-set '%s': expected prefixes",
                    t->list, p->add.set[0]);
        return false;
    }
    for (size_t i = 0; i < p->add.rule.n; i++) {
        uint32_t number = p->add.rule.item[i].number,
                 slot = acl_slot_of(p->b->content->rules, number);

        p->add.how.item[i].temporary = true;
        if (slot != ACL_MISS && !acl_build_is_temporary(p->b, slot))
            return not_temporary(t, number, why);
        if (slot != ACL_MISS && acl_diff_same(&p->add, i, p->b, slot)) {
            p->mark[slot] = STAYS;
            continue;
        }
        if (slot != ACL_MISS) {
            mark_gone(p, number, slot);
            p->changes_rules = true;
        }
        *vec_push(&p->fresh) = (uint32_t)i;
    }
    return true;
}

static bool plan_deletions(struct rule_plan *p, const struct acl_temporary *t, struct text *why)
{
    vec_foreach (&t->del, number) {
        uint32_t slot = acl_slot_of(p->b->content->rules, *number);

        if (slot == ACL_MISS)
            continue;
        if (!acl_build_is_temporary(p->b, slot))
            return not_temporary(t, *number, why);
        mark_gone(p, *number, slot);
    }
    for (size_t i = 0; t->replace && i < acl_build_order(p->b)->n; i++) {
        uint64_t place = acl_build_order(p->b)->item[i];

        if (acl_build_is_temporary(p->b, (uint32_t)place))
            mark_gone(p, (uint32_t)(place >> 32), (uint32_t)place);
    }
    return true;
}

static bool fits_in_place(const struct rule_plan *p)
{
    struct acl_stats s;

    acl_stats(p->b->content->rules, &s);
    return !p->changes_rules && p->fresh.n + p->gone.n <= IN_PLACE_MAX &&
           p->fresh.n <= p->b->content->slots - s.slots;
}

static void push_step(struct acl_change *c, const struct acl_active_list *held,
                      const struct acl_lines *l, size_t i, bool adds)
{
    struct acl_list_change *x = vec_push(&c->list);
    const struct acl_more *more = acl_lines_more(l, i);

    *x = (struct acl_list_change){.kind = ACL_IN_PLACE,
                                  .id = held->id,
                                  .adds = adds,
                                  .rule = l->rule.item[i],
                                  .how = l->how.item[i],
                                  .has_more = more,
                                  .file = held->build->file};
    memcpy(x->name, held->name, sizeof x->name);
    if (more)
        x->more = *more;
}

static void push_steps(const struct rule_plan *p, struct acl_change *c,
                       const struct acl_active_list *held)
{
    struct acl_lines gone = {0};

    vec_foreach (&p->fresh, i)
        push_step(c, held, &p->add, *i, true);
    vec_foreach (&p->gone, number) {
        push_rule(&gone, p->b, acl_slot_of(p->b->content->rules, *number));
        push_step(c, held, &gone, gone.rule.n - 1, false);
    }
    acl_lines_free(&gone);
}

// All rules after the change, sorted.
static void lines_after(const struct rule_plan *p, struct acl_lines *l)
{
    const struct acl_order *o = acl_build_order(p->b);
    size_t at;

    memcpy(l->set, p->b->set_name, sizeof l->set);
    l->n_sets = p->b->n_sets;
    for (size_t i = 0; i < o->n; i++)
        if (p->mark[(uint32_t)o->item[i]] == UNTOUCHED)
            push_rule(l, p->b, (uint32_t)o->item[i]);
    bug_on(acl_lines_copy(l, &p->add) || acl_lines_sort(l, &at));
}

int acl_temporary_plan(const struct acl_temporary *t, const struct acl_active_list *held,
                       struct acl_change *c, struct acl_lines *l, struct text *why)
{
    struct rule_plan p = {.b = held->build, .mark = calloc(held->build->content->slots + 1ul, 1)};
    int r = -EINVAL;

    bug_on(!p.mark);
    if (plan_additions(&p, t, why) && plan_deletions(&p, t, why)) {
        r = !fits_in_place(&p);
        if (r) {
            lines_after(&p, l);
        } else {
            push_steps(&p, c, held);
            acl_lines_copy(l, &p.add);
        }
    }
    acl_lines_free(&p.add);
    vec_free(&p.fresh);
    vec_free(&p.gone);
    free(p.mark);
    return r;
}
