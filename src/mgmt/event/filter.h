// SPDX-License-Identifier: BSD-3-Clause
// filter.h - which events a client wants: names, and leaves that must have a value
//
//     /kamuee:link-change[port='p0'] | /kamuee:neighbor-change[vr='red' and status='failed'] |
//     /kamuee:alarm-change
//
// This looks like XPath (RFC 8040, 4.8.4) and is a small part of it, read by our own code: a
// client's XPath can take minutes over one event, this takes FILTER_TESTS_MAX comparisons of text.
// Control role.
#ifndef EVENT_FILTER_H
#define EVENT_FILTER_H

#include <jansson.h>
#include <stdbool.h>

#include "base/text.h"

#define FILTER_BYTES_MAX 1024 // of the text
#define FILTER_NAMES_MAX 16   // events
#define FILTER_TESTS_MAX 32   // leaves, of all events together

struct filter;

// NULL with a sentence in `why`: not a filter, or it names what the schema does not have.
struct filter *filter_parse(const char *text, struct text *why);
void filter_free(struct filter *f); // NULL does nothing

// Whether an event passes; `body`: its leaves as JSON.
bool filter_passes(const struct filter *f, const char *event, const json_t *body);

#endif
