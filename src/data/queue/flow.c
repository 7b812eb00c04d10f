// SPDX-License-Identifier: BSD-3-Clause
// flow.c - the flow queues of a class (RFC 8290): sparse flows do not wait for bulk flows
//
// A flow queue that gets its first packet joins the list of new flows, which is served before the
// list of old flows; in its turn a flow may send a frame. An empty flow queue moves from the new
// list to the old one before it becomes idle, so that a flow cannot be new each time. Each flow
// queue has its own CoDel state.
//
// A full class accepts new packets: the longest flow queues lose their oldest packets to `gone`,
// and the next queue_take() hands them to the caller.
#include "queue/queue_priv.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#define HUGE_MAX (64ul << 20) // largest AQM memory for which 2 MB pages are requested
#define SHRINK_MAX 64u  // packets dropped at once, unless `need` takes more
#define SHRINK_PART 16u // or this fraction of the waiting bytes

// The owner of a queue manager may not allocate, so address space is reserved for the largest
// configuration of each class. Unused parts take no memory.
int queue_aqms_make(struct queue_manager *q)
{
    size_t bytes = AQM_BYTES * QUEUE_CLASSES * q->config.clients;
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    q->aqms = p == MAP_FAILED ? NULL : p;
    if (q->aqms && bytes <= HUGE_MAX)
        madvise(p, bytes, MADV_HUGEPAGE); // a hint: each packet is of another flow
    return q->aqms ? 0 : -ENOMEM;
}

void queue_aqms_free(struct queue_manager *q)
{
    if (q->aqms)
        munmap(q->aqms, AQM_BYTES * QUEUE_CLASSES * q->config.clients);
}

struct aqm *queue_aqm_of(const struct queue_manager *q, uint16_t client, unsigned class)
{
    return (struct aqm *)(void *)(q->aqms + AQM_BYTES * (client * QUEUE_CLASSES + class));
}

void queue_aqm_init(struct aqm *a, uint16_t flows)
{
    memset(a, 0, AQM_OF_FLOWS(a->flows));
    a->flows = flows;
    a->hash_shift = 32;
    while (flows >>= 1)
        a->hash_shift--;
}

// --- lists ---------------------------------------------------------------------------------------

// Returns entry i of a list; i counts on and wraps around the ring.
static inline uint16_t *list_at(struct aqm *a, const struct flow_list *l, uint32_t i)
{
    uint16_t *ring = (uint16_t *)(void *)&a->flow[a->flows];

    return &ring[(l == &a->old ? a->flows : 0u) + (i & (a->flows - 1u))];
}

static bool list_is_empty(const struct flow_list *l)
{
    return l->head == l->tail;
}

static inline void list_add(struct aqm *a, struct flow_list *l, struct flow *f)
{
    f->where = l == &a->fresh ? FLOW_NEW : FLOW_OLD;
    *list_at(a, l, l->tail++) = (uint16_t)(f - a->flow);
}

static inline struct flow *list_take(struct aqm *a, struct flow_list *l)
{
    struct flow *f = &a->flow[*list_at(a, l, l->head++)];

    f->where = FLOW_IDLE;
    return f;
}

// --- a packet ------------------------------------------------------------------------------------

void queue_flow_put(struct queue_manager *q, struct aqm *a, uint32_t hash, struct place p)
{
    struct flow *f = flow_of(a, hash);

    fifo_put(&q->pool, &f->fifo, p);
    f->bytes += place_len(&p);
    if (f->where != FLOW_IDLE)
        return;
    f->deficit = (int32_t)q->config.frame_max;
    list_add(a, &a->fresh, f);
}

// Prefetches lines of the coming turns. An entry beyond the tail still names some flow queue.
static inline __attribute__((always_inline)) void
flow_prefetch(const struct queue_manager *q, struct aqm *a, const struct flow_list *l)
{
    const struct flow *soon = &a->flow[*list_at(a, l, l->head + 2)];

    __builtin_prefetch(&a->flow[*list_at(a, l, l->head + 6)], 1);
    __builtin_prefetch(&q->pool.place[soon->fifo.head]);
}

// Returns the flow queue whose turn it is. The class has a packet.
static struct flow *flow_next(const struct queue_manager *q, struct aqm *a)
{
    for (;;) {
        struct flow_list *l = list_is_empty(&a->fresh) ? &a->old : &a->fresh;
        struct flow *f = &a->flow[*list_at(a, l, l->head)];

        flow_prefetch(q, a, l);
        if (fifo_is_empty(&f->fifo)) {
            list_take(a, l);
            if (l == &a->fresh && !list_is_empty(&a->old))
                list_add(a, &a->old, f);
        } else if (f->deficit > 0) {
            return f;
        } else {
            f->deficit += (int32_t)q->config.frame_max;
            list_add(a, &a->old, list_take(a, l));
        }
    }
}

enum queue_verdict queue_flow_take(struct queue_manager *q, struct class_queue *c, struct place *p)
{
    struct flow *f = flow_next(q, c->aqm);

    *p = fifo_take(&q->pool, &f->fifo);
    f->bytes -= place_len(p);
    enum queue_verdict verdict = queue_aqm_judge(q, c, &f->codel, p, f->bytes);
    if (likely(verdict <= QUEUE_SEND_MARKED))
        f->deficit -= (int32_t)place_len(p);
    return verdict;
}

// --- a class that is full ------------------------------------------------------------------------

static struct flow *flow_longest(struct aqm *a)
{
    struct flow *longest = a->flow;

    for (unsigned i = 1; i < a->flows; i++)
        if (a->flow[i].bytes > longest->bytes)
            longest = &a->flow[i];
    return longest;
}

struct shrinking {
    uint16_t client;
    uint8_t class;
    uint32_t need, like; // bytes
    uint32_t bytes, packets; // dropped so far
};

static bool is_shrunk(const struct shrinking *s)
{
    return s->bytes >= s->need && (s->bytes >= s->like || s->packets >= SHRINK_MAX);
}

static void flow_drop(struct queue_manager *q, struct flow *f, struct shrinking *s)
{
    struct client *v = &q->client[s->client];
    struct class_queue *c = &v->class[s->class];
    struct place p = fifo_take(&q->pool, &f->fifo);
    uint32_t len = place_len(&p);

    fifo_put(&q->pool, &q->gone, p);
    q->free -= v->packets <= v->reserve; // the reserve regains a place, and `gone` takes one
    v->packets--;
    v->bytes -= len;
    c->packets--;
    c->bytes -= len;
    f->bytes -= len;
    s->bytes += len;
    s->packets++;
    count_of(q, s->client, s->class)->dropped_flow++;
}

// Halves the longest queue and all queues nearly as long: with many equal flows, the search for the
// longest must not run for each packet.
void queue_flow_shrink(struct queue_manager *q, uint16_t client, unsigned class, uint32_t need)
{
    struct class_queue *c = &q->client[client].class[class];
    struct aqm *a = c->aqm;
    struct shrinking s = {client, (uint8_t)class, need, c->bytes / SHRINK_PART, 0, 0};

    // Keeps one packet, so that the client stays in its lists.
    for (bool found = true; found && !is_shrunk(&s);) {
        struct flow *longest = flow_longest(a);
        uint32_t half = longest->bytes / 2, near = longest->bytes / 4 * 3;

        found = false;
        for (unsigned i = 0; i < a->flows && !is_shrunk(&s); i++) {
            struct flow *f = &a->flow[((unsigned)(longest - a->flow) + i) % a->flows];

            if (f->bytes < near)
                continue;
            while (f->bytes > half && c->packets > 1 && !is_shrunk(&s)) {
                flow_drop(q, f, &s);
                found = true;
            }
        }
    }
    q->due = q->now;
}

void queue_flow_empty(struct queue_manager *q, struct class_queue *c)
{
    struct aqm *a = c->aqm;

    while (!list_is_empty(&a->fresh))
        list_add(a, &a->old, list_take(a, &a->fresh));
    while (!list_is_empty(&a->old)) {
        struct flow *f = list_take(a, &a->old);

        if (fifo_is_empty(&f->fifo))
            continue;
        struct place p = fifo_take(&q->pool, &f->fifo);
        f->bytes -= place_len(&p);
        fifo_put(&q->pool, &c->fifo, p);
        list_add(a, &a->old, f);
    }
}

// --- invariants ----------------------------------------------------------------------------------

static const char *list_check(const struct aqm *a, const struct flow_list *l, enum flow_where where,
                              unsigned *listed)
{
    if (l->tail - l->head > a->flows)
        return "a list has more flow queues than there are";
    for (uint32_t i = l->head; i != l->tail; i++)
        if (a->flow[*list_at((struct aqm *)(uintptr_t)a, l, i)].where != where)
            return "a flow queue is in a list by mistake";
    *listed += l->tail - l->head;
    return NULL;
}

const char *queue_flow_check(const struct queue_manager *q, const struct aqm *a, uint64_t *bytes,
                             uint32_t *packets, uint32_t *blocks)
{
    unsigned listed = 0, busy = 0;
    const char *wrong = list_check(a, &a->fresh, FLOW_NEW, &listed);

    wrong = wrong ? wrong : list_check(a, &a->old, FLOW_OLD, &listed);
    for (unsigned i = 0; i < a->flows && !wrong; i++) {
        const struct flow *f = &a->flow[i];
        uint64_t its = 0;

        fifo_sum(&q->pool, &f->fifo, &its, packets, blocks);
        *bytes += its;
        busy += f->where != FLOW_IDLE;
        if (its != f->bytes)
            return "the bytes of a flow queue are not the sum of its packets'";
        if (!fifo_is_empty(&f->fifo) && f->where == FLOW_IDLE)
            return "a flow queue with packets is in no list";
    }
    if (!wrong && busy != listed)
        return "a flow queue is in no list, or in two";
    return wrong;
}
