// SPDX-License-Identifier: BSD-3-Clause
// Stage ip4_fwd: choose each IPv4 packet's next hop
//
// fwd_priv.h has the code and describes it. It serves both families; here the compiler makes the
// functions of IPv4 from it.
#include "forwarder/fwd_priv.h"
#include "forwarder/stages.h"
#include "forwarder/forbidden.h"

void ip4_fwd(struct forwarder *f, struct burst *b)
{
    fwd_look_up(f, b, IP4);
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
