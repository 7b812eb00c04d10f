// SPDX-License-Identifier: BSD-3-Clause
// view.h - state in models of others than kamuee.yang, read-only; control role
#ifndef RESTCONF_VIEW_H
#define RESTCONF_VIEW_H

#include <jansson.h>
#include <stdbool.h>

struct http;

struct feature_view {
    // Answers a request below /restconf/data; false: the path is not one of its resources.
    bool (*get)(struct http *h, const char *path);
    json_t *(*modules)(void); // what the YANG library says of them: a new array
};

#endif
