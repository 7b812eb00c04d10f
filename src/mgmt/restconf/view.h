// SPDX-License-Identifier: BSD-3-Clause
// view.h - state in models other than kamuee.yang, read-only; control role
#ifndef RESTCONF_VIEW_H
#define RESTCONF_VIEW_H

#include <jansson.h>
#include <stdbool.h>

struct http;

struct feature_view {
    // Answers a request below /restconf/data; false: the path is not one of its resources.
    bool (*get)(struct http *h, const char *path);
    json_t *(*modules)(void); // its entries in the YANG library: a new array
};

#endif
