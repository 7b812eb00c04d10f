// SPDX-License-Identifier: BSD-3-Clause
// load.c - building and recognizing load packets; see load.h
//
// IPv4 header checksums are computed for each packet, because the destination
// varies; UDP goes without one (0, RFC 768), so that the sequence number can be
// written without touching anything else.
#include "traffic/load.h"

#include <string.h>
#include <arpa/inet.h>

#include "base/text.h"
#include "lib/bench.h"
#include "lib/frame.h"
#include "lib/report.h"

#define ETHER_BYTES 14
#define IP_BYTES 20
#define UDP_BYTES 8
#define PAYLOAD (ETHER_BYTES + IP_BYTES + UDP_BYTES)
#define MAGIC 0x6b616d756265ull // "kamube"
#define PORT 9                  // discard, RFC 863

struct payload {
    uint64_t magic, seq;
} __attribute__((packed));

static void put16(uint8_t *p, unsigned value_host)
{
    p[0] = (uint8_t)(value_host >> 8);
    p[1] = (uint8_t)value_host;
}

void load_write(const struct load_packet *l, uint8_t *frame, uint64_t seq)
{
    uint8_t *ip = frame + ETHER_BYTES, *udp = ip + IP_BYTES;
    struct payload p = {MAGIC, seq};
    uint32_t dst_host = ntohl(l->dst) + (uint32_t)(seq % l->n_destinations);
    ip4_t dst = htonl(dst_host);

    memcpy(frame, l->dst_mac, 6);
    memcpy(frame + 6, l->src_mac, 6);
    put16(frame + 12, 0x0800);
    frame_ip4(ip, (unsigned)(l->bytes - ETHER_BYTES), &l->src, &dst);
    put16(udp, 49152 + (unsigned)(dst_host & 0xff));
    put16(udp + 2, PORT);
    put16(udp + 4, (unsigned)(l->bytes - ETHER_BYTES - IP_BYTES));
    put16(udp + 6, 0);
    memcpy(frame + PAYLOAD, &p, sizeof(p));
}

bool load_read(const uint8_t *frame, size_t bytes, uint64_t *seq)
{
    struct payload p;

    if (bytes < PAYLOAD + sizeof(p) || frame[12] != 0x08 || frame[13] != 0x00)
        return false;
    memcpy(&p, frame + PAYLOAD, sizeof(p));
    *seq = p.seq;
    return p.magic == MAGIC;
}

void load_receive(struct load_count *c, uint64_t seq)
{
    c->received++;
    if (seq < c->highest)
        c->reordered++;
    else
        c->highest = seq + 1;
}

void load_print(const struct load_count *c, double send_seconds, double target)
{
    report_begin(true);
    report_number("target_pps", 0, target);
    report_number("offered_pps", 0, (double)c->sent / send_seconds);
    report_number("received_pps", 0, (double)c->received / send_seconds);
    report_number("sent", 0, (double)c->sent);
    report_number("received", 0, (double)c->received);
    report_number("lost", 0, (double)c->sent - (double)c->received);
    report_number("reordered", 0, (double)c->reordered);
    report_number("seconds", 6, send_seconds);
    report_end();
}

void load_parse_mac(const char *text, uint8_t mac[6])
{
    bench_check(!text_parse_mac(text, mac),
                "'%s' is not a MAC address, expected 02:00:00:00:00:01", text);
}

ip4_t load_parse_ip4(const char *text)
{
    struct ip_addr a;

    bench_check(!ip_parse(text, &a) && a.family == IP4, "'%s' is not an IPv4 address", text);
    return a.ip4;
}
