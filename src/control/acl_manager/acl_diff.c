// SPDX-License-Identifier: BSD-3-Clause
// acl_diff.c - differences between desired rules and rules in force (acl_active.h)
//
// Both sides are sorted by number, so a comparison is one merge of the two lists. A rule whose
// match or action differs counts as deleted and added.
#include "acl_manager/acl_active.h"

#include <string.h>

static bool effect_equal(const struct acl_lines *l, size_t i, const struct acl_build *b,
                         uint32_t slot)
{
    const struct acl_more *new = acl_lines_more(l, i), *old = acl_build_more(b, slot);

    return l->how.item[i].verb == b->content->action[slot].verb && !new == !old &&
           (!new || !memcmp(new, old, sizeof *new));
}

bool acl_diff_same(const struct acl_lines *l, size_t i, const struct acl_build *b, uint32_t slot)
{
    return acl_rule_equal(acl_rule_of(b->content->rules, slot), &l->rule.item[i]) &&
           effect_equal(l, i, b, slot);
}

// One step of a merge: the i-th desired rule, one in force, or both.
static void count_pair(struct acl_difference *d, size_t i, uint32_t new, uint32_t old, bool same)
{
    d->n += new != old ? 1 : same ? 0 : 2;
    if (new < old) {
        d->added = i;
        d->comes = true;
    } else if (old < new) {
        d->gone = old;
    }
}

struct acl_difference acl_diff_build(const struct acl_lines *l, const struct acl_build *b)
{
    const struct acl_order *o = acl_build_order(b);
    struct acl_difference d = {0};
    size_t i = 0, j = 0;

    while (i < l->rule.n || j < o->n) {
        uint64_t place = j < o->n ? o->item[j] : UINT64_MAX;
        uint32_t new = i < l->rule.n ? l->rule.item[i].number : UINT32_MAX,
                 old = (uint32_t)(place >> 32), slot = (uint32_t)place;

        count_pair(&d, i, new, old, new == old &&acl_diff_same(l, i, b, slot));
        i += new <= old;
        j += old <= new;
    }
    return d;
}

static bool line_equal(const struct acl_lines *a, size_t i, const struct acl_lines *b, size_t j)
{
    const struct acl_more *x = acl_lines_more(a, i), *y = acl_lines_more(b, j);

    return acl_rule_equal(&a->rule.item[i], &b->rule.item[j]) &&
           a->how.item[i].verb == b->how.item[j].verb && !x == !y &&
           (!x || !memcmp(x, y, sizeof *x));
}

struct acl_difference acl_diff_lines(const struct acl_lines *new, const struct acl_lines *old)
{
    struct acl_difference d = {0};
    size_t i = 0, j = 0;

    while (i < new->rule.n || j < old->rule.n) {
        uint32_t n = i < new->rule.n ? new->rule.item[i].number : UINT32_MAX,
                 o = j < old->rule.n ? old->rule.item[j].number : UINT32_MAX;

        count_pair(&d, i, n, o, n == o && line_equal(new, i, old, j));
        i += n <= o;
        j += o <= n;
    }
    return d;
}
