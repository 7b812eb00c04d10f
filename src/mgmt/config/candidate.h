// SPDX-License-Identifier: BSD-3-Clause
// candidate.h - candidates: configurations that sessions edit before they commit them
//
// A session has a number. Its candidate begins as a copy of the running configuration and remembers
// its version, so that commits of others in the meantime are neither lost nor overwritten. The
// number of sessions is limited: an unchanged session is ended for a new one, and one without use
// for CANDIDATE_IDLE_S ends. Control role; sessions change in turns of ASIDE_CHANGE.
#ifndef CONFIG_CANDIDATE_H
#define CONFIG_CANDIDATE_H

#include <stdint.h>

#include "config/config.h"
#include "config/config_edit.h"

#define CANDIDATES_MAX 32
#define CANDIDATE_IDLE_S 86400

struct candidate;

#define CANDIDATES_BOUND 4   // of each virtual router
#define CANDIDATES_RESERVE 8 // of all, for unbound sessions
// NULL with a sentence when there are too many. `vr`: it edits the part of this virtual router and
// sees nothing else (config_bound.h); "": everything.
struct candidate *candidate_open(const char *by, const char *vr, char *err, size_t err_size);
// Of this virtual router; "": of any. NULL: not found; otherwise marked as used now.
struct candidate *candidate_find(uint64_t id, const char *vr);
void candidate_close(struct candidate *c);
void candidates_end(void); // all of them

uint64_t candidate_id(const struct candidate *c);
const struct snapshot *
candidate_snapshot(const struct candidate *c); // current content, unchecked
// All or nothing, like config_edited().
int candidate_edit(struct candidate *c, const struct config_edit *how, struct errors *e);
// Merges commits of others since its begin; where both changed the same value, mine wins and a note
// reports it.
void candidate_update(struct candidate *c, struct errors *notes);
// Like config_commit(), merged with commits of others since its begin. -EAGAIN: they changed the
// same values; the errors name them. After this and any other error, the candidate is unchanged;
// after success it starts again from the running configuration.
int candidate_commit(struct candidate *c, const struct commit *how, struct config_result *result,
                     struct errors *e);

struct candidate_state {
    uint64_t id;
    char by[64], vr[16];
    uint64_t since_ns, idle_ns; // time since its begin, since its last use
    unsigned n_changes;
};
bool candidate_at(unsigned i, struct candidate_state *s); // false: there are fewer
struct jwrite;
void candidate_write(const struct candidate_state *s, struct jwrite *j); // as in the schema

#endif
