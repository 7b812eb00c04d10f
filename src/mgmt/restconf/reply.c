// SPDX-License-Identifier: BSD-3-Clause
// reply.c - values in answers, cut to ?fields=, ?depth=, ?limit= and ?offset=
//
// The only member of the body is the target. It is cut to the page first, then to the fields, then
// to the depth.
#include "restconf/reply.h"

#include <string.h>

#include "base/log.h"
#include "base/text.h"
#include "http/error_body.h"
#include "restconf/path.h"

// Empties nodes below `depth` levels of containers and list entries (RFC 8040, 4.8.2).
void restconf_prune(json_t *v, unsigned depth)
{
    const char *key;
    json_t *inner;
    size_t i;

    if (json_is_array(v)) {
        json_array_foreach(v, i, inner) restconf_prune(inner, depth);
    } else if (json_is_object(v) && !depth) {
        json_object_clear(v);
    } else if (json_is_object(v)) {
        json_object_foreach(v, key, inner) restconf_prune(inner, depth - 1);
    }
}

unsigned restconf_depth(const struct http *h, bool *ok)
{
    const char *v = http_query(h, "depth");
    uint64_t n;

    *ok = !v || !strcmp(v, "unbounded") || !text_parse_u64(v, 1, 65535, &n);
    return *ok && v && strcmp(v, "unbounded") ? (unsigned)n : 0;
}

bool restconf_is_cut(const struct http *h)
{
    return http_query(h, "depth") || http_query(h, "fields") || http_query(h, "limit") ||
           http_query(h, "offset");
}

struct cut restconf_cut(const struct http *h)
{
    const char *expression = http_query(h, "fields");
    const char *path = strstr(http_path(h), "/restconf/data");
    struct cut c;
    struct path p = {0};
    struct text why = {0};
    bool ok = page_parse(http_query(h, "offset"), http_query(h, "limit"), &c.page);

    bug_on(!ok);
    bool known = path && !path_parse(path + 14 + (path[14] == '/'), &p, &why);
    c.fields =
        expression
            ? fields_parse(expression, known && p.n ? path_last(&p)->schema : NULL, !known, &why)
            : NULL;
    c.depth = restconf_depth(h, &ok);
    path_free(&p);
    text_free(&why);
    return c;
}

void restconf_cut_free(struct cut *c)
{
    fields_free(c->fields);
}

void restconf_shorten(const struct cut *c, json_t *body)
{
    json_t *target = json_object_iter_value(json_object_iter(body));

    if (json_is_array(target) && (c->page.offset || c->page.limit != UINT64_MAX))
        page_keep(target, &c->page);
    if (c->fields)
        fields_keep(target, c->fields);
    if (c->depth) // the target is level 1
        restconf_prune(body, c->depth);
}

void restconf_json(struct http *h, int code, json_t *body)
{
    struct text t = {0};

    if (code == 200 && restconf_is_cut(h)) {
        struct cut c = restconf_cut(h);
        restconf_shorten(&c, body);
        restconf_cut_free(&c);
    }
    error_body_line(body, &t);
    json_decref(body);
    http_reply(h, code, HTTP_JSON, &t);
}
