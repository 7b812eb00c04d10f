// SPDX-License-Identifier: BSD-3-Clause
// stats.c - statistics of a queue manager, and the check of its structures
//
// The owner writes the counters and any thread reads them: each counter is a word of its own.
#include "queue/queue_priv.h"

void queue_stats(const struct queue_manager *q, uint16_t client, struct queue_stats *s)
{
    const struct client *v = &q->client[client];

    *s = (struct queue_stats){.guaranteed_bytes = q->guaranteed_bytes[client],
                              .waiting_packets = v->packets,
                              .waiting_bytes = v->bytes};
}

void queue_class_stats(const struct queue_manager *q, uint16_t client, unsigned class,
                       struct queue_class_stats *s)
{
    const struct class_queue *c = &q->client[client].class[class];
    const struct class_count *n = count_of(q, client, class);

    *s = (struct queue_class_stats){.sent_packets = c->sent_packets,
                                    .sent_bytes = c->sent_bytes,
                                    .marked = n->marked,
                                    .refused_class = n->refused_class,
                                    .refused_client = n->refused_client,
                                    .refused_share = n->refused_share,
                                    .dropped_codel = n->dropped_codel,
                                    .dropped_old = n->dropped_old,
                                    .dropped_flow = n->dropped_flow,
                                    .waiting_packets = c->packets,
                                    .waiting_bytes = c->bytes};
    for (unsigned i = 0; i < QUEUE_WAIT_N; i++)
        s->wait[i] = n->wait[i];
}

uint64_t queue_wait_ns(unsigned i)
{
    uint64_t ns = (uint64_t)QUEUE_WAIT_FIRST_US * 1000 << i / 2;

    if (i + 1 >= QUEUE_WAIT_N)
        return UINT64_MAX;
    return i % 2 ? ns * 46341 >> 15 : ns; // sqrt(2) x 2^15
}

uint32_t queue_waiting(const struct queue_manager *q)
{
    return q->packets;
}

uint64_t queue_refused(const struct queue_manager *q)
{
    return q->refused;
}

// --- invariants ----------------------------------------------------------------------------------

struct sums {
    uint32_t packets, committed, blocks;
};

static const char *class_check(const struct queue_manager *q, const struct class_queue *c,
                               struct sums *sums)
{
    uint32_t packets = 0;
    uint64_t bytes = 0;
    const char *wrong = NULL;

    fifo_sum(&q->pool, &c->fifo, &bytes, &packets, &sums->blocks);
    if (c->flags & CLASS_FLOWS)
        wrong = queue_flow_check(q, c->aqm, &bytes, &packets, &sums->blocks);
    if (wrong)
        return wrong;
    if (packets != c->packets || bytes != c->bytes)
        return "a class's backlog is not the sum of its queues";
    return !c->flags == !c->aqm ? NULL
                               : "a class has queues or state that its settings do not need, or "
                                 "lacks some that they need";
}

static const char *lists_check(const struct queue_manager *q, uint16_t id)
{
    const struct client *v = &q->client[id];
    const bool parked = v->waits & CLIENT_PARKED;

    if (calendar_has(&q->maximum, id) != parked ||
        calendar_has(&q->guarantee, id) != !!(v->waits & CLIENT_GUARANTEED))
        return "a client is in other calendars than it says";
    if (!v->nonempty || parked) {
        if (calendar_has(&q->guarantee, id) || v->next != CALENDAR_NONE)
            return "one that must not be served is in a list";
        return v->nonempty || !parked ? NULL : "parked by mistake";
    }
    if (calendar_has(&q->guarantee, id) != !!v->per_byte_g)
        return "the calendar of guarantees and a guarantee disagree";
    return (v->next != CALENDAR_NONE) == !!v->quantum ? NULL : "the ring and a weight disagree";
}

static const char *client_check(const struct queue_manager *q, uint16_t id, struct sums *sums)
{
    const struct client *v = &q->client[id];
    const char *wrong;
    uint64_t bytes = 0, packets = 0;

    for (unsigned k = 0; k < QUEUE_CLASSES; k++) {
        bytes += v->class[k].bytes;
        packets += v->class[k].packets;
        if (!v->class[k].packets != !(v->nonempty >> k & 1))
            return "a class disagrees with the mask of non-empty classes";
        wrong = class_check(q, &v->class[k], sums);
        if (wrong)
            return wrong;
    }
    sums->packets += v->packets;
    sums->committed += v->packets > v->reserve ? v->packets : v->reserve;
    if (bytes != v->bytes || packets != v->packets)
        return "a client's backlog is not the sum of its classes";
    return lists_check(q, id);
}

static const char *pool_check(const struct queue_manager *q, uint32_t used)
{
    uint32_t n = q->pool.new / BLOCK_PLACES, unused = 0;

    if (n > q->pool.blocks)
        return "more blocks are in use than there are";
    for (uint32_t b = q->pool.free; b != PLACE_NONE && unused <= n; b = q->pool.place[b].at)
        unused++;
    return used + unused == n ? NULL : "a block is lost, or in two places";
}

const char *queue_check(const struct queue_manager *q)
{
    struct sums sums = {0, 0, 0};
    uint64_t bytes = 0;

    for (uint32_t i = 0; i < q->config.clients; i++) {
        const char *wrong = client_check(q, (uint16_t)i, &sums);

        if (wrong)
            return wrong;
    }
    uint32_t gone = 0;
    fifo_sum(&q->pool, &q->gone, &bytes, &gone, &sums.blocks);
    if (sums.packets + gone != q->packets)
        return "the packets of the port are not the sum of its clients'";
    if (q->config.packets_max - sums.committed - gone != (uint32_t)q->free)
        return "the places that are committed are not the sum of the clients'";
    if (q->packets && q->due == QUEUE_NEVER)
        return "packets wait and nothing is due";
    return pool_check(q, sums.blocks);
}
