// SPDX-License-Identifier: BSD-3-Clause
// saved_state.h - what outlives a planned stop: counters, alarms that are over, graphs of ports
//
//     stop:   saved_state_write()    each feature's `save` -> STATE-DIR/saved-state
//     start:  saved_state_restore()  checked by each feature, then taken over by each, or refused
//
// One JSON document for all features, with its format's number and a checksum, written so that a
// crash leaves none or a whole one. It is read once and then removed: after a crash counters begin
// at 0 with a new discontinuity time, instead of going back to those of an earlier stop. A document
// that is truncated, damaged, of another format, or has impossible numbers is refused as a whole
// with one log line, and the start continues. server/mgmt.c calls this. Control role.
#ifndef FEATURE_SAVED_STATE_H
#define FEATURE_SAVED_STATE_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

struct text;

struct feature_saved {
    json_t *(*save)(void);
    // apply false: NULL, or why the part cannot be taken over; then, true: takes it over. What it
    // is about and is not there any more is passed over.
    const char *(*restore)(const json_t *part, bool apply);
};

void saved_state_write(const char *dir);   // NULL: nowhere
void saved_state_restore(const char *dir);
// The same from one process to the next, in an upgrade. 0 or -errno; NULL, or why it is refused.
int saved_state_text(struct text *t);
const char *saved_state_take(const struct text *t);

// A number of an object that is there and not negative.
bool saved_number(const json_t *object, const char *key, uint64_t *v);
// n of them, in the order of the names; all or false.
bool saved_numbers(const json_t *object, const char *const *key, unsigned n, uint64_t *v);
json_t *saved_object(const char *const *key, unsigned n, const uint64_t *v);

#endif
