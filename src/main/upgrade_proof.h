// SPDX-License-Identifier: BSD-3-Clause
// upgrade_proof.h - do two kamueeds find the same ways? (docs/adr/0020)
//
// The new one chooses addresses in prefixes of its routes, all virtual routers and both families;
// the old one writes into the same file what it finds for each; the new one compares. Ids of next
// hops and interfaces differ from process to process, so an answer is a digest of what packets get:
// the kind, the interface's name, the neighbor's MAC, the MTU of the route. Control.
#ifndef MAIN_UPGRADE_PROOF_H
#define MAIN_UPGRADE_PROOF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/ip.h"

#define UPGRADE_LOOKUPS_N 100000

struct upgrade_lookup {
    char vr[32];
    struct ip_addr addr;
    uint64_t answer;
};

// Chooses them; `done` is called on the loop with a file of UPGRADE_LOOKUPS_N of them, which is the
// callee's, or -errno.
struct event_base;
void upgrade_proof_choose(struct event_base *loop, void (*done)(int file));
int upgrade_proof_answer(int file); // the old one. 0 or -errno
// The new one: how many of them differ from ours; those are the first ones in the file now, and the
// file has no others. *first: the first one. Or -errno.
int upgrade_proof_compare(int file, struct upgrade_lookup *first);

#endif
