// SPDX-License-Identifier: BSD-3-Clause
// tags.h - the VLAN tags of a frame, and the interface that they select
//
// A tag with VLAN id 0 only carries a priority (802.1Q 6.9.1) and counts as absent. Without a tag,
// a frame belongs to the port's own interface; with one, of type 0x8100, to a vport; with two, to a
// vport with an outer VLAN, if the outer tag has the type configured for the vport. Priorities
// (PCP) are ignored. For single frames; lanes.h handles uniform bursts.
#ifndef FORWARDER_TAGS_H
#define FORWARDER_TAGS_H

#include <rte_mbuf.h>
#include <stdbool.h>
#include <stdint.h>

#include "forwarder/packet.h"
#include "table/counter.h"
#include "table/iface.h"
#include "table/port.h"

// The port took tags off the frame. A finished frame has all its tags: these flags are cleared
// before it is captured, dropped or received again.
#define RX_TAGS                                                                                    \
    (RTE_MBUF_F_RX_VLAN | RTE_MBUF_F_RX_VLAN_STRIPPED | RTE_MBUF_F_RX_QINQ |                       \
     RTE_MBUF_F_RX_QINQ_STRIPPED)

struct tags { // of a frame, outermost first, without priority tags
    unsigned n;
    uint16_t vlan[2], type_be[2]; // type 0: unknown, stripped by the port
};

// Reads the tags. Returns the address of the EtherType after them; NULL: the frame ends before
// that. `received`: includes tags stripped by the port.
const uint8_t *tags_read(const struct rte_mbuf *m, bool received, struct tags *t);
// The interface of a frame of `port` with these tags; or a drop reason.
enum drop_reason tags_iface(const struct port *port, const struct tags *t, uint16_t *id);
// Both in one; returns 0 = none.
uint16_t iface_of_frame(const struct port *port, const struct rte_mbuf *m, bool received);
static inline bool tags_begin(const struct rte_mbuf *m) // has the finished frame a tag?
{
    return is_tag(load16(rte_pktmbuf_mtod_offset(m, const uint8_t *, 12)));
}
// Returns where the EtherType of a finished frame is, behind its tags; NULL: the frame ends before.
static inline const uint8_t *tags_skip(const struct rte_mbuf *m)
{
    const uint8_t *at = rte_pktmbuf_mtod(m, const uint8_t *) + 12;
    struct tags more;

    if (!tags_begin(m))
        return at;
    if (likely(m->data_len >= ETHER_HDR + VLAN_HDR && !is_tag(load16(at + VLAN_HDR))))
        return at + VLAN_HDR;
    return tags_read(m, false, &more);
}
// Inserts the tags of the interface into an untagged frame. Returns false if there is no room.
bool tags_put(struct rte_mbuf *m, const struct iface *iface);
// Restores an Ethernet header, as if sent to us, in front of a packet that starts at its IP header;
// the old one was in the same place.
void ether_restore(struct rte_mbuf *m, uint16_t iface, uint8_t family);

#endif
