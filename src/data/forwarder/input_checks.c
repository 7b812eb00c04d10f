// SPDX-License-Identifier: BSD-3-Clause
// Stage features_in: what the interfaces have been given beyond routing
//
//   in     a burst of received packets, header and addresses checked, some of whose interfaces have
//   input features
//          (b->features is the OR of the features of struct iface.flags); not what we made
//          ourselves nor what was held
//   out    survivors in the same order
//   exits  those of the features
//
// The features follow each other in this order, whatever the interfaces: who lies about his source
// is not asked anything else. A feature looks at the packets whose own interface has its bit and
// lets the others go on. A burst of interfaces without features never comes here: that is all that
// the plain path pays.
#include "forwarder/acl.h"
#include "forwarder/input_check.h"
#include "forwarder/stages.h"
#include "forwarder/forbidden.h"

void features_in(struct forwarder *f, struct burst *b)
{
    if (b->n && b->features & (IFACE_URPF4 | IFACE_URPF6))
        urpf(f, b);
    f->n_redirected = 0;
    if (b->n && b->features & IFACE_ACL_IN)
        acl_in(f, b);
    if (b->n && b->features & IFACE_REDIRECT && b->kind == BURST_TRANSIT && !f->n_redirected)
        b->family == IP4 ? redirect4(f, b) : redirect6(f, b);
    if (b->n && b->features & IFACE_OFFLOAD)
        offload(f, b);
}
