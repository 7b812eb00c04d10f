// SPDX-License-Identifier: BSD-3-Clause
// Stage ip6_fwd: choose each IPv6 packet's next hop; fwd_priv.h describes it
#include "forwarder/acl.h"
#include "forwarder/fwd_priv.h"
#include "forwarder/stages.h"
#include "forwarder/forbidden.h"

// A device may have done it already (table/lookaside.h).
static void look_up_burst(struct forwarder *f, struct burst *b)
{
    if (likely(!b->found))
        fwd_lookup(f, b, IP6);
}

void ip6_fwd(struct forwarder *f, struct burst *b)
{
    look_up_burst(f, b);
    fwd_decide(f, b, IP6, false);
}

void ip6_fwd_redirected(struct forwarder *f, struct burst *b)
{
    look_up_burst(f, b);
    acl_redirect(f, b);
    fwd_decide(f, b, IP6, false);
}

void ip6_resume(struct forwarder *f, struct burst *b)
{
    fwd_decide(f, b, IP6, true);
}

void ip6_tunnel(struct forwarder *f, struct burst *b)
{
    fwd_tunnel(f, b, IP6);
}

void ip6_local(struct forwarder *f, struct burst *b)
{
    fwd_local(f, b, IP6);
}
