// SPDX-License-Identifier: BSD-3-Clause
// queue.c - the queue manager of a port: its clock, its tags, and who is next
//
// A client that has nothing waiting is in no list. One that has is in the calendar of
// guarantees by its S (if it has a guarantee) and in the ring of shares (if it has a weight); or,
// while its L is still to come, in the calendar of maxima alone.
//
// The clock inside (`now`) is the caller's without its jumps: backwards, and forwards by more than
// GAP_US while nobody called. Tags would otherwise be behind by the whole jump, and clients
// with a guarantee would catch up at the cost of all others. Times are ticks x 2^8.
#include "queue/queue.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "queue/calendar.h"

#define TICK_BITS 8
#define RATE_BITS 16 // of a rate's ticks per byte, more than those of a time
#define GAP_US 10000u
#define WINDOW_US 10u // credit of a port that was not asked in time
#define RATE_MIN_BPS 8000u
#define UNPARK_MAX 32u // of a call
#define TURN_PARTS 4u   // a turn of weight 1 in the ring of shares: a frame / TURN_PARTS
#define BLOCK_PLACES 15u
#define NONE UINT32_MAX
#define unlikely(x) __builtin_expect(!!(x), 0)

struct place {
    void *packet;
    uint32_t len;
};

struct block { // of waiting packets of a class, first in, first out
    struct place place[BLOCK_PLACES];
    uint32_t next;
};

struct class_queue { // a cache line
    uint32_t head, tail; // blocks, NONE = nothing waits
    uint8_t head_at, tail_at;
    uint32_t bytes, packets, limit;
    uint32_t quantum; // 0: strict
    int32_t deficit;
    uint64_t sent_packets, sent_bytes;
    uint32_t refused_class, refused_client; // modulo 2^32
} __attribute__((aligned(64)));

struct client { // a cache line, then its classes
    uint64_t s, l;                   // the time its next byte is due, and allowed
    uint64_t per_byte_g, per_byte_m; // 0 = none
    uint32_t bytes, limit;
    uint32_t quantum; // 0: no share
    int32_t deficit;
    uint8_t nonempty, strict; // masks of classes
    uint8_t turn;             // the weighted class that was served last
    bool parked;
    uint16_t next, prev; // in the ring of shares; CALENDAR_NONE: not there
    uint64_t guaranteed_bytes;
    struct class_queue class[QUEUE_CLASSES];
};
_Static_assert(offsetof(struct client, class) == 64, "what is read of each packet is one line");

struct queue_manager {
    struct queue_config config;
    uint64_t per_byte; // of the port
    uint64_t free_at;  // when the port has sent what it was given
    uint64_t now, skew;
    uint64_t window, gap;
    uint64_t due;
    uint64_t guarantees_bps;
    uint64_t *guarantee_bps; // of each client
    uint64_t refused;        // there were packets_max
    uint32_t packets;
    uint16_t share; // whose turn it is, CALENDAR_NONE: nobody is in the ring
    struct calendar guarantee, maximum;
    struct client *client;
    struct block *block;
    uint32_t block_free, block_new, blocks; // a list; those never used yet
};

// --- time ----------------------------------------------------------------------------------------

static uint64_t ticks_per_byte(const struct queue_manager *q, uint64_t bps)
{
    return bps ? (uint64_t)(((unsigned __int128)q->config.ticks_hz * 8 << (TICK_BITS + RATE_BITS)) /
                            bps)
               : 0;
}

static uint64_t time_of_bytes(uint64_t per_byte, uint32_t bytes)
{
    return per_byte * bytes >> RATE_BITS;
}

static void clock_set(struct queue_manager *q, uint64_t ticks)
{
    uint64_t t = (ticks << TICK_BITS) - q->skew;

    if ((int64_t)(t - q->now) < 0)
        q->skew -= q->now - t;
    else if (t - q->now > q->gap)
        q->skew += t - q->now - q->gap;
    q->now = (ticks << TICK_BITS) - q->skew;
}

static bool is_over(const struct queue_manager *q, uint64_t time)
{
    return (int64_t)(q->now - time) >= 0;
}

// --- packets that wait ---------------------------------------------------------------------------

static uint32_t block_take(struct queue_manager *q)
{
    uint32_t b = q->block_free;

    if (b == NONE)
        return q->block_new++;
    q->block_free = q->block[b].next;
    return b;
}

static void block_give(struct queue_manager *q, uint32_t b)
{
    q->block[b].next = q->block_free;
    q->block_free = b;
}

static void class_put(struct queue_manager *q, struct class_queue *c, void *packet, uint32_t len)
{
    if (c->head == NONE) {
        c->head = c->tail = block_take(q);
        c->head_at = c->tail_at = 0;
    } else if (c->tail_at == BLOCK_PLACES) {
        uint32_t b = block_take(q);

        q->block[c->tail].next = b;
        c->tail = b;
        c->tail_at = 0;
    }
    q->block[c->tail].place[c->tail_at++] = (struct place){packet, len};
    c->bytes += len;
    c->packets++;
}

static struct place class_take(struct queue_manager *q, struct class_queue *c)
{
    uint32_t b = c->head;
    struct place p = q->block[b].place[c->head_at++];

    c->bytes -= p.len;
    if (!--c->packets) {
        block_give(q, b);
        c->head = NONE;
    } else if (c->head_at == BLOCK_PLACES) {
        c->head = q->block[b].next;
        c->head_at = 0;
        block_give(q, b);
    }
    return p;
}

// --- where a client waits ----------------------------------------------------------------

static void share_join(struct queue_manager *q, uint16_t id)
{
    struct client *v = &q->client[id];

    if (!v->quantum || v->next != CALENDAR_NONE)
        return;
    if (q->share == CALENDAR_NONE) {
        v->next = v->prev = q->share = id;
        return;
    }
    v->next = q->share; // before whose turn it is: last
    v->prev = q->client[q->share].prev;
    q->client[v->prev].next = id;
    q->client[v->next].prev = id;
}

static void share_leave(struct queue_manager *q, uint16_t id)
{
    struct client *v = &q->client[id];

    if (v->next == CALENDAR_NONE)
        return;
    if (q->share == id)
        q->share = v->next == id ? CALENDAR_NONE : v->next;
    q->client[v->prev].next = v->next;
    q->client[v->next].prev = v->prev;
    v->next = v->prev = CALENDAR_NONE;
}

// Puts a client with packets where it belongs now.
static void client_place(struct queue_manager *q, uint16_t id)
{
    struct client *v = &q->client[id];

    v->parked = v->per_byte_m && !is_over(q, v->l);
    if (v->parked) {
        calendar_remove(&q->guarantee, id);
        share_leave(q, id);
        calendar_remove(&q->maximum, id);
        calendar_put(&q->maximum, id, v->l);
        return;
    }
    calendar_remove(&q->maximum, id);
    share_join(q, id);
    calendar_remove(&q->guarantee, id);
    if (v->per_byte_g)
        calendar_put(&q->guarantee, id, v->s);
}

static void client_idle(struct queue_manager *q, uint16_t id)
{
    calendar_remove(&q->guarantee, id);
    calendar_remove(&q->maximum, id);
    share_leave(q, id);
    q->client[id].parked = false;
}

// Two frames may go at once; more credit than that is not saved while nothing waits.
static uint64_t tag_after_idle(const struct queue_manager *q, uint64_t tag, uint64_t per_byte)
{
    uint64_t burst = time_of_bytes(per_byte, 2 * q->config.frame_max), from = q->now - burst;

    return (int64_t)(tag - from) < 0 ? from : tag;
}

static void client_wake(struct queue_manager *q, uint16_t id)
{
    struct client *v = &q->client[id];

    v->s = tag_after_idle(q, v->s, v->per_byte_g);
    v->l = tag_after_idle(q, v->l, v->per_byte_m);
    v->deficit = v->deficit < 0 ? v->deficit : 0; // what was sent beyond a turn stays owed
    client_place(q, id);
}

// --- putting -------------------------------------------------------------------------------------

static enum queue_refusal refusal_of(const struct queue_manager *q, const struct client *v,
                                     const struct class_queue *c, uint32_t len)
{
    if (q->packets == q->config.packets_max)
        return QUEUE_PORT_FULL;
    if (v->bytes + len > v->limit)
        return QUEUE_CLIENT_FULL;
    return c->bytes + len > c->limit ? QUEUE_CLASS_FULL : QUEUE_TAKEN;
}

static void count_refusal(struct queue_manager *q, struct class_queue *c, enum queue_refusal why)
{
    q->refused += why == QUEUE_PORT_FULL;
    c->refused_client += why == QUEUE_CLIENT_FULL;
    c->refused_class += why == QUEUE_CLASS_FULL;
}

unsigned queue_put(struct queue_manager *q, const struct queue_packet *p, unsigned n, uint64_t now,
                   uint8_t *refusal)
{
    unsigned taken = 0;

    clock_set(q, now);
    for (unsigned i = 0; i < n; i++) {
        __builtin_prefetch(&q->client[p[i].client]);
        __builtin_prefetch(&q->client[p[i].client].class[p[i].class], 1);
    }
    for (unsigned i = 0; i < n; i++) {
        struct client *v = &q->client[p[i].client];
        struct class_queue *c = &v->class[p[i].class];

        refusal[i] = (uint8_t)refusal_of(q, v, c, p[i].len);
        if (unlikely(refusal[i])) {
            count_refusal(q, c, (enum queue_refusal)refusal[i]);
            continue;
        }
        taken++;
        class_put(q, c, p[i].packet, p[i].len);
        v->nonempty |= (uint8_t)(1u << p[i].class);
        q->packets++;
        v->bytes += p[i].len;
        if (v->bytes == p[i].len && c->packets == 1) {
            client_wake(q, p[i].client);
            q->due = q->now;
        }
    }
    return taken;
}

// --- taking --------------------------------------------------------------------------------------

// The class that is next: the first strict one, or the weighted ones by deficit. One is not empty.
static unsigned class_next(struct client *v)
{
    uint8_t strict = v->nonempty & v->strict;
    unsigned c = v->turn;

    if (strict)
        return (unsigned)__builtin_ctz(strict);
    if (v->nonempty >> c & 1 && v->class[c].deficit > 0)
        return c;
    do
        c = (c + 1) % QUEUE_CLASSES;
    while (!(v->nonempty >> c & 1));
    v->class[c].deficit += (int32_t)v->class[c].quantum; // of at least a frame: more than 0 now
    v->turn = (uint8_t)c;
    return c;
}

struct taking {
    void **packet;
    unsigned n, max;
};

// Those whose turn comes after this one: two lines that the visits after it would wait for.
static void client_prefetch(const struct queue_manager *q, uint16_t next)
{
    if (next == CALENDAR_NONE)
        return;
    const struct client *v = &q->client[next];
    __builtin_prefetch(&q->client[v->next == CALENDAR_NONE ? next : v->next]);
    __builtin_prefetch(&v->class[v->nonempty ? __builtin_ctz(v->nonempty) : 0], 1);
}

// Sends from one client until a frame's worth of bytes, its right or the port's credit is
// used up.
static void client_visit(struct queue_manager *q, uint16_t id, bool guaranteed, struct taking *t)
{
    struct client *v = &q->client[id];
    uint32_t sent = 0;

    client_prefetch(q, v->next);
    do {
        unsigned c = class_next(v);
        struct place p = class_take(q, &v->class[c]);

        v->class[c].deficit -= v->class[c].quantum ? (int32_t)p.len : 0;
        if (!v->class[c].packets) {
            v->nonempty &= (uint8_t)~(1u << c);
            if (v->class[c].deficit > 0)
                v->class[c].deficit = 0;
        }
        t->packet[t->n++] = p.packet;
        sent += p.len;
        v->class[c].sent_packets++;
        v->class[c].sent_bytes += p.len;
        q->packets--;
        q->free_at += time_of_bytes(q->per_byte, p.len);
        v->l += time_of_bytes(v->per_byte_m, p.len);
        if (guaranteed)
            v->s += time_of_bytes(v->per_byte_g, p.len);
        else
            v->deficit -= (int32_t)p.len;
    } while (v->nonempty && t->n < t->max && sent < q->config.frame_max && is_over(q, q->free_at) &&
             (!v->per_byte_m || is_over(q, v->l)) &&
             (guaranteed ? is_over(q, v->s) : v->deficit > 0));
    v->bytes -= sent;
    v->guaranteed_bytes += guaranteed ? sent : 0;
    if (!v->nonempty)
        client_idle(q, id);
    else if (guaranteed || (v->per_byte_m && !is_over(q, v->l)))
        client_place(q, id);
}

// Those whose L has come are back in the race.
static void unpark(struct queue_manager *q)
{
    uint64_t span, here = q->now >> q->maximum.shift;

    for (unsigned i = 0; i < UNPARK_MAX; i++) {
        uint16_t id = calendar_first(&q->maximum, q->now, &span);

        if (id == CALENDAR_NONE || span > here)
            return;
        if (!is_over(q, q->client[id].l) && q->client[id].l >> q->maximum.shift <= span)
            return; // within this very bucket
        client_place(q, id); // or it was beyond the end, and is parked again
    }
}

// The client whose guarantee is due, the oldest first.
static uint16_t guaranteed_next(struct queue_manager *q)
{
    uint64_t span, here = q->now >> q->guarantee.shift;

    for (;;) {
        uint16_t id = calendar_first(&q->guarantee, q->now, &span);

        if (id == CALENDAR_NONE || is_over(q, q->client[id].s))
            return id;
        if (span > here || q->client[id].s >> q->guarantee.shift <= span)
            return CALENDAR_NONE;
        calendar_remove(&q->guarantee, id); // it was beyond the end when it was put
        calendar_put(&q->guarantee, id, q->client[id].s);
    }
}

static uint16_t share_next(struct queue_manager *q)
{
    if (q->share == CALENDAR_NONE)
        return CALENDAR_NONE;
    for (;; q->share = q->client[q->share].next) {
        struct client *v = &q->client[q->share];

        if (v->deficit > 0 || (v->deficit += (int32_t)v->quantum) > 0)
            return q->share;
    }
}

static uint64_t first_time(struct calendar *c, uint64_t now)
{
    uint64_t span;

    return calendar_first(c, now, &span) == CALENDAR_NONE ? UINT64_MAX : span << c->shift;
}

static uint64_t due_time(struct queue_manager *q)
{
    if (!q->packets)
        return QUEUE_NEVER;
    if (q->share != CALENDAR_NONE)
        return q->free_at;
    uint64_t s = first_time(&q->guarantee, q->now), l = first_time(&q->maximum, q->now);
    uint64_t due = s < l ? s : l;
    return (int64_t)(q->free_at - due) > 0 ? q->free_at : due;
}

unsigned queue_take(struct queue_manager *q, uint64_t now, void **packet, uint8_t *verdict,
                    unsigned n)
{
    struct taking t = {packet, 0, n};

    clock_set(q, now);
    if (q->due == QUEUE_NEVER || !is_over(q, q->due) || !n)
        return 0;
    if ((int64_t)(q->now - q->free_at) > (int64_t)q->window)
        q->free_at = q->now - q->window;
    unpark(q);
    while (t.n < n && is_over(q, q->free_at)) {
        uint16_t id = guaranteed_next(q);
        bool guaranteed = id != CALENDAR_NONE;

        id = guaranteed ? id : share_next(q);
        if (id == CALENDAR_NONE)
            break;
        client_visit(q, id, guaranteed, &t);
        if (!guaranteed && q->share == id && q->client[id].deficit <= 0)
            q->share = q->client[id].next; // its turn is over
    }
    q->due = t.n == n && q->packets ? q->now : due_time(q);
    memset(verdict, QUEUE_SEND, t.n);
    return t.n;
}

uint64_t queue_due(const struct queue_manager *q)
{
    return q->due == QUEUE_NEVER
               ? QUEUE_NEVER
               : (q->due + q->skew + (1u << TICK_BITS) - 1) >> TICK_BITS;
}

// --- configuration -------------------------------------------------------------------------------

// 98 %: what is left is for what the port sends besides.
static bool guarantees_fit(uint64_t guarantees, uint64_t rate)
{
    return guarantees <= rate / 100 * 98;
}

static int config_judge(const struct queue_manager *q, uint16_t client,
                        const struct queue_client_config *c)
{
    bool low = (c->guarantee_bps && c->guarantee_bps < RATE_MIN_BPS) ||
               (c->maximum_bps && c->maximum_bps < RATE_MIN_BPS);

    if (low || (c->maximum_bps && c->maximum_bps < c->guarantee_bps) ||
        c->weight > QUEUE_WEIGHT_MAX || (!c->weight && !c->guarantee_bps))
        return -ERANGE;
    for (unsigned k = 0; k < QUEUE_CLASSES; k++)
        if (c->class[k].weight > QUEUE_WEIGHT_MAX)
            return -ERANGE;
    return guarantees_fit(q->guarantees_bps - q->guarantee_bps[client] + c->guarantee_bps,
                          q->config.rate_bps)
               ? 0
               : -ENOSPC;
}

int queue_configure(struct queue_manager *q, uint16_t client, const struct queue_client_config *c,
                    uint64_t now)
{
    struct client *v = &q->client[client];
    int r = config_judge(q, client, c);

    if (r)
        return r;
    clock_set(q, now);
    q->guarantees_bps += c->guarantee_bps - q->guarantee_bps[client];
    q->guarantee_bps[client] = c->guarantee_bps;
    v->per_byte_g = ticks_per_byte(q, c->guarantee_bps);
    v->per_byte_m = ticks_per_byte(q, c->maximum_bps);
    v->limit = c->limit_bytes;
    v->quantum = c->weight * (q->config.frame_max / TURN_PARTS);
    v->strict = 0;
    for (unsigned k = 0; k < QUEUE_CLASSES; k++) {
        v->class[k].limit = c->class[k].limit_bytes;
        v->class[k].quantum = c->class[k].weight * q->config.frame_max;
        v->class[k].deficit = 0;
        v->strict |= (uint8_t)(!c->class[k].weight << k);
    }
    if (!v->s) // its first
        v->s = v->l = q->now;
    if (v->nonempty) {
        client_idle(q, client);
        client_wake(q, client);
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
    clock_set(q, now);
    q->config.rate_bps = rate_bps;
    q->per_byte = ticks_per_byte(q, rate_bps);
    q->free_at = q->now;
    q->due = q->packets ? q->now : QUEUE_NEVER;
    return 0;
}

void queue_set_packets_max(struct queue_manager *q, uint32_t packets_max)
{
    q->config.packets_max = packets_max;
}

static unsigned bucket_shift(uint64_t ticks_hz)
{
    uint64_t us = (ticks_hz << TICK_BITS) / 1000000;

    return us ? 63u - (unsigned)__builtin_clzll(us) : 0;
}

static void client_clear(struct client *v)
{
    memset(v, 0, sizeof *v);
    v->next = v->prev = CALENDAR_NONE;
    for (unsigned k = 0; k < QUEUE_CLASSES; k++)
        v->class[k].head = NONE;
}

struct queue_manager *queue_make(const struct queue_config *c)
{
    struct queue_manager *q = calloc(1, sizeof *q);

    if (!q)
        return NULL;
    unsigned shift = bucket_shift(c->ticks_hz);
    q->config = *c;
    q->share = CALENDAR_NONE;
    q->due = QUEUE_NEVER;
    q->block_free = NONE;
    q->per_byte = ticks_per_byte(q, c->rate_bps);
    q->window = (c->ticks_hz * WINDOW_US / 1000000) << TICK_BITS;
    uint64_t frames = time_of_bytes(q->per_byte, 2 * c->frame_max);
    q->window = frames > q->window ? frames : q->window;
    q->gap = (c->ticks_hz * GAP_US / 1000000) << TICK_BITS;
    // Every class may hold a block that is not full.
    uint32_t classes = c->clients * QUEUE_CLASSES;
    q->blocks = c->packets_max / BLOCK_PLACES + 1 +
                2 * (classes < c->packets_max ? classes : c->packets_max);
    q->client = aligned_alloc(64, c->clients * sizeof *q->client);
    q->guarantee_bps = calloc(c->clients, sizeof *q->guarantee_bps);
    q->block = malloc((size_t)q->blocks * sizeof *q->block); // touched when it is used first
    int r = calendar_init(&q->guarantee, c->clients, shift, 0);
    r = calendar_init(&q->maximum, c->clients, shift, 0) ? -ENOMEM : r;
    if (!q->client || !q->guarantee_bps || !q->block || r) {
        queue_free(q, NULL, NULL);
        return NULL;
    }
    for (uint32_t i = 0; i < c->clients; i++)
        client_clear(&q->client[i]);
    return q;
}

void queue_free(struct queue_manager *q, void (*drop)(void *ctx, void *packet), void *ctx)
{
    if (!q)
        return;
    for (uint32_t i = 0; drop && i < q->config.clients; i++)
        for (unsigned k = 0; k < QUEUE_CLASSES; k++)
            while (q->client[i].class[k].packets)
                drop(ctx, class_take(q, &q->client[i].class[k]).packet);
    calendar_fini(&q->guarantee);
    calendar_fini(&q->maximum);
    free(q->client);
    free(q->guarantee_bps);
    free(q->block);
    free(q);
}

// --- questions -----------------------------------------------------------------------------------

void queue_stats(const struct queue_manager *q, uint16_t client, struct queue_stats *s)
{
    const struct client *v = &q->client[client];

    *s = (struct queue_stats){.guaranteed_bytes = v->guaranteed_bytes, .waiting_bytes = v->bytes};
    for (unsigned k = 0; k < QUEUE_CLASSES; k++)
        s->waiting_packets += v->class[k].packets;
}

void queue_class_stats(const struct queue_manager *q, uint16_t client, unsigned class,
                       struct queue_class_stats *s)
{
    const struct class_queue *c = &q->client[client].class[class];

    *s = (struct queue_class_stats){.sent_packets = c->sent_packets,
                                    .sent_bytes = c->sent_bytes,
                                    .refused_class = c->refused_class,
                                    .refused_client = c->refused_client,
                                    .waiting_packets = c->packets,
                                    .waiting_bytes = c->bytes};
}

uint32_t queue_waiting(const struct queue_manager *q)
{
    return q->packets;
}

uint64_t queue_refused(const struct queue_manager *q)
{
    return q->refused;
}

static const char *client_check(const struct queue_manager *q, uint16_t id, uint32_t *packets)
{
    const struct client *v = &q->client[id];
    uint64_t bytes = 0;

    for (unsigned k = 0; k < QUEUE_CLASSES; k++) {
        bytes += v->class[k].bytes;
        *packets += v->class[k].packets;
        if (!v->class[k].packets != !(v->nonempty >> k & 1))
            return "a class and the mask of those that are not empty disagree";
    }
    if (bytes != v->bytes)
        return "the bytes of a client are not the sum of its classes'";
    if (!v->nonempty || v->parked) {
        if (calendar_has(&q->guarantee, id) || v->next != CALENDAR_NONE)
            return "one that must not be served is in a list";
        return calendar_has(&q->maximum, id) == v->parked ? NULL : "parked, or not, by mistake";
    }
    if (calendar_has(&q->maximum, id))
        return "one that may be served is parked";
    if (calendar_has(&q->guarantee, id) != !!v->per_byte_g)
        return "the calendar of guarantees and a guarantee disagree";
    return (v->next != CALENDAR_NONE) == !!v->quantum ? NULL : "the ring and a weight disagree";
}

const char *queue_check(const struct queue_manager *q)
{
    uint32_t packets = 0;

    for (uint32_t i = 0; i < q->config.clients; i++) {
        const char *wrong = client_check(q, (uint16_t)i, &packets);

        if (wrong)
            return wrong;
    }
    if (packets != q->packets)
        return "the packets of the port are not the sum of its clients'";
    if (q->packets && q->due == QUEUE_NEVER)
        return "packets wait and nothing is due";
    return NULL;
}
