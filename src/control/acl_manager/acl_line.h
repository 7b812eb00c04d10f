// SPDX-License-Identifier: BSD-3-Clause
// acl_line.h - rules of access lists as lines of text: in the configuration, in files, on the
// screen
//
//     100 permit tcp from set customers to any port 443
//
// Words behind the protocol come in any order. Lines go into a `struct acl_lines`: rules in one
// array, in the format of the classifier, and next to it their actions. Any thread; no state.
#ifndef ACL_MANAGER_ACL_LINE_H
#define ACL_MANAGER_ACL_LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "acl/acl.h"
#include "base/ip.h"
#include "base/text.h"
#include "base/vec.h"
#include "table/acl.h"

#define ACL_NAME_MAX 32  // of a list or set, with its NUL
#define ACL_WORDS_MAX 48 // of a line
#define ACL_DESCRIPTION_MAX 64

struct acl_more {  // options that few rules have
    uint8_t extra; // enum acl_extra
    uint8_t class; // 0-7
    uint16_t log_every;
    uint32_t police_kbps, police_burst_kib; // burst 0 = from the rate
    uint32_t police_packets;                // per second, instead of police_kbps; 0 = none
    uint32_t police_with; // number of the rule whose policer it shares, instead of both; 0 = none
    struct ip_addr redirect;                // family 0 = none
    char mirror[ACL_NAME_MAX];              // name of a session, "" = none
    char description[ACL_DESCRIPTION_MAX];
    uint8_t remark_dscp;
};

struct acl_how {   // for the rule with the same index
    uint8_t verb;  // enum acl_verb
    bool temporary; // acl_prepare.c: neither in the configuration nor in a file
    uint32_t more; // 1 + index; 0 = no options
    uint32_t line; // line of the configuration or the file
};

struct acl_lines {
    VEC(struct acl_rule) rule;
    VEC(struct acl_how) how;
    VEC(struct acl_more) more;
    char set[ACL_SETS_MAX][ACL_NAME_MAX]; // names of sets, by index in rules
    unsigned n_sets;
};

// The options of rule i; NULL = none.
static inline const struct acl_more *acl_lines_more(const struct acl_lines *l, size_t i)
{
    return l->how.item[i].more ? &l->more.item[l->how.item[i].more - 1] : NULL;
}

void acl_lines_free(struct acl_lines *l);
// Appends all of `from`; sets that are already in `to` keep their indexes. 0, or -ENOSPC: too many
// sets.
int acl_lines_copy(struct acl_lines *to, const struct acl_lines *from);
// index of a set, known or new; -1: too many, or name too long
int acl_lines_set(struct acl_lines *l, const char *name);
// Appends the rule in word[0..n). 0; -EINVAL with a sentence in why, and nothing appended.
int acl_line_parse(struct acl_lines *l, char *const *word, unsigned n, uint32_t line, char *why,
                   size_t why_size);
// Sorts by number. 0; -EEXIST with the index of the second rule of a duplicate number in *which.
int acl_lines_sort(struct acl_lines *l, size_t *which);

// Appends a rule's line: "100 permit tcp from set customers to any port 443". more: NULL = none.
void acl_line_format(const struct acl_rule *r, uint8_t verb, const struct acl_more *more,
                     const char (*set)[ACL_NAME_MAX], struct text *t);
extern const char *const acl_verb_name[3]; // by enum acl_verb

// Decisions of a list. The first three are enum acl_verb; redirects are counted separately from
// other permits, and packets that no rule matched separately from all.
enum acl_verdicts { ACL_REDIRECTS = ACL_REJECT + 1, ACL_DEFAULT, ACL_VERDICTS };
extern const char *const acl_verdict_name[ACL_VERDICTS];

// Do both rules match the same packets with the same action? Then the counters of one belong to the
// other.
bool acl_rule_equal(const struct acl_rule *a, const struct acl_rule *b);

#endif
