// SPDX-License-Identifier: BSD-3-Clause
// yang_line.c - format of the schema's nodes in a line: name and value, value only, name only
//
// A leaf with k:keywordless is written as its value, a leaf of type empty as its name. An entry of
// a list with k:one-line is one line: after the words of a container in it, words of the entry
// itself may follow, so that the walker goes up.
#include <string.h>

#include "yang/yang.h"

static bool has_extension(const struct lysc_node *s, const char *name)
{
    LY_ARRAY_COUNT_TYPE u;

    LY_ARRAY_FOR(s->exts, u)
    {
        if (s->exts[u].def->module == yang_module && !strcmp(s->exts[u].def->name, name))
            return true;
    }
    return false;
}

bool yang_is_keywordless(const struct lysc_node *s)
{
    return s->nodetype == LYS_LEAF && has_extension(s, "keywordless");
}

bool yang_is_flag(const struct lysc_node *s)
{
    return s->nodetype == LYS_LEAF && yang_type(s)->basetype == LY_TYPE_EMPTY;
}

bool yang_is_one_line(const struct lysc_node *s)
{
    return s && s->nodetype == LYS_LIST && has_extension(s, "one-line");
}

const struct lysc_node *yang_keywordless(const struct lysc_node *last,
                                         const struct lysc_node *parent)
{
    const struct lysc_node *s = last;

    while ((s = yang_next(s, parent)))
        if (yang_is_keywordless(s) && yang_is_config(s))
            break;
    return s;
}

// The data node above: skips choices and cases.
static const struct lysc_node *above(const struct lysc_node *s)
{
    do
        s = s->parent;
    while (s && s->nodetype & (LYS_CHOICE | LYS_CASE));
    return s;
}

const struct lysc_node *yang_line_above(const struct lysc_node *place)
{
    const struct lysc_node *up = place && place->nodetype == LYS_CONTAINER ? above(place) : NULL;

    for (const struct lysc_node *s = up; s; s = s->nodetype == LYS_CONTAINER ? above(s) : NULL)
        if (yang_is_one_line(s))
            return up;
    return NULL;
}

const struct lysc_node *yang_case(const struct lysc_node *s)
{
    return s->parent && s->parent->nodetype == LYS_CASE ? s->parent : NULL;
}
