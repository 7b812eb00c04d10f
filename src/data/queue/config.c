// SPDX-License-Identifier: BSD-3-Clause
// config.c - creates a queue manager and configures it, also while packets wait
//
// A new configuration keeps all waiting packets. A waiting packet no longer knows its flow: if a
// class gets flow queues, or another number of them, its waiting packets move to one queue, which
// is served before new packets. So packets of a flow stay in order.
#include "queue/queue_priv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define GAP_US 100000u // longest gap of a preempted thread; a longer one is a jump of the clock
#define WINDOW_US 10u // credit kept while no packet waits
// Credit kept while packets wait but the thread does not get its CPU: a time slice of Linux, or a
// tick of a 250 Hz host.
#define LATE_US 4000u
#define TURN_PARTS 4u // a turn of weight 1 in the ring of shares: a frame / TURN_PARTS
#define WRAPS_AFTER 4u // the inner clock wraps after 1/4 s, so that each test meets the wrap
#define HUGE ((size_t)2 << 20)
#define CLIENTS_MANY 512u // with more clients, waits are sampled on one visit in 32 instead of 8
#define LIMIT_MAX (UINT32_MAX - LEN_MAX)

// --- checks --------------------------------------------------------------------------------------

static bool is_rate_low(uint64_t bps)
{
    return bps && bps < RATE_MIN_BPS;
}

static bool is_class_right(const struct queue_class_config *c)
{
    bool flows = c->discipline == QUEUE_FQ_CODEL;

    if (c->weight > QUEUE_WEIGHT_MAX || c->discipline > QUEUE_FQ_CODEL)
        return false;
    if (!c->weight && is_rate_low(c->rate_bps))
        return false;
    if (flows && (!c->flows || c->flows > QUEUE_FLOWS_MAX || c->flows & (c->flows - 1)))
        return false;
    return c->discipline == QUEUE_TAIL_DROP || (c->target_us && c->interval_us);
}

int queue_config_check(const struct queue_client_config *c)
{
    if (is_rate_low(c->guarantee_bps) || is_rate_low(c->maximum_bps) ||
        (c->maximum_bps && c->maximum_bps < c->guarantee_bps) || c->weight > QUEUE_WEIGHT_MAX ||
        (!c->weight && !c->guarantee_bps))
        return -ERANGE;
    for (unsigned k = 0; k < QUEUE_CLASSES; k++)
        if (!is_class_right(&c->class[k]))
            return -ERANGE;
    return 0;
}

// The other 2 % are for the router's own packets.
static bool guarantees_fit(uint64_t guarantees, uint64_t rate)
{
    return guarantees <= rate / 100 * 98;
}

static int config_judge(const struct queue_manager *q, uint16_t client,
                        const struct queue_client_config *c)
{
    uint64_t reserves = q->reserves - q->client[client].reserve + c->reserve_packets;
    uint64_t guarantees = q->guarantees_bps - q->guarantee_bps[client] + c->guarantee_bps;
    int r = queue_config_check(c);

    if (r)
        return r;
    return guarantees_fit(guarantees, q->config.rate_bps) && reserves <= q->config.packets_max
               ? 0
               : -ENOSPC;
}

// --- classes -------------------------------------------------------------------------------------

static unsigned class_flags(const struct queue_class_config *c)
{
    return (c->discipline != QUEUE_TAIL_DROP ? CLASS_CODEL : 0u) |
           (c->discipline == QUEUE_FQ_CODEL ? CLASS_FLOWS : 0u) | (c->limit_us ? CLASS_OLD : 0u) |
           (!c->weight && c->rate_bps ? CLASS_LIMITED : 0u);
}

static uint16_t class_flows(const struct queue_class_config *c)
{
    return c->discipline == QUEUE_FQ_CODEL ? c->flows : 0;
}

// Half of the 32-bit range is the future.
static uint32_t spans(const struct queue_manager *q, uint32_t us)
{
    unsigned __int128 time = (unsigned __int128)us * q->config.ticks_hz << TICK_BITS;
    uint64_t n = (uint64_t)(time / 1000000 >> q->shift);

    return n < INT32_MAX / 2 ? (uint32_t)n : INT32_MAX / 2;
}

static uint32_t spans_not_0(const struct queue_manager *q, uint32_t us)
{
    uint32_t n = spans(q, us);

    return us && !n ? 1 : n;
}

static void aqm_set(const struct queue_manager *q, struct aqm *a,
                    const struct queue_class_config *c)
{
    a->target = spans(q, c->target_us);
    a->interval = spans_not_0(q, c->interval_us);
    a->limit = spans_not_0(q, c->limit_us);
    a->ecn = c->ecn;
    a->step = c->ecn && a->flows ? spans_not_0(q, c->step_us) : 0;
    a->per_byte = queue_ticks_per_byte(q, c->rate_bps);
    a->allowed = q->now;
}

static void class_set(struct queue_manager *q, uint16_t client, unsigned class,
                      const struct queue_class_config *config)
{
    struct class_queue *c = &q->client[client].class[class];
    struct aqm *aqm = class_flags(config) ? queue_aqm_of(q, client, class) : NULL;
    bool flows_change = !c->aqm || c->aqm->flows != class_flows(config);

    if (c->aqm && (flows_change || !aqm))
        queue_flow_empty(q, c);
    if (aqm && flows_change)
        queue_aqm_init(aqm, class_flows(config));
    c->aqm = aqm;
    c->flags = (uint8_t)class_flags(config);
    c->limit = config->limit_bytes < LIMIT_MAX ? config->limit_bytes : LIMIT_MAX;
    c->quantum = config->weight * q->config.frame_max;
    c->deficit = 0;
    q->flows |= c->flags & CLASS_FLOWS;
    if (aqm)
        aqm_set(q, aqm, config);
}

// --- a client, the port --------------------------------------------------------------------------

static void client_set(struct queue_manager *q, struct client *v,
                       const struct queue_client_config *c)
{
    q->free += (int32_t)(client_excess(v) + v->reserve);
    q->reserves += (uint64_t)c->reserve_packets - v->reserve;
    v->reserve = c->reserve_packets;
    q->free -= (int32_t)(client_excess(v) + v->reserve);
    v->per_byte_g = queue_ticks_per_byte(q, c->guarantee_bps);
    v->per_byte_m = queue_ticks_per_byte(q, c->maximum_bps);
    v->limit = c->limit_bytes < LIMIT_MAX ? c->limit_bytes : LIMIT_MAX;
    v->quantum = c->weight * (q->config.frame_max / TURN_PARTS);
    v->deficit = v->deficit < (int32_t)v->quantum ? v->deficit : (int32_t)v->quantum;
    v->strict = 0;
    for (unsigned k = 0; k < QUEUE_CLASSES; k++)
        v->strict |= (uint8_t)(!c->class[k].weight << k);
    if (!v->s) // first configuration
        v->s = q->now;
    if (!v->per_byte_m || !v->l)
        v->l = q->now;
}

int queue_configure(struct queue_manager *q, uint16_t client, const struct queue_client_config *c,
                    uint64_t now)
{
    struct client *v = &q->client[client];
    int r = config_judge(q, client, c);

    if (r)
        return r;
    queue_clock_set(q, now);
    q->guarantees_bps += c->guarantee_bps - q->guarantee_bps[client];
    q->guarantee_bps[client] = c->guarantee_bps;
    client_set(q, v, c);
    for (unsigned k = 0; k < QUEUE_CLASSES; k++)
        class_set(q, client, k, &c->class[k]);
    if (v->nonempty) {
        queue_client_idle(q, client);
        queue_client_wake(q, client);
        q->due = q->now;
    }
    return 0;
}

int queue_set_rate(struct queue_manager *q, uint64_t rate_bps, uint64_t now)
{
    if (rate_bps < RATE_MIN_BPS)
        return -ERANGE;
    if (!guarantees_fit(q->guarantees_bps, rate_bps))
        return -ENOSPC;
    queue_clock_set(q, now);
    q->config.rate_bps = rate_bps;
    q->per_byte = queue_ticks_per_byte(q, rate_bps);
    q->free_at = q->now;
    q->due = q->packets ? q->now : QUEUE_NEVER;
    return 0;
}

void queue_set_packets_max(struct queue_manager *q, uint32_t packets_max)
{
    q->free += (int32_t)(packets_max - q->config.packets_max);
    q->config.packets_max = packets_max;
}

// --- life cycle ----------------------------------------------------------------------------------

static unsigned bucket_shift(uint64_t ticks_hz)
{
    uint64_t us = (ticks_hz << TICK_BITS) / 1000000;

    return us ? 63u - (unsigned)__builtin_clzll(us) : 0;
}

static void client_clear(struct client *v)
{
    memset(v, 0, sizeof *v);
    v->next = v->prev = CALENDAR_NONE;
}

static void times_init(struct queue_manager *q)
{
    const struct queue_config *c = &q->config;
    uint64_t frames;

    q->shift = bucket_shift(c->ticks_hz);
    q->per_byte = queue_ticks_per_byte(q, c->rate_bps);
    q->window = (c->ticks_hz * WINDOW_US / 1000000) << TICK_BITS;
    frames = time_of_bytes(q->per_byte, 2 * c->frame_max);
    q->window = frames > q->window ? frames : q->window;
    q->late = (c->ticks_hz * LATE_US / 1000000) << TICK_BITS;
    q->late = q->window > q->late ? q->window : q->late;
    q->gap = (c->ticks_hz * GAP_US / 1000000) << TICK_BITS;
    q->now = q->free_at = -((c->ticks_hz / WRAPS_AFTER) << TICK_BITS);
}

static void waits_init(struct queue_manager *q)
{
    unsigned b = 0;

    for (unsigned i = 0; i < QUEUE_WAIT_N; i++)
        q->wait_limit[i] =
            i + 1 < QUEUE_WAIT_N
                ? (uint32_t)((spans(q, 1000) * queue_wait_ns(i) + 999999) / 1000000)
                : UINT32_MAX;
    for (unsigned i = 0; i < 32; i++) {
        while (1u << i > q->wait_limit[b])
            b++;
        q->wait_first[i] = (uint8_t)b;
    }
}

// Allocates memory of the packet path, in 2 MB pages if it is large: each packet touches another
// place.
static void *memory_new(size_t bytes)
{
    if (bytes < HUGE / 4)
        return aligned_alloc(64, (bytes + 63) / 64 * 64);
    bytes = (bytes + HUGE - 1) / HUGE * HUGE;
    void *p = aligned_alloc(HUGE, bytes);
    if (p)
        madvise(p, bytes, MADV_HUGEPAGE); // a hint
    return p;
}

struct queue_manager *queue_make(const struct queue_config *c)
{
    struct queue_manager *q = calloc(1, sizeof *q);

    if (!q)
        return NULL;
    q->config = *c;
    q->share = CALENDAR_NONE;
    q->due = QUEUE_NEVER;
    q->pool.free = PLACE_NONE;
    q->free = (int32_t)c->packets_max;
    q->wait_next = &q->wait_none;
    q->sample_shift = 32 - (c->clients > CLIENTS_MANY ? 5 : 3);
    times_init(q);
    waits_init(q);
    queue_codel_init(q);
    q->client = memory_new(c->clients * sizeof *q->client);
    q->count = calloc((size_t)c->clients * QUEUE_CLASSES, sizeof *q->count);
    q->guarantee_bps = calloc(c->clients, sizeof *q->guarantee_bps);
    q->guaranteed_bytes = calloc(c->clients, sizeof *q->guaranteed_bytes);
    // Pages are touched on first use.
    q->pool.place = memory_new((size_t)c->packets_max * BLOCK_PLACES * sizeof(struct place));
    q->pool.blocks = c->packets_max;
    int r = queue_aqms_make(q);
    r = r ? r : calendar_init(&q->guarantee, c->clients, q->shift, q->now);
    r = r ? r : calendar_init(&q->maximum, c->clients, q->shift, q->now);
    if (!q->client || !q->count || !q->guarantee_bps || !q->guaranteed_bytes || !q->pool.place ||
        r) {
        free(q->client);
        q->client = NULL;
        queue_free(q, NULL, NULL);
        return NULL;
    }
    for (uint32_t i = 0; i < c->clients; i++)
        client_clear(&q->client[i]);
    return q;
}

static void class_free(struct queue_manager *q, struct class_queue *c,
                       void (*drop)(void *ctx, void *packet), void *ctx)
{
    if (c->flags & CLASS_FLOWS)
        queue_flow_empty(q, c);
    while (drop && !fifo_is_empty(&c->fifo))
        drop(ctx, fifo_take(&q->pool, &c->fifo).packet);
}

void queue_free(struct queue_manager *q, void (*drop)(void *ctx, void *packet), void *ctx)
{
    if (!q)
        return;
    for (uint32_t i = 0; q->client && i < q->config.clients; i++)
        for (unsigned k = 0; k < QUEUE_CLASSES; k++)
            class_free(q, &q->client[i].class[k], drop, ctx);
    while (drop && !fifo_is_empty(&q->gone))
        drop(ctx, fifo_take(&q->pool, &q->gone).packet);
    calendar_fini(&q->guarantee);
    calendar_fini(&q->maximum);
    free(q->client);
    free(q->count);
    free(q->guarantee_bps);
    free(q->guaranteed_bytes);
    free(q->pool.place);
    queue_aqms_free(q);
    free(q);
}
