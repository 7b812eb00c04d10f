// SPDX-License-Identifier: BSD-3-Clause
// aside.h - coroutines of control whose long work runs on a worker thread
//
// The control thread serves every client, so nothing on it may take long. But reading, checking,
// comparing and printing a configuration of 60,000 rules takes seconds. A request that may need
// such work runs in a turn, which is a coroutine:
//
//     a turn, aside_turn()   runs on the control thread, on its own stack; may touch everything
//                            that control may
//     work, aside()          runs on a worker thread while the turn is suspended and the loop
//                            continues; may touch its argument and immutable data
//
// A turn's code is sequential: it looks up data, has aside() do the long work, and uses the result.
//
// Rules:
//   - The turns of a lane run one after the other; those within a share (base/fair.h) in order.
//     A change of the configuration or a candidate runs in a turn of ASIDE_CHANGE, so neither
//     changes while such a turn is suspended. A turn in ASIDE_READ holds a reference
//     (snapshot_ref) to the data that its work reads.
//   - While a turn is suspended its client may leave and its listener close (http_gone).
//   - Several threads may use trees of one libyang context: each its own, or all read-only.
//
// Without aside_start(), in tests and before the loop runs, turns and work run immediately, in the
// caller. Control role.
#ifndef CORE_ASIDE_H
#define CORE_ASIDE_H

#include <stdbool.h>

#include "base/clock.h"
#include "base/fair.h"

enum aside_lane { ASIDE_READ, ASIDE_CHANGE, ASIDE_LANES };

#define ASIDE_SLICE_NS (20 * NS_PER_MS)

struct event_base;
struct lane;

struct turn {
    void (*run)(void *ctx);
    void (*drop)(void *ctx); // called instead of run if aside_stop() comes first
    void *ctx;
    struct fair_share *of; // its share in this lane, valid until it ends; NULL: the router's own
};

int aside_start(struct event_base *loop); // 0 or -errno
// Completes the turns that have begun, running their work in the caller; drops the waiting ones.
void aside_stop(void);

// Runs the turn now, or when it is next in its lane.
void aside_turn(enum aside_lane lane, const struct turn *t);

bool aside_is_turn(void); // does the caller run in a turn, so that it may be suspended?
bool aside_stopped(void); // the process is stopping: a turn with much left to do gives up
// A turn is suspended, perhaps in the middle of a change. False for a turn in aside_wait().
bool aside_busy(enum aside_lane lane);

// In a turn: returns when `work` is done. Elsewhere a plain call.
void aside(void (*work)(void *arg), void *arg);
// In a turn: returns when the loop has called aside_go_on(). False: aside_stop() came first, and
// aside_go_on() must not be called any more.
struct aside_wait { // initially zeroed
    struct lane *lane;
    bool over;
};
bool aside_wait(struct aside_wait *w);
void aside_go_on(struct aside_wait *w);
// Runs `work`, such as freeing a tree, without waiting for it.
void aside_later(void (*work)(void *arg), void *arg);
// In a turn, between two pieces of work on control: lets the loop serve others if the turn has run
// for ASIDE_SLICE_NS.
void aside_pause(void);

#endif
