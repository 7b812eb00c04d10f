// SPDX-License-Identifier: BSD-3-Clause
// crossing.h - packets that leave by a metalink or a tunnel, or came by a tunnel: they pass the
// stages again
#ifndef FORWARDER_CROSSING_H
#define FORWARDER_CROSSING_H

#include "forwarder/state.h"

// May some packet of b, which has next hops, leave by a metalink or a tunnel? Ids of ports without
// a device, and of LAGs, are above device ids: one comparison for most bursts.
static inline bool burst_crosses(const struct burst *b)
{
    return b->out_ports >= 1ull << PORT_TUNNEL;
}
static inline bool crossing_is_port(uint16_t port)
{
    return port >= PORT_TUNNEL && port <= PORT_METALINK;
}
_Static_assert(PORT_METALINK == PORT_TUNNEL + TUNNEL_PORTS && PORT_TUNNEL >= PORT_DEVICE_MAX,
               "port ids");
// The fast path, before packets become frames, for a plain burst: takes packets that enter tunnels
// out of b, and passes their outer packets on. Returns true if all of b has crossed a metalink and
// is to be looked up there.
bool crossing_pass(struct forwarder *f, struct burst *b);

// Queues n finished frames that leave by such a port, with their interfaces beside them.
void crossing_put(struct forwarder *f, uint16_t port, struct rte_mbuf **pkt, unsigned n);
// f->n_crossing frames wait. Passes them through the stages, until none is left.
void crossing_take(struct forwarder *f);
// Passes the next one through its stages, recorded. Returns false if there is none.
bool crossing_take_recorded(struct forwarder *f);
void crossing_end(struct forwarder *f); // drops the remaining ones

#endif
