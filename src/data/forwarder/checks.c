// SPDX-License-Identifier: BSD-3-Clause
// Stages checks_in and checks_out: what interfaces check beyond routing, in this order
//
//   in     checks_in: received packets, headers and addresses checked, some of whose interfaces
//          have checks (b->features); checks_out: packets whose next hop takes them, while some
//          interface has an output check (IFACE_ACL_OUT). Neither sees our own ICMP errors
//   out    survivors in the same order
//   exits  as each check
//
// The order is the same for all interfaces: a packet with a wrong source is not checked further. A
// burst of interfaces without checks never comes here: testing the bits is the only cost for plain
// traffic.
//
// Packets that leave their burst before the stage, and copies, pass alone: the functions ..._one.
#include "forwarder/checks.h"

#include "forwarder/acl.h"
#include "forwarder/drop.h"
#include "forwarder/program.h"
#include "forwarder/stages.h"
#include "forwarder/forbidden.h"

// --- input ---

// Adds the flags behind IFACE_CHECKS, of all its interfaces.
static void flags_find(struct burst *b)
{
    b->features |= (uint16_t)iface_flags(iface_get(b->iface[0]));
    if (!memcmp(b->iface, b->iface + 1, (b->n - 1) * sizeof *b->iface)) // all the same
        return;
    for (unsigned i = 1; i < b->n; i++)
        b->features |= (uint16_t)iface_flags(iface_get(b->iface[i]));
}

void checks_in(struct forwarder *f, struct burst *b)
{
    if (b->features & IFACE_CHECKS)
        flags_find(b);
    if (b->features & IFACE_PROGRAM)
        program_run(f, b, PROGRAM_ETHER);
    if (b->n && b->features & (IFACE_URPF4 | IFACE_URPF6))
        urpf(f, b);
    if (b->n && b->features & IFACE_POLICE)
        police_in(f, b);
    if (b->n && b->features & IFACE_ACL_IN)
        acl_in(f, b);
    if (b->n && b->features & IFACE_REDIRECT && b->kind == BURST_TRANSIT && !f->trial &&
        !b->decided.n_redirected)
        b->family == IP4 ? redirect4(f, b) : redirect6(f, b);
    if (b->n && b->features & IFACE_PROGRAM)
        program_run(f, b, PROGRAM_INPUT);
    if (b->n && b->features & IFACE_OFFLOAD)
        offload(f, b);
}

bool checks_in_one(struct forwarder *f, struct burst *b, unsigned i)
{
    const unsigned flags = iface_flags(iface_get(b->iface[i]));
    enum drop_reason why = DROP_NONE;

    if (flags & IFACE_POLICE)
        why = police_one(f, b, i, b->iface[i], POLICER_IN);
    if (why == DROP_NONE && flags & IFACE_ACL_IN)
        why = acl_one(f, b, i, b->iface[i], false);
    if (why != DROP_NONE) {
        packet_drop_of(f, b, i, why);
        return false;
    }
    if (flags & IFACE_PROGRAM && !program_in_one(f, b, i))
        return false;
    if (flags & IFACE_OFFLOAD)
        offload_one(f, b, i);
    return true;
}

// --- output ---

static bool polices_out(void)
{
    return __atomic_load_n(&iface_police_out, __ATOMIC_RELAXED);
}

static bool programs_out(void)
{
    return __atomic_load_n(&iface_program_out, __ATOMIC_RELAXED);
}

void checks_out(struct forwarder *f, struct burst *b)
{
    acl_out(f, b);
    if (polices_out() && b->n)
        police_out(f, b);
    if (programs_out() && b->n)
        program_run(f, b, PROGRAM_OUTPUT);
}

enum drop_reason checks_out_copy(struct forwarder *f, struct burst *b, unsigned i, uint16_t iface)
{
    if (unlikely(f->trial))
        iface = trial_out(f, iface);
    enum drop_reason why = acl_one(f, b, i, iface, true);

    if (why == DROP_NONE && (polices_out() || f->trial))
        why = police_one(f, b, i, iface, POLICER_OUT);
    return why == DROP_NONE && programs_out() ? program_out_one(f, b, i, iface) : why;
}

bool checks_out_one(struct forwarder *f, struct burst *b, unsigned i, uint16_t iface)
{
    enum drop_reason why = checks_out_copy(f, b, i, iface);

    if (why != DROP_NONE)
        packet_drop_of(f, b, i, why);
    return why == DROP_NONE;
}
