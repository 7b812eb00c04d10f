// SPDX-License-Identifier: BSD-3-Clause
// Stage features_in: features of input interfaces beyond routing
//
//   in     a burst of received packets, header and addresses checked, some of whose interfaces have
//          input checks (b->features); no packets of our own, and none back from hold
//   out    survivors in the same order
//   exits  as each check
//
// The order is the same for all interfaces: a packet with a wrong source is not checked further. A
// burst of interfaces without checks never comes here: testing the bits is the only cost for plain
// traffic.
#include "forwarder/acl.h"
#include "forwarder/checks.h"
#include "forwarder/police.h"
#include "forwarder/program.h"
#include "forwarder/stages.h"
#include "forwarder/forbidden.h"

// Adds the flags behind IFACE_CHECKS, of all its interfaces.
static void checks_find(struct burst *b)
{
    b->features |= (uint16_t)iface_flags(iface_get(b->iface[0]));
    if (!memcmp(b->iface, b->iface + 1, (b->n - 1) * sizeof *b->iface)) // all the same
        return;
    for (unsigned i = 1; i < b->n; i++)
        b->features |= (uint16_t)iface_flags(iface_get(b->iface[i]));
}

void features_in(struct forwarder *f, struct burst *b)
{
    if (b->features & IFACE_CHECKS)
        checks_find(b);
    if (b->features & IFACE_PROGRAM)
        program_ether(f, b);
    if (b->n && b->features & (IFACE_URPF4 | IFACE_URPF6))
        urpf(f, b);
    if (b->n && b->features & IFACE_POLICE)
        police_in(f, b);
    if (b->n && b->features & IFACE_ACL_IN)
        acl_in(f, b);
    if (b->n && b->features & IFACE_REDIRECT && b->kind == BURST_TRANSIT &&
        !b->decided.n_redirected)
        b->family == IP4 ? redirect4(f, b) : redirect6(f, b);
    if (b->n && b->features & IFACE_PROGRAM)
        program_input(f, b);
    if (b->n && b->features & IFACE_OFFLOAD)
        offload(f, b);
}
