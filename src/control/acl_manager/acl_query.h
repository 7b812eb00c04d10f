// SPDX-License-Identifier: BSD-3-Clause
// acl_query.h - queries about access lists and address sets in force, asked by control
//
// acl_manager answers between two builds. The answer is a call on the control loop and owns the
// data that it points to.
#ifndef ACL_MANAGER_ACL_QUERY_H
#define ACL_MANAGER_ACL_QUERY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "acl_manager/acl_file.h"
#include "table/acl.h"

#define ACL_NEVER UINT32_MAX
#define ACL_COUNTED_MAX 4096 // rules in the answer of acl_query_counters

struct acl_list_row {
    char name[ACL_NAME_MAX];
    uint16_t id;
    uint8_t otherwise;                  // enum acl_verb
    uint64_t bytes;                     // all memory
    uint64_t changed_ns;                // CLOCK_MONOTONIC
    struct acl_hits matched, unmatched; // by present rules
    // including deleted rules: falls only when cleared (acl_build_totals_lately)
    struct acl_hits total[ACL_VERDICTS];
    uint32_t unmatched_s; // since the last unmatched packet; ACL_NEVER
    uint32_t rules, temporary; // temporary ones are among the rules
    uint64_t reader_bytes, build_ns;
    struct acl_cost cost;
};

struct acl_set_row {
    char name[ACL_NAME_MAX];
    uint64_t members[2]; // IPv4, IPv6
    uint64_t bytes, changed_ns;
};

struct acl_rule_row {
    uint32_t number;
    struct acl_hits hits;
    // since the last hit found by sampling; ACL_NEVER: none since counting began
    uint32_t last_s;
    const char *line; // "permit tcp from any to any"
};

struct acl_counter_row { // of a rule in the configuration, or of a temporary one
    uint32_t list;       // index in acl_answer.list
    uint32_t number;
    uint8_t verb; // enum acl_verb
    struct acl_hits hits;
};

struct acl_lint_row {
    uint32_t rule, until, count; // first and last number, of `count` adjacent rules
    uint32_t by;  // covering rule; 0: no packet matched the rules. Otherwise count = 1
    uint8_t kind; // enum acl_finding_kind
};

struct acl_found_row {
    struct ip_addr address;
    struct prefix member; // the longest one around the address; family 0 = none
};

struct acl_answer {
    int result; // -ENOENT: no such list or set
    VEC(struct acl_list_row) list;
    VEC(struct acl_set_row) set;
    VEC(struct acl_rule_row) rule;
    VEC(struct acl_counter_row) counter;
    VEC(struct acl_lint_row) lint;
    uint64_t rules; // of the list; counters: configured and temporary rules of all lists
    // rules: number of the first row that did not fit; lint: the next finding; 0 = complete
    uint32_t next;
    unsigned progress; // lint: percent; 100: the findings are complete
    bool complete;     // all pairs were compared
    VEC(struct acl_found_row) found;
    uint64_t skipped; // members to add that were present, or to delete that were absent
};
typedef void (*acl_query_done)(void *ctx, const struct acl_answer *a);

enum acl_query_kind {
    // of the list or set `name`, or of all if that is empty; the answer may be empty
    ACL_QUERY_LISTS,
    ACL_QUERY_SETS,
    // All lists and sets, and the counters of the first ACL_COUNTED_MAX configured rules, then
    // temporary ones. Leaves out fields that take long for long lists: `matched`, `unmatched_s`,
    // and from `reader_bytes` on. `total` may be some time old where summing takes milliseconds.
    ACL_QUERY_COUNTERS,
    ACL_QUERY_RULES, // at most `max` rules with numbers from `from` on
    // At most `max` findings, the `from`-th (0 is the first) onwards. Answers within a second,
    // perhaps only with the progress: asking again continues the work.
    ACL_QUERY_LINT,
    ACL_QUERY_CLEAR,    // clears the counters of the list, or of all
    ACL_QUERY_CONTAINS, // looks up `address` in the set
    // changes members until the set is read again or kamueed ends
    ACL_QUERY_CHANGE,
    ACL_QUERIES
};

struct acl_query { // of which some fields matter for each kind
    char name[ACL_NAME_MAX];
    uint32_t from, max;
    VEC(struct ip_addr) address;
    struct acl_members del, add;
};

// Takes over the vectors of `ask`. 0, or -errno and no call.
int acl_query(enum acl_query_kind kind, const struct acl_query *ask, acl_query_done done,
              void *ctx);

#endif
