// SPDX-License-Identifier: BSD-3-Clause
// icmp.h - ICMP errors and other answers of our own
#ifndef FORWARDER_ICMP_H
#define FORWARDER_ICMP_H

#include "forwarder/state.h"

// Sends an ICMP error about packet i of b to its source, unless the rules or the rate forbid it.
// b->pkt[i] stays the caller's. `word`: the second one of the ICMP header, host order: the MTU, or
// a pointer (ICMPv4: in its highest byte).
void icmp4_error(struct forwarder *f, struct burst *b, unsigned i, uint8_t type, uint8_t code,
                 uint32_t word);
void icmp6_error(struct forwarder *f, struct burst *b, unsigned i, uint8_t type, uint8_t code,
                 uint32_t word);
// The same from or to a link-local address: out of the interface by which the packet came, to the
// MAC that sent it (icmp_link.c).
void icmp6_link_error(struct forwarder *f, struct burst *b, unsigned i, uint8_t type, uint8_t code,
                      uint32_t word);
// About a packet from a link-local address to another link (RFC 4443 3.1, code 2).
void icmp6_beyond_scope(struct forwarder *f, struct burst *b, unsigned i);
// Writes the headers and checksum of an ICMPv6 message into a packet of `len` bytes whose rest is
// there.
void icmp6_fill(uint8_t *ip, uint32_t len, const uint8_t *from, const uint8_t *to, uint8_t type,
                uint8_t code, uint32_t word);
// Do the rules allow an ICMP error about this packet?
bool icmp4_may_be_answered(const uint8_t *ip, uint32_t readable);
// Is it an ICMPv6 error, or may it be one?
bool icmp6_may_be_error(const uint8_t *ip, uint32_t readable);
// Is there a token for an error of this type about packet i of b? Takes it.
bool icmp_has_token(const struct forwarder *f, const struct burst *b, unsigned i, uint8_t type,
                    uint8_t code);
// May the source of packet i of b get an answer, by the rules of ICMP errors? Takes a token.
bool icmp_may_answer(struct forwarder *f, const struct burst *b, unsigned i);
// Adds a packet of ours, which starts at its IP header, to the burst of ICMP errors; it answers one
// that came by `iface`.
void origin_add(struct forwarder *f, uint8_t family, struct rte_mbuf *m, uint16_t iface);
// A buffer with `head` bytes for headers and up to `quote` bytes of packet i behind; NULL: none
// left.
struct rte_mbuf *icmp_quote(struct burst *b, unsigned i, uint32_t head, uint32_t quote);

#endif
