// SPDX-License-Identifier: BSD-3-Clause
// acl_build.h - the content of an access list, built aside, with the counters of its rules;
// acl_manager's own
//
// Replaced content stays linked to its successor (`before`) until acl_build_tidy has added its
// counters there. That happens later, because it takes long for long lists.
#ifndef ACL_MANAGER_ACL_BUILD_H
#define ACL_MANAGER_ACL_BUILD_H

#include <stddef.h>
#include <stdint.h>

#include "acl/set.h"
#include "acl_manager/acl_file.h"
#include "table/acl.h"

struct acl_retired {
    uint32_t slot; // of a deleted rule; ACL_MISS = none
    uint64_t epoch, ticket;
};

struct acl_last_hit { // when a rule's counter was last found changed
    uint32_t packets; // counter at that time, low half
    uint32_t at_s;    // CLOCK_MONOTONIC, at least 1; 0 = never
};

struct acl_build {
    struct acl_content *content; // owns its rules, too
    uint8_t otherwise;           // enum acl_verb
    uint32_t *more_of;           // [content->slots] 1 + index; 0 = no options
    struct acl_last_hit *seen;   // [content->slots + 1]; the last: packets that no rule matched
    VEC(struct acl_more) more;
    VEC(uint32_t) more_free; // free entries of `more`
    struct acl_set *set[ACL_SETS_MAX];
    char set_name[ACL_SETS_MAX][ACL_NAME_MAX];
    unsigned n_sets;
    struct acl_file_sign file;    // signature of the file with some of the rules, as of its reading
    VEC(struct acl_retired) gone; // changes in place that wait for a grace period
    uint64_t build_ns;            // duration of the build
    uint32_t temporary;           // number of temporary rules
    // the content replaced by this one, while its counters are still needed
    struct acl_build *before;
    bool keeps;                                               // `before` may be freed
    struct acl_hits base[ACL_VERDICTS], lately[ACL_VERDICTS]; // acl_total.c
    uint64_t lately_until_ns;                                 // CLOCK_MONOTONIC
};

// Approximate size of content and rules for n rules.
size_t acl_build_need(const struct acl_rule *r, size_t n);
// Makes rules and content. `l` is sorted, and its sets are in `set`. NULL with a sentence.
struct acl_build *acl_build_new(const struct acl_lines *l, struct acl_set *const *set,
                                uint8_t otherwise, char *why, size_t why_size);
// when no forwarder uses it; frees `before`, too. NULL is fine
void acl_build_free(struct acl_build *b);
size_t acl_build_bytes(const struct acl_build *b);

// Changes in place, of the list `id`. acl_build_room: is there a slot for one more rule? -ENOSPC:
// no meter, mirror session or redirect is left.
bool acl_build_room(const struct acl_build *b);
int acl_build_add(struct acl_build *b, uint16_t id, const struct acl_rule *r,
                  const struct acl_how *how, const struct acl_more *more);
int acl_build_del(struct acl_build *b, uint16_t id, uint32_t number);
// Frees memory after grace periods and takes over the counters of `before`; true: there is more to
// do.
bool acl_build_tidy(struct acl_build *b);

static inline const struct acl_order *acl_build_order(const struct acl_build *b)
{
    return acl_order(b->content->rules);
}
static inline bool acl_build_is_temporary(const struct acl_build *b, uint32_t slot)
{
    return b->content->action[slot].extra & ACL_TEMPORARY;
}
// Packets that matched the rule in the slot, or (ACL_MISS) none.
struct acl_hits acl_build_hits(const struct acl_build *b, uint32_t slot);
void acl_build_clear(struct acl_build *b);
// Adds to `total` the counts of all decisions since the list was made or cleared, including deleted
// rules. Reads each slot's counters: milliseconds per million rules and forwarder. _lately: at most
// a hundredth of the time.
void acl_build_totals(const struct acl_build *b, struct acl_hits total[ACL_VERDICTS]);
const struct acl_hits *acl_build_totals_lately(struct acl_build *b); // [ACL_VERDICTS]
// gives a slot without a rule another action
void acl_build_retag(struct acl_build *b, uint32_t slot, const struct acl_action *action);
void acl_build_totals_clear(struct acl_build *b);
// Samples counters for last hits: of n rules from the `from`-th on, and of packets that no rule
// matched (acl_total.c).
void acl_build_sample_hits(struct acl_build *b, size_t from, size_t n, uint32_t now_s);
uint32_t acl_last_hit_now_s(void); // as in acl_last_hit.at_s
// ACL_MISS: of packets that no rule matched
struct acl_last_hit *acl_build_last_hit(struct acl_build *b, uint32_t slot);
const struct acl_more *acl_build_more(const struct acl_build *b, uint32_t slot); // or NULL

#endif
