// SPDX-License-Identifier: BSD-3-Clause
// ipfix.c - IPFIX: flows, built from sampled packets
//
//     forwarders --watch's slots--> take_samples --> flow_cache --> send_flow() --> collectors
//
// Every TICK_MS at most BATCH samples are counted and at most ENDS flows end. Templates and the
// sampling options go out with the first message and then every template interval, since datagrams
// may be lost. Counts are of samples: the collector multiplies them by samplingInterval. A flow is
// addresses, protocol, ports, type of service, labels and interfaces.
#include <errno.h>
#include <event2/event.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "core/thread.h"
#include "export/collector.h"
#include "export/ipfix_write.h"
#include "export/sample_packet.h"
#include "interface/iface_manager.h"
#include "table/iface.h"
#include "thread/watch_manager.h"

#define TICK_MS 50
#define BATCH 256
#define ENDS 1000
#define SLOTS 1024
#define SNAP 128

static struct ipfix {
    struct ipfix_config config;
    struct event *tick;
    int watch; // -1 = off
    struct collectors collectors;
    struct flow_cache *cache;
    struct ipfix_message message; // under construction
    uint32_t sequence;            // data records sent so far
    uint64_t templates_due_ms;
    uint64_t samples, flows, no_room, no_ip;
} ipfix = {.watch = -1};

static uint64_t now_ms(void)
{
    return clock_now_ns() / NS_PER_MS;
}

static uint64_t wall_now_ms(void)
{
    return clock_wall_ns() / NS_PER_MS;
}

// --- messages -----------------------------------------------------------------------------------

static void send_message(void)
{
    if (!ipfix.message.t.n)
        return;
    ipfix_end(&ipfix.message);
    ipfix.sequence += ipfix.message.records;
    collectors_send(&ipfix.collectors, ipfix.message.t.s, ipfix.message.t.n);
    text_clear(&ipfix.message.t);
}

static void begin_message(void)
{
    ipfix_begin(&ipfix.message, (uint32_t)(wall_now_ms() / 1000), ipfix.sequence,
                ipfix.config.domain);
}

static void send_templates(uint64_t now)
{
    send_message();
    begin_message();
    ipfix_templates(&ipfix.message, ipfix.config.domain, ipfix.config.sample_rate);
    send_message();
    ipfix.templates_due_ms = now + ipfix.config.template_s * 1000ull;
}

static void send_flow(const struct flow *f, enum flow_end why)
{
    if (ipfix.message.t.n + IPFIX_RECORD_MAX > IPFIX_MESSAGE_MAX)
        send_message();
    if (!ipfix.message.t.n)
        begin_message();
    ipfix_flow(&ipfix.message, f, why, wall_now_ms() - now_ms());
    ipfix.flows++;
    ipfix.no_room += why == FLOW_END_NO_ROOM;
}

// --- samples ------------------------------------------------------------------------------------

static uint32_t number_of(uint16_t iface)
{
    return iface ? (uint32_t)iface_manager_number(iface_get(iface)) : 0;
}

static void count_sample(const struct watch_slot *s, uint64_t now)
{
    struct sample_packet p;
    struct flow_key key;

    sample_packet_read(s->data, s->kept, &p);
    ipfix.samples++;
    if (!p.src.family) {
        ipfix.no_ip++;
        return;
    }
    sample_packet_key(&p, &key);
    key.in = number_of(s->tag.iface);
    key.out = number_of(s->tag.out);
    flow_cache_add(
        ipfix.cache, &key,
        &(struct flow_packet){
            .gateway = s->tag.gateway, .packets = 1, .bytes = p.length, .tcp_flags = p.tcp_flags},
        now, ipfix.config.active_s * 1000ull);
}

static void on_tick(evutil_socket_t fd, short what, void *ctx)
{
    struct watch_slot *slot[BATCH];
    uint64_t now = now_ms(), inactive = ipfix.config.inactive_s * 1000ull;

    if (now >= ipfix.templates_due_ms)
        send_templates(now);
    unsigned n = watch_take((unsigned)ipfix.watch, slot, BATCH);
    for (unsigned i = 0; i < n; i++)
        count_sample(slot[i], now);
    watch_give_back((unsigned)ipfix.watch, slot, n);
    if (now > inactive)
        flow_cache_end(ipfix.cache, now - inactive, ENDS, FLOW_END_INACTIVE);
    send_message();
}

// --- start, stop, settings ----------------------------------------------------------------------

void ipfix_start(struct event_base *loop)
{
    ipfix.tick = event_new(loop, -1, EV_PERSIST, on_tick, NULL);
    bug_on(!ipfix.tick);
}

static void turn_off(void)
{
    if (ipfix.watch >= 0) {
        flow_cache_end(ipfix.cache, UINT64_MAX, UINT32_MAX, FLOW_END_FORCED);
        send_message();
        watch_manager_del((unsigned)ipfix.watch);
        event_del(ipfix.tick);
    }
    ipfix.watch = -1;
    flow_cache_free(ipfix.cache);
    ipfix.cache = NULL;
    collectors_close(&ipfix.collectors);
    text_free(&ipfix.message.t);
}

void ipfix_stop(void)
{
    turn_off();
    if (ipfix.tick)
        event_free(ipfix.tick);
    ipfix = (struct ipfix){.watch = -1};
}

int ipfix_set(const struct ipfix_config *c, char *err, size_t err_size)
{
    struct watch_spec spec = {.points = 1u << WATCH_RX,
                              .to = WATCH_TO_SLOTS,
                              .snap = SNAP,
                              .n_slots = SLOTS,
                              .every = c->sample_rate,
                              .sample = IFACE_SAMPLE_IPFIX};
    const struct timeval tick = {.tv_usec = TICK_MS * 1000};
    struct flow_cache *cache = NULL;
    int watch = -1;

    thread_must_be(ROLE_CONTROL);
    if (c->n_collectors) {
        cache = flow_cache_new(c->flows_max, send_flow);
        if (!cache) {
            snprintf(err, err_size, "no memory for %u flows: set 'flows' to less", c->flows_max);
            return -ENOMEM;
        }
        watch = watch_manager_add(&spec, NULL, err, err_size);
        if (watch < 0) {
            flow_cache_free(cache);
            return watch;
        }
    }
    turn_off();
    ipfix.config = *c;
    ipfix.watch = watch;
    ipfix.cache = cache;
    ipfix.templates_due_ms = 0;
    if (watch < 0)
        return 0;
    collectors_open(&ipfix.collectors, c->collector, c->n_collectors);
    if (event_add(ipfix.tick, &tick))
        log_error("ipfix: no memory for a timer");
    return 0;
}

void ipfix_state(struct ipfix_state *s)
{
    thread_must_be(ROLE_CONTROL);
    *s = (struct ipfix_state){.on = ipfix.watch >= 0,
                              .sample_rate = ipfix.config.sample_rate,
                              .samples = ipfix.samples,
                              .samples_missed =
                                  ipfix.watch >= 0 ? watch_sum((unsigned)ipfix.watch).missed : 0,
                              .samples_no_ip = ipfix.no_ip,
                              .flows = ipfix.flows,
                              .flows_no_room = ipfix.no_room,
                              .flows_now = ipfix.cache ? flow_cache_used(ipfix.cache) : 0,
                              .flows_max = ipfix.config.flows_max,
                              .n_collectors = ipfix.collectors.n};
    for (unsigned i = 0; i < s->n_collectors; i++)
        s->collector[i] = ipfix.collectors.item[i].state;
}
