// SPDX-License-Identifier: BSD-3-Clause
// error_body.h - JSON bodies of RESTCONF's answers; control role
#ifndef HTTP_ERROR_BODY_H
#define HTTP_ERROR_BODY_H

#include <jansson.h>

#include "base/text.h"

void error_body_line(json_t *body, struct text *t); // in one line
json_t *error_item(const char *tag, const char *message);
void error_body(json_t *items, struct text *t); // takes over the items
void error_body_http(int code,
                     struct text *t); // of a request that evhttp refused: 400, 413, 417, 501

#endif
