// SPDX-License-Identifier: BSD-3-Clause
// reply.c - values in answers, cut to ?fields=, ?depth=, ?limit= and ?offset=
#include "restconf/reply.h"

#include <string.h>

#include "base/text.h"
#include "http/error_body.h"
#include "restconf/fields.h"
#include "restconf/path.h"

// Empties what lies deeper than `depth` levels of containers and list entries (RFC 8040, 4.8.2).
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

// The query has been checked. The body's only member is the target itself.
static void cut(const struct http *h, json_t *body)
{
    const char *expression = http_query(h, "fields");
    json_t *target = json_object_iter_value(json_object_iter(body));
    unsigned depth;
    struct page page;
    struct text why = {0};
    bool ok;

    if (page_parse(http_query(h, "offset"), http_query(h, "limit"), &page) && json_is_array(target))
        page_keep(target, &page);
    struct path p = {0};
    const char *path = strstr(http_path(h), "/restconf/data");
    bool known = path && !path_parse(path + 14 + (path[14] == '/'), &p, &why);
    struct field *f =
        expression
            ? fields_parse(expression, known && p.n ? path_last(&p)->schema : NULL, !known, &why)
            : NULL;
    if (f)
        fields_keep(target, f);
    fields_free(f);
    path_free(&p);
    text_free(&why);
    depth = restconf_depth(h, &ok);
    if (depth) // the target is level 1
        restconf_prune(body, depth);
}

void restconf_json(struct http *h, int code, json_t *body)
{
    struct text t = {0};

    if (code == 200 && restconf_is_cut(h))
        cut(h, body);
    error_body_line(body, &t);
    json_decref(body);
    http_reply(h, code, HTTP_JSON, &t);
}
