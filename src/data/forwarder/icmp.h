// SPDX-License-Identifier: BSD-3-Clause
// icmp.h - ICMP errors and other answers of our own
#ifndef FORWARDER_ICMP_H
#define FORWARDER_ICMP_H

#include "forwarder/state.h"

// Sends an ICMP error about packet i of b to its source, unless the rules or the rate forbid it.
// The caller keeps b->pkt[i]. `word`: second word of the ICMP header, host order: the MTU, or a
// pointer (ICMPv4: in its highest byte).
void icmp4_error(struct forwarder *f, struct burst *b, unsigned i, uint8_t type, uint8_t code,
                 uint32_t word);
void icmp6_error(struct forwarder *f, struct burst *b, unsigned i, uint8_t type, uint8_t code,
                 uint32_t word);
// The same from or to a link-local address: out of the packet's input interface, to the MAC that
// sent it.
void icmp6_link_error(struct forwarder *f, struct burst *b, unsigned i, uint8_t type, uint8_t code,
                      uint32_t word);
// For a packet from a link-local address to another link (RFC 4443 3.1, code 2).
void icmp6_beyond_scope(struct forwarder *f, struct burst *b, unsigned i);
// Writes the headers and checksum of an ICMPv6 message into a packet of `len` bytes whose rest is
// complete.
void icmp6_fill(uint8_t *ip, uint32_t len, const uint8_t *from, const uint8_t *to, uint8_t type,
                uint8_t code, uint32_t word);
// Do the rules allow an ICMP error about this packet?
bool icmp4_may_be_answered(const uint8_t *ip, uint32_t readable);
// Is it, or may it be, an ICMPv6 error?
bool icmp6_may_be_error(const uint8_t *ip, uint32_t readable);
// Takes a token for an error of this type about packet i of b, if there is one.
bool icmp_has_token(const struct forwarder *f, const struct burst *b, unsigned i, uint8_t type,
                    uint8_t code);
// May the source of packet i of b get an answer, by the rules of ICMP errors? Takes a token.
bool icmp_may_answer(struct forwarder *f, const struct burst *b, unsigned i);
// Adds a packet of ours, which starts at its IP header and answers one that came in by `iface`, to
// the burst of ICMP errors; virtual router `vr` looks it up.
void origin_add(struct forwarder *f, uint8_t family, struct rte_mbuf *m, uint16_t iface,
                uint16_t vr);
void origin_count(struct forwarder *f, uint16_t iface); // counts such a packet
// Makes the error of icmp4_error or icmp6_error about a packet that came with n >= 1 labels, with
// these (RFC 4950). NULL: none.
struct rte_mbuf *icmp_error_labels(struct forwarder *f, struct burst *b, unsigned i, uint8_t type,
                                   uint8_t code, uint32_t word, const uint8_t *label, unsigned n);
// Makes a buffer with `head` bytes for headers, followed by up to `quote` bytes of packet i; NULL:
// no buffer.
struct rte_mbuf *icmp_quote(struct burst *b, unsigned i, uint32_t head, uint32_t quote);
// Sends a TCP reset to the source of packet i of b (TCP, not a later fragment) from its destination
// address, on behalf of a host that would not answer; the caller keeps b->pkt[i]. Sends nothing if
// the rules or the rate forbid it.
void tcp_reset(struct forwarder *f, struct burst *b, unsigned i);

#endif
