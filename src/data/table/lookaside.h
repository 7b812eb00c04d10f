// SPDX-License-Identifier: BSD-3-Clause
// lookaside.h - a burst may wait for its lookup
//
// A device that looks up in place of the CPU publishes its functions here. Forwarders and
// rib_manager know nothing else of it. Without a device, a forwarder reads one pointer per poll,
// and tests it once per burst.
//
// A forwarder keeps a device until nothing waits for it (`rest`), and only then is quiescent. So
// the device may go a grace period after its functions.
#ifndef TABLE_LOOKASIDE_H
#define TABLE_LOOKASIDE_H

#include <stdbool.h>

#include "core/rcu.h"

struct burst;
struct forwarder;

struct lookaside {
    // --- forwarder f ---
    // Before the lookup of b. True: b waits, or is empty now; path_answered() gets it later. False:
    // the caller looks it up, unless b->decided.looked_up.
    bool (*park)(struct lookaside *l, struct forwarder *f, struct burst *b);
    // Once per poll: bursts with an answer continue. Returns the number of packets that continued,
    // plus waiting bursts; not 0 while the device has work.
    unsigned (*serve)(struct lookaside *l, struct forwarder *f);
    // After a poll: may f be quiescent? If so, nothing waits. After 1 ms bursts continue without
    // the device.
    bool (*rest)(struct lookaside *l, struct forwarder *f);
    // At thread end: nothing waits, and the device has no work of f.
    void (*end)(struct lookaside *l, struct forwarder *f);

    // --- rib_manager ---
    // Copies changes of FIBs that a commit could not. True: call again within 1 ms.
    bool (*work)(struct lookaside *l);
};

// --- control ---
// NULL: none. Returns when nobody uses the previous one.
void lookaside_publish(struct lookaside *l);

// --- rib_manager ---
bool lookaside_work(void); // `work`, if there is a device

// --- forwarders ---
extern struct lookaside *lookaside_published;
static inline struct lookaside *lookaside_now(void) // NULL: none
{
    return rcu_load(&lookaside_published);
}

#endif
