// SPDX-License-Identifier: BSD-3-Clause
// answer.c - refusals, as RFC 8040 (7.1) wants them told by every resource
#include "http/answer.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "http/error_body.h"

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

void restconf_no_time(struct http *h, const char *manager, int error)
{
    restconf_error(h, 429, "resource-denied", "%s has no time to answer (%s); try again", manager, strerror(-error));
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
