// SPDX-License-Identifier: BSD-3-Clause
// error_body.c - JSON bodies of answers: a value, a list of errors (RFC 8040, 7.1)
//
// Text only: restconf/reply.c sends it, or http_page.c for the errors that evhttp makes itself.
#include "http/error_body.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/plain.h"

json_t *error_item(const char *tag, const char *message)
{
    bool protocol = !strcmp(tag, "malformed-message") || !strcmp(tag, "too-big") ||
                    !strcmp(tag, "operation-not-supported") || !strcmp(tag, "access-denied");
    struct text plain = {0};

    plain_append(&plain, message, true);
    json_t *item = json_pack("{s:s, s:s, s:s}", "error-type", protocol ? "protocol" : "application",
                             "error-tag", tag, "error-message", text_str(&plain));
    text_free(&plain);
    return item;
}

void error_body_line(json_t *body, struct text *t)
{
    char *s = json_dumps(body, JSON_COMPACT | JSON_ENCODE_ANY);

    bug_on(!s);
    text_printf(t, "%s\n", s);
    free(s);
}

void error_body(json_t *items, struct text *t)
{
    json_t *body = json_pack("{s:{s:o}}", "ietf-restconf:errors", "error", items);

    error_body_line(body, t);
    json_decref(body);
}

void error_body_http(int code, struct text *t)
{
    static const struct {
        int code;
        const char *tag, *message;
    } known[] = {
        {400, "malformed-message", "the request is not well-formed HTTP"},
        {413, "too-big", "the request's body is larger than 16 MB"},
        {417, "operation-not-supported", "the request expects something other than 100-continue"},
        {501, "operation-not-supported",
         "the request's method is unknown; expected GET, HEAD, OPTIONS, POST, PUT, PATCH or "
         "DELETE"},
    };
    const char *tag = "malformed-message", *message = "the request was refused";

    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (known[i].code == code)
            tag = known[i].tag, message = known[i].message;
    error_body(json_pack("[o]", error_item(tag, message)), t);
}
