// SPDX-License-Identifier: BSD-3-Clause
// tags.h - the VLAN tags of a frame, and the interface they belong to
//
// A tag with VLAN id 0 carries a priority only (802.1Q 6.9.1) and counts as absent. Without a tag,
// a frame belongs to the port's own interface; with one, of type 0x8100, to a vport; with two, to a
// vport with an outer VLAN, if the outer tag has the type that the vport was given. Priorities
// (PCP) are ignored. For frames one by one; lanes.h takes those of a burst that are alike.
#ifndef FORWARDER_TAGS_H
#define FORWARDER_TAGS_H

#include <rte_mbuf.h>
#include <stdbool.h>
#include <stdint.h>

#include "table/counter.h"
#include "table/iface.h"
#include "table/port.h"

struct tags { // of a frame, outermost first, without priority tags
    unsigned n;
    uint16_t vlan[2], type_be[2]; // type 0: not known, the port has taken it off
};

// Reads the tags. Returns where the EtherType behind them is; NULL: the frame ends before.
// `received`: also those that the port has taken off.
const uint8_t *tags_read(const struct rte_mbuf *m, bool received, struct tags *t);
// The interface of a frame of `port` with these tags; or why it has none.
enum drop_reason tags_iface(const struct port *port, const struct tags *t, uint16_t *id);
// Both in one; 0 = none.
uint16_t iface_of_frame(const struct port *port, const struct rte_mbuf *m, bool received);
// Puts the tags of the interface into an untagged frame. False: no room.
bool tags_put(struct rte_mbuf *m, const struct iface *iface);
// Gives a packet that starts at its IP header an Ethernet header again, as if sent to us; its old
// one lay there.
void ether_restore(struct rte_mbuf *m, uint16_t iface, uint8_t family);

#endif
