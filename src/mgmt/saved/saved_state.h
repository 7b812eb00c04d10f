// SPDX-License-Identifier: BSD-3-Clause
// saved_state.h - state kept over a planned stop: counters, cleared alarms, port graphs
//
//     stop:   saved_state_write()    each feature's `save` -> STATE-DIR/saved-state
//     start:  saved_state_restore()  checked by each feature, then applied by each, or refused
//
// One JSON document for all features, with a format number and a checksum, written so that a crash
// leaves the whole document or none. It is read once and then removed: after a crash, counters
// start at 0 with a new discontinuity time instead of returning to the values of an earlier stop. A
// document that is truncated, damaged, of another format, or has impossible numbers is refused as a
// whole with one log line, and the start continues. server/mgmt.c calls this. Control role.
#ifndef SAVED_SAVED_STATE_H
#define SAVED_SAVED_STATE_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

struct text;

struct feature_saved {
    json_t *(*save)(void);
    // apply false: checks the part; NULL, or the reason to refuse it. Then apply true: applies it.
    // Objects that no longer exist are skipped.
    const char *(*restore)(const json_t *part, bool apply);
};

void saved_state_write(const char *dir);   // NULL: does nothing
void saved_state_restore(const char *dir);
// The same from process to process in an upgrade. 0 or -errno; NULL, or the reason of the refusal.
int saved_state_text(struct text *t);
const char *saved_state_take(const struct text *t);

// Number of an object; false if it is missing or negative.
bool saved_number(const json_t *object, const char *key, uint64_t *v);
// n numbers, in the order of the names; false if one is missing.
bool saved_numbers(const json_t *object, const char *const *key, unsigned n, uint64_t *v);
json_t *saved_object(const char *const *key, unsigned n, const uint64_t *v);

#endif
