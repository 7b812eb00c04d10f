// SPDX-License-Identifier: BSD-3-Clause
// acl_active.h - the access lists and address sets in force, and their changes; acl_manager's own
//
// acl_prepare.c prepares a change aside; acl_change.c commits it quickly and reverts it if another
// part of the same commit fails. Nothing else changes in between. acl_manager's thread only.
#ifndef ACL_MANAGER_ACL_ACTIVE_H
#define ACL_MANAGER_ACL_ACTIVE_H

#include <stdbool.h>
#include <stdint.h>

#include "acl_manager/acl_build.h"
#include "acl_manager/acl_desired.h"
#include "acl_manager/acl_manager.h"

struct acl_active_set {
    char name[ACL_NAME_MAX];
    struct acl_set *set;
    uint64_t changed_ns;    // CLOCK_MONOTONIC
    uint64_t epoch, ticket; // of changes in place whose memory waits for reuse; ticket 0 = none
    bool changed;           // again, since the ticket was drawn
};

struct acl_active_list {
    char name[ACL_NAME_MAX];
    uint16_t id; // in acl_table
    struct acl_build *build;
    uint64_t changed_ns;
    uint64_t client_ns; // last change of its rules or sets without a commit
};

extern struct acl_active {
    struct acl_desired *wanted;
    VEC(struct acl_active_set) set;
    VEC(struct acl_active_list) list;
    uint64_t ns_per_rule; // measured by recent builds
    uint64_t lost_ns;     // when a list that clients had changed was last removed
} acl_active;

struct acl_active_set *acl_active_set_find(const char *name);
struct acl_active_list *acl_active_list_find(const char *name);
uint64_t acl_active_bytes(void);
void acl_active_by_client(const struct acl_set *s); // a client has just changed its members
// once a second: looks for hits, at a limited number of counters
void acl_active_sample_hits(void);
bool acl_active_tidy(void); // frees memory after grace periods; true: some are not over yet

// Adds and deletes members of a set in place. 0, or -errno and nothing changed. skipped: or NULL.
int acl_active_members(struct acl_active_set *h, const struct acl_members *del,
                       const struct acl_members *add, uint64_t *skipped);

// --- a change ---

enum acl_kind { ACL_NEW, ACL_REPLACE, ACL_IN_PLACE, ACL_GOES };

struct acl_set_change {
    enum acl_kind kind;
    char name[ACL_NAME_MAX];
    struct acl_set *fresh, *old; // NEW, REPLACE
    struct acl_members add, del; // IN_PLACE
};

struct acl_list_change {
    enum acl_kind kind;
    char name[ACL_NAME_MAX];
    uint16_t id;
    struct acl_build *fresh, *old; // NEW, REPLACE
    bool adds;                     // IN_PLACE: a rule is added, otherwise deleted
    struct acl_rule rule;
    struct acl_how how;
    bool has_more;
    struct acl_more more;
    struct acl_hits hits; // hits of the rule before its deletion
    struct acl_last_hit seen;
    // IN_PLACE: signature of the list's file now; after the change, the previous one
    struct acl_file_sign file;
};

// Sizes of the lists and sets of `wanted`, in its order, including the content of files.
struct acl_sizes {
    VEC(uint64_t) rules;
    VEC(uint64_t) members;
};

struct acl_change {
    struct acl_desired *wanted, *old_wanted;
    struct acl_sizes sizes; // after the change
    VEC(struct acl_set_change) set;
    VEC(struct acl_list_change) list;
    size_t sets_done, lists_done; // number already committed
};

// Files to read and compare again although the configuration is unchanged: a name, NULL = none, ""
// = all.
struct acl_reread {
    const char *set, *list;
    const struct acl_temporary *temporary; // NULL = none
    bool aside; // changes nothing in place
};

void acl_sizes_free(struct acl_sizes *s);

// Prepares the change from the current state to `w`. NULL with sentences in `why`, and nothing
// changed.
struct acl_change *acl_prepare(struct acl_desired *w, const struct acl_reread *again,
                               struct text *why);
int acl_change_do(struct acl_change *c, struct text *why); // 0, or -errno: reverted
void acl_change_undo(struct acl_change *c);
// frees it; replaced content goes after a grace period. `stays` false: it was not committed, or was
// undone
void acl_change_end(struct acl_change *c, bool stays);

// acl_diff.c: differences between desired rules and rules in force.
struct acl_difference {
    size_t n;      // added plus deleted; a changed rule counts as two
    size_t added;  // index of the last added rule
    uint32_t gone; // number of the last deleted rule
    bool comes;    // a rule was added
};

// Both sides are sorted and use the same indexes for sets.
// Does rule i of `l` have the match and the action of the rule in the slot?
bool acl_diff_same(const struct acl_lines *l, size_t i, const struct acl_build *b, uint32_t slot);
// Against the list in force.
struct acl_difference acl_diff_build(const struct acl_lines *l, const struct acl_build *b);
struct acl_difference acl_diff_lines(const struct acl_lines *new, const struct acl_lines *old);

// --- temporary rules (acl_temporary.c) ---
// Appends the temporary rules of the list.
void acl_temporary_append(struct acl_lines *l, const struct acl_build *b);
// 0: the steps in place are appended to `c`, and `l` has the added rules; 1: `l` has all rules for
// a new list; -EINVAL with a sentence.
int acl_temporary_plan(const struct acl_temporary *t, const struct acl_active_list *held,
                       struct acl_change *c, struct acl_lines *l, struct text *why);

// --- between queries and the thread ---
struct acl_answer;
struct acl_query;
// acl_query_lint.c: works on the list for a moment. True: ask again, through control; false: the
// answer is complete. `since_ns`: when the query came.
bool acl_lint_answer(const struct acl_query *q, const struct acl_active_list *l, uint64_t since_ns,
                     struct acl_answer *a);
void acl_lint_forget(bool all); // drops jobs not queried lately, or all
void acl_tidy_later(void);      // something waits for a grace period

#endif
