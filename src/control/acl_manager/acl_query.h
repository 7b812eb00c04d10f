// SPDX-License-Identifier: BSD-3-Clause
// acl_query.h - questions about access lists and address sets in force; control role
//
// They are answered by acl_manager between two builds; the answer comes as a call on the control
// loop, and what it points at is its own. Each function: 0, or -errno and no call.
#ifndef ACL_MANAGER_ACL_QUERY_H
#define ACL_MANAGER_ACL_QUERY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "acl_manager/acl_file.h"
#include "table/acl.h"
#include "table/acl_engine.h"

#define ACL_NEVER UINT32_MAX
#define ACL_COUNTED_MAX 4096 // rules that acl_query_counters tells

struct acl_list_row {
    char name[ACL_NAME_MAX];
    uint16_t id;
    uint8_t otherwise;                  // enum acl_verb
    uint64_t bytes;                     // all memory
    uint64_t changed_ns;                // CLOCK_MONOTONIC
    struct acl_hits matched, unmatched; // by rules that it has
    // also by rules that are gone: it never falls, but for clearing (acl_build_totals_lately)
    struct acl_hits total[ACL_VERDICTS];
    uint32_t unmatched_s; // since the last packet that no rule matched; ACL_NEVER
    struct acl_engine_cost cost;
};

struct acl_set_row {
    char name[ACL_NAME_MAX];
    uint64_t members[2]; // IPv4, IPv6
    uint64_t bytes, changed_ns;
};

struct acl_rule_row {
    uint32_t number;
    struct acl_hits hits;
    // since the last hit, as far as the counters were looked at; ACL_NEVER: none since they began
    uint32_t last_s;
    const char *line; // "permit tcp from any to any"
};

struct acl_counter_row { // of a rule of the configuration
    uint32_t list;       // index in acl_answer.list
    uint32_t number;
    uint8_t verb; // enum acl_verb
    struct acl_hits hits;
};

struct acl_lint_row {
    uint32_t rule, until, count; // first and last number, of so many rules next to each other
    uint32_t by;                 // number; 0: the rules have matched nothing. Else count = 1
    uint8_t kind;                // enum acl_finding_kind
};

struct acl_answer {
    int result; // -ENOENT: there is no list or set of the name
    VEC(struct acl_list_row) list;
    VEC(struct acl_set_row) set;
    VEC(struct acl_rule_row) rule;
    VEC(struct acl_counter_row) counter;
    VEC(struct acl_lint_row) lint;
    uint64_t rules; // of the list; counters: of all lists, that the configuration has
    // rules: number of the first one that did not fit any more; lint: which finding; 0 = that is
    // all
    uint32_t next;
    unsigned progress; // lint: percent; 100: what follows is known
    bool complete;     // all pairs were compared
    // contains: the member with the longest prefix, for each address; family 0 = none
    VEC(struct prefix)
    found;
    uint64_t skipped; // members that were there already, or not there
};
typedef void (*acl_query_done)(void *ctx, const struct acl_answer *a);

// NULL = all; -ENOENT is an empty answer here
int acl_query_lists(const char *name, acl_query_done done, void *ctx);
int acl_query_sets(const char *name, acl_query_done done, void *ctx);
// At most `max` rules with numbers from `from` on.
int acl_query_rules(const char *list, uint32_t from, uint32_t max, acl_query_done done, void *ctx);
// At most `max` findings from the `from`-th (0 is the first) on; within a second, and then perhaps
// only how far it is: who asks again pushes on.
int acl_query_lint(const char *list, uint32_t from, uint32_t max, acl_query_done done, void *ctx);
// All lists and sets, and of the first ACL_COUNTED_MAX rules of the configuration what they
// counted. Nothing that takes time with the length of a list: of its row `matched`, `unmatched_s`
// and `cost` stay empty, but for cost.rules. `total` is of lately where it takes milliseconds.
int acl_query_counters(acl_query_done done, void *ctx);
int acl_query_contains(const char *set, const struct ip_addr *address, size_t n,
                       acl_query_done done, void *ctx);
// counters; "" = of all lists
int acl_query_clear(const char *list, acl_query_done done, void *ctx);
// Members come and go until the set is read again or kamueed ends. Takes over both.
int acl_query_change(const char *set, struct acl_members *del, struct acl_members *add,
                     acl_query_done done, void *ctx);

#endif
