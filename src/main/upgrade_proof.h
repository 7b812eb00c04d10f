// SPDX-License-Identifier: BSD-3-Clause
// upgrade_proof.h - checks that two kamueeds forward alike (docs/adr/0020)
//
// The new one chooses addresses in prefixes of its routes, for all virtual routers and both
// families. The old one writes its lookup result for each into the same file, and the new one
// compares. Ids of next hops and interfaces differ between processes, so a result is a digest of
// what determines forwarding: the kind, the interface's name, the neighbor's MAC and the MTU of the
// route. Control.
#ifndef MAIN_UPGRADE_PROOF_H
#define MAIN_UPGRADE_PROOF_H

#include <stdint.h>

#include "base/ip.h"

#define UPGRADE_LOOKUPS_N 100000

struct upgrade_lookup {
    char vr[32];
    struct ip_addr addr;
    uint64_t answer;
};

// Chooses the addresses. `done` is called on the loop with a file of UPGRADE_LOOKUPS_N lookups,
// which it owns, or -errno.
struct event_base;
void upgrade_proof_choose(struct event_base *loop, void (*done)(int file));
int upgrade_proof_answer(int file); // in the old one. 0 or -errno
// In the new one: returns how many results differ from ours and reduces the file to these. *first:
// the first of them. Or -errno.
int upgrade_proof_compare(int file, struct upgrade_lookup *first);

#endif
