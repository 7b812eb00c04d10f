// SPDX-License-Identifier: BSD-3-Clause
// config_json.c - a tree as JSON (RFC 7951), as libyang writes and reads it
#include "yang/config_json.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "yang/config_index.h"
#include "yang/config_tree.h"
#include "yang/yang.h"

static uint32_t print_options(const char *defaults)
{
    uint32_t o = LYD_PRINT_SHRINK;

    if (!defaults || !strcmp(defaults, "explicit"))
        return o | LYD_PRINT_WD_EXPLICIT;
    return o | (strcmp(defaults, "trim") ? LYD_PRINT_WD_ALL : LYD_PRINT_WD_TRIM);
}

json_t *config_json(const struct lyd_node *node, const char *defaults, bool siblings)
{
    json_t *j = NULL;
    char *s = NULL;

    if (node &&
        !lyd_print_mem(&s, node, LYD_JSON,
                       print_options(defaults) | (siblings ? LYD_PRINT_WITHSIBLINGS : 0)) &&
        s)
        j = json_loads(s, 0, NULL);
    free(s);
    return j ? j : json_object();
}

// --- reading ------------------------------------------------------------------------------------

// Out of its siblings, for a while: libyang looks for what it merges into from the first of them on.
static void merge_into(struct lyd_node **tree, struct lyd_node *old, struct lyd_node *new)
{
    struct lyd_node *before = old == *tree ? NULL : old->prev;

    if (old->next)
        old->next->prev = old->prev;
    else
        (*tree)->prev = old->prev;
    if (before)
        before->next = old->next;
    else
        *tree = old->next;
    old->next = NULL;
    old->prev = old;
    bug_on(lyd_merge_tree(&old, new, LYD_MERGE_DESTRUCT));
    if (before)
        config_link_behind(tree, before, old);
    else
        config_link_first(tree, old);
}

void config_merge(struct lyd_node **tree, struct lyd_node *more)
{
    struct config_index top = {.tree = tree};
    struct lyd_node *next, *old;

    for (struct lyd_node *n = more; n; n = next) {
        next = n->next;
        lyd_unlink_tree(n);
        old = config_index_like(&top, n);
        if (old)
            merge_into(tree, old, n);
        else
            config_index_add(&top, n);
    }
    config_index_free(&top);
}

void config_read_json(struct lyd_node **tree, const char *text, struct errors *e)
{
    struct lyd_node *more = NULL;
    struct text why = {0};

    // "Ordered": libyang looks for no places, config_merge does.
    if (lyd_parse_data_mem(yang_ctx, text, LYD_JSON, LYD_PARSE_ONLY | LYD_PARSE_STRICT | LYD_PARSE_NO_STATE | LYD_PARSE_ORDERED, 0, &more)) {
        yang_say_error(&why);
        errors_add(e, 0, "%s", text_str(&why));
        text_free(&why);
        lyd_free_all(more);
    } else {
        config_merge(tree, more);
    }
}
