// SPDX-License-Identifier: BSD-3-Clause
// aside.h - coroutines of control, whose long work runs on a worker thread
//
// The control thread serves every client, so nothing on it may take long. But reading, checking,
// comparing and printing a configuration of 60,000 rules takes seconds. A request that may need
// that runs in a turn, which is a coroutine:
//
//     a turn, aside_turn()   runs on the control thread, on its own stack; may touch what control
//                            may
//     work, aside()          runs on a worker thread while the turn is suspended and the loop goes
//                            on; may touch its argument, and what never changes
//
// A turn reads like any function: it looks up what it needs, has it worked on by aside(), and uses
// the result.
//
// Rules:
//   - The turns of a lane run one after the other, those of one share (base/fair.h) in order.
//     Whatever changes the configuration or a candidate has its turn in ASIDE_CHANGE, so both stay
//     as they are while such a turn is suspended. A turn in ASIDE_READ holds a reference
//     (snapshot_ref) to what it reads aside.
//   - While a turn is suspended its client may leave and its listener close (http_gone).
//   - Several threads may work on trees of one libyang context: each on its own, or all reading.
//
// Without aside_start(), in tests and before the loop runs, turns and work run at once, where they
// are called. Control role.
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
    void (*drop)(void *ctx); // instead of run, when aside_stop() comes first
    void *ctx;
    struct fair_share *of; // whose it is, in this lane, until it has ended; NULL: the router's own
};

int aside_start(struct event_base *loop); // 0 or -errno
// Ends the turns that have begun, with work done where it is called; drops those that wait.
void aside_stop(void);

// Has the turn now, or when it is the next in its lane.
void aside_turn(enum aside_lane lane, const struct turn *t);

bool aside_is_turn(void); // the caller runs in one, and may be suspended
bool aside_stopped(void); // the process ends: a turn that has far to go gives up
// A turn is suspended, perhaps in the middle of a change; not one in aside_wait().
bool aside_busy(enum aside_lane lane);

// Within a turn: returns when `work` is done. Elsewhere a plain call.
void aside(void (*work)(void *arg), void *arg);
// Within a turn: returns when the loop has called aside_go_on(). False: aside_stop() came first,
// and nobody may call it any more.
struct aside_wait { // zeroed at the beginning
    struct lane *lane;
    bool over;
};
bool aside_wait(struct aside_wait *w);
void aside_go_on(struct aside_wait *w);
// For what nobody waits for, such as freeing a tree.
void aside_later(void (*work)(void *arg), void *arg);
// Within a turn, between two pieces of what only control may do: lets the loop serve others if the
// turn has held it for ASIDE_SLICE_NS.
void aside_pause(void);

#endif
