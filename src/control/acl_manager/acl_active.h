// SPDX-License-Identifier: BSD-3-Clause
// acl_active.h - the access lists and address sets in force, and changes of them; for acl_manager's
// own files
//
// acl_prepare.c prepares a change aside; acl_change.c carries it out at once and takes it back if
// something else of the same commit fails. Nothing else changes in between. Only acl_manager's
// thread comes here.
#ifndef ACL_MANAGER_ACL_ACTIVE_H
#define ACL_MANAGER_ACL_ACTIVE_H

#include <stdbool.h>
#include <stdint.h>

#include "acl_manager/acl_build.h"
#include "acl_manager/acl_desired.h"

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
};

extern struct acl_active {
    struct acl_desired *wanted;
    VEC(struct acl_active_set) set;
    VEC(struct acl_active_list) list;
    uint64_t ns_per_rule; // measured by recent builds
} acl_active;

struct acl_active_set *acl_active_set_find(const char *name);
struct acl_active_list *acl_active_list_find(const char *name);
uint64_t acl_active_bytes(void);
// once a second: looks for hits, at a limited number of counters
void acl_active_sample_hits(void);
bool acl_active_tidy(void); // frees what grace periods have released; true: some are not over yet

// Adds and deletes members of a set in place. 0 or -errno with nothing changed.
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
    bool adds;                     // IN_PLACE: one rule is added, else deleted
    struct acl_rule rule;
    uint8_t verb;
    bool has_more;
    struct acl_more more;
    struct acl_hits hits; // of the rule, before it was deleted
    struct acl_last_hit seen;
    // IN_PLACE: the list's file now; after the change, the one before
    struct acl_file_sign file;
};

// How much is in each list and set of `wanted`, in its order, that of files included.
struct acl_sizes {
    VEC(uint64_t) rules;
    VEC(uint64_t) members;
};

struct acl_change {
    struct acl_desired *wanted, *old_wanted;
    struct acl_sizes sizes; // when it is carried out
    VEC(struct acl_set_change) set;
    VEC(struct acl_list_change) list;
    size_t sets_done, lists_done; // how many have been carried out
};

// What to read and compare again although the configuration is the same: a name, NULL = none, "" =
// all.
struct acl_reread {
    const char *set, *list;
};

void acl_sizes_free(struct acl_sizes *s);

// Prepares the change from what is in force to `w`. NULL with sentences in `why`, and nothing is
// changed.
struct acl_change *acl_prepare(struct acl_desired *w, const struct acl_reread *again,
                               struct text *why);
int acl_change_do(struct acl_change *c, struct text *why); // 0, or -errno: taken back
void acl_change_undo(struct acl_change *c);
// frees it; what was replaced goes after a grace period. `stays` false: it was not carried out, or
// was undone
void acl_change_end(struct acl_change *c, bool stays);

#endif
