// SPDX-License-Identifier: BSD-3-Clause
// restconf_reply.c - answers: errors with their tag and sentence, values cut to ?depth=
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "mgmt/restconf_body.h"
#include "mgmt/restconf_fields.h"
#include "mgmt/restconf_priv.h"

void restconf_error(struct http *h, int code, const char *tag, const char *fmt, ...)
{
    struct text t = {0};
    char *message;
    va_list ap;

    va_start(ap, fmt);
    bug_on(vasprintf(&message, fmt, ap) < 0);
    va_end(ap);
    restconf_error_body(json_pack("[o]", restconf_error_item(tag, message)), &t);
    free(message);
    http_reply(h, code, HTTP_JSON, &t);
}

void restconf_errors(struct http *h, int code, const char *tag, const struct errors *e)
{
    json_t *items = json_array();
    struct text t = {0};

    for (unsigned i = 0; i < e->n; i++) {
        text_clear(&t);
        errors_one(&e->item[i], NULL, &t);
        json_array_append_new(items, restconf_error_item(tag, text_str(&t)));
    }
    text_clear(&t);
    restconf_error_body(items, &t);
    http_reply(h, code, HTTP_JSON, &t);
}

bool restconf_may(struct http *h, enum access needed)
{
    if (http_access(h) >= needed)
        return true;
    restconf_error(h, 403, "access-denied", "%s is %s, and this is for role %s", http_peer(h), access_name[http_access(h)],
                   access_name[needed]);
    return false;
}

void restconf_not_allowed(struct http *h, const char *allow)
{
    http_set_header(h, "Allow", allow);
    restconf_error(h, 405, "operation-not-supported", "%s is not for this resource; expected %s",
                   http_method(h), allow);
}

// Empties what lies deeper than `depth` levels of containers and list entries (RFC 8040, 4.8.2).
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

unsigned restconf_depth(const struct http *h, bool *ok)
{
    const char *v = http_query(h, "depth");
    uint64_t n;

    *ok = !v || !strcmp(v, "unbounded") || !text_parse_u64(v, 1, 65535, &n);
    return *ok && v && strcmp(v, "unbounded") ? (unsigned)n : 0;
}

bool restconf_is_cut(const struct http *h)
{
    return http_query(h, "depth") || http_query(h, "fields") || http_query(h, "limit") || http_query(h, "offset");
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
    struct field *f = expression ? fields_parse(expression, known && p.n ? path_last(&p)->schema : NULL, !known, &why) : NULL;
    if (f)
        fields_keep(target, f);
    fields_free(f);
    path_free(&p);
    text_free(&why);
    depth = restconf_depth(h, &ok);
    if (depth) // the target is level 1
        prune(body, depth);
}

void restconf_json(struct http *h, int code, json_t *body)
{
    struct text t = {0};

    if (code == 200 && restconf_is_cut(h))
        cut(h, body);
    restconf_dump(body, &t);
    json_decref(body);
    http_reply(h, code, HTTP_JSON, &t);
}
