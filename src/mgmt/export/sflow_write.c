// SPDX-License-Identifier: BSD-3-Clause
// sflow_write.c - writes datagrams of sFlow version 5 (sflow_write.h)
//
// All numbers are in network order (XDR). The number of samples is kept in the datagram itself and
// raised there with each one; a length is filled in when its structure ends.
#include "export/sflow_write.h"

#include <arpa/inet.h>
#include <string.h>

enum {
    FLOW_SAMPLE = 1,
    COUNTER_SAMPLE = 2,
    RAW_HEADER = 1,
    IF_COUNTERS = 1,
    EXTENDED_SWITCH = 1001,
    EXTENDED_ROUTER = 1002
};
enum { HEADER_ETHERNET = 1, FCS = 4 };
#define NOT_COUNTED UINT32_MAX

static void put_u32(struct text *t, uint32_t v)
{
    uint32_t be = htonl(v);

    text_append(t, &be, 4);
}

static void put64(struct text *t, uint64_t v)
{
    put_u32(t, (uint32_t)(v >> 32));
    put_u32(t, (uint32_t)v);
}

static void put_address(struct text *t, const struct ip_addr *a)
{
    put_u32(t, a->family == IP6 ? 2 : 1); // 0.0.0.0 if there is none
    text_append(t, a->b, a->family == IP6 ? 16 : 4);
}

// Reserves a length field, which length_end fills in.
static size_t length_begin(struct text *t)
{
    put_u32(t, 0);
    return t->n;
}

static void length_end(struct text *t, size_t begun)
{
    uint32_t be = htonl((uint32_t)(t->n - begun));

    memcpy(t->s + begun - 4, &be, 4);
}

static size_t samples_at(const struct text *t)
{
    return 4 + 4 + (t->s[7] == 2 ? 16 : 4) + 12;
}

unsigned sflow_samples(const struct text *t)
{
    uint32_t be;

    memcpy(&be, t->s + samples_at(t), 4);
    return ntohl(be);
}

static void count_sample(struct text *t)
{
    uint32_t be = htonl(sflow_samples(t) + 1);

    memcpy(t->s + samples_at(t), &be, 4);
}

void sflow_begin(struct text *t, const struct ip_addr *agent, uint32_t sequence, uint32_t uptime_ms)
{
    text_clear(t);
    put_u32(t, 5);
    put_address(t, agent);
    put_u32(t, 0); // sub-agent
    put_u32(t, sequence);
    put_u32(t, uptime_ms);
    put_u32(t, 0); // number of samples
}

static void put_header(struct text *t, const struct sflow_packet *p)
{
    uint32_t kept = p->kept < SFLOW_HEADER_MAX ? p->kept : SFLOW_HEADER_MAX;

    put_u32(t, RAW_HEADER);
    size_t begun = length_begin(t);
    put_u32(t, HEADER_ETHERNET);
    put_u32(t, p->length + FCS);
    put_u32(t, FCS); // FCS bytes removed
    put_u32(t, kept);
    text_append(t, p->frame, kept);
    text_append(t, "\0\0\0", -kept & 3);
    length_end(t, begun);
}

void sflow_packet(struct text *t, const struct sflow_packet *p)
{
    count_sample(t);
    put_u32(t, FLOW_SAMPLE);
    size_t begun = length_begin(t);
    put_u32(t, p->sequence);
    put_u32(t, p->source);
    put_u32(t, p->rate);
    put_u32(t, p->pool);
    put_u32(t, p->drops);
    put_u32(t, p->input);
    put_u32(t, p->output);
    put_u32(t, 3); // number of records
    put_header(t, p);
    put_u32(t, EXTENDED_SWITCH);
    put_u32(t, 16);
    put_u32(t, p->vlan);
    put_u32(t, p->priority);
    put_u32(t, 0); // output VLAN and priority
    put_u32(t, 0);
    put_u32(t, EXTENDED_ROUTER);
    size_t router = length_begin(t);
    put_address(t, &p->gateway);
    put_u32(t, p->src_len);
    put_u32(t, p->dst_len);
    length_end(t, router);
    length_end(t, begun);
}

void sflow_counters(struct text *t, const struct sflow_counters *c)
{
    count_sample(t);
    put_u32(t, COUNTER_SAMPLE);
    size_t begun = length_begin(t);
    put_u32(t, c->sequence);
    put_u32(t, c->source);
    put_u32(t, 1); // number of records
    put_u32(t, IF_COUNTERS);
    size_t counters = length_begin(t);
    put_u32(t, c->source); // ifIndex
    put_u32(t, c->type);
    put64(t, c->speed_bps);
    put_u32(t, c->full_duplex ? 1 : 2);
    put_u32(t, (uint32_t)c->admin_up | (uint32_t)c->up << 1);
    put64(t, c->in_bytes);
    put_u32(t, c->in_packets);
    put_u32(t, NOT_COUNTED); // multicast
    put_u32(t, NOT_COUNTED); // broadcast
    put_u32(t, c->in_discards);
    put_u32(t, NOT_COUNTED); // errors
    put_u32(t, NOT_COUNTED); // unknown protocols
    put64(t, c->out_bytes);
    put_u32(t, c->out_packets);
    put_u32(t, NOT_COUNTED);
    put_u32(t, NOT_COUNTED);
    put_u32(t, NOT_COUNTED); // discards
    put_u32(t, NOT_COUNTED);
    put_u32(t, c->promiscuous ? 1 : 2);
    length_end(t, counters);
    length_end(t, begun);
}
