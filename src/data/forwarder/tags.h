// SPDX-License-Identifier: BSD-3-Clause
// tags.h - the VLAN tags of a frame, and the interface they belong to
//
// A tag with VLAN id 0 says a priority and nothing else (802.1Q 6.9.1): it counts as not there,
// wherever it stands. What is left decides: no tag, the port's own interface; one, of type 0x8100,
// a vport; two, a vport with an outer VLAN, if the outer one has the type the vport was given.
// Priorities (PCP) are not looked at.
//
// For frames one by one; those of a burst that are alike are looked up by lanes.
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

// Reads the tags; the EtherType behind them, NULL: the frame ends before. `received`: those that
// the port has taken off, too; a frame to be sent may still have the word of the port it came from.
const uint8_t *tags_read(const struct rte_mbuf *m, bool received, struct tags *t);
// The interface of a frame of `port` with these tags; or why it has none.
enum drop_reason tags_iface(const struct port *port, const struct tags *t, uint16_t *id);
// The same in one; 0 = none.
uint16_t iface_of_frame(const struct port *port, const struct rte_mbuf *m, bool received);
// Puts the tags of the interface into an untagged frame. False: no room.
bool tags_put(struct rte_mbuf *m, const struct iface *iface);
// A packet that starts at its IP header gets the Ethernet header it would have come with: its old
// header lay there.
void ether_restore(struct rte_mbuf *m, uint16_t iface, uint8_t family);

#endif
