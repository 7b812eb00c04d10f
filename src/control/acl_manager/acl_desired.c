// SPDX-License-Identifier: BSD-3-Clause
// acl_desired.c - access lists and address sets of the configuration (acl_desired.h)
//
// It is constant once made and shared by a reference count, so neither thread copies it. Lists and
// sets are sorted by name, as the configuration prints them, and found by binary search. Two of
// them are equal if their texts are; rules are never compared.
#include "acl_manager/acl_desired.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"

struct acl_desired *acl_desired_new(void)
{
    struct acl_desired *w = calloc(1, sizeof *w);

    bug_on(!w);
    w->refs = 1;
    return w;
}

struct acl_desired *acl_desired_get(const struct acl_desired *shared)
{
    struct acl_desired *w = (struct acl_desired *)(uintptr_t)shared; // only the count changes

    __atomic_add_fetch(&w->refs, 1, __ATOMIC_RELAXED);
    return w;
}

void acl_desired_put(struct acl_desired *w)
{
    // acquire: other threads have finished with it
    if (!w || __atomic_sub_fetch(&w->refs, 1, __ATOMIC_ACQ_REL))
        return;
    vec_foreach (&w->set, s) {
        vec_free(&s->member.item);
        text_free(&s->text);
    }
    vec_foreach (&w->list, l) {
        acl_lines_free(&l->rules);
        text_free(&l->text);
    }
    vec_free(&w->mirror);
    vec_free(&w->set);
    vec_free(&w->list);
    free(w);
}

static int compare_names(const void *name, const void *row) // a row begins with its name
{
    int d = natural_compare(name, row);

    return d ? d : strcmp(name, row);
}

// Vectors are sorted by name, as the configuration prints them.
static const void *row_find(const void *rows, size_t n, size_t bytes, const char *name)
{
    return n ? bsearch(name, rows, n, bytes, compare_names) : NULL;
}

const struct acl_desired_set *acl_desired_set_find(const struct acl_desired *w, const char *name)
{
    return row_find(w->set.item, w->set.n, sizeof *w->set.item, name);
}

const struct acl_desired_list *acl_desired_list_find(const struct acl_desired *w, const char *name)
{
    return row_find(w->list.item, w->list.n, sizeof *w->list.item, name);
}

bool acl_desired_has_mirror(const struct acl_desired *w, const char *name)
{
    return row_find(w->mirror.item, w->mirror.n, sizeof *w->mirror.item, name);
}

bool acl_desired_equal(const struct acl_desired *a, const struct acl_desired *b)
{
    if (a->mirror.n != b->mirror.n || a->set.n != b->set.n || a->list.n != b->list.n ||
        a->memory_bytes != b->memory_bytes || a->build_ns != b->build_ns)
        return false;
    for (size_t i = 0; i < a->mirror.n; i++) // sorted by name
        if (strcmp(a->mirror.item[i].name, b->mirror.item[i].name))
            return false;
    for (size_t i = 0; i < a->set.n; i++)
        if (strcmp(a->set.item[i].name, b->set.item[i].name) ||
            strcmp(text_str(&a->set.item[i].text), text_str(&b->set.item[i].text)))
            return false;
    for (size_t i = 0; i < a->list.n; i++)
        if (strcmp(a->list.item[i].name, b->list.item[i].name) ||
            strcmp(text_str(&a->list.item[i].text), text_str(&b->list.item[i].text)))
            return false;
    return true;
}
