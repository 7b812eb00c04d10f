// SPDX-License-Identifier: BSD-3-Clause
// sflow.c - sFlow version 5: sampled packets and interface counters
//
//     forwarders --watch's slots--> take_samples --rib_manager: prefix lengths--> write_sample -->
//     collectors
//
// Every TICK_MS at most BATCH samples are taken and sent; more samples wait in the slots, and
// packets that find no free slot are counted in the samples' `drops`. rib_manager has at most one
// batch at a time. Counter samples of all interfaces are spread over the polling interval. ifIndex
// is Linux's (iface_manager_number). An interface samples its received packets.
#include <event2/event.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "core/thread.h"
#include "export/collector.h"
#include "export/sample_packet.h"
#include "export/sflow_write.h"
#include "interface/iface_manager.h"
#include "port/port_manager.h"
#include "rib/rib_manager.h"
#include "table/counter.h"
#include "table/iface.h"
#include "table/nexthop.h"
#include "table/port.h"
#include "thread/watch_manager.h"

#define TICK_MS 50
#define BATCH 128
#define SLOTS 1024

struct kept { // a sample, copied out of its slot
    struct watch_tag tag;
    uint32_t length, kept;
    uint8_t frame[SFLOW_HEADER_MAX];
};

struct batch { // with rib_manager
    unsigned n;
    bool stale; // sFlow was stopped or changed: discard the answer
    struct kept sample[BATCH];
    struct rib_length ask[2 * BATCH]; // per sample: source, destination
};

static struct sflow {
    struct sflow_config config;
    struct event *tick;
    int watch; // -1 = off
    struct collectors collectors;
    struct batch *asked; // NULL: no question pending
    struct text datagram;
    uint32_t datagrams;  // sequence number of the next datagram
    uint64_t samples, counter_samples, began_ns, missed;
    uint16_t next_counters;  // next interface to poll
    uint64_t counters_due_ns;
    uint32_t flow_sequence[IFACE_MAX], counter_sequence[IFACE_MAX];
} sflow = {.watch = -1};

// --- datagrams ----------------------------------------------------------------------------------

static struct ip_addr agent(void)
{
    struct ip_addr a = sflow.config.agent;

    return a.family ? a : collectors_source(&sflow.collectors);
}

static void send_datagram(void)
{
    if (!sflow.datagram.n || !sflow_samples(&sflow.datagram))
        return;
    collectors_send(&sflow.collectors, sflow.datagram.s, sflow.datagram.n);
    text_clear(&sflow.datagram);
}

// Returns the current datagram with room for one more sample.
static struct text *datagram(void)
{
    if (sflow.datagram.n + SFLOW_SAMPLE_MAX > SFLOW_DATAGRAM_MAX)
        send_datagram();
    if (!sflow.datagram.n) {
        struct ip_addr a = agent();
        sflow_begin(&sflow.datagram, &a, sflow.datagrams++,
                    (uint32_t)((clock_now_ns() - sflow.began_ns) / NS_PER_MS));
    }
    return &sflow.datagram;
}

// --- packets ------------------------------------------------------------------------------------

static uint32_t number_of(uint16_t iface)
{
    return iface ? (uint32_t)iface_manager_number(iface_get(iface)) : 0;
}

static uint32_t output_of(const struct watch_tag *tag)
{
    switch (tag->way) {
    case NEXTHOP_ADJACENCY:
    case NEXTHOP_HOLD:
    case NEXTHOP_GLEAN:
    case NEXTHOP_ENCAP: // no output yet if a lookup follows
    case NEXTHOP_BROADCAST: return number_of(tag->out);
    case NEXTHOP_LOCAL: return SFLOW_OUT_US;
    case NEXTHOP_BLACKHOLE: return SFLOW_OUT_DISCARDED | SFLOW_DISCARD_UNKNOWN;
    case NEXTHOP_PROHIBIT: return SFLOW_OUT_DISCARDED | SFLOW_DISCARD_PROHIBITED;
    case NEXTHOP_FAILED:
    case NEXTHOP_UNREACHABLE: return SFLOW_OUT_DISCARDED | SFLOW_DISCARD_HOST_UNREACHABLE;
    }
    return SFLOW_OUT_UNKNOWN; // not unicast IP, or no route
}

static void write_sample(const struct kept *k, const struct rib_length *ask)
{
    const uint8_t *f = k->frame;
    struct counter_iface c;
    uint16_t id = k->tag.iface,
             tci = k->kept >= 16 && f[12] == 0x81 && !f[13] ? (uint16_t)(f[14] << 8 | f[15]) : 0;

    counter_sum_iface(id, &c);
    sflow_packet(datagram(), &(struct sflow_packet){.sequence = sflow.flow_sequence[id]++,
                                                    .source = number_of(id),
                                                    .rate = sflow.config.sample_rate,
                                                    .pool = (uint32_t)c.rx_packets,
                                                    .drops = (uint32_t)sflow.missed,
                                                    .input = number_of(id),
                                                    .output = output_of(&k->tag),
                                                    .length = k->length,
                                                    .frame = f,
                                                    .kept = k->kept,
                                                    .vlan = tci & 0xfff,
                                                    .priority = tci >> 13,
                                                    .gateway = k->tag.gateway,
                                                    .src_len = ask[0].len,
                                                    .dst_len = ask[1].len});
    sflow.samples++;
}

static void lengths_known(void *ctx)
{
    struct batch *b = ctx;

    if (!b->stale) {
        sflow.asked = NULL;
        sflow.missed = watch_sum((unsigned)sflow.watch).missed;
        for (unsigned i = 0; i < b->n; i++)
            write_sample(&b->sample[i], &b->ask[2 * i]);
        send_datagram();
    }
    free(b);
}

static void keep(struct batch *b, const struct watch_slot *s)
{
    struct kept *k = &b->sample[b->n];
    struct sample_packet p;
    uint16_t vr = iface_get(s->tag.iface)->vr;

    *k = (struct kept){.tag = s->tag,
                       .length = s->len,
                       .kept = s->kept < SFLOW_HEADER_MAX ? s->kept : SFLOW_HEADER_MAX};
    memcpy(k->frame, s->data, k->kept);
    sample_packet_read(k->frame, k->kept, &p);
    if (p.labels.n) // the packet below may belong to another virtual router
        p.src = p.dst = (struct ip_addr){0};
    b->ask[2 * b->n] = (struct rib_length){.vr = vr, .addr = p.src};
    b->ask[2 * b->n + 1] = (struct rib_length){.vr = vr, .addr = p.dst};
    b->n++;
}

static void take_samples(void)
{
    struct watch_slot *slot[BATCH];
    struct batch *b = sflow.asked ? NULL : calloc(1, sizeof *b);

    if (!b)
        return;
    unsigned n = watch_take((unsigned)sflow.watch, slot, BATCH);
    for (unsigned i = 0; i < n; i++)
        keep(b, slot[i]);
    watch_give_back((unsigned)sflow.watch, slot, n);
    if (!n) {
        free(b);
        return;
    }
    sflow.asked = b;
    if (rib_manager_lengths(b->ask, 2 * n, lengths_known, b))
        lengths_known(b); // rib_manager is busy: send without prefix lengths
}

// --- counters -----------------------------------------------------------------------------------

static void write_counters(const struct iface *i)
{
    struct port_state p = {0};
    struct counter_iface c;

    port_manager_state(port_get(i->port)->name, &p);
    counter_sum_iface(i->id, &c);
    sflow_counters(datagram(), &(struct sflow_counters){.sequence = sflow.counter_sequence[i->id]++,
                                                        .source = number_of(i->id),
                                                        .type = i->kind == IFACE_PORT       ? 6
                                                                : i->kind == IFACE_METALINK ? 53
                                                                : i->kind == IFACE_TUNNEL   ? 131
                                                                                            : 135,
                                                        .speed_bps = p.speed_mbps * 1000000ull,
                                                        .admin_up = i->admin_up,
                                                        .up = i->admin_up && i->carrier,
                                                        .full_duplex = p.full_duplex,
                                                        .promiscuous = p.config.promiscuous,
                                                        .in_bytes = c.rx_bytes,
                                                        .out_bytes = c.tx_bytes,
                                                        .in_packets = (uint32_t)c.rx_packets,
                                                        .in_discards = (uint32_t)c.drop_packets,
                                                        .out_packets = (uint32_t)c.tx_packets});
    sflow.counter_samples++;
}

// Polls all interfaces with sFlow once in each interval, a share in each tick.
static void poll_counters(uint64_t now)
{
    const unsigned share = 1 + IFACE_MAX * TICK_MS / (sflow.config.polling_s * 1000u);

    if (now < sflow.counters_due_ns)
        return;
    for (unsigned n = 0; n < share && sflow.next_counters < IFACE_MAX; n++, sflow.next_counters++) {
        const struct iface *i = iface_get(sflow.next_counters);
        if (i->kind != IFACE_NONE && i->policy.sample & IFACE_SAMPLE_SFLOW)
            write_counters(i);
    }
    send_datagram();
    if (sflow.next_counters < IFACE_MAX)
        return;
    sflow.next_counters = 1;
    while (sflow.counters_due_ns <= now)
        sflow.counters_due_ns += sflow.config.polling_s * NS_PER_SECOND;
}

static void on_tick(evutil_socket_t fd, short what, void *ctx)
{
    take_samples();
    if (sflow.config.polling_s)
        poll_counters(clock_now_ns());
}

// --- start, stop, settings ----------------------------------------------------------------------

void sflow_start(struct event_base *loop)
{
    sflow.tick = event_new(loop, -1, EV_PERSIST, on_tick, NULL);
    bug_on(!sflow.tick);
    sflow.began_ns = clock_now_ns();
}

static void turn_off(void)
{
    if (sflow.asked)
        sflow.asked->stale = true;
    sflow.asked = NULL;
    if (sflow.watch >= 0)
        watch_manager_del((unsigned)sflow.watch);
    sflow.watch = -1;
    if (sflow.tick)
        event_del(sflow.tick);
    collectors_close(&sflow.collectors);
    text_free(&sflow.datagram);
}

void sflow_stop(void)
{
    turn_off();
    if (sflow.tick)
        event_free(sflow.tick);
    sflow = (struct sflow){.watch = -1};
}

int sflow_set(const struct sflow_config *c, char *err, size_t err_size)
{
    struct watch_spec spec = {.points = 1u << WATCH_RX,
                              .to = WATCH_TO_SLOTS,
                              .snap = c->header_bytes,
                              .n_slots = SLOTS,
                              .every = c->sample_rate,
                              .sample = IFACE_SAMPLE_SFLOW};
    const struct timeval tick = {.tv_usec = TICK_MS * 1000};
    int watch = -1;

    thread_must_be(ROLE_CONTROL);
    if (c->n_collectors) {
        watch = watch_manager_add(&spec, NULL, err, err_size);
        if (watch < 0)
            return watch;
    }
    turn_off();
    sflow.config = *c;
    sflow.watch = watch;
    if (watch < 0)
        return 0;
    sflow.next_counters = 1;
    sflow.counters_due_ns = clock_now_ns();
    collectors_open(&sflow.collectors, c->collector, c->n_collectors);
    if (event_add(sflow.tick, &tick))
        log_error("sflow: no memory for a timer");
    return 0;
}

void sflow_state(struct sflow_state *s)
{
    thread_must_be(ROLE_CONTROL);
    *s = (struct sflow_state){.on = sflow.watch >= 0,
                              .sample_rate = sflow.config.sample_rate,
                              .agent = agent(),
                              .samples = sflow.samples,
                              .samples_missed =
                                  sflow.watch >= 0 ? watch_sum((unsigned)sflow.watch).missed : 0,
                              .counter_samples = sflow.counter_samples,
                              .n_collectors = sflow.collectors.n};
    for (unsigned i = 0; i < s->n_collectors; i++)
        s->collector[i] = sflow.collectors.item[i].state;
}
