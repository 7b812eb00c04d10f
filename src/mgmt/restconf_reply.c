// SPDX-License-Identifier: BSD-3-Clause
// restconf_reply.c - answers: errors with their tag and sentence, values cut to ?depth=
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "mgmt/restconf_body.h"
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

void restconf_json(struct http *h, int code, json_t *body)
{
    struct text t = {0};
    bool ok;
    unsigned depth = restconf_depth(h, &ok);

    if (depth) // the body's only member is the target itself: level 1
        prune(body, depth);
    restconf_dump(body, &t);
    json_decref(body);
    http_reply(h, code, HTTP_JSON, &t);
}
