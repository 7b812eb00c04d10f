// SPDX-License-Identifier: BSD-3-Clause
// leaf.c - reads values from a checked tree, for features
//
// libyang has checked type, range and defaults, so a present value needs no check here. A missing
// leaf is not an error: the caller gives the value that stands for it.
#include "config/leaf.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "yang/config_tree.h"
#include "yang/yang.h"

uint64_t leaf_number(const struct lyd_node *first, const char *leaf, uint64_t absent)
{
    const char *v = config_value(first, leaf);

    return v ? strtoull(v, NULL, 10) : absent;
}

bool leaf_true(const struct lyd_node *first, const char *leaf)
{
    const char *v = config_value(first, leaf);

    return v && !strcmp(v, "true");
}

void leaf_copy(char *to, size_t size, const struct lyd_node *first, const char *leaf,
                    const char *absent)
{
    const char *v = config_value(first, leaf);

    snprintf(to, size, "%s", v ? v : absent);
}

unsigned leaf_line(const struct lyd_node *entry, const char *leaf)
{
    unsigned any = config_line_of(entry);

    for (const struct lyd_node *c = lyd_child(entry); c; c = c->next) {
        if (leaf && config_line_of(c) && !strcmp(c->schema->name, leaf))
            return config_line_of(c);
        if (!any)
            any = config_line_of(c);
    }
    return any;
}

int leaf_word(const struct lyd_node *first, const char *leaf, const char *const *words, size_t n)
{
    const char *word = config_value(first, leaf);

    for (size_t i = 0; i < n; i++)
        if (word && !strcmp(words[i], word))
            return (int)i;
    return -1;
}

const struct lyd_node *leaf_inside(const struct lyd_node *first, const struct lysc_node *parent,
                                   const char *name)
{
    return lyd_child(config_find(first, yang_child(parent, name, true), NULL));
}

struct leaf_entries leaf_entries(const struct lyd_node *first, const struct lysc_node *parent,
                                 const char *name)
{
    struct leaf_entries e = {0};

    config_children(first, yang_child(parent, name, true), &e.v);
    return e;
}

bool leaf_entries_left(struct leaf_entries *e)
{
    if (e->i < e->v.n)
        return true;
    vec_free(&e->v);
    return false;
}

uint64_t leaf_scaled(const char *text, const char *suffixes)
{
    char *end;
    uint64_t value = strtoull(text, &end, 10), scale = 1, part = 1;
    const char *fraction = *end == '.' ? end + 1 : NULL;
    uint64_t below = fraction ? strtoull(fraction, &end, 10) : 0;
    const char *suffix = *end ? strchr(suffixes, *end) : NULL;

    for (int n = suffix ? (int)(suffix - suffixes) + 1 : 0; n > 0; n--)
        scale *= 1000;
    for (const char *d = fraction; d && d < end; d++)
        part *= 10;
    return value * scale + below * scale / part;
}
