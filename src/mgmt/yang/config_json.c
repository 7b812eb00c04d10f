// SPDX-License-Identifier: BSD-3-Clause
// config_json.c - a tree as JSON (RFC 7951), written and read by libyang
//
// libyang searches siblings from the first one on, which is quadratic in long lists. So the reader
// parses lists in pieces of ENTRIES_AT_A_TIME entries, and merges nodes at the top through one
// config_index. It only parses; config_check.c validates the tree.
#include "yang/config_json.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "yang/config_index.h"
#include "yang/config_tree.h"
#include "yang/yang.h"

char *config_json_text(const struct lyd_node *tree)
{
    char *s = NULL;

    bug_on(tree &&
           lyd_print_mem(&s, tree, LYD_JSON, LYD_PRINT_WITHSIBLINGS | LYD_PRINT_WD_EXPLICIT));
    return s ? s : strdup("{}");
}

// --- reading ------------------------------------------------------------------------------------

// Unlinks the node during the merge, because libyang searches its merge target from the first
// sibling on.
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

static void merge_at(struct config_index *top, struct lyd_node *more)
{
    struct lyd_node *next, *old;

    for (struct lyd_node *n = more; n; n = next) {
        next = n->next;
        lyd_unlink_tree(n);
        old = config_index_like(top, n);
        if (old)
            merge_into(top->tree, old, n);
        else
            config_index_add(top, n);
    }
}

void config_merge(struct lyd_node **tree, struct lyd_node *more)
{
    struct config_index top = {.tree = tree};

    merge_at(&top, more);
    config_index_free(&top);
}

static void read_part(struct config_index *top, const char *name, json_t *value, struct errors *e)
{
    json_t *part = json_pack("{s:O}", name, value);
    char *text = part ? json_dumps(part, JSON_COMPACT) : NULL;
    struct lyd_node *more = NULL;
    struct text why = {0};

    bug_on(!text);
    if (lyd_parse_data_mem(yang_ctx, text, LYD_JSON,
                           LYD_PARSE_ONLY | LYD_PARSE_STRICT | LYD_PARSE_NO_STATE, 0, &more)) {
        yang_say_error(&why);
        errors_add(e, 0, "%s", text_str(&why));
        text_free(&why);
        lyd_free_all(more);
    } else {
        merge_at(top, more);
    }
    free(text);
    json_decref(part);
}

#define ENTRIES_AT_A_TIME 128 // libyang searches the place of each among those before it

static void read_entries(struct config_index *top, const char *name, json_t *entries,
                         struct errors *e)
{
    size_t n = json_array_size(entries), i = 0;

    do {
        json_t *some = json_array();

        for (size_t end = i + ENTRIES_AT_A_TIME; i < n && i < end; i++)
            json_array_append(some, json_array_get(entries, i));
        read_part(top, name, some, e);
        json_decref(some);
    } while (i < n && !e->n);
}

static const char *local_name(const char *name)
{
    const char *colon = strchr(name, ':');

    return colon ? colon + 1 : name;
}

static bool is_retired(const struct lysc_node *parent, const char *name, struct errors *e)
{
    const struct config_retired *r = config_retired_find(parent, local_name(name));

    if (r)
        config_retired_refuse(r, 0, e);
    return r;
}

// Is there a retired setting in a container or in an entry of a list, both of the top level?
static bool has_retired(const struct lysc_node *s, json_t *value, struct errors *e)
{
    const char *child;
    json_t *below;
    size_t i;

    json_array_foreach(value, i, below)
        if (has_retired(s, below, e))
            return true;
    json_object_foreach(value, child, below)
        if (is_retired(s, child, e))
            return true;
    return false;
}

// More than twice the allowed number is refused without reading all; config_check counts exactly.
static bool far_too_many(const struct lysc_node *s, const json_t *value, struct errors *e)
{
    uint32_t max =
        s && s->nodetype == LYS_LIST ? ((const struct lysc_node_list *)s)->max : UINT32_MAX;

    if (max > UINT32_MAX / 2 || json_array_size(value) <= 2 * max)
        return false;
    errors_add(e, 0, "%zu '%s', expected at most %u", json_array_size(value), s->name, max);
    return true;
}

void config_read_value(struct lyd_node **tree, json_t *root, struct errors *e)
{
    struct config_index top = {.tree = tree};
    const char *name;
    json_t *value;

    json_object_foreach(root, name, value) {
        const struct lysc_node *s = yang_child(NULL, local_name(name), true);

        if (e->n || is_retired(NULL, name, e) || far_too_many(s, value, e) ||
            (s && has_retired(s, value, e)))
            break;
        if (json_is_array(value))
            read_entries(&top, name, value, e);
        else
            read_part(&top, name, value, e);
    }
    config_index_free(&top);
}

void config_read_json(struct lyd_node **tree, const char *text, struct errors *e)
{
    json_error_t why;
    json_t *root = json_loads(text, JSON_REJECT_DUPLICATES, &why);

    if (json_is_object(root))
        config_read_value(tree, root, e);
    else
        errors_add(e, 0, root ? "not a JSON object" : "not JSON: %s in line %d", why.text,
                   why.line);
    json_decref(root);
}
