// SPDX-License-Identifier: BSD-3-Clause
// configuration.h - replies to operations that commit; control role
#ifndef FEATURE_CONFIGURATION_H
#define FEATURE_CONFIGURATION_H

#include "base/errors.h"
#include "config/config.h"
#include "http/http.h"

struct jwrite;

// Replies to a commit that returned `r` with its changes, or with its errors. Frees both.
void configuration_answer(struct http *h, int r, struct config_result *result, struct errors *e);
void configuration_write_lines(struct jwrite *j, const char *key, const struct text *t);

#endif
