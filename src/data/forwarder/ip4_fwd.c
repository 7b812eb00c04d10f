// SPDX-License-Identifier: BSD-3-Clause
// Stage ip4_fwd: choose each IPv4 packet's next hop; fwd_priv.h describes it
#include "forwarder/acl.h"
#include "forwarder/fwd_priv.h"
#include "forwarder/stages.h"
#include "forwarder/forbidden.h"

// An access list (acl_decide.c) or a device (table/lookaside.h) may have done it already.
static void look_up_burst(struct forwarder *f, struct burst *b)
{
    if (likely(!b->found))
        fwd_lookup(f, b, IP4);
}

void ip4_fwd(struct forwarder *f, struct burst *b)
{
    look_up_burst(f, b);
    fwd_decide(f, b, IP4, false);
}

void ip4_fwd_redirected(struct forwarder *f, struct burst *b)
{
    look_up_burst(f, b);
    acl_redirect(f, b);
    fwd_decide(f, b, IP4, false);
}

void ip4_resume(struct forwarder *f, struct burst *b)
{
    fwd_decide(f, b, IP4, true);
}

void ip4_tunnel(struct forwarder *f, struct burst *b)
{
    fwd_tunnel(f, b, IP4);
}

void ip4_local(struct forwarder *f, struct burst *b)
{
    fwd_local(f, b, IP4);
}
