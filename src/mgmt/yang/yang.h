// SPDX-License-Identifier: BSD-3-Clause
// yang.h - the schema kamuee.yang, loaded once, and questions about it
//
// All code that reads or prints configuration asks here for the meaning of a word: the walker, the
// printer, completion, RESTCONF and error messages. The schema never changes while the process
// lives. Loaded by control, read by any thread.
#ifndef YANG_YANG_H
#define YANG_YANG_H

#include <libyang/libyang.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/text.h"

extern struct ly_ctx *yang_ctx;              // NULL before yang_load
extern const struct lys_module *yang_module; // kamuee

// Searches $KAMUEE_YANG_DIR, the source tree of the build, and the installed share directory. 0 or
// -errno with a sentence.
int yang_load(char *err, size_t err_size);
void yang_unload(void);
// The text of a known module: its file, or as libyang prints it. `revision`: NULL = any. False:
// unknown.
bool yang_source(const char *name, const char *revision, struct text *t);

// Next child of `parent` (NULL: the module's top) after `last`, in schema order; keys of lists are
// included.
const struct lysc_node *yang_next(const struct lysc_node *last, const struct lysc_node *parent);
// Child by name; NULL when absent. `config`: only configuration.
const struct lysc_node *yang_child(const struct lysc_node *parent, const char *name, bool config);
const struct lysc_node *yang_rpc(const char *name); // or NULL
// Next RPC after `last` (NULL: the first), in schema order.
const struct lysc_node *yang_next_rpc(const struct lysc_node *last);
bool yang_is_config(const struct lysc_node *s);
bool yang_is_presence(const struct lysc_node *s); // container whose presence has a meaning

// Argument of extension k:NAME at this node, or NULL.
const char *yang_extension(const struct lysc_node *s, const char *name);
const char *yang_units(const struct lysc_node *s); // or NULL

const struct lysc_type *yang_type(const struct lysc_node *s); // of a leaf or leaf-list
// Calls fn with every enumeration word ("true"/"false" of a boolean) of the type and its
// description, members of unions included.
void yang_each_word(const struct lysc_type *t,
                    void (*fn)(void *ctx, const char *word, const char *help), void *ctx);
// The list to whose key a leafref (alone or in a union) points, NULL otherwise.
const struct lysc_node *yang_reference(const struct lysc_type *t);

// --- yang_line.c: format of nodes in a line ---
bool yang_is_keywordless(const struct lysc_node *s); // a leaf written as its value only
bool yang_is_flag(const struct lysc_node *s);        // a leaf written as its name only
bool yang_is_one_line(const struct lysc_node *s);    // a list whose entries are one line each
// Next keywordless leaf of `parent` after `last`.
const struct lysc_node *yang_keywordless(const struct lysc_node *last,
                                         const struct lysc_node *parent);
// Where the line may continue when `place` has no such word: the parent within the entry of a
// one-line list, or NULL.
const struct lysc_node *yang_line_above(const struct lysc_node *place);
const struct lysc_node *
yang_case(const struct lysc_node *s); // the case of a choice that the node belongs to, or NULL

// Appends the expected form of a value: "68..9600 (bytes)", "one of auto, never", "the name of a
// port".
void yang_expected(const struct lysc_node *leaf, struct text *t);
uint64_t
yang_longest(const struct lysc_node *leaf); // longest value, in letters; UINT64_MAX: no limit
bool yang_value_ok(const struct lysc_node *leaf, const char *value); // does not follow references

// Appends libyang's last error in the words of a set line, with the expected form if it is known.
void yang_say_error(struct text *t);

// Nearest word by spelling among the children (when `config`: only those in configuration lines),
// or NULL when none is near.
const char *yang_nearest(const struct lysc_node *parent, const char *word, bool config);
// Number of edits (insert, delete, replace, swap neighbors) from a to b.
unsigned yang_distance(const char *a, const char *b);

#endif
