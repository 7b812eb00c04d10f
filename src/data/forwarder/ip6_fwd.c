// SPDX-License-Identifier: BSD-3-Clause
// Stage ip6_fwd: choose each IPv6 packet's next hop
//
// fwd_priv.h has the code and describes it. It serves both families; here the compiler makes the
// functions of IPv6 from it.
#include "forwarder/fwd_priv.h"
#include "forwarder/stages.h"
#include "forwarder/forbidden.h"

void ip6_fwd(struct forwarder *f, struct burst *b)
{
    fwd_look_up(f, b, IP6);
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
