// SPDX-License-Identifier: BSD-3-Clause
// config_tree.h - a configuration as a libyang tree: read from lines, printed, checked, compared
//
//     text --config_read_text--> tree --config_check--> valid tree --config_print--> canonical text
//                                 old, new --config_diff--> set/delete lines
//
// A tree is a list of sibling nodes (NULL when empty). After config_check it contains default
// values, marked LYD_DEFAULT. Nodes made by lines remember their line in `priv`; a copy
// (config_dup) forgets it. Any thread: one thread per tree, or several readers of a settled tree.
// Nothing here touches the running router.
#ifndef YANG_CONFIG_TREE_H
#define YANG_CONFIG_TREE_H

#include <libyang/libyang.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/errors.h"
#include "base/text.h"

// --- config_line.c: lines of "set …", "delete …", "# comment" ---
void config_read_text(struct lyd_node **tree, const char *text, struct errors *e);
void config_read_lines(struct lyd_node **tree, const char *const *line, unsigned n,
                       struct errors *e); // numbered from 1
// The lines of a difference, without numbers; a value to delete may be gone already.
void config_read_change(struct lyd_node **tree, const char *text);

// Meaning of a word below `parent`: a child's name, or a keywordless value that the line has not
// given yet; NULL: none. `first`: the leaves that are there.
#define CONFIG_GIVEN_MAX 8
struct config_given { // keywordless values in a line
    const struct lysc_node *leaf[CONFIG_GIVEN_MAX];
    unsigned n;
};
void config_give(struct config_given *g, const struct lysc_node *s); // if it is keywordless
bool config_is_given(const struct config_given *g, const struct lysc_node *s);
const struct lysc_node *config_word(const struct lysc_node *parent, const struct lyd_node *first,
                                    const struct config_given *given, const char *word);

// For a file or revision, which a former version may have written: retired settings are ignored,
// with one warning for each that names the file, or silently if it is NULL.
void config_read_kept(struct lyd_node **tree, const char *text, const char *file,
                      struct errors *e);

// --- config_retired.c: settings that only former versions have ---
#define CONFIG_RETIRED 7
extern const struct config_retired {
    const char *parent; // a container or list at the top; NULL: top-level setting
    const char *name, *instead; // a sentence
    bool is_leaf;               // the next word is its value, and the last that belongs to it
    const char *drops;          // with this value, the whole entry is ignored
} config_retired[CONFIG_RETIRED];
const struct config_retired *config_retired_find(const struct lysc_node *parent,
                                                 const char *name); // or NULL
#define CONFIG_RETIRED_NAME 32
const char *config_retired_name(const struct config_retired *r, char name[CONFIG_RETIRED_NAME]);
void config_retired_refuse(const struct config_retired *r, unsigned line, struct errors *e);

// --- config_words.c: words of a line, and their quoting ---
#define WORDS_MAX 128
struct words {
    char *word[WORDS_MAX];
    unsigned n;
    bool open; // the line ends inside a word: no space behind it
    char *buffer;
};
// 0, or -EINVAL with the error in `why`. A comment ends the line. `lenient`: an open quote is not
// an error.
int words_split(const char *line, bool lenient, struct words *w, const char **why);
void words_free(struct words *w);
void words_quote(const char *word,
                 struct text *t); // appends the word so that words_split reads it back

// --- config_print.c ---
void config_print(const struct lyd_node *tree,
                  struct text *t); // every explicit value, canonical order
void config_print_node(const struct lyd_node *node, struct text *t); // "set" lines of one subtree
// The same, but a caller that already has the lines of a list's entry appends them itself and
// returns true.
struct config_lines {
    bool (*known)(void *ctx, const struct lyd_node *entry, struct text *t);
    void *ctx;
};
void config_print_with(const struct lyd_node *tree, const struct config_lines *lines,
                       struct text *t);
void config_print_node_with(const struct lyd_node *node, const struct config_lines *lines,
                            struct text *t);
// For a one-line list: "permit tcp from any", or with the key before it " 100 permit tcp from any".
void config_print_words(const struct lyd_node *entry, struct text *t);
void config_print_entry(const struct lyd_node *entry, struct text *t);
void config_path(const struct lyd_node *node,
                 struct text *t);                     // "port p0", "thread 4 forwarder port p0"
bool config_is_explicit(const struct lyd_node *node); // not a default, not an empty container
// Explicit children of one schema node, in canonical order; vector to be freed.
struct lyd_nodes {
    const struct lyd_node **item;
    size_t n, cap;
};
void config_children(const struct lyd_node *first, const struct lysc_node *s, struct lyd_nodes *v);
void config_sort(const struct lysc_node *s, struct lyd_nodes *v); // into canonical order
int config_compare(const struct lyd_node *a,
                   const struct lyd_node *b); // canonical order of two nodes of one schema node

// --- config_check.c ---
// Counts, required values, references, choices; fills in defaults. False: some list has too many
// entries; then nothing else should be checked.
bool config_check(struct lyd_node **tree, struct errors *e);
unsigned config_line_of(const struct lyd_node *node); // 0 = not made by a line

// --- config_known.c: equal parts of a candidate and a valid configuration ---
bool config_same(
    const struct lyd_node *a,
    const struct lyd_node *b); // values and order; false also for a mere difference in order
// Explicit children of one schema node that are missing, different or elsewhere on the other side;
// in canonical order, to be freed.
void config_unlike(const struct lyd_node *old, const struct lyd_node *new,
                   const struct lysc_node *s, struct lyd_nodes *a, struct lyd_nodes *b);
// Marks entries in `new` that are equal to `old` and need no second check. Call once, before any
// check of `new`.
void config_mark_known(const struct lyd_node *old, const struct lyd_node *new);
bool config_is_known(const struct lyd_node *node);
bool config_is_certain(const struct lyd_node *node); // known, and so are its references
void config_add_defaults(
    struct lyd_node **tree); // missing ones, like libyang, but not below marked nodes

// --- config_diff.c ---
// Calls fn for each difference: the topmost node that is new or has another value (set), or is
// gone.
void config_diff_each(const struct lyd_node *old, const struct lyd_node *new,
                      void (*fn)(void *ctx, const struct lyd_node *node, bool set), void *ctx);
void config_print_difference(const struct lyd_node *node, bool set, struct text *t); // its lines
unsigned config_lines_from(const struct text *t, size_t from); // how many there are
// Appends one line for each difference; returns their number.
unsigned config_diff(const struct lyd_node *old, const struct lyd_node *new, struct text *t);
// live, port-restart or daemon-restart: of the node or its nearest ancestor with this extension.
const char *config_apply_of(const struct lysc_node *s);
// Like config_diff, and adds a sentence for each object that restarts, and for each value that
// takes effect at the next start.
unsigned config_diff_with_effects(const struct lyd_node *old, const struct lyd_node *new,
                                  struct text *t, struct errors *notes);

// --- config_find.c: nodes by schema and key ---
struct lyd_node *config_find(const struct lyd_node *first, const struct lysc_node *s,
                             const char *const *key);
const char *config_value(const struct lyd_node *first,
                         const char *leaf); // value of a leaf among siblings, or NULL
void config_delete_node(struct lyd_node **tree, struct lyd_node *node);
// Inserts at the top of a tree, after this sibling, which is the last of its list; NULL: it is the
// first of its kind.
void config_link_behind(struct lyd_node **tree, struct lyd_node *last, struct lyd_node *node);
void config_link_first(struct lyd_node **tree, struct lyd_node *node); // at its previous place
struct lyd_node *config_dup(const struct lyd_node *tree);
// --- config_refer.c ---
// Leaves whose value is a reference to that entry of a list at the top; vector to be freed.
void config_referrers(const struct lyd_node *tree, const struct lysc_node *list, const char *name,
                      struct lyd_nodes *v);
// Changes the key of an entry, in the entry and all references. False: there is no such entry, or
// the key is not valid.
bool config_rename(struct lyd_node *tree, const struct lysc_node *list, const char *name,
                   const char *to);

// Call before several threads read it: libyang stores the canonical text of some values when it is
// first requested.
void config_settle(const struct lyd_node *tree);

#endif
