// SPDX-License-Identifier: BSD-3-Clause
// frame.c - see frame.h
//
// Checksums are a constant sum, computed once per trial, plus the changing fields: a frame costs
// the same at any size. One's complement sums may be taken over 32-bit words and folded at the end
// (RFC 1071, 2).
#include "throughput/frame.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/checksum.h"

#define MAGIC 0x6b616d75u
#define ETHER 14
#define IP4_BYTES 20
#define IP6_BYTES 40
#define UDP_BYTES 8
#define PORT_FROM 49152
#define PORT_DISCARD 9
#define TTL 64

static uint32_t sum_fold(uint64_t sum)
{
    sum = (sum & 0xffffffff) + (sum >> 32);
    return (uint32_t)((sum & 0xffffffff) + (sum >> 32));
}

static uint64_t word32(const void *p)
{
    uint32_t w;

    memcpy(&w, p, 4);
    return w;
}

// Sum of a datagram by 32-bit words: half the time of checksum_add for a large frame.
static uint64_t sum_words(const uint8_t *p, size_t n)
{
    uint64_t sum = 0;

    for (; n >= 4; n -= 4, p += 4)
        sum += word32(p);
    return sum + checksum_add(0, p, n);
}

static uint64_t sum_address6(const uint8_t *a)
{
    return word32(a) + word32(a + 4) + word32(a + 8) + word32(a + 12);
}

static void put16(uint8_t *p, unsigned value_host)
{
    p[0] = (uint8_t)(value_host >> 8);
    p[1] = (uint8_t)value_host;
}

// --- destinations ---

static int add_destination(struct stream *s, const struct ip_addr *a)
{
    if (a->family == IP4) {
        ip4_t *more = realloc(s->dst4, (s->n_dst4 + 1) * sizeof(*more));

        if (!more)
            return -ENOMEM;
        s->dst4 = more;
        s->dst4[s->n_dst4++] = a->ip4;
    } else {
        uint8_t(*more)[16] = realloc(s->dst6, (s->n_dst6 + 1) * sizeof(*more));

        if (!more)
            return -ENOMEM;
        s->dst6 = more;
        memcpy(s->dst6[s->n_dst6++], a->b, 16);
    }
    return 0;
}

int stream_read_destinations(struct stream *s, const char *file)
{
    FILE *f = fopen(file, "r");
    char line[128];
    int r = 0;

    if (!f)
        return -errno;
    s->n_dst4 = s->n_dst6 = 0;
    while (!r && fgets(line, sizeof(line), f)) {
        struct ip_addr a;

        line[strcspn(line, "\r\n")] = 0;
        r = ip_parse(line, &a);
        if (!r)
            r = add_destination(s, &a);
    }
    fclose(f);
    return r;
}

// --- sending ---

static uint8_t *begin_ether(const struct stream *s, struct head *h, unsigned type)
{
    memset(h, 0, sizeof(*h));
    memcpy(h->byte, s->dst_mac, 6);
    memcpy(h->byte + 6, s->src_mac, 6);
    put16(h->byte + 12, type);
    return h->byte + ETHER;
}

// Writes ports and the constant part of the mark; returns their sum and the protocol's (pseudo
// header).
static uint64_t begin_udp(uint8_t *udp, uint16_t trial)
{
    static const uint8_t protocol[2] = {0, IPPROTO_UDP};
    struct mark m = {.magic = MAGIC, .trial = trial};

    put16(udp, PORT_FROM);
    put16(udp + 2, PORT_DISCARD);
    memcpy(udp + UDP_BYTES, &m, sizeof(m));
    return checksum_add(checksum_add(0, udp, UDP_BYTES + sizeof(m)), protocol, 2);
}

static void begin4(struct stream *s)
{
    uint8_t *ip = begin_ether(s, &s->head4, 0x0800);

    ip[0] = 0x45;
    put16(ip + 6, 0x4000); // do not fragment
    ip[8] = TTL;
    ip[9] = IPPROTO_UDP;
    memcpy(ip + 12, &s->src[0].ip4, 4);
    s->head4.ip_sum = checksum_add(0, ip, IP4_BYTES);
    s->head4.udp_sum = sum_fold(begin_udp(ip + IP4_BYTES, s->trial) + s->src[0].ip4);
}

static void begin6(struct stream *s)
{
    uint8_t *ip = begin_ether(s, &s->head6, 0x86dd);

    ip[0] = 0x60;
    ip[6] = IPPROTO_UDP;
    ip[7] = TTL;
    memcpy(ip + 8, s->src[1].b, 16);
    s->head6.udp_sum = sum_fold(begin_udp(ip + IP6_BYTES, s->trial) + sum_address6(ip + 8));
}

void stream_begin(struct stream *s, uint16_t trial)
{
    s->trial = trial;
    s->at_size = s->at_mix = s->queue = 0;
    memset(s->at_dst4, 0, sizeof(s->at_dst4));
    memset(s->at_dst6, 0, sizeof(s->at_dst6));
    begin4(s);
    begin6(s);
}

static uint32_t next_of(uint32_t *at, uint32_t n)
{
    uint32_t now = *at;

    *at = now + 1 == n ? 0 : now + 1;
    return now;
}

// Next of n destinations. A queue has destinations queue, queue + queues, ... If there are fewer
// destinations than queues, every queue uses all.
static uint32_t next_destination(const struct stream *s, uint32_t *at, uint32_t n)
{
    if (s->queues < 2 || n < s->queues)
        return next_of(&at[s->queue], n);
    return next_of(&at[s->queue], (n - s->queue + s->queues - 1) / s->queues) * s->queues +
           s->queue;
}

// `sum`: sum of all checksummed bytes except the length and the fields written here.
static void write_udp(uint8_t *udp, uint64_t sum, unsigned bytes, uint64_t number, uint64_t tsc)
{
    uint32_t low = (uint32_t)number;
    uint16_t length = htons((uint16_t)bytes), check;

    memcpy(udp + UDP_BYTES + offsetof(struct mark, number), &low, 4);
    memcpy(udp + UDP_BYTES + offsetof(struct mark, tsc), &tsc, 8);
    sum += low + (tsc & 0xffffffff) + (tsc >> 32) +
           2ull * length; // the length is in the pseudo header too
    check = checksum_finish(sum_fold(sum));
    memcpy(udp + 4, &length, 2);
    check = check ? check : 0xffff; // 0 would mean no checksum (RFC 768)
    memcpy(udp + 6, &check, 2);
}

static uint16_t write4(struct stream *s, uint8_t *frame, uint16_t bytes, uint64_t number,
                       uint64_t tsc)
{
    uint8_t *ip = frame + ETHER;
    uint32_t dst = s->dst4[next_destination(s, s->at_dst4, s->n_dst4)];
    uint16_t total = htons((uint16_t)(bytes - ETHER)), check;

    memcpy(frame, s->head4.byte, FRAME_HEAD);
    check = checksum_finish(sum_fold((uint64_t)s->head4.ip_sum + total + dst));
    memcpy(ip + 2, &total, 2);
    memcpy(ip + 10, &check, 2);
    memcpy(ip + 16, &dst, 4);
    write_udp(ip + IP4_BYTES, (uint64_t)s->head4.udp_sum + dst, bytes - ETHER - IP4_BYTES, number,
              tsc);
    return bytes;
}

static uint16_t write6(struct stream *s, uint8_t *frame, uint16_t bytes, uint64_t number,
                       uint64_t tsc)
{
    const uint8_t *dst = s->dst6[next_destination(s, s->at_dst6, s->n_dst6)];
    uint8_t *ip = frame + ETHER;
    unsigned udp;

    if (bytes < FRAME_SIZE_MIN6 - FRAME_FCS)
        bytes = FRAME_SIZE_MIN6 - FRAME_FCS;
    udp = bytes - ETHER - IP6_BYTES;
    memcpy(frame, s->head6.byte, FRAME_HEAD);
    put16(ip + 4, udp);
    memcpy(ip + 24, dst, 16);
    write_udp(ip + IP6_BYTES, s->head6.udp_sum + sum_address6(dst), udp, number, tsc);
    return bytes;
}

uint16_t stream_write(struct stream *s, const struct frame_plan *plan, uint8_t *frame,
                      uint64_t number, uint64_t tsc)
{
    uint16_t bytes = plan->bytes[next_of(&s->at_size, plan->n_sizes)];
    uint32_t step = next_of(&s->at_mix, FRAME_MIX);
    // Spread evenly: frame i is IPv6 if i * percent / 100 grows.
    bool is6 = (step + 1) * plan->percent6 / FRAME_MIX > step * plan->percent6 / FRAME_MIX;

    return is6 ? write6(s, frame, bytes, number, tsc) : write4(s, frame, bytes, number, tsc);
}

// --- receiving ---

static bool udp_is_right(uint64_t addresses, const uint8_t *udp, size_t bytes)
{
    static const uint8_t protocol[2] = {0, IPPROTO_UDP};
    uint16_t length;

    memcpy(&length, udp + 4, 2);
    if (ntohs(length) != bytes)
        return false;
    return checksum_finish(sum_fold(addresses + length + checksum_add(0, protocol, 2) +
                                sum_words(udp, bytes))) == 0;
}

static bool ip4_is_right(const uint8_t *ip, size_t bytes)
{
    size_t total = (size_t)ip[2] << 8 | ip[3];

    return ip[0] == 0x45 && total <= bytes &&
           total >= IP4_BYTES + UDP_BYTES + sizeof(struct mark) && !checksum(ip, IP4_BYTES) &&
           udp_is_right(word32(ip + 12) + word32(ip + 16), ip + IP4_BYTES, total - IP4_BYTES);
}

static bool ip6_is_right(const uint8_t *ip, size_t bytes)
{
    size_t udp = (size_t)ip[4] << 8 | ip[5];

    return udp + IP6_BYTES <= bytes && udp >= UDP_BYTES + sizeof(struct mark) &&
           udp_is_right(sum_address6(ip + 8) + sum_address6(ip + 24), ip + IP6_BYTES, udp);
}

enum frame_is frame_read(const uint8_t *frame, size_t bytes, struct mark *mark)
{
    bool is4 = bytes >= ETHER && frame[12] == 0x08 && frame[13] == 0x00;
    bool is6 = bytes >= ETHER && frame[12] == 0x86 && frame[13] == 0xdd;
    size_t at = ETHER + (is4 ? IP4_BYTES : IP6_BYTES) + UDP_BYTES;

    if ((!is4 && !is6) || bytes < at + sizeof(*mark))
        return FRAME_FOREIGN;
    memcpy(mark, frame + at, sizeof(*mark));
    if (mark->magic != MAGIC)
        return FRAME_FOREIGN;
    if (is4 ? ip4_is_right(frame + ETHER, bytes - ETHER)
            : ip6_is_right(frame + ETHER, bytes - ETHER))
        return FRAME_GOOD;
    return FRAME_CORRUPT;
}
