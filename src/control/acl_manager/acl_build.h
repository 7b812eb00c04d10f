// SPDX-License-Identifier: BSD-3-Clause
// acl_build.h - the content of an access list, made aside, with the counters of its rules
//
// A content that has been replaced hangs on its successor until acl_build_tidy has added what its
// rules counted: that takes long for long lists, and nobody waits for it. acl_manager's own.
#ifndef ACL_MANAGER_ACL_BUILD_H
#define ACL_MANAGER_ACL_BUILD_H

#include <stddef.h>
#include <stdint.h>

#include "acl/set.h"
#include "acl_manager/acl_file.h"
#include "table/acl.h"
#include "table/acl_engine.h"

struct acl_retired {
    uint32_t slot; // of a rule deleted in place; ACL_MISS = none was
    uint64_t epoch, ticket;
};

struct acl_last_hit { // when a rule's counter was found changed
    uint32_t packets; // then, the low half
    uint32_t at_s;    // CLOCK_MONOTONIC, at least 1; 0 = never
};

struct acl_build {
    struct acl_content *content; // its engine is ours, too
    uint8_t otherwise;           // enum acl_verb
    uint32_t *more_of;           // [content->slots] 1 + index; 0 = nothing more
    struct acl_last_hit *seen;   // [content->slots + 1]; the last: what no rule matched
    VEC(struct acl_more) more;
    VEC(uint32_t) more_free; // indexes of `more` that no rule has
    struct acl_set *set[ACL_SETS_MAX];
    char set_name[ACL_SETS_MAX][ACL_NAME_MAX];
    unsigned n_sets;
    struct acl_file_sign file;    // of the file that some of the rules are of, as it was read
    VEC(uint32_t) number;         // of all rules, sorted
    VEC(struct acl_retired) gone; // changes in place whose grace period is not over
    VEC(uint32_t) free;           // slots that may be used again
    struct acl_build *before;     // replaced by this one; its counters have not been added yet
    bool keeps;                   // `before` may go
    struct acl_hits base[ACL_VERDICTS], lately[ACL_VERDICTS]; // acl_total.c
    uint64_t lately_until_ns;                                 // CLOCK_MONOTONIC
};

// What content and engine of n rules would take, about.
size_t acl_build_need(const struct acl_rule *r, size_t n);
// Makes engine and content. `l` is sorted and what its rules name in `set` is there. NULL with a
// sentence.
struct acl_build *acl_build_new(const struct acl_lines *l, struct acl_set *const *set,
                                uint8_t otherwise, size_t max_bytes, char *why, size_t why_size);
// no forwarder has it; with what it replaced; NULL is fine
void acl_build_free(struct acl_build *b);
size_t acl_build_bytes(const struct acl_build *b);

// In place, of the list `id`. _room: is there a slot for one more rule? -ENOSPC: no meter, mirror
// session or redirect is left.
bool acl_build_room(const struct acl_build *b);
int acl_build_add(struct acl_build *b, uint16_t id, const struct acl_rule *r, uint8_t verb,
                  const struct acl_more *more);
int acl_build_del(struct acl_build *b, uint16_t id, uint32_t number);
// What grace periods have set free, and counters of what was before; true: there is more to do.
bool acl_build_tidy(struct acl_build *b);

// What has matched a rule, or (rule = NULL) none.
struct acl_hits acl_build_hits(const struct acl_build *b, const struct acl_rule *r);
void acl_build_clear(struct acl_build *b);
// All that the list has decided since it is there, or since acl_build_clear, is added to `total`:
// also by rules that are gone. It reads each slot's counters: per million rules and forwarder,
// milliseconds; _lately: at most a hundredth of the time.
void acl_build_totals(const struct acl_build *b, struct acl_hits total[ACL_VERDICTS]);
const struct acl_hits *acl_build_totals_lately(struct acl_build *b); // [ACL_VERDICTS]
// a slot that no rule has gets another action
void acl_build_retag(struct acl_build *b, uint32_t slot, const struct acl_action *action);
void acl_build_totals_absorb(struct acl_build *b); // `before` counts no more
void acl_build_totals_clear(struct acl_build *b);
// Last hits, known by sampling: looks at counters of n rules from the `from`-th on, and of what no
// rule matched (acl_last_hit.c).
void acl_build_sample_hits(struct acl_build *b, size_t from, size_t n, uint32_t now_s);
// ACL_MISS: of what no rule matched
struct acl_last_hit *acl_build_last_hit(struct acl_build *b, uint32_t slot);
const struct acl_more *acl_build_more(const struct acl_build *b, uint32_t slot); // or NULL

#endif
