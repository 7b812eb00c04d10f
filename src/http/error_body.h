// SPDX-License-Identifier: BSD-3-Clause
// restconf_body.h - JSON bodies of RESTCONF's answers; control role
#ifndef HTTP_ERROR_BODY_H
#define HTTP_ERROR_BODY_H

#include <jansson.h>

#include "base/text.h"

void restconf_dump(json_t *body, struct text *t); // in one line
json_t *restconf_error_item(const char *tag, const char *message);
void restconf_error_body(json_t *items, struct text *t); // takes over the items
void restconf_http_error(int code, struct text *t);      // of a request that never became one: 400, 413, 417, 501

#endif
