// SPDX-License-Identifier: BSD-3-Clause
// tap_reflect.c - turns a frame into the answer of the simulated neighbor
//
// Each answer is made in place, in the frame's own buffer, and is as long as the question. ARP
// requests and solicitations become replies; any other packet to one of the two addresses gets its
// addresses and ports swapped.
#include "tap/tap_manager.h"

#include <rte_mbuf.h>
#include <string.h>

#include "base/checksum.h"

#define ETHER_HDR 14u

static const uint8_t mac[6] = {0x02, 'k', 'a', 'm', 'u', 'e'};
static const uint8_t ip4[4] = {192, 0, 0, 8};
static const uint8_t ip6[16] = {0xfe, 0x80, [8] = 0x6b, 0x61, 0x6d, 0x75, 0x65, 0x65, 0x74, 0x65};

static void swap_bytes(uint8_t *a, uint8_t *b, unsigned n)
{
    uint8_t t[16];

    memcpy(t, a, n);
    memcpy(a, b, n);
    memcpy(b, t, n);
}

static void set_reply_macs(uint8_t *frame)
{
    memcpy(frame, frame + 6, 6);
    memcpy(frame + 6, mac, 6);
}

// RFC 826: a request for our address becomes the reply.
static bool reply_arp(uint8_t *frame, unsigned n)
{
    uint8_t *a = frame + ETHER_HDR;

    if (n < ETHER_HDR + 28 || a[7] != 1 || memcmp(a + 24, ip4, 4))
        return false;
    a[7] = 2;
    swap_bytes(a + 8, a + 18, 10); // sender and target
    memcpy(a + 8, mac, 6);
    set_reply_macs(frame);
    return true;
}

// RFC 4861 4.3, 4.4: a solicitation becomes the advertisement. Its one option keeps its place.
static bool reply_solicitation(uint8_t *frame, unsigned n)
{
    uint8_t *ip = frame + ETHER_HDR, *icmp = ip + 40;
    unsigned len = (unsigned)ip[4] << 8 | ip[5];

    if (len < 32 || n < ETHER_HDR + 40 + len || icmp[0] != 135 || memcmp(icmp + 8, ip6, 16))
        return false;
    icmp[0] = 136;
    icmp[4] = 0x60; // solicited, override
    icmp[24] = 2;   // target's link-layer address
    memcpy(icmp + 26, mac, 6);
    memcpy(ip + 24, ip + 8, 16);
    memcpy(ip + 8, ip6, 16);
    memset(icmp + 2, 0, 2);
    uint16_t sum =
        checksum_finish(checksum_add(checksum_pseudo6(ip + 8, ip + 24, len, 58), icmp, len));
    memcpy(icmp + 2, &sum, 2);
    set_reply_macs(frame);
    return true;
}

static bool has_ports(uint8_t proto)
{
    return proto == 6 || proto == 17;
}

static bool swap_ends4(uint8_t *frame, unsigned n)
{
    uint8_t *ip = frame + ETHER_HDR;
    unsigned hlen = (ip[0] & 15) * 4u;

    if (n < ETHER_HDR + hlen + 4 || memcmp(ip + 16, ip4, 4))
        return false;
    swap_bytes(ip + 12, ip + 16, 4);
    if (has_ports(ip[9]))
        swap_bytes(ip + hlen, ip + hlen + 2, 2);
    set_reply_macs(frame);
    return true;
}

static bool swap_ends6(uint8_t *frame, unsigned n)
{
    uint8_t *ip = frame + ETHER_HDR;

    if (n < ETHER_HDR + 44 || memcmp(ip + 24, ip6, 16))
        return false;
    swap_bytes(ip + 8, ip + 24, 16);
    if (has_ports(ip[6]))
        swap_bytes(ip + 40, ip + 42, 2);
    set_reply_macs(frame);
    return true;
}

bool tap_reflect(struct rte_mbuf *m, enum punt_class *class)
{
    uint8_t *frame = rte_pktmbuf_mtod(m, uint8_t *);
    unsigned n = m->data_len;

    *class = PUNT_NEIGH;
    if (n < ETHER_HDR + 28)
        return false;
    if (frame[12] == 0x08 && frame[13] == 0x06)
        return reply_arp(frame, n);
    if (frame[12] == 0x86 && frame[13] == 0xdd && n >= ETHER_HDR + 40 + 24 &&
        frame[ETHER_HDR + 6] == 58 && reply_solicitation(frame, n))
        return true;
    *class = PUNT_OTHER;
    if (frame[12] == 0x08 && frame[13] == 0x00)
        return swap_ends4(frame, n);
    return frame[12] == 0x86 && frame[13] == 0xdd && swap_ends6(frame, n);
}
