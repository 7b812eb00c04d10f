// SPDX-License-Identifier: BSD-3-Clause
// traffic.c - the packets of a port, generated once
//
// UDP over IPv4 or IPv6 with right checksums. Addresses are of the benchmarking networks (RFC 2544,
// RFC 5180); their third byte is the packet's virtual router k = VLAN - lowest VLAN, for the
// verification:
//
//     source       198.18.k.x       2001:2:0:k::x
//     destination  by the pattern, but never these, loopback, link-local, multicast or 0/8
//
// A line has the bytes that a program may read: headers and some payload. The bytes after it are
// not written while rates are measured and zero while frames are verified; the checksum counts them
// as zero.
#include <errno.h>
#include <rte_byteorder.h>
#include <string.h>
#include <sys/mman.h>

#include "replay.h"

#define HUGE (2u << 20)
#define TTL 64
#define TRIES 100000
#define UDP 17

static uint64_t state;

static uint64_t random64(void) // xorshift64*, Vigna 2016
{
    state ^= state >> 12;
    state ^= state << 25;
    state ^= state >> 27;
    return state * 0x2545f4914f6cdd1du;
}

static uint64_t random_below(uint64_t n)
{
    return (uint64_t)((unsigned __int128)random64() * n >> 64);
}

uint16_t traffic_sum(const void *data, unsigned bytes, uint32_t sum)
{
    const uint8_t *b = data;
    uint64_t wide = sum;

    for (unsigned i = 0; i + 1 < bytes; i += 2)
        wide += (uint32_t)b[i] << 8 | b[i + 1];
    if (bytes % 2)
        wide += (uint32_t)b[bytes - 1] << 8;
    while (wide >> 16)
        wide = (wide & 0xffff) + (wide >> 16);
    return (uint16_t)wide;
}

uint32_t traffic_pseudo_header(const uint8_t *ip, bool is_ip6, unsigned udp_bytes)
{
    return traffic_sum(ip + (is_ip6 ? 8 : 12), is_ip6 ? 32 : 8, UDP + udp_bytes);
}

static void put16(uint8_t *p, unsigned v)
{
    p[0] = (uint8_t)(v >> 8);
    p[1] = (uint8_t)v;
}

// --- destinations ---

static bool may_be_routed(const uint8_t *a, bool is_ip6)
{
    if (is_ip6)
        return a[0] >> 5 == 1 &&
               memcmp(a, "\x20\x01\x00\x02\x00\x00", 6); // global unicast, not our own
    return a[0] && a[0] != 127 && a[0] < 224 && !(a[0] == 169 && a[1] == 254) &&
           !(a[0] == 198 && (a[1] & 0xfe) == 18);
}

static void random_host(const struct route_prefix *p, uint8_t *address)
{
    for (unsigned i = 0; i < p->len; i++) {
        uint8_t m = (uint8_t)(0x80 >> i % 8);
        address[i / 8] = (uint8_t)((address[i / 8] & ~m) | (p->address[i / 8] & m));
    }
}

// -ENOENT if no address with a route was found.
static int destination_draw(const struct option *o, const struct route_table *t, bool is_ip6,
                            uint8_t *address)
{
    const struct route_family *f = !t ? NULL : is_ip6 ? &t->ip6 : &t->ip4;
    bool of_prefixes =
        f && f->n && (o->pattern != PATTERN_UNIFORM || is_ip6); // IPv6 is too empty to hit a route

    for (unsigned i = 0; i < TRIES; i++) {
        uint64_t x[2] = {random64(), random64()};
        memcpy(address, x, 16);
        if (of_prefixes)
            random_host(&f->prefix[random_below(f->n)], address);
        else if (is_ip6)
            address[0] = (uint8_t)(0x20 | (address[0] & 0x1f));
        if (may_be_routed(address, is_ip6) &&
            (!f || of_prefixes || route_find(f, address, is_ip6 ? 128 : 32) != HOP_NONE))
            return 0;
    }
    SAY("routes=%s: %u random IPv%u addresses, and no route to any\n", o->routes, TRIES,
        is_ip6 ? 6 : 4);
    return -ENOENT;
}

// --- a frame ---

static unsigned header_bytes(const struct option *o, bool is_ip6)
{
    return 14 + (o->vlan_low ? 4 : 0) + (is_ip6 ? 40 : 20) + 8;
}

static void put_ip4(uint8_t *ip, unsigned bytes, unsigned vr, uint64_t r, const uint8_t *to)
{
    memcpy(ip, "\x45\0\0\0\0\0\0\0", 8);
    put16(ip + 2, bytes);
    ip[8] = TTL;
    ip[9] = UDP;
    memcpy(ip + 12, (uint8_t[]){198, 18, (uint8_t)vr, (uint8_t)(1 + r % 254)}, 4);
    memcpy(ip + 16, to, 4);
    put16(ip + 10, (uint16_t)~traffic_sum(ip, 20, 0));
}

static void put_ip6(uint8_t *ip, unsigned bytes, unsigned vr, uint64_t r, const uint8_t *to)
{
    memcpy(ip, "\x60\0\0\0", 4);
    put16(ip + 4, bytes - 40);
    ip[6] = UDP;
    ip[7] = TTL;
    memcpy(ip + 8, "\x20\x01\x00\x02\0\0\0", 7);
    ip[15] = (uint8_t)vr;
    memset(ip + 16, 0, 7);
    ip[23] = (uint8_t)(1 + r % 254);
    memcpy(ip + 24, to, 16);
}

// Writes a frame of `length` bytes into a line of `stride`; `r` gives source and ports.
static void put_frame(const struct option *o, uint8_t *line, unsigned stride, unsigned length,
                      bool is_ip6, const uint8_t *to, uint64_t r)
{
    unsigned vr = o->vlan_low ? (unsigned)random_below(o->vlan_high - o->vlan_low + 1) : 0,
             l2 = o->vlan_low ? 18 : 14;
    uint8_t frame[2 * LINE] = {0}, *ip = frame + l2, *udp = ip + (is_ip6 ? 40 : 20);
    unsigned udp_bytes = length - (unsigned)(udp - frame),
             in_line = RTE_MIN(length, stride) - (unsigned)(udp - frame);

    memcpy(frame, &o->mac, 6);
    memcpy(frame + 6, (uint8_t[]){0x02, 0x4b, 0x52, 0x01, 0, (uint8_t)o->index}, 6);
    if (o->vlan_low) {
        put16(frame + 12, 0x8100);
        put16(frame + 14, o->vlan_low + vr);
    }
    put16(ip - 2, is_ip6 ? 0x86dd : 0x0800);
    (is_ip6 ? put_ip6 : put_ip4)(ip, length - l2, vr, r >> 48, to);
    put16(udp, 0xc000 | (unsigned)(r & 0x3fff));
    put16(udp + 2, 0x4000 | (unsigned)(r >> 16 & 0x3fff));
    put16(udp + 4, udp_bytes);
    for (unsigned i = 8; i < in_line; i++)
        udp[i] = (uint8_t)(r >> i % 8 * 8);
    uint16_t sum =
        (uint16_t)~traffic_sum(udp, in_line, traffic_pseudo_header(ip, is_ip6, udp_bytes));
    put16(udp + 6, sum ? sum : 0xffff); // 0 would mean no checksum
    memcpy(line, frame, stride);
}

// --- the table ---

static int fill(struct traffic *t, const struct option *o, const struct route_table *routes)
{
    uint8_t to[2][16];
    uint64_t r = random64();
    int e = 0;

    for (unsigned v = 0; !e && v < 2; v++) // destinations of the only flow
        if (o->pattern == PATTERN_FLOW && o->families != (v ? 4 : 6))
            e = destination_draw(o, routes, v, to[v]);
    for (uint64_t i = 0; !e && i <= t->mask; i++) {
        bool is_ip6 = o->families == 46 ? random64() >> 63 : o->families == 6;
        if (o->pattern != PATTERN_FLOW) {
            r = random64();
            e = destination_draw(o, routes, is_ip6, to[is_ip6]);
        }
        put_frame(o, t->line + i * t->stride, t->stride, t->length[is_ip6], is_ip6, to[is_ip6], r);
        if (t->family)
            t->family[i] = is_ip6;
    }
    return e;
}

static void *memory(size_t bytes)
{
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (p == MAP_FAILED)
        return NULL;
    madvise(p, bytes, MADV_HUGEPAGE); // best effort: lines are read in order
    return p;
}

int traffic_make(struct traffic *t, const struct option *o, const struct route_table *routes)
{
    unsigned most = header_bytes(o, o->families != 4);
    int e;

    state = (o->seed * 256 + o->index + 1) * 0x9e3779b97f4a7c15u;
    t->mask = o->entries - 1;
    t->stride = most > LINE ? 2 * LINE : LINE;
    for (unsigned v = 0; v < 2; v++)
        t->length[v] = (uint16_t)RTE_MAX(o->size - 4, header_bytes(o, v));
    t->bytes = RTE_ALIGN(o->entries * (t->stride + (o->families == 46)), HUGE);
    t->line = memory(t->bytes);
    if (!t->line)
        return -ENOMEM;
    t->family = o->families == 46 ? t->line + o->entries * t->stride : NULL;
    e = fill(t, o, routes);
    if (e)
        traffic_free(t);
    return e;
}

void traffic_free(struct traffic *t)
{
    if (t->line)
        munmap(t->line, t->bytes);
    t->line = NULL;
}

void traffic_set_mac(struct traffic *t, const struct rte_ether_addr *mac)
{
    for (uint64_t i = 0; t->line && i <= t->mask; i++)
        memcpy(t->line + i * t->stride, mac, 6);
}
