// SPDX-License-Identifier: BSD-3-Clause
// acl_line.h - rules of access lists as lines of text: in the configuration, in files, on the
// screen
//
//     100 permit tcp from set customers to any port 443
//
// Words behind the protocol come in any order. What a line says goes into a `struct acl_lines`:
// rules in one array, as a classifier takes them, and beside it what is done with packets that
// match. Any thread; no state.
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

struct acl_more {  // what few rules have
    uint8_t extra; // enum acl_extra
    uint16_t log_every;
    uint32_t police_kbps, police_burst_kib; // burst 0 = of the rate
    struct ip_addr redirect;                // family 0 = none
    char mirror[ACL_NAME_MAX];              // name of a session, "" = none
    char description[ACL_DESCRIPTION_MAX];
};

struct acl_how {   // of the rule with the same index
    uint8_t verb;  // enum acl_verb
    uint32_t more; // 1 + index; 0 = nothing more
    uint32_t line; // that said it: of the configuration or the file
};

struct acl_lines {
    VEC(struct acl_rule) rule;
    VEC(struct acl_how) how;
    VEC(struct acl_more) more;
    char set[ACL_SETS_MAX][ACL_NAME_MAX]; // names of sets, by the index that rules have
    unsigned n_sets;
};

void acl_lines_free(struct acl_lines *l);
// Appends all of `from`; the names of sets that `to` has already keep their indexes. 0, or -ENOSPC:
// too many sets.
int acl_lines_copy(struct acl_lines *to, const struct acl_lines *from);
// index of a set, new or known; -1: too many, or too long
int acl_lines_set(struct acl_lines *l, const char *name);
// Appends the rule that n words say. 0; -EINVAL with a sentence in why, and nothing appended.
int acl_line_parse(struct acl_lines *l, char *const *word, unsigned n, uint32_t line, char *why,
                   size_t why_size);
// By number. 0; -EEXIST with the index of a rule whose number is used before it in *which.
int acl_lines_sort(struct acl_lines *l, size_t *which);

// Appends the line of a rule: "100 permit tcp from set customers to any port 443". more: NULL =
// nothing more.
void acl_line_format(const struct acl_rule *r, uint8_t verb, const struct acl_more *more,
                     const char (*set)[ACL_NAME_MAX], struct text *t);
extern const char *const acl_verb_name[3]; // by enum acl_verb

// What a list decides: by what its rules say, a rule that redirects apart from others that permit,
// and what no rule matched apart from those. The first three are enum acl_verb.
enum acl_verdicts { ACL_REDIRECTS = ACL_REJECT + 1, ACL_DEFAULT, ACL_VERDICTS };
extern const char *const acl_verdict_name[ACL_VERDICTS];

// Whether two rules match the same packets and do the same with them: then the counters of one are
// the other's.
bool acl_rule_equal(const struct acl_rule *a, const struct acl_rule *b);

#endif
