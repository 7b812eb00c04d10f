// SPDX-License-Identifier: BSD-3-Clause
// queue_priv.h - the structures of a queue manager; private to this folder
//
//     port ─ client (a line) ─ class x 8 (a line each) ─ fifo of places
//                                                      └ aqm (codel.c) ─ flow queues (flow.c)
//
// The inner clock (`now`) follows the caller's without its jumps (queue.c). Times are ticks x 2^8,
// u64. In 32-bit fields (arrival, CoDel) a time is in spans, time >> `shift`: half a microsecond to
// one. Both wrap; compare them by their difference.
#ifndef QUEUE_QUEUE_PRIV_H
#define QUEUE_QUEUE_PRIV_H

#include "queue/calendar.h"
#include "queue/fifo.h"
#include "queue/queue.h"

#define TICK_BITS 8
#define RATE_BITS 16 // extra fraction bits of ticks per byte
#define RATE_MIN_BPS 8000u
#define TAG_AHEAD_MAX (1ull << 50) // half an hour at 2.5 GHz
#define INV_SQRT_N 256u
#define ECT1 1u
#define likely(x) __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)

struct codel { // RFC 8289, of one queue; times in spans
    uint32_t first_above; // when the wait will have exceeded the target for an interval; 0: it does
                          // not
    uint32_t drop_next;
    uint16_t count; // drops since it began to drop
    uint16_t last_count : 14, state : 2;
};

enum codel_state { CODEL_IDLE, CODEL_DROPPING, CODEL_DROPPED };

enum flow_where { FLOW_IDLE, FLOW_NEW, FLOW_OLD };

struct flow { // half a cache line
    struct fifo fifo;
    uint32_t bytes;
    int32_t deficit;
    struct codel codel;
    uint8_t where; // enum flow_where
};
_Static_assert(sizeof(struct flow) == 32, "two flow queues to a line");

struct flow_list { // a ring with one entry per flow queue
    uint32_t head, tail; // count on, modulo the ring; equal: empty
};

// AQM state of a class: CoDel, flow queues, time limit, rate. Apart from the class's line, so that
// tail drop does not touch it.
struct aqm {
    uint64_t allowed, per_byte; // of a strict class with a rate: like L and per_byte_m of a client
    uint32_t target, interval, limit, step; // spans; limit and step: 0 = none
    struct codel codel; // of the class, while it is one queue
    struct flow_list fresh, old;
    uint16_t flows; // 0: one queue
    uint8_t hash_shift;
    bool ecn;
    struct flow flow[] __attribute__((aligned(64))); // followed by the rings of `fresh` and `old`
};
_Static_assert(offsetof(struct aqm, flow) == 64, "a line, then two flow queues to a line");
#define AQM_OF_FLOWS(n) (sizeof(struct aqm) + (n) * (sizeof(struct flow) + 2 * sizeof(uint16_t)))
#define AQM_BYTES AQM_OF_FLOWS(QUEUE_FLOWS_MAX)

enum class_flag {
    CLASS_CODEL = 1,
    CLASS_FLOWS = 2,
    CLASS_OLD = 4,     // limit_us
    CLASS_LIMITED = 8, // strict, with a rate
    CLASS_MANAGED = CLASS_CODEL | CLASS_FLOWS | CLASS_OLD,
};

struct class_queue { // a cache line
    struct fifo fifo; // with flow queues: packets from before there were any; they go first
    uint32_t bytes, packets, limit;
    uint32_t quantum; // 0: strict
    int32_t deficit;
    uint8_t flags;
    uint64_t sent_packets, sent_bytes;
    struct aqm *aqm; // NULL if not needed
} __attribute__((aligned(64)));

// Calendars that hold the client: their links are on other lines.
enum client_waits { CLIENT_PARKED = 1, CLIENT_GUARANTEED = 2 };

struct client { // a cache line, then its classes
    uint64_t s, l;                   // when its next byte is due, and allowed
    uint64_t per_byte_g, per_byte_m; // 0 = none
    uint32_t bytes, limit;
    uint32_t packets, reserve;
    uint32_t quantum; // 0: no share
    int32_t deficit;
    uint8_t nonempty, strict; // masks of classes
    uint8_t turn;             // weighted class served last
    uint8_t waits;            // enum client_waits
    uint16_t next, prev; // in the ring of shares; CALENDAR_NONE: not in it
    struct class_queue class[QUEUE_CLASSES];
};
_Static_assert(offsetof(struct client, class) == 64, "what is read of each packet is one line");

struct class_count { // rarely read, of each class
    uint32_t wait[QUEUE_WAIT_N];
    uint64_t refused_class, refused_client, refused_share;
    uint64_t dropped_codel, dropped_old, dropped_flow, marked;
} __attribute__((aligned(64)));

struct queue_manager {
    struct queue_config config;
    uint64_t per_byte; // at the port's rate
    uint64_t free_at;  // when the port will have sent the packets given to it
    uint64_t now, skew;
    uint64_t ticks; // caller's clock at the last call
    uint64_t window, late, gap; // credit kept while no packet waits; after a late call; longest gap
    uint64_t due;
    uint64_t refused; // because packets_max were waiting
    uint32_t packets;
    // Places neither in use (by clients, or in `gone`) nor reserved. Negative if `gone` holds some
    // while reserves are not used up.
    int32_t free;
    struct pool pool;
    struct fifo gone; // dropped from flow queues; the caller has yet to take them
    unsigned shift;   // converts a time to its span
    uint16_t share;   // client whose turn it is, CALENDAR_NONE: the ring is empty
    bool flows;       // some class has flow queues
    bool is_wanted;   // packets wait only for the port's credit
    struct client *client;
    uint8_t *aqms; // of client i, class k at AQM_BYTES * (i * QUEUE_CLASSES + k)
    struct class_count *count; // of client i, class k: [i * QUEUE_CLASSES + k]
    uint64_t *guaranteed_bytes; // by client
    uint64_t *guarantee_bps;
    uint64_t guarantees_bps, reserves; // sums of all clients
    struct calendar guarantee, maximum;
    unsigned visits, sample_shift;
    uint32_t *wait_next, wait_none; // counter of the last sample, counted with the next one
    uint32_t wait_limit[QUEUE_WAIT_N]; // upper bound of each bucket, in spans
    uint8_t wait_first[32];            // the bucket of 2^i spans
    uint32_t inv_sqrt[INV_SQRT_N + 1]; // 2^24 / sqrt(i)
};

static inline uint64_t queue_ticks_per_byte(const struct queue_manager *q, uint64_t bps)
{
    return bps ? (uint64_t)(((unsigned __int128)q->config.ticks_hz * 8 << (TICK_BITS + RATE_BITS)) /
                            bps)
               : 0;
}

static inline uint64_t time_of_bytes(uint64_t per_byte, uint32_t bytes)
{
    return per_byte * bytes >> RATE_BITS;
}

static inline bool is_over(const struct queue_manager *q, uint64_t time)
{
    return (int64_t)(q->now - time) >= 0;
}

// Is the tag in the future? A tag idle for half of the 64-bit range (a client idle for 166 days)
// would seem so, but no real tag is ahead by more than TAG_AHEAD_MAX.
static inline bool is_to_come(const struct queue_manager *q, uint64_t tag)
{
    return tag - q->now - 1 < TAG_AHEAD_MAX;
}

static inline uint32_t span_now(const struct queue_manager *q)
{
    return (uint32_t)(q->now >> q->shift);
}

static inline struct class_count *count_of(const struct queue_manager *q, uint16_t client,
                                           unsigned class)
{
    return &q->count[client * QUEUE_CLASSES + class];
}

// Idle time saves credit for two frames, no more.
static inline uint64_t tag_after_idle(const struct queue_manager *q, uint64_t tag,
                                      uint64_t per_byte)
{
    uint64_t burst = time_of_bytes(per_byte, 2 * q->config.frame_max);

    return is_to_come(q, tag) || q->now - tag < burst ? tag : q->now - burst;
}

// Limits the port's credit that is saved while no packet waits.
static inline void queue_credit_limit(struct queue_manager *q)
{
    uint64_t window = q->is_wanted ? q->late : q->window;

    if (!is_to_come(q, q->free_at) && q->now - q->free_at > window)
        q->free_at = q->now - window;
}

// Places that the client uses beyond its reserve.
static inline uint32_t client_excess(const struct client *v)
{
    return v->packets > v->reserve ? v->packets - v->reserve : 0;
}

// --- queue.c -------------------------------------------------------------------------------------
void queue_clock_set(struct queue_manager *q, uint64_t ticks);
void queue_class_charge(const struct queue_manager *q, struct aqm *a, uint32_t len);

// --- client.c: lists and calendars of a client --------------------------------------------------
void queue_client_place(struct queue_manager *q, uint16_t id); // puts a client with packets into
                                                               // its lists
void queue_client_idle(struct queue_manager *q, uint16_t id);  // takes it out of all lists
void queue_client_wake(struct queue_manager *q, uint16_t id);  // it got its first packet
void queue_client_unpark(struct queue_manager *q);             // clients whose L has passed
// The client with the oldest guarantee due; the client whose turn it is to share; or CALENDAR_NONE.
uint16_t queue_guaranteed_next(struct queue_manager *q);
uint16_t queue_share_next(struct queue_manager *q);
uint64_t queue_due_time(struct queue_manager *q);

// --- codel.c -------------------------------------------------------------------------------------
// Takes the next packet of a CLASS_MANAGED class that is not empty, and returns its verdict.
enum queue_verdict queue_aqm_take(struct queue_manager *q, struct class_queue *c, struct place *p);
// Returns the verdict on a packet just taken from a queue in which `behind` bytes remain.
enum queue_verdict queue_aqm_judge(const struct queue_manager *q, const struct class_queue *c,
                                   struct codel *state, const struct place *p, uint32_t behind);
void queue_codel_init(struct queue_manager *q);

// --- flow.c --------------------------------------------------------------------------------------
int queue_aqms_make(struct queue_manager *q); // 0 or -ENOMEM
void queue_aqms_free(struct queue_manager *q);
// The memory reserved for a class; fixed for the life of the queue manager.
struct aqm *queue_aqm_of(const struct queue_manager *q, uint16_t client, unsigned class);
void queue_aqm_init(struct aqm *a, uint16_t flows); // its flow queues must be empty
void queue_flow_put(struct queue_manager *q, struct aqm *a, uint32_t hash, struct place p);
enum queue_verdict queue_flow_take(struct queue_manager *q, struct class_queue *c, struct place *p);
// Drops from the longest flow queues until at least `need` bytes and one packet are gone.
void queue_flow_shrink(struct queue_manager *q, uint16_t client, unsigned class, uint32_t need);
// Moves all packets of the flow queues into the class's own fifo, in turn.
void queue_flow_empty(struct queue_manager *q, struct class_queue *c);
// Returns the first violated invariant of flow queues, or NULL; adds up the waiting packets.
const char *queue_flow_check(const struct queue_manager *q, const struct aqm *a, uint64_t *bytes,
                             uint32_t *packets, uint32_t *blocks);

static inline struct flow *flow_of(struct aqm *a, uint32_t hash)
{
    return &a->flow[(uint64_t)(uint32_t)(hash * 0x9e3779b1u) >> a->hash_shift];
}

#endif
