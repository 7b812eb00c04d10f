// SPDX-License-Identifier: BSD-3-Clause
// super.h - super-packets: many segments of a TCP or UDP flow in one packet of up to 64 KB
//
// A sender leaves segmentation to its card. Behind a veth or in a virtual machine there is none, so
// the whole arrives: one set of headers, the payload of all segments, and an unfinished checksum
// (the sum of the pseudo-header). The mbuf has RTE_MBUF_F_RX_LRO, and in tso_segsz the payload of a
// segment; on its way out RTE_MBUF_F_TX_TCP_SEG or _UDP_SEG instead. It passes the router whole if
// its way out takes it (struct port's `super`), and is cut into the packets that the sender meant
// otherwise: forwarder/super.c decides.
//
// If the sender put it into a tunnel of its own (VXLAN, Geneve, IP in IP, GRE without checksum),
// the mbuf has in outer_l3_len where the inner TCP or UDP header begins; such a packet is always
// cut.
//
// TCP and UDP directly behind the IP header, of at most SUPER_SEGMENTS_MAX segments; others are
// dropped. Any thread; no state.
#ifndef TABLE_SUPER_H
#define TABLE_SUPER_H

#include <rte_mbuf.h>
#include <stdbool.h>
#include <stdint.h>

enum { SUPER_TCP = 1, SUPER_UDP = 2 }; // kinds that a port sends whole
#define SUPER_SEGMENTS_MAX 2048u       // 64 KB of Linux' smallest segments, 48 bytes, are 1,365

struct super_header { // offsets are from the start of the frame
    uint8_t family, proto;
    uint16_t l3, l4;
};

struct super {
    struct super_header outer; // of a tunnel; family IP_NONE: none
    struct super_header head;  // that segments have in common
    uint16_t payload;
    uint16_t segment;  // bytes of payload in each segment but the last
    uint32_t n, bytes; // segments, and their payload
};

static inline bool super_is(const struct rte_mbuf *m)
{
    return m->ol_flags & RTE_MBUF_F_RX_LRO;
}

// On its way out, whole, to a port that takes it.
static inline bool super_is_sent(const struct rte_mbuf *m)
{
    return m->ol_flags & (RTE_MBUF_F_TX_TCP_SEG | RTE_MBUF_F_TX_UDP_SEG);
}

// Reads the headers, which begin with an Ethernet header. Returns false if it cannot be cut.
bool super_read(const struct rte_mbuf *m, struct super *s);

// Reads a packet that is none, as the only segment of one.
bool super_read_segment(const struct rte_mbuf *m, struct super *s);
// Is the TCP or UDP checksum right? Its packet must not be padded.
bool super_checksum_is_right(const struct rte_mbuf *m, const struct super *s);

// Bytes of segment k < s->n, from the start of the frame.
static inline uint32_t super_piece_bytes(const struct super *s, uint32_t k)
{
    uint32_t at = k * s->segment;

    return s->payload + RTE_MIN((uint32_t)s->segment, s->bytes - at);
}

// Bytes by which its segments on the wire exceed the super-packet: their repeated headers.
static inline uint32_t super_more_bytes(const struct super *s)
{
    return (s->n - 1) * s->payload;
}

// Asks the port that sends it to cut it, if its receiver does not take it whole. Leaves the sum of
// the pseudo-header, with the length of the whole, in the checksum field, whatever it holds.
void super_request(struct rte_mbuf *m, const struct super *s);

// Makes segment k, 0 <= k < s->n in this order, as a packet of its own in buffers of exchange_pool.
// `at` is 0 at first. NULL: no buffer.
struct super_at {
    const struct rte_mbuf *buffer; // of the next byte of payload
    uint32_t offset;
};
struct rte_mbuf *super_piece(const struct rte_mbuf *m, const struct super *s, uint32_t k,
                             struct super_at *at);

#endif
