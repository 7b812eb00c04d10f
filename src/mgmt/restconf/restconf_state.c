// SPDX-License-Identifier: BSD-3-Clause
// restconf_state.c - reading state: calls the features that write it
//
// Children of `state` are written one after the other, in the schema's order, into one text; a
// writer that asks another thread continues later, followed by the next writer. For a path that
// leads further down, the child (or its one entry) is written, and then the part is cut out. The
// client may have left, and the server may have stopped, before the last writer is done: the answer
// lives until then.
#include <errno.h>
#include <libyang/libyang.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/vec.h"
#include "config/config_running.h"
#include "core/aside.h"
#include "http/refuse.h"
#include "mgmt/feature.h"
#include "restconf/bound.h"
#include "restconf/path.h"
#include "restconf/restconf_priv.h"
#include "restconf/state.h"
#include "yang/yang.h"

#define SHORTEN_AT_ONCE (128u << 10) // bytes of JSON; more is cut aside, because others wait

// --- writers ------------------------------------------------------------------------------------

static VEC(const struct feature_state *) nodes; // children of `state`, in the schema's order

static const struct feature_state *writer_of(const char *node)
{
    for (unsigned f = 0; f < FEATURE_N; f++)
        for (const struct feature_state *s = features[f]->state; s && s->node; s++)
            if (!strcmp(s->node, node))
                return s;
    restconf_unbound("state", node);
}

static unsigned index_of(const char *node) // nodes.n: not found
{
    unsigned i = 0;

    while (i < nodes.n && strcmp(nodes.item[i]->node, node))
        i++;
    return i;
}

void state_bind(void)
{
    const struct lysc_node *state = yang_child(NULL, "state", false);

    vec_free(&nodes);
    for (const struct lysc_node *n = NULL; (n = yang_next(n, state));)
        *vec_push(&nodes) = writer_of(n->name);
    for (unsigned f = 0; f < FEATURE_N; f++)
        for (const struct feature_state *s = features[f]->state; s && s->node; s++)
            if (index_of(s->node) == nodes.n || nodes.item[index_of(s->node)] != s)
                restconf_unbound("state", s->node);
}

bool state_is_streamed(const char *node)
{
    unsigned i = index_of(node);

    return i < nodes.n && nodes.item[i]->stream;
}

bool state_knows_parameter(const char *name)
{
    vec_foreach (&nodes, s)
        for (const char *const *p = (*s)->parameters; p && *p; p++)
            if (!strcmp(*p, name))
                return true;
    return false;
}

bool show_wants(const struct show *s, const char *name)
{
    return !s->key[0] || !strcmp(s->key[0], name);
}

static void writer_done(struct show *s, int result);

// --- cutting out a part -------------------------------------------------------------------------

static bool has_keys(const json_t *entry, const struct path_segment *g)
{
    const struct lysc_node *k = lysc_node_child(g->schema);

    for (unsigned i = 0; i < g->n_keys; i++, k = k->next)
        if (!path_key_is(json_object_get(entry, k->name), k, g->key[i]))
            return false;
    return true;
}

// The value of a segment inside `v`; a list entry is returned as an array of one. New reference or
// NULL.
static json_t *child_of_segment(json_t *v, const struct path_segment *g, const char *member)
{
    json_t *list = json_object_get(v, member), *entry;
    size_t i;

    if (!g->n_keys || !json_is_array(list))
        return json_incref(list);
    json_array_foreach(list, i, entry)
    {
        if (g->schema->nodetype == LYS_LIST
                ? has_keys(entry, g)
                : json_is_string(entry) && !strcmp(json_string_value(entry), g->key[0]))
            return json_pack("[O]", entry);
    }
    return NULL;
}

// The part of `root` for the path segments from the second on, as an RFC 8040 answer; NULL if it
// does not exist.
static json_t *part_of_path(json_t *root, const struct path *p)
{
    json_t *at = json_incref(root), *body;
    char name[80];

    for (unsigned i = 1; at && i < p->n; i++) {
        snprintf(name, sizeof name, "%s%s", i == 1 ? "kamuee:" : "", p->segment[i].schema->name);
        json_t *holder = json_is_array(at) ? json_array_get(at, 0) : at;
        json_t *next = child_of_segment(holder, &p->segment[i], name);

        json_decref(at);
        at = next;
    }
    if (!at)
        return NULL;
    body = json_object();
    snprintf(name, sizeof name, "kamuee:%s", path_last(p)->schema->name);
    json_object_set_new(body, name, at);
    return body;
}

// --- sending ------------------------------------------------------------------------------------

struct data_answer *answer_new(struct http *h, struct query *q)
{
    struct data_answer *a = calloc(1, sizeof *a);

    bug_on(!a);
    a->http = h;
    a->query = *q;
    q->fields = NULL;
    a->show.done = writer_done;
    a->show.out.t = &a->show.text;
    jwrite_begin(&a->show.out, NULL, '{');
    return a;
}

static void answer_free(struct data_answer *a)
{
    query_free(&a->query);
    text_free(&a->show.text);
    path_free(&a->path);
    snapshot_unref(a->snapshot);
    json_decref(a->root);
    free(a);
}

static void refuse_stopping(void *arg)
{
    struct data_answer *a = arg;

    http_refuse(a->http, 503, "operation-failed", "kamueed is stopping");
    answer_free(a);
}

void answer_aside(struct data_answer *a, void (*run)(void *answer))
{
    aside_turn(ASIDE_READ,
               &(struct turn){run, refuse_stopping, a, http_share(a->http, ASIDE_READ)});
}

static void refuse_not_there(struct http *h, const struct path *p)
{
    const struct path_segment *g = path_last(p);

    for (unsigned i = 1; i < p->n && !g->n_keys; i++)
        if (p->segment[i].n_keys)
            g = &p->segment[i];
    if (g->n_keys)
        http_refuse(h, 404, "invalid-value", "there is no %s '%s'", g->schema->name,
                    g->key[g->n_keys - 1]);
    else
        http_refuse(h, 404, "invalid-value", "'%s' has no value", g->schema->name);
}

static void parse_text(struct data_answer *a)
{
    a->root = json_loadb(a->show.text.s, a->show.text.n, 0, NULL);
    bug_on(!a->root);
}

// Uses only the answer.
static void shorten(void *arg)
{
    struct data_answer *a = arg;

    if (!a->root)
        parse_text(a);
    json_t *body = a->path.n > 1 ? part_of_path(a->root, &a->path) : json_incref(a->root);
    text_free(&a->show.text);
    a->found = body;
    if (body) {
        query_cut(&a->query, body);
        restconf_line(body, &a->show.text);
    }
}

static void send_text(struct data_answer *a)
{
    if (http_left(a->http))
        http_reply(a->http, 503, NULL, NULL); // no reader is left
    else if (a->found)
        http_reply(a->http, 200, HTTP_JSON, &a->show.text);
    else
        refuse_not_there(a->http, &a->path);
    answer_free(a);
}

static void send_shortened(void *arg)
{
    struct data_answer *a = arg;

    if (!http_left(a->http))
        aside(shorten, a);
    send_text(a);
}

// Removes everything that does not belong to the client's virtual router.
static void keep_own(struct data_answer *a)
{
    parse_text(a);
    bound_keep_state(http_vr(a->http), a->root);
}

void answer_send(struct data_answer *a, int result)
{
    bool state = a->datastore || a->path.n,
         part = a->path.n > 2 || (a->path.n == 2 && path_last(&a->path)->n_keys);

    if (result && !http_left(a->http)) {
        http_refuse_busy(a->http, "rib_manager", result);
        answer_free(a);
        return;
    }
    if (!result)
        jwrite_end(&a->show.out, '}');
    if (!http_left(a->http) && state && bound_is(a->http))
        keep_own(a);
    http_for_anyone(a->http);
    if (!http_left(a->http) && (a->root || part || query_is_cut(&a->query))) {
        if (a->show.text.n >= SHORTEN_AT_ONCE) {
            answer_aside(a, send_shortened);
            return;
        }
        shorten(a);
    } else {
        text_printf(&a->show.text, "\n");
        a->found = true;
    }
    send_text(a);
}

// --- writing ------------------------------------------------------------------------------------

static const struct lysc_node *schema_of(const struct feature_state *s)
{
    return yang_child(yang_child(NULL, "state", false), s->node, false);
}

static bool is_list(const struct feature_state *s)
{
    return schema_of(s)->nodetype == LYS_LIST;
}

static bool is_hidden(const struct data_answer *a, const struct feature_state *s)
{
    return !bound_sees(a->http, schema_of(s));
}

// Writes an empty list, as if there were no entries. A container gets no value.
static void write_hidden(struct data_answer *a, const struct feature_state *s)
{
    if (a->whole || !is_list(s))
        return;
    jwrite_begin(&a->show.out, a->show.name, '[');
    jwrite_end(&a->show.out, ']');
}

// False: the answer comes later.
static bool write_node(const struct feature_state *n, struct show *s)
{
    int r = 0;

    jwrite_begin(&s->out, s->name, is_list(n) ? '[' : '{');
    if (n->ask && (r = n->ask(s)))
        s->done(s, r);
    if (n->ask)
        return false;
    if (n->list)
        n->list(s);
    else
        n->object(&s->out);
    jwrite_end(&s->out, is_list(n) ? ']' : '}');
    return true;
}

static void run_writers(void *ctx)
{
    uint64_t until_ns = clock_now_ns() + HTTP_SLICE_NS;
    struct data_answer *a = ctx;

    for (; a->node <= a->last && !http_left(a->http); a->node++) {
        const struct feature_state *s = nodes.item[a->node];

        if (s->stream)
            continue;
        if (clock_now_ns() >= until_ns) {
            http_turn(a->http, &a->turn, run_writers, a);
            return;
        }
        if (a->whole)
            a->show.name = s->node;
        if (is_hidden(a, s)) {
            write_hidden(a, s);
            continue;
        }
        if (!write_node(s, &a->show))
            return;
    }
    if (a->whole)
        jwrite_end(&a->show.out, '}');
    if (a->datastore)
        jwrite_end(&a->show.out, '}');
    answer_send(a, 0);
}

static void writer_done(struct show *s, int result)
{
    struct data_answer *a = (struct data_answer *)s; // its first member

    if (result) {
        answer_send(a, result);
        return;
    }
    jwrite_end(&s->out, is_list(nodes.item[a->node++]) ? ']' : '}');
    http_turn(a->http, &a->turn, run_writers, a);
}

static void show_whole(struct data_answer *a)
{
    a->whole = true;
    a->last = (unsigned)nodes.n - 1;
    jwrite_begin(&a->show.out, "kamuee:state", '{');
    run_writers(a);
}

static void show_child(struct data_answer *a, const struct path_segment *g)
{
    snprintf(a->name, sizeof a->name, "kamuee:%s", g->schema->name);
    a->show.name = a->name;
    for (unsigned i = 0; i < g->n_keys; i++)
        a->show.key[i] = g->key[i];
    a->last = a->node = index_of(g->schema->name);
    run_writers(a);
}

void state_get(struct http *h, struct path *p, struct query *q)
{
    if (p->n > 1 && state_is_streamed(p->segment[1].schema->name)) {
        nodes.item[index_of(p->segment[1].schema->name)]->stream(h, p);
        return;
    }
    struct data_answer *a = answer_new(h, q);
    a->path = *p;
    p->buffer = NULL;
    if (a->path.n == 1)
        show_whole(a);
    else
        show_child(a, &a->path.segment[1]);
}

static void config_written(void *answer)
{
    struct data_answer *a = answer;

    if (a->query.state && !http_left(a->http)) {
        show_whole(a);
        return;
    }
    jwrite_end(&a->show.out, '}');
    answer_send(a, 0);
}

// Everything: configuration and state.
void datastore_get(struct http *h, struct query *q)
{
    struct data_answer *a = answer_new(h, q);

    jwrite_begin(&a->show.out, "ietf-restconf:data", '{');
    a->datastore = true;
    if (a->query.config) {
        a->first = bound_running(h);
        config_write(a, config_written);
    } else {
        config_written(a);
    }
}
