// SPDX-License-Identifier: BSD-3-Clause
// queue.c - the queue manager of a port: clock, enqueue, dequeue
//
// Invariants (queue_check(); the tests call it after every step):
//   Q1  each accepted packet waits, was taken, or is in `gone` and will be taken: exactly once;
//   Q2  a client with packets is in the lists of its tags (client.c), other clients in none;
//   Q3  bytes and packets of flow queue, class, client and port are sums of the level below;
//   Q4  each block of places belongs to one queue or to the free list.
//
// The inner clock (`now`) follows the caller's without its jumps: backwards, and forwards by more
// than GAP_US between two calls. Otherwise tags would lag by the whole jump, and clients with a
// guarantee would catch up at the cost of all others. They do catch up with a shorter gap, because
// that service was guaranteed. Times are ticks x 2^8.
#include "queue/queue_priv.h"

#define FEW 32u // with no more packets than this, each visit samples a wait

void queue_clock_set(struct queue_manager *q, uint64_t ticks)
{
    uint64_t t = (ticks << TICK_BITS) - q->skew;

    if ((int64_t)(t - q->now) < 0)
        q->skew -= q->now - t;
    else if (t - q->now > q->gap)
        q->skew += t - q->now - q->gap;
    q->now = (ticks << TICK_BITS) - q->skew;
    q->ticks = ticks;
}

// --- putting -------------------------------------------------------------------------------------

// Refusal of a client that has used up its reserve.
static enum queue_refusal refusal_of_place(const struct queue_manager *q)
{
    return q->free <= 0 ? QUEUE_PORT_FULL : QUEUE_SHARE_FULL;
}

static inline enum queue_refusal refusal_of(const struct queue_manager *q, const struct client *v,
                                            const struct class_queue *c, uint32_t len)
{
    if (unlikely(v->bytes + len > v->limit))
        return QUEUE_CLIENT_FULL;
    if (unlikely(c->bytes + len > c->limit))
        return QUEUE_CLASS_FULL;
    if (unlikely(v->packets < v->reserve)) // all places can be in use only if `gone` holds some
        return q->packets >= q->config.packets_max ? QUEUE_PORT_FULL : QUEUE_TAKEN;
    if (unlikely((int32_t)(v->packets - v->reserve) >= q->free))
        return refusal_of_place(q);
    return QUEUE_TAKEN;
}

enum queue_refusal queue_judge(const struct queue_manager *q, const struct queue_packet *p)
{
    const struct client *v = &q->client[p->client];

    return refusal_of(q, v, &v->class[p->class], p->len);
}

static uint32_t excess(uint32_t bytes, uint32_t limit)
{
    return bytes > limit ? bytes - limit : 0;
}

// A class with flow queues drops from the longest queue instead of refusing a packet.
static enum queue_refusal make_room(struct queue_manager *q, const struct queue_packet *p,
                                    enum queue_refusal why)
{
    struct client *v = &q->client[p->client];
    struct class_queue *c = &v->class[p->class];

    if (!(c->flags & CLASS_FLOWS) || why == QUEUE_PORT_FULL || c->packets < 2 ||
        p->len > c->limit || p->len > v->limit)
        return why;
    uint32_t class = excess(c->bytes + p->len, c->limit);
    uint32_t client = excess(v->bytes + p->len, v->limit);
    if (client > c->bytes / 2) // other classes fill the client
        return why;
    queue_flow_shrink(q, p->client, p->class, class > client ? class : client);
    return refusal_of(q, v, c, p->len);
}

static void count_refusal(struct queue_manager *q, const struct queue_packet *p,
                          enum queue_refusal why)
{
    struct class_count *n = count_of(q, p->client, p->class);

    q->refused += why == QUEUE_PORT_FULL;
    n->refused_client += why == QUEUE_CLIENT_FULL;
    n->refused_class += why == QUEUE_CLASS_FULL;
    n->refused_share += why == QUEUE_SHARE_FULL;
}

// Always inline: GCC treats a function that only prefetches as free of effects, and removes its
// calls.
static inline __attribute__((always_inline)) void
put_prefetch(const struct queue_manager *q, const struct queue_packet *p, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        __builtin_prefetch(&q->client[p[i].client], 1);
        __builtin_prefetch(&q->client[p[i].client].class[p[i].class], 1);
    }
    for (unsigned i = 0; q->flows && i < n; i++) {
        const struct class_queue *c = &q->client[p[i].client].class[p[i].class];

        if (c->flags & CLASS_FLOWS)
            __builtin_prefetch(flow_of(c->aqm, p[i].hash), 1);
    }
}

static void port_wake(struct queue_manager *q)
{
    calendar_restart(&q->guarantee, q->now);
    calendar_restart(&q->maximum, q->now);
}

static inline void put_one(struct queue_manager *q, struct client *v, struct class_queue *c,
                           const struct queue_packet *p, uint32_t span)
{
    struct place place = {p->packet, p->len | (uint32_t)p->ecn << LEN_BITS, span};

    if (unlikely(c->flags & CLASS_FLOWS))
        queue_flow_put(q, c->aqm, p->hash, place);
    else
        fifo_put(&q->pool, &c->fifo, place);
    c->bytes += p->len;
    c->packets++;
    v->nonempty |= (uint8_t)(1u << p->class);
    v->bytes += p->len;
    q->free -= v->packets >= v->reserve;
    q->packets++;
    if (!v->packets++) {
        if (q->packets == 1)
            port_wake(q);
        queue_client_wake(q, p->client);
        q->due = q->now;
    }
}

unsigned queue_put(struct queue_manager *q, const struct queue_packet *p, unsigned n, uint64_t now,
                   uint8_t *refusal)
{
    unsigned taken = 0;

    queue_clock_set(q, now);
    put_prefetch(q, p, n);
    uint32_t span = span_now(q);
    for (unsigned i = 0; i < n; i++) {
        struct client *v = &q->client[p[i].client];
        struct class_queue *c = &v->class[p[i].class];
        enum queue_refusal why = refusal_of(q, v, c, p[i].len);

        if (unlikely(why))
            why = make_room(q, &p[i], why);
        refusal[i] = (uint8_t)why;
        if (unlikely(why)) {
            count_refusal(q, &p[i], why);
            continue;
        }
        taken++;
        put_one(q, v, c, &p[i], span);
    }
    return taken;
}

// --- taking --------------------------------------------------------------------------------------

// No strict class is within its rate: picks a weighted class by deficit, or else the first strict
// one.
static unsigned class_next_weighted(struct client *v)
{
    uint8_t weighted = v->nonempty & (uint8_t)~v->strict;
    unsigned k = v->turn;

    if (!weighted)
        return (unsigned)__builtin_ctz(v->nonempty);
    if (weighted >> k & 1 && v->class[k].deficit > 0)
        return k;
    do
        k = (k + 1) % QUEUE_CLASSES;
    while (!(weighted >> k & 1));
    v->class[k].deficit += (int32_t)v->class[k].quantum; // at least a frame, so positive now
    v->turn = (uint8_t)k;
    return k;
}

// Returns the class to serve. The client has packets.
static inline unsigned class_next(const struct queue_manager *q, struct client *v)
{
    for (unsigned m = v->nonempty & v->strict; m; m &= m - 1) {
        unsigned k = (unsigned)__builtin_ctz(m);

        if (likely(!(v->class[k].flags & CLASS_LIMITED)) ||
            !is_to_come(q, v->class[k].aqm->allowed))
            return k;
    }
    return class_next_weighted(v);
}

// Bytes above the rate of a strict class are not charged: it is within its rate again at once.
void queue_class_charge(const struct queue_manager *q, struct aqm *a, uint32_t len)
{
    if (!is_to_come(q, a->allowed))
        a->allowed = tag_after_idle(q, a->allowed, a->per_byte) + time_of_bytes(a->per_byte, len);
}

// Counts the previous sample, whose counter's line has been prefetched meanwhile, and keeps this
// one for the next call.
static void count_wait(struct queue_manager *q, uint16_t id, uint64_t sample)
{
    uint32_t wait = span_now(q) - (uint32_t)sample;
    unsigned b = q->wait_first[31 - __builtin_clz(wait | 1)]; // an octave: three buckets at most

    b += wait > q->wait_limit[b];
    b += wait > q->wait_limit[b];
    ++*q->wait_next;
    q->wait_next = &count_of(q, id, (unsigned)(sample >> 32))->wait[b];
    __builtin_prefetch(q->wait_next, 1);
}

static void count_unusual(struct class_count *n, enum queue_verdict verdict)
{
    n->marked += verdict == QUEUE_SEND_MARKED;
    n->dropped_codel += verdict == QUEUE_DROP_CODEL;
    n->dropped_old += verdict == QUEUE_DROP_OLD;
}

struct taking {
    void **packet;
    uint8_t *verdict;
    unsigned n, max;
    // Of one visit: bytes that left, and the sampled packet: its class and time of arrival.
    uint32_t bytes;
    unsigned sample_to; // the sample is the last packet sent before this index
    uint64_t sample;
};
#define SAMPLE_NONE UINT64_MAX

// Charges a class; the deficit matters for weighted classes. Empty classes save no credit.
static void class_pay(struct class_queue *c, uint32_t len)
{
    c->deficit -= (int32_t)len;
    if (!c->packets && c->deficit > 0)
        c->deficit = 0;
}

// The rates and the entitlement of one visit.
struct visit {
    uint64_t free_at, l, s; // of the port and the client
    uint32_t sent;
    bool guaranteed;
};

// Charges a packet. Returns false if a frame's worth of bytes, the client's entitlement or the
// port's credit is used up.
static inline bool visit_goes_on(const struct queue_manager *q, const struct client *v,
                                 struct visit *x, uint32_t len)
{
    int64_t right; // below 0: entitlement used up

    x->sent += len;
    x->free_at += time_of_bytes(q->per_byte, len);
    x->l += time_of_bytes(v->per_byte_m, len);
    x->s += time_of_bytes(v->per_byte_g, len);
    right = x->guaranteed ? (int64_t)(q->now - x->s) : (int64_t)v->deficit - x->sent - 1;
    return x->sent < q->config.frame_max &&
           ((int64_t)(q->now - x->free_at) | (int64_t)(q->now - x->l) | right) >= 0;
}

static void class_taken(struct client *v, unsigned k, uint32_t packets, uint32_t bytes)
{
    struct class_queue *c = &v->class[k];

    c->bytes -= bytes;
    c->packets -= packets;
    if (!c->packets)
        v->nonempty &= (uint8_t)~(1u << k);
}

// Takes packets of class k, which has no flags, until it is empty, a weighted one's deficit is used
// up, or the visit is over: then returns false.
static inline bool take_plain(struct queue_manager *q, struct client *v, unsigned k,
                              struct taking *t, struct visit *x)
{
    struct class_queue *c = &v->class[k];
    struct fifo fifo = c->fifo;
    uint32_t packets = 0, bytes = 0;
    bool more;

    do {
        struct place p = fifo_take(&q->pool, &fifo);
        uint32_t len = place_len(&p);

        t->packet[t->n] = p.packet;
        t->verdict[t->n++] = QUEUE_SEND;
        t->sample = t->n <= t->sample_to ? (uint64_t)k << 32 | p.at : t->sample;
        packets++;
        bytes += len;
        more = visit_goes_on(q, v, x, len) && t->n < t->max;
    } while (more && !fifo_is_empty(&fifo) && (!c->quantum || c->deficit > (int32_t)bytes));
    c->fifo = fifo;
    t->bytes += bytes;
    class_taken(v, k, packets, bytes);
    c->sent_packets += packets;
    c->sent_bytes += bytes;
    if (c->quantum)
        class_pay(c, bytes);
    return more;
}

// Takes one packet of class k. Returns false if the visit is over. A dropped packet is charged to
// nobody.
static __attribute__((noinline)) bool take_managed(struct queue_manager *q, struct client *v,
                                                   unsigned k, struct taking *t, struct visit *x)
{
    struct class_queue *c = &v->class[k];
    enum queue_verdict verdict = QUEUE_SEND;
    struct place p;

    if (c->flags & CLASS_MANAGED)
        verdict = queue_aqm_take(q, c, &p);
    else
        p = fifo_take(&q->pool, &c->fifo);
    uint32_t len = place_len(&p);
    bool sent = verdict <= QUEUE_SEND_MARKED;
    if (verdict)
        count_unusual(count_of(q, (uint16_t)(v - q->client), k), verdict);
    if (c->flags & CLASS_LIMITED && sent)
        queue_class_charge(q, c->aqm, len);
    t->packet[t->n] = p.packet;
    t->verdict[t->n++] = (uint8_t)verdict;
    t->bytes += len;
    class_taken(v, k, 1, len);
    if (sent) {
        t->sample = t->n <= t->sample_to ? (uint64_t)k << 32 | p.at : t->sample;
        c->sent_packets++;
        c->sent_bytes += len;
    }
    if (c->quantum || !sent)
        class_pay(c, sent ? len : 0);
    return visit_goes_on(q, v, x, sent ? len : 0) && t->n < t->max;
}

static inline uint16_t client_after(const struct queue_manager *q, uint16_t id, bool guaranteed)
{
    return guaranteed ? q->guarantee.link[id].next : q->client[id].next;
}

static inline const struct class_queue *class_first(const struct client *v)
{
    return &v->class[v->nonempty ? __builtin_ctz(v->nonempty) : 0];
}

// Prefetches for the next three clients, by guarantee or share: of each, the line that the previous
// prefetch has made known.
static inline __attribute__((always_inline)) void client_prefetch(const struct queue_manager *q,
                                                                  uint16_t id, bool guaranteed)
{
    uint16_t first = client_after(q, id, guaranteed), second, third;

    if (first == CALENDAR_NONE || first == id)
        return;
    second = client_after(q, first, guaranteed);
    third = client_after(q, second, guaranteed);
    __builtin_prefetch(&q->client[third]);
    __builtin_prefetch(class_first(&q->client[second]), 1);
    __builtin_prefetch(&q->pool.place[class_first(&q->client[first])->fifo.head]);
}

// Samples a packet on one visit in eight, in steps of the golden ratio, so that no rhythm of
// clients and classes aligns with the samples. On each visit while few packets wait; on fewer
// visits with many clients, whose counters are in no cache.
static unsigned sample_to(struct queue_manager *q, unsigned from)
{
    uint32_t i = q->visits++ * 0x9e3779b1u;

    return unlikely(!(i >> q->sample_shift) || q->packets <= FEW) ? from + 1 + (i >> 20 & 31) : 0;
}

static void count_last_wait(struct queue_manager *q)
{
    ++*q->wait_next;
    q->wait_next = &q->wait_none;
}

// Serves one client until a frame's worth of bytes, its entitlement or the port's credit is used
// up. Dropped packets use up none of these.
static void client_visit(struct queue_manager *q, uint16_t id, bool guaranteed, struct taking *t)
{
    struct client *v = &q->client[id];
    struct visit x = {q->free_at, v->l, v->s, 0, guaranteed};
    uint32_t before = client_excess(v);
    unsigned from = t->n;
    bool more;

    t->bytes = 0;
    t->sample = SAMPLE_NONE;
    t->sample_to = sample_to(q, from);
    client_prefetch(q, id, guaranteed);
    do {
        unsigned k = class_next(q, v);

        more = likely(!v->class[k].flags) ? take_plain(q, v, k, t, &x)
                                          : take_managed(q, v, k, t, &x);
    } while (more && v->nonempty);
    q->free_at = x.free_at;
    v->l = v->per_byte_m ? x.l : q->now;
    v->bytes -= t->bytes;
    v->packets -= t->n - from;
    q->packets -= t->n - from;
    q->free += (int32_t)(before - client_excess(v));
    if (guaranteed) {
        v->s = x.s;
        q->guaranteed_bytes[id] += x.sent;
    } else {
        v->deficit -= (int32_t)x.sent;
    }
    if (unlikely(t->sample != SAMPLE_NONE))
        count_wait(q, id, t->sample);
    if (!v->nonempty)
        queue_client_idle(q, id);
    else if (guaranteed || !is_over(q, x.l))
        queue_client_place(q, id);
}

static void take_gone(struct queue_manager *q, struct taking *t)
{
    while (t->n < t->max && !fifo_is_empty(&q->gone)) {
        t->packet[t->n] = fifo_take(&q->pool, &q->gone).packet;
        t->verdict[t->n++] = QUEUE_DROP_FLOW;
        q->packets--;
        q->free++;
    }
}

unsigned queue_take(struct queue_manager *q, uint64_t now, void **packet, uint8_t *verdict,
                    unsigned n)
{
    struct taking t = {.packet = packet, .verdict = verdict, .max = n};

    queue_clock_set(q, now);
    if (q->due == QUEUE_NEVER || !is_over(q, q->due) || !n)
        return 0;
    if (unlikely(!fifo_is_empty(&q->gone)))
        take_gone(q, &t);
    queue_credit_limit(q);
    queue_client_unpark(q);
    while (t.n < n && is_over(q, q->free_at)) {
        uint16_t id = queue_guaranteed_next(q);
        bool guaranteed = id != CALENDAR_NONE;

        id = guaranteed ? id : queue_share_next(q);
        if (id == CALENDAR_NONE)
            break;
        client_visit(q, id, guaranteed, &t);
        if (!guaranteed && q->share == id && q->client[id].deficit <= 0)
            q->share = q->client[id].next; // end of its turn
    }
    q->is_wanted = q->packets && (t.n == n || !is_over(q, q->free_at));
    q->due = t.n == n && q->packets ? q->now : queue_due_time(q);
    if (!q->packets)
        count_last_wait(q);
    return t.n;
}

uint64_t queue_due(const struct queue_manager *q)
{
    if (q->due == QUEUE_NEVER)
        return QUEUE_NEVER;
    // From the last call on, because ticks x 2^8 may overflow where the caller's ticks do not.
    return is_over(q, q->due) ? q->ticks
                              : q->ticks + ((q->due - q->now + (1u << TICK_BITS) - 1) >> TICK_BITS);
}

// --- the fast path: no packet waits at the port, and the port has credit ---
//
// Most packets of a port that is not full take it. They bypass all lists and calendars, and are
// charged to the port, the maximum of the client and the rate of a strict class. Guarantees and
// shares matter only while other packets wait.

// May the client send when no other client waits? A client of weight 0 has only its guarantee.
static bool may_pass(const struct queue_manager *q, const struct client *v,
                     const struct class_queue *c, uint32_t len)
{
    return v->quantum && len <= v->limit && len <= c->limit &&
           (!v->per_byte_m || is_over(q, tag_after_idle(q, v->l, v->per_byte_m)));
}

unsigned queue_pass(struct queue_manager *q, const struct queue_packet *p, unsigned n, uint64_t now)
{
    unsigned i;

    queue_clock_set(q, now);
    if (q->packets)
        return 0;
    queue_credit_limit(q);
    for (i = 0; i < n && is_over(q, q->free_at); i++) {
        struct client *v = &q->client[p[i].client];
        struct class_queue *c = &v->class[p[i].class];
        uint32_t len = p[i].len;

        if (unlikely(!may_pass(q, v, c, len)))
            break;
        q->free_at += time_of_bytes(q->per_byte, len);
        if (v->per_byte_m)
            v->l = tag_after_idle(q, v->l, v->per_byte_m) + time_of_bytes(v->per_byte_m, len);
        if (unlikely(c->flags & CLASS_LIMITED))
            queue_class_charge(q, c->aqm, len);
        c->sent_packets++;
        c->sent_bytes += len;
    }
    if (i) // the wait was zero
        count_of(q, p[i - 1].client, p[i - 1].class)->wait[0]++;
    return i;
}
