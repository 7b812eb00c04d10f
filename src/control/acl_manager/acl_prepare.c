// SPDX-License-Identifier: BSD-3-Clause
// acl_prepare.c - prepares the change from the access lists and sets in force to the desired ones
//
// Reads files, builds sets and lists aside, and refuses errors and excessive sizes before anything
// has changed. A set with few differing members changes in place, and so does a list in which one
// rule is added or deleted. Otherwise a new one is built; a new set also requires new lists where
// it is named, because lists hold the set's address.
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "acl_manager/acl_active.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/progress.h"

#define MEMBERS_IN_PLACE 4096 // of a set, in one publication
#define READ_BYTE_NS 60       // of a file, about: a million rules are 50 MB, a million members 17
// shorter lists do not predict the time of long ones
#define RULES_MEASURED 10000

struct prepare {
    struct acl_desired *w;
    const struct acl_reread *again;
    struct acl_change *c;
    struct text *why;
    uint64_t bytes; // in use, plus needed so far
    bool wrong;
};

__attribute__((format(printf, 2, 3))) static void report_error(struct prepare *p, const char *fmt,
                                                               ...)
{
    char s[512];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(s, sizeof s, fmt, ap);
    va_end(ap);
    text_printf(p->why, "%s%s", p->why->n ? "\n" : "", s);
    p->wrong = true;
}

static bool is_reread(const char *which, const char *name)
{
    return which && (!*which || !strcmp(which, name));
}

// --- limits --------------------------------------------------------------------------------------

static unsigned mib_of_bytes(uint64_t bytes)
{
    return (unsigned)((bytes + (1u << 20) - 1) >> 20);
}

static bool memory_fits(struct prepare *p, const char *what, const char *name, uint64_t need)
{
    uint64_t limit = p->w->memory_bytes;

    if (p->bytes + need <= limit)
        return true;
    report_error(
        p,
        "%s %s: needs about %u MiB, but %u of the %u MiB for access lists and address sets are "
        "in use; 'set acl-limit memory %u' is enough",
        what, name, mib_of_bytes(need), mib_of_bytes(p->bytes), mib_of_bytes(limit),
        mib_of_bytes(p->bytes + need));
    return false;
}

static bool time_fits(struct prepare *p, const char *name, size_t n)
{
    uint64_t need = n * acl_active.ns_per_rule;

    if (need <= p->w->build_ns)
        return true;
    report_error(
        p,
        "acl %s: building %zu rules takes about %u s, more than the %u s of 'set acl-limit "
        "build-time'",
        name, n, (unsigned)(need / NS_PER_SECOND + 1), (unsigned)(p->w->build_ns / NS_PER_SECOND));
    return false;
}

// --- sets ----------------------------------------------------------------------------------------

static int member_append(void *ctx, const struct prefix *m)
{
    *vec_push(&((struct acl_members *)ctx)->item) = *m;
    return 0;
}

static void members_of(const struct acl_set *s, struct acl_members *m)
{
    acl_set_walk(s, member_append, m);
    acl_members_sort(m);
}

static bool desired_members(struct prepare *p, const struct acl_desired_set *s,
                            struct acl_members *m)
{
    char why[400];

    vec_foreach (&s->member.item, i)
        *vec_push(&m->item) = *i;
    if (s->file[0] && acl_file_members(s->file, m, why, sizeof why)) {
        report_error(p, "address-set %s: %s", s->name, why);
        return false;
    }
    acl_members_sort(m);
    return true;
}

static void compare_members(const struct acl_members *old, const struct acl_members *new,
                            struct acl_members *del, struct acl_members *add)
{
    size_t i = 0, j = 0;

    while (i < old->item.n || j < new->item.n) {
        int d = i == old->item.n   ? 1
                : j == new->item.n ? -1
                                   : prefix_compare(&old->item.item[i], &new->item.item[j]);

        if (d < 0)
            *vec_push(&del->item) = old->item.item[i];
        else if (d > 0)
            *vec_push(&add->item) = new->item.item[j];
        i += d <= 0;
        j += d >= 0;
    }
}

static struct acl_set *build_set(struct prepare *p, const char *name, const struct acl_members *m)
{
    size_t n4 = 0;
    struct acl_set *s;
    int r;

    vec_foreach (&m->item, i)
        n4 += i->family == IP4;
    if (!memory_fits(p, "address-set", name, acl_set_need(n4, m->item.n - n4)))
        return NULL;
    s = acl_set_new(p->w->memory_bytes);
    r = s ? acl_set_change(s, NULL, 0, m->item.item, m->item.n, NULL) : -errno;
    if (!r) {
        p->bytes += acl_set_need(n4, m->item.n - n4);
        return s;
    }
    report_error(p, "address-set %s: no memory for %zu members: %s", name, m->item.n, strerror(-r));
    acl_set_free(s);
    return NULL;
}

static void prepare_set(struct prepare *p, const struct acl_desired_set *s)
{
    const struct acl_desired_set *was = acl_desired_set_find(acl_active.wanted, s->name);
    const struct acl_active_set *held = acl_active_set_find(s->name);
    struct acl_set_change x = {.kind = held ? ACL_REPLACE : ACL_NEW};
    struct acl_members m = {0}, old = {0};
    struct progress work;
    bool same = held && was && !strcmp(text_str(&was->text), text_str(&s->text)) &&
                !is_reread(p->again->set, s->name);

    memcpy(x.name, s->name, sizeof x.name);
    if (same)
        return;
    progress_begin(&work, acl_file_sign(s->file).bytes * READ_BYTE_NS,
               "acl_manager: reading: address-set=%s file=%s", s->name, LOG_VALUE(s->file));
    if (!desired_members(p, s, &m))
        goto done;
    if (held) {
        members_of(held->set, &old);
        compare_members(&old, &m, &x.del, &x.add);
        if (!x.del.item.n && !x.add.item.n)
            goto done;
        if (x.del.item.n + x.add.item.n <= MEMBERS_IN_PLACE && !p->again->aside)
            x.kind = ACL_IN_PLACE;
    }
    if (x.kind == ACL_IN_PLACE || (x.fresh = build_set(p, s->name, &m))) {
        *vec_push(&p->c->set) = x;
        memset(&x.add, 0, sizeof x.add); // moved into the change
        memset(&x.del, 0, sizeof x.del);
    }
done:
    progress_end(&work, "acl_manager: read: address-set=%s members=%zu", s->name, m.item.n);
    vec_free(&m.item);
    vec_free(&old.item);
    vec_free(&x.add.item);
    vec_free(&x.del.item);
}

// The set that lists will find under this name; *another: it differs from the present one.
static struct acl_set *future_set(const struct prepare *p, const char *name, bool *another)
{
    const struct acl_active_set *held = acl_active_set_find(name);

    vec_foreach (&p->c->set, x)
        if (!strcmp(x->name, name) && x->fresh)
            return *another = true, x->fresh;
    return held && acl_desired_set_find(p->w, name) ? held->set : NULL;
}

// --- lists ---------------------------------------------------------------------------------------

// Is the list's file the same as the one read for the list in force, so that it need not be read
// again?
static bool file_is_as_read(const struct prepare *p, const struct acl_desired_list *w,
                            const struct acl_desired_list *was, const struct acl_active_list *held,
                            const struct acl_file_sign *now)
{
    return held && was && w->file[0] && !strcmp(w->file, was->file) &&
           !is_reread(p->again->list, w->name) && acl_file_same(&held->build->file, now);
}

// All desired rules, sorted. Sets keep the indexes that they have in the list in force, if there is
// room for them.
static bool desired_rules(struct prepare *p, const struct acl_desired_list *w,
                          const struct acl_active_list *held, struct acl_lines *l)
{
    char why[400];
    size_t at = 0;
    bool another = false;

    for (unsigned i = 0;
         held && i < held->build->n_sets && future_set(p, held->build->set_name[i], &another); i++)
        acl_lines_set(l, held->build->set_name[i]);
    if (acl_lines_copy(l, &w->rules)) {
        l->n_sets = 0;
        acl_lines_copy(l, &w->rules);
    }
    size_t own = l->rule.n;
    if (w->file[0] && acl_file_rules(w->file, l, why, sizeof why)) {
        report_error(p, "acl %s: %s", w->name, why);
        return false;
    }
    if (held)
        acl_temporary_append(l, held->build);
    if (!acl_lines_sort(l, &at))
        return true;
    if (at < own)
        report_error(p, "acl %s: rule %u appears twice", w->name, l->rule.item[at].number);
    else
        report_error(p, "acl %s: %s:%u: rule %u appears twice", w->name, w->file,
                     l->how.item[at].line, l->rule.item[at].number);
    return false;
}

// Finds the sets that the rules name; *another: some set differs from the list's present one.
// False: one is missing, and the error is reported.
static bool sets_resolve(struct prepare *p, const char *name, const struct acl_lines *l,
                         struct acl_set **set, bool *another)
{
    for (unsigned i = 0; i < l->n_sets; i++) {
        set[i] = future_set(p, l->set[i], another);
        if (set[i])
            continue;
        report_error(p,
                     "acl %s: there is no address-set '%s'; create it with 'set address-set %s …'",
                     name, l->set[i], l->set[i]);
        return false;
    }
    return true;
}

static void change_in_place(struct acl_list_change *x, const struct acl_lines *l,
                            const struct acl_difference *d, const struct acl_build *b)
{
    const struct acl_more *more;

    x->kind = ACL_IN_PLACE;
    x->adds = d->comes;
    x->file = b->file;
    if (d->comes) {
        more = acl_lines_more(l, d->added);
        x->rule = l->rule.item[d->added];
        x->how = l->how.item[d->added];
    } else {
        uint32_t slot = acl_slot_of(b->content->rules, d->gone);
        more = acl_build_more(b, slot);
        x->rule = *acl_rule_of(b->content->rules, slot);
        x->how = (struct acl_how){.verb = b->content->action[slot].verb};
    }
    x->has_more = more;
    if (more)
        x->more = *more;
}

static bool build_list(struct prepare *p, const struct acl_desired_list *w,
                       const struct acl_lines *l, struct acl_set *const *set,
                       struct acl_list_change *x)
{
    size_t n = l->rule.n;
    char why[400] = "";
    struct progress work;

    if (!memory_fits(p, "acl", w->name, acl_build_need(l->rule.item, l->rule.n)) ||
        !time_fits(p, w->name, l->rule.n))
        return false;
    progress_begin(&work, n * acl_active.ns_per_rule, "acl_manager: building: acl=%s rules=%zu",
               w->name, n);
    x->fresh = acl_build_new(l, set, w->otherwise, why, sizeof why);
    progress_end(&work,
             x->fresh ? "acl_manager: built: acl=%s rules=%zu"
                      : "acl_manager: not built: acl=%s rules=%zu",
             w->name, n);
    if (!x->fresh) {
        report_error(p, "acl %s: %s", w->name, why);
        return false;
    }
    if (n >= RULES_MEASURED)
        acl_active.ns_per_rule = (clock_now_ns() - work.since_ns) / n;
    uint64_t bytes = acl_build_bytes(x->fresh); // the estimate may have been too low
    if (!memory_fits(p, "acl", w->name, bytes)) {
        acl_build_free(x->fresh);
        return false;
    }
    p->bytes += bytes;
    return true;
}

static void prepare_rules(struct prepare *p, const struct acl_desired_list *w,
                          const struct acl_active_list *held, const struct acl_file_sign *file,
                          struct acl_lines *l)
{
    struct acl_list_change x = {.kind = held ? ACL_REPLACE : ACL_NEW, .id = held ? held->id : 0};
    struct acl_set *set[ACL_SETS_MAX] = {0};
    bool another =
        !held || held->build->otherwise != w->otherwise || held->build->n_sets != l->n_sets;

    memcpy(x.name, w->name, sizeof x.name);
    for (unsigned i = 0; !another && i < l->n_sets; i++)
        another = strcmp(held->build->set_name[i], l->set[i]);
    if (!sets_resolve(p, w->name, l, set, &another))
        return;
    if (!another) {
        struct acl_difference d = acl_diff_build(l, held->build);
        if (!d.n)
            return;
        if (d.n == 1 && !p->again->aside && (!d.comes || acl_build_room(held->build)))
            change_in_place(&x, l, &d, held->build);
    }
    if (x.kind != ACL_IN_PLACE && !build_list(p, w, l, set, &x))
        return;
    if (x.kind == ACL_IN_PLACE)
        x.file = *file;
    else
        x.fresh->file = *file;
    *vec_push(&p->c->list) = x;
}

static bool names_new_set(const struct prepare *p, const struct acl_active_list *held)
{
    bool another = false;

    for (unsigned i = 0; i < held->build->n_sets; i++)
        future_set(p, held->build->set_name[i], &another);
    return another;
}

// Do all mirror sessions exist that rules name?
static bool mirrors_exist(struct prepare *p, const char *name, const struct acl_more *more,
                          size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (!(more[i].extra & ACL_MIRROR) || acl_desired_has_mirror(p->w, more[i].mirror))
            continue;
        report_error(
            p,
            "acl %s: there is no mirror-session '%s'; create it with 'set mirror-session %s to …'",
            name, more[i].mirror, more[i].mirror);
        return false;
    }
    return true;
}

// The configuration's own rules of a list, with the set indexes of the list in force; false: they
// name another set.
static bool rules_of_config(const struct acl_desired_list *w, const struct acl_build *b,
                            struct acl_lines *l)
{
    size_t at;

    for (unsigned i = 0; i < b->n_sets; i++)
        acl_lines_set(l, b->set_name[i]);
    return !acl_lines_copy(l, &w->rules) && l->n_sets == b->n_sets && !acl_lines_sort(l, &at);
}

// For a list with an unchanged file and one rule of its own added or deleted: handles that rule
// only.
static bool prepare_single_rule(struct prepare *p, const struct acl_desired_list *w,
                                const struct acl_desired_list *was,
                                const struct acl_active_list *held)
{
    struct acl_list_change x = {.kind = ACL_REPLACE, .id = held->id};
    const struct acl_build *b = held->build;
    struct acl_lines new = {0}, old = {0};
    struct acl_difference d = {0};
    bool it_is = b->otherwise == w->otherwise && !names_new_set(p, held) &&
                 rules_of_config(w, b, &new) && rules_of_config(was, b, &old);

    if (it_is) {
        d = acl_diff_lines(&new, &old);
        it_is = d.n == 1 && (!d.comes || (acl_slot_of(b->content->rules,
                                                      new.rule.item[d.added].number) == ACL_MISS &&
                                          acl_build_room(b)));
    }
    if (it_is && mirrors_exist(p, w->name, new.more.item, new.more.n)) {
        memcpy(x.name, w->name, sizeof x.name);
        change_in_place(&x, &new, &d, b);
        *vec_push(&p->c->list) = x;
    }
    acl_lines_free(&new);
    acl_lines_free(&old);
    return it_is;
}

static void prepare_list(struct prepare *p, const struct acl_desired_list *w)
{
    const struct acl_desired_list *was = acl_desired_list_find(acl_active.wanted, w->name);
    const struct acl_active_list *held = acl_active_list_find(w->name);
    struct acl_lines l = {0};

    if (held && was && !strcmp(text_str(&was->text), text_str(&w->text)) &&
        !is_reread(p->again->list, w->name) && !names_new_set(p, held)) {
        mirrors_exist(p, w->name, held->build->more.item, held->build->more.n);
        return;
    }
    struct acl_file_sign file = acl_file_sign(w->file);
    if (!p->again->aside && file_is_as_read(p, w, was, held, &file) &&
        prepare_single_rule(p, w, was, held))
        return;
    struct progress work;
    progress_begin(&work, file.bytes * READ_BYTE_NS, "acl_manager: reading: acl=%s file=%s",
                   w->name, LOG_VALUE(w->file));
    bool right = desired_rules(p, w, held, &l);
    progress_end(&work, "acl_manager: read: acl=%s rules=%zu", w->name, l.rule.n);
    if (right && mirrors_exist(p, w->name, l.more.item, l.more.n))
        prepare_rules(p, w, held, &file, &l);
    acl_lines_free(&l);
}

// --- temporary rules -----------------------------------------------------------------------------

static void prepare_temporary(struct prepare *p, const struct acl_temporary *t)
{
    const struct acl_desired_list *w = acl_desired_list_find(p->w, t->list);
    const struct acl_active_list *held = acl_active_list_find(t->list);
    struct acl_list_change x = {.kind = ACL_REPLACE, .id = held ? held->id : 0};
    struct acl_lines l = {0};

    if (!w || !held) {
        report_error(p, "there is no acl '%s'", t->list);
        return;
    }
    int r = acl_temporary_plan(t, held, p->c, &l, p->why);
    p->wrong = r < 0;
    memcpy(x.name, held->name, sizeof x.name);
    if (mirrors_exist(p, w->name, l.more.item, l.more.n) && r > 0 &&
        build_list(p, w, &l, held->build->set, &x)) {
        x.fresh->file = held->build->file;
        *vec_push(&p->c->list) = x;
    }
    acl_lines_free(&l);
}

// --- sizes ---------------------------------------------------------------------------------------

static uint64_t rules_after(const struct acl_change *c, const char *name)
{
    const struct acl_active_list *l = acl_active_list_find(name);
    uint64_t n = l ? acl_build_order(l->build)->n : 0;

    vec_foreach (&c->list, x)
        if (!strcmp(x->name, name))
            n = x->fresh ? acl_build_order(x->fresh)->n : n + (x->adds ? 1 : -1ull);
    return n;
}

static uint64_t members_of_set(const struct acl_set *s)
{
    struct acl_set_stats n;

    acl_set_stats(s, &n);
    return n.members[0] + n.members[1];
}

static uint64_t members_after(const struct acl_change *c, const char *name)
{
    const struct acl_active_set *s = acl_active_set_find(name);

    vec_foreach (&c->set, x)
        if (!strcmp(x->name, name))
            return x->fresh ? members_of_set(x->fresh)
                            : members_of_set(s->set) + x->add.item.n - x->del.item.n;
    return s ? members_of_set(s->set) : 0;
}

static void note_sizes(struct acl_change *c)
{
    vec_foreach (&c->wanted->list, l)
        *vec_push(&c->sizes.rules) = rules_after(c, l->name);
    vec_foreach (&c->wanted->set, s)
        *vec_push(&c->sizes.members) = members_after(c, s->name);
}

// --- the whole change ----------------------------------------------------------------------------

static void prepare_removals(struct prepare *p)
{
    vec_foreach (&acl_active.list, l) {
        if (acl_desired_list_find(p->w, l->name))
            continue;
        struct acl_list_change *x = vec_push(&p->c->list);
        *x = (struct acl_list_change){.kind = ACL_GOES, .id = l->id, .old = l->build};
        memcpy(x->name, l->name, sizeof x->name);
    }
    vec_foreach (&acl_active.set, s) {
        if (acl_desired_set_find(p->w, s->name))
            continue;
        struct acl_set_change *x = vec_push(&p->c->set);
        *x = (struct acl_set_change){.kind = ACL_GOES, .old = s->set};
        memcpy(x->name, s->name, sizeof x->name);
    }
}

struct acl_change *acl_prepare(struct acl_desired *w, const struct acl_reread *again,
                               struct text *why)
{
    struct acl_change *c = calloc(1, sizeof *c);
    struct prepare p = {.w = w, .again = again, .c = c, .why = why, .bytes = acl_active_bytes()};

    bug_on(!c);
    c->wanted = acl_desired_get(w);
    if (p.bytes > w->memory_bytes)
        report_error(
            &p, "acl-limit: access lists and address sets already use %u MiB, but 'memory' is %u",
            mib_of_bytes(p.bytes), mib_of_bytes(w->memory_bytes));
    if (again->temporary && !p.wrong)
        prepare_temporary(&p, again->temporary);
    for (size_t i = 0; !again->temporary && i < w->set.n; i++)
        prepare_set(&p, &w->set.item[i]);
    if (!again->temporary && !p.wrong)
        vec_foreach (&w->list, l)
            prepare_list(&p, l);
    if (!again->temporary && !p.wrong && acl_active.list.n + c->list.n >= ACL_LIST_MAX)
        report_error(&p, "acl: too many access lists, expected at most %u", ACL_LIST_MAX - 1);
    if (!p.wrong) {
        note_sizes(c);
        prepare_removals(&p);
        return c;
    }
    acl_change_end(c, false);
    return NULL;
}
