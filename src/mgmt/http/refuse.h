// SPDX-License-Identifier: BSD-3-Clause
// refuse.h - error replies in the form of RFC 8040 (7.1), for every resource; control role
#ifndef HTTP_REFUSE_H
#define HTTP_REFUSE_H

#include "base/errors.h"
#include "http/http.h"

// Each answers the request; `tag` is an error-tag of RFC 8040, 7, the sentence tells the client how
// to proceed.
void http_refuse(struct http *h, int code, const char *tag, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
void http_refuse_all(struct http *h, int code, const char *tag, const struct errors *e);
void http_refuse_busy(struct http *h, const char *manager,
                      int error); // a manager rejected the query: too many are waiting
void http_refuse_method(struct http *h, const char *allow);
bool http_may(struct http *h, enum access_level needed); // false: already answered
bool http_may_enter(
    struct http *h); // may it do anything at all? False: already answered

#endif
