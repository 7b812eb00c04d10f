// SPDX-License-Identifier: BSD-3-Clause
// refuse.c - error replies in the form of RFC 8040 (7.1), for every resource
#include "http/refuse.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "http/error_body.h"

void http_refuse(struct http *h, int code, const char *tag, const char *fmt, ...)
{
    struct text t = {0};
    char *message;
    va_list ap;

    va_start(ap, fmt);
    bug_on(vasprintf(&message, fmt, ap) < 0);
    va_end(ap);
    error_body(json_pack("[o]", error_item(tag, message)), &t);
    free(message);
    http_reply(h, code, HTTP_JSON, &t);
}

void http_refuse_all(struct http *h, int code, const char *tag, const struct errors *e)
{
    json_t *items = json_array();
    struct text t = {0};

    for (unsigned i = 0; i < e->n; i++) {
        text_clear(&t);
        errors_one(&e->item[i], NULL, &t);
        json_array_append_new(items, error_item(tag, text_str(&t)));
    }
    text_clear(&t);
    error_body(items, &t);
    http_reply(h, code, HTTP_JSON, &t);
}

void http_refuse_busy(struct http *h, const char *manager, int error)
{
    http_refuse(h, 429, "resource-denied", "%s is too busy to answer (%s); try again", manager,
                strerror(-error));
}

bool http_may(struct http *h, enum access_level needed)
{
    if (http_access(h) >= needed)
        return true;
    http_refuse(h, 403, "access-denied", "%s has role %s, but this needs role %s", http_peer(h),
                access_name[http_access(h)], access_name[needed]);
    return false;
}

bool http_may_enter(struct http *h)
{
    if (http_access(h) >= ACCESS_READ)
        return true;
    if (http_peer_known(h)) {
        http_refuse(h, 403, "access-denied", "%s has no role", http_peer(h));
        return false;
    }
    http_set_header(h, "WWW-Authenticate", "Bearer realm=\"kamuee\"");
    http_refuse(h, 401, "access-denied",
                "expected a token (Authorization: Bearer …) or a client certificate");
    return false;
}

void http_refuse_method(struct http *h, const char *allow)
{
    http_set_header(h, "Allow", allow);
    http_refuse(h, 405, "operation-not-supported",
                "%s is not allowed on this resource; expected %s", http_method(h), allow);
}
