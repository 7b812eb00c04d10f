// SPDX-License-Identifier: BSD-3-Clause
// reply.c - values in answers, cut to ?fields=, ?depth=, ?limit= and ?offset=
//
// The only member of the body is the target. It is cut to the page first, then to the fields, then
// to the depth.
#include "restconf/reply.h"

#include <libyang/libyang.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/text.h"
#include "http/refuse.h"
#include "restconf/path.h"
#include "restconf/restconf.h"
#include "restconf/state.h"

// --- the query ----------------------------------------------------------------------------------

static bool known_parameter(void *ctx, const char *name, const char *value)
{
    static const char *const known[] = {"content", "depth", "with-defaults",
                                        "fields",  "limit", "offset"};
    const char **unknown = ctx;

    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (!strcmp(name, known[i]))
            return true;
    if (state_knows_parameter(name))
        return true;
    *unknown = name;
    return false;
}

static bool read_depth(const char *v, unsigned *depth)
{
    uint64_t n = 0;
    bool ok = !v || !strcmp(v, "unbounded") || !text_parse_u64(v, 1, 65535, &n);

    *depth = (unsigned)n;
    return ok;
}

static bool read_defaults(const char *v, uint32_t *defaults)
{
    bool explicit = !v || !strcmp(v, "explicit"), trim = v && !strcmp(v, "trim");

    *defaults = explicit ? LYD_PRINT_WD_EXPLICIT : trim ? LYD_PRINT_WD_TRIM : LYD_PRINT_WD_ALL;
    return explicit || trim || !strcmp(v, "report-all");
}

// A list, or a streamed one: only these have pages.
static bool has_rows(const struct path *p)
{
    const struct path_segment *g = p->n ? path_last(p) : NULL;

    return g && g->schema->nodetype & (LYS_LIST | LYS_LEAFLIST) &&
           (!g->n_keys || state_is_streamed(g->schema->name));
}

// False: already answered.
static bool read_part(struct http *h, const struct path *p, struct query *q)
{
    const char *fields = http_query(h, "fields"), *limit = http_query(h, "limit"),
               *offset = http_query(h, "offset");
    struct text why = {0};

    q->fields =
        fields ? fields_parse(fields, p && p->n ? path_last(p)->schema : NULL, !p, &why) : NULL;
    bool ok = q->fields || !fields;
    if (!ok)
        http_refuse(h, 400, "invalid-value",
                    "%s; expected names such as name;statistics(rx-packets)", text_str(&why));
    else if (!(ok = page_parse(offset, limit, &q->page)))
        http_refuse(h, 400, "invalid-value", "'limit' is '%s' and 'offset' '%s', expected numbers",
                    limit ? limit : "", offset ? offset : "");
    else if (!(ok = !p || has_rows(p) || (!limit && !offset)))
        http_refuse(h, 400, "invalid-value", "'limit' and 'offset' work only on lists");
    text_free(&why);
    return ok;
}

bool query_read(struct http *h, const struct path *p, struct query *q)
{
    const char *v = http_query(h, "content"), *depth = http_query(h, "depth"),
               *defaults = http_query(h, "with-defaults"), *unknown = NULL;

    *q = (struct query){.config = !v || !strcmp(v, "all") || !strcmp(v, "config"),
                        .state = !v || !strcmp(v, "all") || !strcmp(v, "nonconfig")};
    http_each_query(h, known_parameter, &unknown);
    if (unknown)
        http_refuse(h, 400, "invalid-value", "unknown query parameter '%s'", unknown);
    else if (!q->config && !q->state)
        http_refuse(h, 400, "invalid-value", "'content' is '%s', expected config, nonconfig or all",
                    v);
    else if (!read_depth(depth, &q->depth))
        http_refuse(h, 400, "invalid-value", "'depth' is '%s', expected 1..65535 or unbounded",
                    depth);
    else if (!read_defaults(defaults, &q->defaults))
        http_refuse(h, 400, "invalid-value",
                    "'with-defaults' is '%s', expected report-all, trim or explicit", defaults);
    else if (read_part(h, p, q))
        return true;
    query_free(q);
    return false;
}

void query_free(struct query *q)
{
    fields_free(q->fields);
    q->fields = NULL;
}

bool restconf_query_ok(struct http *h)
{
    struct query q;
    bool ok = query_read(h, NULL, &q);

    query_free(&q);
    return ok;
}

// --- cutting ------------------------------------------------------------------------------------

bool query_is_cut(const struct query *q)
{
    return q->depth || q->fields || q->page.offset || q->page.limit != UINT64_MAX;
}

// Empties nodes below `depth` levels of containers and list entries (RFC 8040, 4.8.2).
static void prune(json_t *v, unsigned depth)
{
    const char *key;
    json_t *inner;
    size_t i;

    if (json_is_array(v)) {
        json_array_foreach(v, i, inner) prune(inner, depth);
    } else if (json_is_object(v) && !depth) {
        json_object_clear(v);
    } else if (json_is_object(v)) {
        json_object_foreach(v, key, inner) prune(inner, depth - 1);
    }
}

void query_cut(const struct query *q, json_t *body)
{
    json_t *target = json_object_iter_value(json_object_iter(body));

    if (json_is_array(target) && (q->page.offset || q->page.limit != UINT64_MAX))
        page_keep(target, &q->page);
    if (q->fields)
        fields_keep(target, q->fields);
    if (q->depth) // the target is level 1
        prune(body, q->depth);
}

void restconf_line(json_t *body, struct text *t)
{
    char *s = json_dumps(body, JSON_COMPACT | JSON_ENCODE_ANY);

    bug_on(!s);
    text_printf(t, "%s\n", s);
    free(s);
    json_decref(body);
}

void restconf_json(struct http *h, json_t *body)
{
    struct text t = {0};
    struct query q;

    if (query_read(h, NULL, &q)) {
        query_cut(&q, body);
        restconf_line(json_incref(body), &t);
        http_reply(h, 200, HTTP_JSON, &t);
        query_free(&q);
    }
    json_decref(body);
}
