// SPDX-License-Identifier: BSD-3-Clause
// config_write.c - a part of a configuration as JSON (RFC 7951), in slices
//
// libyang prints small nodes, as one piece; large nodes (more than PIECE_NODES) are walked here,
// with their brackets opened and closed. Nodes excluded by ?fields= and ?depth= are removed from
// each piece.
#include "restconf/config_write.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "restconf/reply.h"

#define PIECE_NODES 200 // printed in about a millisecond
#define FRAMES 24       // more than the schema's depth

struct frame { // siblings being written
    const struct lyd_node *next;
    const struct lysc_node *list; // list whose array is open
    const struct field *fields;   // of the parent; NULL: everything
    uint32_t levels;              // left for the values
};

struct config_writer {
    struct config_part part;
    struct jwrite *out;
    struct frame frame[FRAMES];
    unsigned depth; // frames
    uint64_t row;   // of the first frame
};

struct config_writer *config_writer_new(const struct config_part *p, struct jwrite *out)
{
    struct config_writer *w = calloc(1, sizeof *w);

    bug_on(!w);
    w->part = *p;
    w->out = out;
    w->depth = 1;
    w->frame[0] = (struct frame){.next = p->first, .fields = p->fields, .levels = p->levels};
    return w;
}

void config_writer_free(struct config_writer *w)
{
    free(w);
}

static bool is_list(const struct lysc_node *s)
{
    return s->nodetype & (LYS_LIST | LYS_LEAFLIST);
}

static bool is_large(const struct lyd_node *n)
{
    const struct lyd_node *inner;
    unsigned count = 0;

    if (n->schema->nodetype & (LYS_LEAF | LYS_LEAFLIST))
        return false;
    LYD_TREE_DFS_BEGIN(n, inner)
    {
        if (++count > PIECE_NODES)
            return true;
        LYD_TREE_DFS_END(n, inner);
    }
    return false;
}

// Finds the field of a node; false: the node is excluded.
static bool wants(const struct config_writer *w, const struct lyd_node *n, const struct field **of)
{
    const struct frame *f = &w->frame[w->depth - 1];

    *of = f->fields;
    if (w->depth == 1 && !w->part.fields_of_parent)
        return true;
    if (f->fields && !fields_whole(f->fields))
        *of = fields_child(f->fields, n->schema->name);
    return !f->fields || *of;
}

static bool is_in_page(struct config_writer *w)
{
    uint64_t row = w->row++;

    return w->depth > 1 ||
           (row >= w->part.page.offset && row - w->part.page.offset < w->part.page.limit);
}

static const char *member(const struct config_writer *w, const struct lyd_node *n, char name[80])
{
    if (is_list(n->schema))
        return NULL; // an element
    snprintf(name, 80, "%s%s", w->depth == 1 ? "kamuee:" : "", n->schema->name);
    return name;
}

static void open_array(struct config_writer *w, const struct lysc_node *s)
{
    struct frame *f = &w->frame[w->depth - 1];
    char name[80];

    if (f->list == s || !is_list(s))
        return;
    snprintf(name, sizeof name, "%s%s", w->depth == 1 ? "kamuee:" : "", s->name);
    jwrite_begin(w->out, name, '[');
    f->list = s;
}

static void close_array(struct config_writer *w)
{
    struct frame *f = &w->frame[w->depth - 1];

    if (f->list)
        jwrite_end(w->out, ']');
    f->list = NULL;
}

static void begin_large(struct config_writer *w, const struct lyd_node *n,
                        const struct field *fields)
{
    const struct frame *f = &w->frame[w->depth - 1];
    char name[80];

    open_array(w, n->schema);
    jwrite_begin(w->out, member(w, n, name), '{');
    if (!f->levels) {
        jwrite_end(w->out, '}');
        return;
    }
    bug_on(w->depth == FRAMES);
    w->frame[w->depth] =
        (struct frame){.next = lyd_child(n),
                       .fields = fields,
                       .levels = f->levels == CONFIG_ALL_LEVELS ? f->levels : f->levels - 1};
    w->depth++;
}

// The value in libyang's {"kamuee:name":VALUE} or {"kamuee:name":[VALUE]}; NULL: nothing was
// printed.
static char *value_of(const struct lyd_node *n, char *s)
{
    char *colon = s ? strchr(s, ':') : NULL;     // the module's
    char *value = colon ? strchr(colon + 1, ':') : NULL;
    size_t behind = is_list(n->schema) ? 2 : 1, n_value = value ? strlen(value) : 0;

    if (n_value <= 2 * behind)
        return NULL;
    value[n_value - behind] = 0;
    return value + behind;
}

static void write_value(struct config_writer *w, const struct lyd_node *n,
                        const struct field *fields, const char *value)
{
    const struct frame *f = &w->frame[w->depth - 1];
    char name[80];

    open_array(w, n->schema);
    if (*value != '{' || ((!fields || fields_whole(fields)) && f->levels == CONFIG_ALL_LEVELS)) {
        jwrite_raw(w->out, member(w, n, name), value);
        return;
    }
    json_t *j = json_loads(value, 0, NULL);
    bug_on(!j);
    if (fields)
        fields_keep(j, fields);
    if (f->levels != CONFIG_ALL_LEVELS)
        restconf_prune(j, f->levels);
    char *s = json_dumps(j, JSON_COMPACT);
    jwrite_raw(w->out, member(w, n, name), s);
    free(s);
    json_decref(j);
}

static uint32_t print_options(const char *defaults)
{
    if (!defaults || !strcmp(defaults, "explicit"))
        return LYD_PRINT_SHRINK | LYD_PRINT_WD_EXPLICIT;
    return LYD_PRINT_SHRINK | (strcmp(defaults, "trim") ? LYD_PRINT_WD_ALL : LYD_PRINT_WD_TRIM);
}

static void write_piece(struct config_writer *w, const struct lyd_node *n,
                        const struct field *fields)
{
    char *s = NULL, *value;

    bug_on(lyd_print_mem(&s, n, LYD_JSON, print_options(w->part.defaults)));
    value = value_of(n, s);
    if (value)
        write_value(w, n, fields, value);
    free(s);
}

static void write_node(struct config_writer *w, const struct lyd_node *n)
{
    const struct field *fields;
    struct frame *f = &w->frame[w->depth - 1];

    if (w->depth == 1 && w->part.only && n->schema != w->part.only)
        return;
    if (f->list && f->list != n->schema)
        close_array(w);
    if (!wants(w, n, &fields) || !is_in_page(w))
        return;
    if (is_large(n))
        begin_large(w, n, fields);
    else
        write_piece(w, n, fields);
}

bool config_writer_step(struct config_writer *w)
{
    struct frame *f = &w->frame[w->depth - 1];
    const struct lyd_node *n = f->next;

    if (n) {
        f->next = w->depth == 1 && w->part.one ? NULL : n->next;
        write_node(w, n);
        return true;
    }
    if (w->depth == 1 && w->part.only && !f->list && is_list(w->part.only))
        open_array(w, w->part.only); // of a list without entries
    close_array(w);
    if (w->depth == 1)
        return false;
    jwrite_end(w->out, '}');
    w->depth--;
    return true;
}
