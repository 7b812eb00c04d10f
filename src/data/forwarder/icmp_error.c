// SPDX-License-Identifier: BSD-3-Clause
// icmp_error.c - tells senders why their packets end here
//
// An error is built in a buffer of exchange_pool, counted as `inject`, and put into f->origin4 or
// origin6; path.c passes that burst through the lookup like any other. It quotes as much as fits in
// 576 (IPv4, RFC 1812 4.3.2.3) or 1280 bytes (IPv6, RFC 4443 2.4c).
//
// No error is sent (RFC 1812 4.3.2.7, RFC 4443 2.4e)
//   about an ICMP error, or a packet that may be one; about a later fragment (IPv4)
//   about a packet to a multicast or broadcast address, except IPv6 packet too big
//   to a source that is not a single host: unspecified, multicast, link-local
//   about a packet of our own: an error, an outer packet of a tunnel
//   faster than the buckets of table/icmp.h allow (RFC 1812 4.3.2.8, RFC 4443 2.4f)
//
// Its source is an address of the packet's input interface, so that traceroute shows the path (RFC
// 1812 4.3.2.4), or else the virtual router's own, as for a packet whose label led it to another
// virtual router. Without an address of the family, IPv4 uses the dummy address 192.0.0.8 (RFC 7600
// 4.8, RFC 9229 3), and IPv6 the link-local address of the interface, for a sender on that link
// (icmp6_link_error).
#include <limits.h>

#include "base/checksum.h"
#include "base/hash.h"
#include "base/ip6_chain.h"
#include "forwarder/icmp.h"
#include "forwarder/packet.h"
#include "forwarder/tx.h"
#include "table/icmp.h"
#include "table/iface.h"
#include "table/vr.h"
#include "forwarder/forbidden.h"

#define ICMP_HDR 8u
#define IP4_ERROR_MAX 576u
#define IP6_ERROR_MAX 1280u
#define ERROR_TTL 65 // 64 (RFC 1700) on the wire: the forwarding path decrements it
#define ERROR_TOS 0xc0 // precedence 6 (RFC 1812 4.3.2.5), that is CS6 (RFC 2474)

#define IP4_DUMMY RTE_BE32(0xc0000008)

enum {
    ICMP4_UNREACHABLE = 3,
    ICMP4_CODE_TOO_BIG = 4,
    ICMP4_REDIRECT_TYPE = 5,
    ICMP6_TOO_BIG_TYPE = 2,
    ICMP6_REDIRECT = 137
};

static enum icmp_kind kind_of(uint8_t family, uint8_t type, uint8_t code)
{
    if (family == IP6)
        return type == ICMP6_TOO_BIG_TYPE ? ICMP_TOO_BIG : ICMP_ERROR;
    return type == ICMP4_REDIRECT_TYPE                               ? ICMP_REDIRECT
           : type == ICMP4_UNREACHABLE && code == ICMP4_CODE_TOO_BIG ? ICMP_TOO_BIG
                                                                     : ICMP_ERROR;
}

bool icmp_has_token(const struct forwarder *f, const struct burst *b, unsigned i, uint8_t type,
                    uint8_t code)
{
    uint64_t sender = vr_flow_hash(vr_get(b->vr[i])).seed;

    if (b->family == IP4)
        sender = hash_mix64(sender << 32 | load32(b->ip[i] + 12));
    else
        sender = hash_mix64(hash_mix64(sender ^ load64(b->ip[i] + 8)) ^ load64(b->ip[i] + 16));
    return icmp_may_send(kind_of(b->family, type, code), b->iface[i], sender, f->now, f->dry);
}

// May an error be sent about packet i? `allowed`: the rules permit it.
static bool may_send_error(struct forwarder *f, const struct burst *b, unsigned i, bool allowed,
                           uint8_t type, uint8_t code)
{
    const struct burst *origin = b->family == IP4 ? &f->origin4 : &f->origin6;
    struct counter_icmp *c = &f->counter->icmp;
    bool rate = allowed && origin->n < BURST_MAX && icmp_has_token(f, b, i, type, code);

    c->forbidden += !allowed;
    c->limited += allowed & !rate;
    return rate;
}

static ip4_t error_source4(uint16_t iface, uint16_t vr)
{
    ip4_t own = iface_get(iface)->vr == vr ? iface_get(iface)->addr4 : 0;

    own = own ? own : vr_get(vr)->addr4;
    return own ? own : IP4_DUMMY;
}

static bool is_set6(const uint8_t *a)
{
    return load64(a) | load64(a + 8);
}

static const uint8_t *error_source6(uint16_t iface, uint16_t vr)
{
    const uint8_t *own = iface_get(iface)->addr6;

    return iface_get(iface)->vr == vr && is_set6(own) ? own : vr_get(vr)->addr6;
}

// Only these types are known not to be errors; any other, or an unreadable one, may be an error.
static bool icmp4_is_query(uint8_t type)
{
    const uint32_t query = 1u << 0 | 1u << 8 | 1u << 9 | 1u << 10 | 1u << 13 | 1u << 14 | 1u << 15 |
                           1u << 16 | 1u << 17 | 1u << 18;
    return type < 32 && (query >> type & 1);
}

bool icmp4_may_be_answered(const uint8_t *ip, uint32_t readable)
{
    uint32_t hlen = (ip[0] & 15) * 4u;

    if (load16(ip + 6) & RTE_BE16(0x1fff)) // a later fragment
        return false;
    if (ip[9] == PROTO_ICMP && (readable <= hlen || !icmp4_is_query(ip[hlen])))
        return false;
    return ip[12] != 0 && ip[12] != 127 && ip[12] < 224 && ip[16] < 224;
}

// Looks for ICMPv6 after the extension headers.
bool icmp6_may_be_error(const uint8_t *ip, uint32_t readable)
{
    struct ip6_chain c = ip6_chain_of(ip, readable, UINT_MAX);

    if (c.cut)
        return true;
    if (c.proto != PROTO_ICMP6)
        return false;
    return c.offset || readable <= c.at || ip[c.at] < 128 || ip[c.at] == ICMP6_REDIRECT;
}

static bool may_answer6(const uint8_t *ip, uint32_t readable, uint8_t type)
{
    const uint8_t *src = ip + 8;

    if (!is_set6(src) || src[0] == 0xff || ip6_is_link_local(src))
        return false;
    if (ip[24] == 0xff && type != ICMP6_TOO_BIG_TYPE)
        return false;
    return !icmp6_may_be_error(ip, readable);
}

bool icmp_may_answer(struct forwarder *f, const struct burst *b, unsigned i)
{
    const uint8_t *about = b->ip[i];
    uint32_t readable = packet_readable(b->pkt[i], about);
    bool four = b->family == IP4,
         allowed = !burst_is_own(b) &&
                   (four ? icmp4_may_be_answered(about, readable)
                         : may_answer6(about, readable, 0));

    return may_send_error(f, b, i, allowed, 0, 0);
}

struct rte_mbuf *icmp_quote(struct burst *b, unsigned i, uint32_t head, uint32_t quote)
{
    struct rte_mbuf *m = rte_pktmbuf_alloc(exchange_pool), *about = b->pkt[i];

    if (!m)
        return NULL;
    uint32_t at = packet_l2_len(about, b->ip[i]), room = rte_pktmbuf_tailroom(m) - head;
    uint32_t n = RTE_MIN(quote, (uint32_t)b->len[i]);
    n = RTE_MIN(n, room);
    uint8_t *to = (uint8_t *)rte_pktmbuf_append(m, (uint16_t)(head + n)) + head;
    const void *from = rte_pktmbuf_read(about, at, n, to);
    if (from != to)
        memcpy(to, from, n);
    return m;
}

void origin_count(struct forwarder *f, uint16_t iface)
{
    f->counter->inject++;
    f->counter->icmp.sent++;
    f->counter->iface[iface].inject_packets++;
}

void origin_add(struct forwarder *f, uint8_t family, struct rte_mbuf *m, uint16_t iface,
                uint16_t vr)
{
    struct burst *origin = family == IP4 ? &f->origin4 : &f->origin6;
    unsigned i = burst_add(origin, m, rte_pktmbuf_mtod(m, uint8_t *), iface);

    origin->vr[i] = vr;
    origin->mixed |= vr != origin->vr[0];
    origin->len[i] = m->data_len;
    if (origin->family == IP4)
        origin->dst4[i] = load32(origin->ip[i] + 16);
    else
        memcpy(origin->dst6[i], origin->ip[i] + 24, 16);
    origin_count(f, iface);
}

// --- the label stack of the packet (RFC 4950), behind the quote (RFC 4884) ---

#define QUOTE_MIN 128u // with an extension

// Bytes to quote if the error may have `max` bytes after its headers, in units of `unit`.
static uint32_t quote_beside(uint32_t max, unsigned unit, unsigned n)
{
    return n ? (max - 8 - 4 * n) & ~(unit - 1) : max;
}

// Pads the quote behind `head` bytes of headers and appends the n labels. Returns its units.
static uint8_t add_labels(struct rte_mbuf *m, uint32_t head, unsigned unit, const uint8_t *label,
                          unsigned n)
{
    const uint32_t quoted = m->data_len - head, size = 8 + 4 * n,
                   whole = RTE_MAX((quoted + unit - 1) & ~(unit - 1), QUOTE_MIN);
    uint8_t *pad = (uint8_t *)rte_pktmbuf_append(m, (uint16_t)(whole - quoted + size)),
            *to = pad + (whole - quoted);
    const uint8_t header[8] = {0x20, 0, 0, 0, 0, (uint8_t)(4 + 4 * n), 1, 1}; // version; object

    memset(pad, 0, whole - quoted);
    memcpy(to, header, sizeof header);
    memcpy(to + sizeof header, label, 4 * n);
    store16(to + 2, checksum(to, size));
    return (uint8_t)(whole / unit);
}

static struct rte_mbuf *make4(struct forwarder *f, struct burst *b, unsigned i, uint8_t type,
                              uint8_t code, uint32_t word, const uint8_t *label, unsigned n)
{
    const uint8_t *about = b->ip[i];
    ip4_t from = error_source4(b->iface[i], b->vr[i]);
    bool allowed =
        !burst_is_own(b) && icmp4_may_be_answered(about, packet_readable(b->pkt[i], about));

    if (!may_send_error(f, b, i, allowed, type, code))
        return NULL;
    struct rte_mbuf *m = icmp_quote(b, i, IP4_HDR + ICMP_HDR,
                                    quote_beside(IP4_ERROR_MAX - IP4_HDR - ICMP_HDR, 4, n));
    if (!m)
        return NULL;
    uint8_t units = n ? add_labels(m, IP4_HDR + ICMP_HDR, 4, label, n) : 0;
    uint8_t *ip = rte_pktmbuf_mtod(m, uint8_t *), *icmp = ip + IP4_HDR;
    memset(ip, 0, IP4_HDR + ICMP_HDR);
    ip[0] = 0x45;
    ip[1] = ERROR_TOS;
    store16(ip + 2, rte_cpu_to_be_16(m->data_len));
    store16(ip + 4, rte_cpu_to_be_16(f->icmp_id++));
    ip[8] = ERROR_TTL;
    ip[9] = PROTO_ICMP;
    store32(ip + 12, from);
    memcpy(ip + 16, about + 12, 4);
    store16(ip + 10, checksum(ip, IP4_HDR));
    icmp[0] = type;
    icmp[1] = code;
    store32(icmp + 4, rte_cpu_to_be_32(word | (uint32_t)units << 16));
    store16(icmp + 2, checksum(icmp, m->data_len - IP4_HDR));
    return m;
}

void icmp4_error(struct forwarder *f, struct burst *b, unsigned i, uint8_t type, uint8_t code,
                 uint32_t word)
{
    struct rte_mbuf *m = make4(f, b, i, type, code, word, NULL, 0);

    if (m)
        origin_add(f, IP4, m, b->iface[i], b->vr[i]);
}

void icmp6_fill(uint8_t *ip, uint32_t len, const uint8_t *from, const uint8_t *to, uint8_t type,
                uint8_t code, uint32_t word)
{
    uint8_t *icmp = ip + IP6_HDR;

    memset(ip, 0, IP6_HDR + ICMP_HDR);
    ip[0] = 0x60 | ERROR_TOS >> 4;
    store16(ip + 4, rte_cpu_to_be_16((uint16_t)(len - IP6_HDR)));
    ip[6] = PROTO_ICMP6;
    ip[7] = ERROR_TTL;
    memcpy(ip + 8, from, 16);
    memcpy(ip + 24, to, 16);
    icmp[0] = type;
    icmp[1] = code;
    store32(icmp + 4, rte_cpu_to_be_32(word));
    uint32_t sum = checksum_pseudo6(ip + 8, ip + 24, len - IP6_HDR, PROTO_ICMP6);
    store16(icmp + 2, checksum_finish(checksum_add(sum, icmp, len - IP6_HDR)));
}

static struct rte_mbuf *make6(struct forwarder *f, struct burst *b, unsigned i, uint8_t type,
                              uint8_t code, uint32_t word, const uint8_t *label, unsigned n)
{
    const uint8_t *about = b->ip[i], *from = error_source6(b->iface[i], b->vr[i]);
    bool allowed =
        !burst_is_own(b) && may_answer6(about, packet_readable(b->pkt[i], about), type);

    if (allowed && !is_set6(from) && !n) {
        icmp6_link_error(f, b, i, type, code, word);
        return NULL;
    }
    if (!may_send_error(f, b, i, allowed && is_set6(from), type, code))
        return NULL;
    struct rte_mbuf *m = icmp_quote(b, i, IP6_HDR + ICMP_HDR,
                                    quote_beside(IP6_ERROR_MAX - IP6_HDR - ICMP_HDR, 8, n));
    if (!m)
        return NULL;
    uint32_t units = n ? add_labels(m, IP6_HDR + ICMP_HDR, 8, label, n) : 0;
    icmp6_fill(rte_pktmbuf_mtod(m, uint8_t *), m->data_len, from, about + 8, type, code,
               word | units << 24);
    return m;
}

void icmp6_error(struct forwarder *f, struct burst *b, unsigned i, uint8_t type, uint8_t code,
                 uint32_t word)
{
    struct rte_mbuf *m = make6(f, b, i, type, code, word, NULL, 0);

    if (m)
        origin_add(f, IP6, m, b->iface[i], b->vr[i]);
}

struct rte_mbuf *icmp_error_labels(struct forwarder *f, struct burst *b, unsigned i, uint8_t type,
                                   uint8_t code, uint32_t word, const uint8_t *label, unsigned n)
{
    // The length of the quote has no place in a packet too big (RFC 4884 4.1).
    if (b->family == IP6 && type == ICMP6_TOO_BIG_TYPE)
        n = 0;
    return (b->family == IP4 ? make4 : make6)(f, b, i, type, code, word, label, n);
}

// --- from and to link-local addresses ---
//
// A host has sent from its link-local address to another link (RFC 4443 3.1, code 2); or the
// virtual router has no other address (RFC 7404). Such addresses belong to one link and are in no
// FIB, so the error leaves by the packet's input interface, from our link-local address there, to
// the MAC that sent the packet: a host on the link gets it, a router drops it.

enum { ICMP6_UNREACHABLE = 1, ICMP6_CODE_SCOPE = 2 };

static bool may_answer_on_link(const struct burst *b, unsigned i)
{
    const uint8_t *ip = b->ip[i], *own = iface_get(b->iface[i])->addr6_ll;
    const uint8_t *frame = rte_pktmbuf_mtod(b->pkt[i], const uint8_t *);

    return own[0] == 0xfe && iface_get(b->iface[i])->kind != IFACE_TUNNEL &&
           packet_l2_len(b->pkt[i], ip) >= ETHER_HDR && !(frame[6] & 1) &&
           !icmp6_may_be_error(ip, packet_readable(b->pkt[i], ip));
}

void icmp6_link_error(struct forwarder *f, struct burst *b, unsigned i, uint8_t type, uint8_t code,
                      uint32_t word)
{
    const unsigned head = ETHER_HDR + IP6_HDR + ICMP_HDR;
    const struct iface *iface = iface_get(b->iface[i]);
    const uint8_t *about = rte_pktmbuf_mtod(b->pkt[i], const uint8_t *);

    if (!may_answer_on_link(b, i)) {
        f->counter->icmp.forbidden++;
        return;
    }
    if (!icmp_has_token(f, b, i, type, code)) {
        f->counter->icmp.limited++;
        return;
    }
    struct rte_mbuf *m = icmp_quote(b, i, head, IP6_ERROR_MAX - IP6_HDR - ICMP_HDR);
    if (!m)
        return;
    uint8_t *frame = rte_pktmbuf_mtod(m, uint8_t *), *ip = frame + ETHER_HDR;
    memcpy(frame, about + 6, 6);
    memcpy(frame + 6, iface->mac, 6);
    store16(frame + 12, ETHER_TYPE_IP6);
    icmp6_fill(ip, m->data_len - ETHER_HDR, iface->addr6_ll, b->ip[i] + 8, type, code,
               word);
    ip[7]--; // it bypasses the forwarding path, which would decrement it
    f->counter->inject++;
    f->counter->icmp.sent++;
    f->counter->iface[iface->id].inject_packets++;
    tx_frame(f, m, iface->id, DROP_TX_NO_BUFFER);
}

void icmp6_beyond_scope(struct forwarder *f, struct burst *b, unsigned i)
{
    icmp6_link_error(f, b, i, ICMP6_UNREACHABLE, ICMP6_CODE_SCOPE, 0);
}
