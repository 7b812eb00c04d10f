// SPDX-License-Identifier: BSD-3-Clause
// fields.h - ?fields=, ?depth=, ?limit= and ?offset=: selects a part of an answer
//
// "name;statistics(rx-packets;tx-packets)" (RFC 8040, 4.8.3). The keys of list entries are always
// included, so that entries can be told apart. limit and offset follow
// draft-ietf-netconf-list-pagination. Control role.
#ifndef RESTCONF_FIELDS_H
#define RESTCONF_FIELDS_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/text.h"

struct lysc_node;
struct field;

// Reads an expression about the children of `schema` (NULL: the top; `any`: unknown schema). NULL
// with a sentence.
struct field *fields_parse(const char *expression, const struct lysc_node *schema, bool any,
                           struct text *why);
void fields_free(struct field *f);
const struct field *fields_child(const struct field *f,
                                 const char *name);     // fields selected in a child; NULL: none
void fields_keep(json_t *value, const struct field *f); // removes everything else

struct page {
    uint64_t offset, limit; // limit: UINT64_MAX = none
};
bool page_parse(const char *offset, const char *limit,
                struct page *p); // texts or NULL; false: invalid
void page_keep(json_t *array, const struct page *p);

#endif
