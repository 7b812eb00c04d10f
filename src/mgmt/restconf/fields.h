// SPDX-License-Identifier: BSD-3-Clause
// fields.h - ?fields=, ?depth=, ?limit= and ?offset=: which part of an answer a client wants
//
// "name;statistics(rx-packets;tx-packets)" (RFC 8040, 4.8.3). The keys of list entries come
// unasked, so that entries can be told apart. limit and offset are those of
// draft-ietf-netconf-list-pagination. Control role.
#ifndef RESTCONF_FIELDS_H
#define RESTCONF_FIELDS_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/text.h"

struct lysc_node;
struct field;

// Reads an expression about what is in `schema` (NULL: at the top; `any`: in nothing known). NULL
// with a sentence.
struct field *fields_parse(const char *expression, const struct lysc_node *schema, bool any,
                           struct text *why);
void fields_free(struct field *f);
const struct field *fields_child(const struct field *f,
                                 const char *name);     // what is wanted of a child; NULL: nothing
bool fields_whole(const struct field *f);               // it is wanted with all that is in it
void fields_keep(json_t *value, const struct field *f); // takes everything else out of it

struct page {
    uint64_t offset, limit; // limit: UINT64_MAX = none
};
bool page_parse(const char *offset, const char *limit,
                struct page *p); // texts or NULL; false: wrong
void page_keep(json_t *array, const struct page *p);

#endif
