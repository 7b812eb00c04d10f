// SPDX-License-Identifier: BSD-3-Clause
// filter.h - selects the events that a client wants: names, and leaves that must have a value
//
//     /kamuee:link-change[port='p0'] | /kamuee:neighbor-change[vr='red' and status='failed'] |
//     /kamuee:alarm-change
//
// The syntax looks like XPath (RFC 8040, 4.8.4) but is a small subset with a parser of our own:
// XPath from a client can take minutes for one event, this takes at most FILTER_TESTS_MAX
// comparisons of text. Control role.
#ifndef EVENT_FILTER_H
#define EVENT_FILTER_H

#include <jansson.h>
#include <stdbool.h>

#include "base/text.h"

#define FILTER_BYTES_MAX 1024 // length of the filter text
#define FILTER_NAMES_MAX 16   // events
#define FILTER_TESTS_MAX 32   // leaves, all events together

struct filter;

// NULL with a sentence in `why`: wrong syntax, or a name that is not in the schema.
struct filter *filter_parse(const char *text, struct text *why);
void filter_free(struct filter *f); // NULL is ignored

// Whether an event passes the filter; `body` has its leaves as JSON.
bool filter_passes(const struct filter *f, const char *event, const json_t *body);

#endif
