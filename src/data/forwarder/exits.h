// SPDX-License-Identifier: BSD-3-Clause
// exits.h - where packets leave the stages; for drops see drop.h, for ICMP errors icmp.h
#ifndef FORWARDER_EXITS_H
#define FORWARDER_EXITS_H

#include "forwarder/state.h"

// Packet i of b cannot use its next hop as it is (b->nh, b->word): ICMP error, hold, punt,
// fragments, drop.
void fwd_exit(struct forwarder *f, struct burst *b, unsigned i);
// Packet i of b leaves by its next hop, an adjacency or a subnet's broadcast address, whatever its
// size.
void exit_send(struct forwarder *f, const struct burst *b, unsigned i);
void punt(struct forwarder *f, struct rte_mbuf *m, uint16_t iface, enum punt_class c);
void punt_ip4(struct forwarder *f, struct rte_mbuf *m, const uint8_t *ip, uint16_t iface);
void punt_ip6(struct forwarder *f, struct rte_mbuf *m, const uint8_t *ip, uint16_t iface);
// Of a packet for us, with a whole IP header.
enum punt_class punt_class_of_ip4(const struct rte_mbuf *m, const uint8_t *ip);
enum punt_class punt_class_of_ip6(const struct rte_mbuf *m, const uint8_t *ip);
void punt_flush(struct forwarder *f);
// A slow-protocol frame of port `port`, a member of `lag`: to control if it is sound. type_at: its
// EtherType; tags: how many VLAN tags it has.
void slow_protocol(struct forwarder *f, struct rte_mbuf *m, uint16_t port, uint16_t lag,
          const uint8_t *type_at, unsigned tags);
void packet_hold(struct forwarder *f, struct burst *b, unsigned i);
void hold_flush(struct forwarder *f);
// Packet i of b goes to the broadcast address of a subnet on another interface: sends it to
// everybody there. Why not, or DROP_NONE.
enum drop_reason broadcast(struct forwarder *f, struct burst *b, unsigned i, bool expired);
// Sends packet i of b, larger than the next hop's MTU and without DF, in pieces. False: it could
// not.
bool fragment4(struct forwarder *f, struct burst *b, unsigned i);
// Cuts a packet that starts at its IP header into at most BURST_MAX pieces, which start at theirs,
// without checksums: how many, or -errno. `m` stays the caller's.
int fragment4_cut(struct rte_mbuf *m, struct rte_mbuf **piece, uint16_t mtu);
// The same of an IPv6 packet whose header begins at `ip`: its pieces begin with room for an
// Ethernet header, and have that identification (RFC 8200 4.5). 0: they would be more than `max`.
int fragment6_cut(const struct rte_mbuf *m, const uint8_t *ip, uint16_t mtu, uint32_t id,
                  struct rte_mbuf **piece, unsigned max);
// Copies the pieces of a packet in one segment to buffers of exchange_pool: how many, or -errno.
int fragment4_copy(struct rte_mbuf *m, struct rte_mbuf **piece, uint16_t n_max, uint16_t mtu);
// Packet i of b, whose headers are sound, is for a group of more than this link: copied to the
// outputs of its route, up, or dropped.
void multicast(struct forwarder *f, struct burst *b, unsigned i);
// Is the IPv6 destination a link-local address of ours on that link?
bool multicast_is_own_link_local(const uint8_t *ip, uint16_t iface);

#endif
