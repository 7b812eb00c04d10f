// SPDX-License-Identifier: BSD-3-Clause
// refuse.c - error replies in the form of RFC 8040 (7.1), for every resource
//
// A refusal is a whole reply, after which the caller returns. Its text says what was expected or
// what to do. Rights are judged here, too, so that all resources refuse alike.
#include "http/refuse.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/jwrite.h"
#include "base/log.h"

static bool is_protocol(const char *tag)
{
    return !strcmp(tag, "malformed-message") || !strcmp(tag, "too-big") ||
           !strcmp(tag, "operation-not-supported") || !strcmp(tag, "access-denied");
}

static void write_error(struct jwrite *j, const char *tag, const char *message)
{
    jwrite_begin(j, NULL, '{');
    jwrite_string(j, "error-type", is_protocol(tag) ? "protocol" : "application");
    jwrite_string(j, "error-tag", tag);
    jwrite_string(j, "error-message", message);
    jwrite_end(j, '}');
}

static void begin_errors(struct jwrite *j)
{
    jwrite_begin(j, NULL, '{');
    jwrite_begin(j, "ietf-restconf:errors", '{');
    jwrite_begin(j, "error", '[');
}

static void send_errors(struct http *h, int code, struct jwrite *j)
{
    text_printf(j->t, "]}}\n");
    http_reply(h, code, HTTP_JSON, j->t);
}

void http_refuse(struct http *h, int code, const char *tag, const char *fmt, ...)
{
    struct text t = {0};
    struct jwrite j = {.t = &t};
    char *message;
    va_list ap;

    va_start(ap, fmt);
    bug_on(vasprintf(&message, fmt, ap) < 0);
    va_end(ap);
    begin_errors(&j);
    write_error(&j, tag, message);
    free(message);
    send_errors(h, code, &j);
}

void http_refuse_all(struct http *h, int code, const char *tag, const struct errors *e)
{
    struct text t = {0}, one = {0};
    struct jwrite j = {.t = &t};

    begin_errors(&j);
    for (unsigned i = 0; i < e->n; i++) {
        text_clear(&one);
        errors_one(&e->item[i], NULL, &one);
        write_error(&j, tag, text_str(&one));
    }
    text_free(&one);
    send_errors(h, code, &j);
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
