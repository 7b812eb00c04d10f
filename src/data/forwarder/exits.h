// SPDX-License-Identifier: BSD-3-Clause
// exits.h - exits of packets from the stages; see drop.h for drops, icmp.h for ICMP errors
#ifndef FORWARDER_EXITS_H
#define FORWARDER_EXITS_H

#include "forwarder/state.h"

// Packet i of b cannot use its next hop as it is (b->nh, b->word): ICMP error, hold, punt,
// fragments, or drop.
void fwd_exit(struct forwarder *f, struct burst *b, unsigned i);
// Sends packet i of b by its next hop, an adjacency or a subnet's broadcast address, regardless of
// its size.
void exit_send(struct forwarder *f, const struct burst *b, unsigned i);
void punt(struct forwarder *f, struct rte_mbuf *m, uint16_t iface, enum punt_class c);
// For a packet with a complete IP header: in its class.
void punt_ip(struct forwarder *f, struct rte_mbuf *m, const uint8_t *ip, uint16_t iface,
             uint8_t family);
enum punt_class punt_class_of_ip(const struct rte_mbuf *m, const uint8_t *ip, uint8_t family);
void punt_flush(struct forwarder *f);
// A slow-protocol frame of port `port`, a member of `lag`: passes it to control if it is sound.
// type_at: its EtherType; tags: its number of VLAN tags.
void slow_protocol(struct forwarder *f, struct rte_mbuf *m, uint16_t port, uint16_t lag,
          const uint8_t *type_at, unsigned tags);
void packet_hold(struct forwarder *f, struct burst *b, unsigned i);
void hold_flush(struct forwarder *f);
// Sends packet i of b, larger than the next hop's MTU and without DF, in fragments. Returns false
// on failure.
bool fragment4(struct forwarder *f, struct burst *b, unsigned i);
// Cuts a packet that starts at its IP header into at most BURST_MAX fragments, which start at
// theirs, and counts them. Returns their number; 0 or -errno: none. The caller keeps `m`.
int fragment4_cut(struct forwarder *f, uint16_t iface, struct rte_mbuf *m, struct rte_mbuf **piece,
                  uint16_t mtu);
// The same for an IPv6 packet whose header begins at `ip`: fragments have room for an Ethernet
// header in front, and that identification (RFC 8200 4.5). 0: more than `max` would be needed.
int fragment6_cut(const struct rte_mbuf *m, const uint8_t *ip, uint16_t mtu, uint32_t id,
                  struct rte_mbuf **piece, unsigned max);
// Copies the fragments of a packet in one segment to buffers of exchange_pool. Returns their
// number, or -errno.
int fragment4_copy(struct rte_mbuf *m, struct rte_mbuf **piece, uint16_t n_max, uint16_t mtu);
// Packet i of b, with sound headers, is for a group beyond this link: copies it to the outputs of
// its route, punts it, or drops it.
void multicast(struct forwarder *f, struct burst *b, unsigned i);
// Is the IPv6 destination a link-local address of ours on that link?
bool multicast_is_own_link_local(const uint8_t *ip, uint16_t iface);

#endif
