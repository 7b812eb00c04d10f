// SPDX-License-Identifier: BSD-3-Clause
// answer.h - refusals, as RFC 8040 (7.1) wants them told by every resource; control role
#ifndef HTTP_ANSWER_H
#define HTTP_ANSWER_H

#include "base/errors.h"
#include "http/http.h"

// Each answers; `tag` is an error-tag of RFC 8040, 7, the sentence says what to do.
void restconf_error(struct http *h, int code, const char *tag, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
void restconf_errors(struct http *h, int code, const char *tag, const struct errors *e);
void restconf_no_time(struct http *h, const char *manager, int error); // a manager took no question: too many wait there
void restconf_not_allowed(struct http *h, const char *allow);
bool restconf_may(struct http *h, enum access needed); // false: an answer has been given

#endif
