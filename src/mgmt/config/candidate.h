// SPDX-License-Identifier: BSD-3-Clause
// candidate.h - candidates: configurations that sessions edit before they commit them
//
// A session has a number. Its candidate begins as a copy of the running configuration and remembers
// which one, so that what others commit meanwhile is neither lost nor overwritten. Sessions are
// bounded: an unchanged one is ended for a new one, and one without use for CANDIDATE_IDLE_S ends.
// Control role; they change in turns of ASIDE_CHANGE.
#ifndef CONFIG_CANDIDATE_H
#define CONFIG_CANDIDATE_H

#include <stdint.h>

#include "config/config.h"
#include "config/config_edit.h"

#define CANDIDATES_MAX 32
#define CANDIDATE_IDLE_S 86400

struct candidate;

#define CANDIDATES_BOUND 4   // of each virtual router
#define CANDIDATES_RESERVE 8 // of all, for those of none
// NULL when there are too many, with a sentence. `vr`: it edits what belongs to this virtual router
// and knows nothing else (config_bound.h); "": everything.
struct candidate *candidate_open(const char *by, const char *vr, char *err, size_t err_size);
// Of this virtual router; "": of all. NULL: there is none; else it has been touched.
struct candidate *candidate_find(uint64_t id, const char *vr);
void candidate_close(struct candidate *c);
void candidates_end(void); // all of them

uint64_t candidate_id(const struct candidate *c);
const struct snapshot *
candidate_snapshot(const struct candidate *c); // what it says now; nobody has checked it
// Does it, or nothing: as config_edited().
int candidate_edit(struct candidate *c, const struct config_edit *how, struct errors *e);
// Takes over what others have committed since; where both changed the same, mine holds and a note
// says so.
void candidate_update(struct candidate *c, struct errors *notes);
// As config_commit(), with what others have committed since. -EAGAIN: they changed the same; the
// errors name it. Then, and after any other error, the candidate is as it was; else it begins anew
// with what runs.
int candidate_commit(struct candidate *c, const struct commit *how, struct config_result *result,
                     struct errors *e);

struct candidate_state {
    uint64_t id;
    char by[64], vr[16];
    uint64_t since_ns, idle_ns; // how long ago
    unsigned n_changes;
};
bool candidate_at(unsigned i, struct candidate_state *s); // false: there are not so many
struct jwrite;
void candidate_write(const struct candidate_state *s, struct jwrite *j); // as the schema has it

#endif
