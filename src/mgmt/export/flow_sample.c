// SPDX-License-Identifier: BSD-3-Clause
// flow_sample.c - the sample of the router's flows (flow_sample.h)
//
//     forwarders --watch's slots--> on_tick --> flow_cache --> flow_sample_read
//
// N doubles or more at once when a tick brings too many samples, and is halved after a quiet
// second. Samples in the slots when N changes are counted with the old N, as they were taken.
#include "export/flow_sample.h"

#include <event2/event.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "core/thread.h"
#include "export/sample_packet.h"
#include "table/iface.h"
#include "thread/watch_manager.h"

#define TICK_MS 100
#define PER_TICK (FLOW_SAMPLE_PER_S * TICK_MS / 1000)
#define SLOTS 1024
#define SNAP 128
#define EVERY_MIN 16u
#define EVERY_MAX (1u << 20)
#define HALF_MS (300 * 1000ull) // a flow's packets are counted in periods of this length

static struct flow_sample {
    struct event *tick;
    int watch; // -1 = off
    struct flow_cache *cache;
    unsigned ticks, recent; // since N was last looked at
    struct flow_sample_state state;
} sample = {.watch = -1};

static uint64_t now_ms(void)
{
    return clock_now_ns() / NS_PER_MS;
}

static void count_end(const struct flow *f, enum flow_end why)
{
    sample.state.flows_no_room += why == FLOW_END_NO_ROOM;
}

bool flow_totals_count(struct flow_cache *c, uint16_t in, const uint8_t *frame, uint32_t n,
                       uint32_t packets)
{
    struct sample_packet p;
    struct flow_key key;

    sample_packet_read(frame, n, &p);
    if (!p.src.family || p.labels.n) // a trial makes packets without labels
        return false;
    sample_packet_key(&p, &key);
    key.in = in;
    key.vr = iface_get(in)->vr;
    flow_cache_add(c, &key,
                   &(struct flow_packet){.packets = packets,
                                         .bytes = (uint64_t)p.length * packets,
                                         .tcp_flags = p.tcp_flags},
                   now_ms(), HALF_MS);
    return true;
}

static void set_every(uint32_t every)
{
    every = every < EVERY_MIN ? EVERY_MIN : every > EVERY_MAX ? EVERY_MAX : every;
    if (every != sample.state.sample_rate)
        watch_set_every((unsigned)sample.watch, every);
    sample.state.sample_rate = every;
    sample.ticks = sample.recent = 0;
}

static void follow_traffic(unsigned taken)
{
    sample.recent += taken;
    if (taken > PER_TICK)
        set_every(sample.state.sample_rate * (1 + taken / PER_TICK));
    else if (++sample.ticks == 1000 / TICK_MS)
        set_every(sample.recent < FLOW_SAMPLE_PER_S / 3 ? sample.state.sample_rate / 2
                                                        : sample.state.sample_rate);
}

static void on_tick(evutil_socket_t fd, short what, void *ctx)
{
    struct watch_slot *slot[SLOTS];
    unsigned n = watch_take((unsigned)sample.watch, slot, SLOTS);
    uint64_t now = now_ms();

    for (unsigned i = 0; i < n; i++)
        sample.state.samples_no_ip +=
            !flow_totals_count(sample.cache, slot[i]->tag.iface, slot[i]->data, slot[i]->kept,
                               sample.state.sample_rate);
    sample.state.samples += n;
    watch_give_back((unsigned)sample.watch, slot, n);
    if (now > 2 * HALF_MS)
        flow_cache_end(sample.cache, now - 2 * HALF_MS, FLOW_SAMPLE_PER_S, FLOW_END_INACTIVE);
    follow_traffic(n);
}

void flow_sample_start(struct event_base *loop)
{
    const struct watch_spec spec = {.points = 1u << WATCH_RX,
                                    .to = WATCH_TO_SLOTS,
                                    .snap = SNAP,
                                    .n_slots = SLOTS,
                                    .every = EVERY_MIN,
                                    .flows = true};
    const struct timeval tick = {.tv_usec = TICK_MS * 1000};
    char err[128] = "";

    thread_must_be(ROLE_CONTROL);
    sample.cache = flow_cache_new(FLOW_SAMPLE_MAX, count_end);
    sample.tick = event_new(loop, -1, EV_PERSIST, on_tick, NULL);
    bug_on(!sample.cache || !sample.tick);
    sample.watch = watch_manager_add(&spec, NULL, err, sizeof err);
    sample.state.sample_rate = EVERY_MIN;
    if (sample.watch < 0 || event_add(sample.tick, &tick))
        log_error("flows: no sample of the flows: error=\"%s\"", err);
}

void flow_sample_stop(void)
{
    if (sample.tick)
        event_free(sample.tick);
    if (sample.watch >= 0)
        watch_manager_del((unsigned)sample.watch);
    flow_cache_free(sample.cache);
    sample = (struct flow_sample){.watch = -1};
}

void flow_sample_state(struct flow_sample_state *s)
{
    thread_must_be(ROLE_CONTROL);
    *s = sample.state;
    s->flows_max = FLOW_SAMPLE_MAX;
    s->flows = sample.cache ? flow_cache_used(sample.cache) : 0;
    s->samples_missed = sample.watch >= 0 ? watch_sum((unsigned)sample.watch).missed : 0;
}

// --- reading ------------------------------------------------------------------------------------

static void add_total(void *ctx, const struct flow *f)
{
    struct flow_totals *t = ctx;
    uint64_t now = now_ms();
    bool both = now - f->first_ms < HALF_MS; // the period before is not too old
    struct flow_total *is = vec_push(&t->flow);

    *is = (struct flow_total){.key = f->key,
                              .tcp_flags = f->tcp_flags,
                              .packets = f->packets + (both ? f->packets_before : 0),
                              .bytes = f->bytes + (both ? f->bytes_before : 0),
                              .idle_s = (uint32_t)((now - f->last_ms) / 1000)};
    t->bytes += is->bytes;
}

static int compare_totals(const void *a, const void *b)
{
    const struct flow_total *x = a, *y = b;

    if (x->bytes != y->bytes)
        return x->bytes < y->bytes ? 1 : -1;
    return memcmp(&x->key, &y->key, sizeof x->key);
}

void flow_totals_of(const struct flow_cache *c, struct flow_totals *t)
{
    *t = (struct flow_totals){0};
    flow_cache_each(c, add_total, t);
    if (t->flow.n)
        qsort(t->flow.item, t->flow.n, sizeof *t->flow.item, compare_totals);
}

void flow_sample_read(struct flow_totals *t)
{
    *t = (struct flow_totals){0};
    if (sample.cache)
        flow_totals_of(sample.cache, t);
}
