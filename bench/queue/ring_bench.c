// SPDX-License-Identifier: BSD-3-Clause
// ring_bench.c - measures the cost of a packet that reaches a port's queue manager from another
// core
//
//     ring_bench [--rounds 15] [--packets 1048576] [--quick] [--json]
//
// A feeder puts bursts of 32 elements of 16 bytes (pointer, length, client, class, hash) into a
// ring with one producer and one consumer, and the owner takes up to 64 at a time: the path of a
// packet to a shaped port whose queue manager belongs to another forwarder. Both also do other work
// per packet, about 40 cycles (--work, in steps of five); the cost of the ring is the time of a
// packet in this loop less the time of the work alone. Each side is measured while it is the slower
// one, the other works less, and `cycles` is the sum of both sides: cycles spent on either core.
//
// Each side has a core; with only one core, one thread plays both in turn, and "cores" shows it. A
// turn of the loop in which the thread was preempted (more than PREEMPTED cycles) does not count,
// nor do its packets, nor does a turn that moved nothing. `line` is the time for a cache line to
// move to the other core and back in that round: the cores of a virtual machine may be threads of
// one core or of two sockets, and change at any time.
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>

#include <rte_cycles.h>
#include <rte_ring.h>
#include <rte_ring_elem.h>

#include "lib/bench.h"
#include "lib/eal.h"
#include "lib/report.h"
#include "lib/stat.h"

#define RING_SIZE 1024u
#define PUT 32u
#define TAKE 64u
#define PREEMPTED 20000u
#define IDLE_STEPS 40u
#define LINE_TRIPS 2000u

struct element {
    void *packet;
    uint16_t len, client;
    uint32_t class_and_hash;
};
_Static_assert(sizeof(struct element) == 16, "elements of the ring have 16 bytes");

struct side { // of the ring; written only by its thread
    unsigned (*move)(void);
    unsigned steps; // of other work per packet
    uint64_t cycles, packets, chain;
};

static unsigned rounds = 15, packets = 1u << 20, work = 8;
static bool json;
static struct rte_ring *ring;
static _Atomic bool stop;

// Like a forwarder with a burst for the port.
static unsigned feeder_put(void)
{
    static uint32_t at;
    struct element e[PUT];

    for (unsigned i = 0; i < PUT; i++)
        e[i] = (struct element){&e[i], 60, (uint16_t)(i % 16), at + i};
    unsigned n = rte_ring_sp_enqueue_bulk_elem(ring, e, sizeof *e, PUT, NULL);
    at += n;
    return n;
}

static unsigned owner_take(void)
{
    static uint32_t at;
    struct element e[TAKE];
    unsigned n = rte_ring_sc_dequeue_burst_elem(ring, e, sizeof *e, TAKE, NULL);

    for (unsigned i = 0; i < n; i++)
        bench_check(e[i].class_and_hash == at++, "the ring lost an element");
    return n;
}

static unsigned both_in_turn(void)
{
    feeder_put();
    return owner_take();
}

static unsigned neither(void)
{
    return PUT;
}

// Dependent multiplications. A poll that found nothing is followed by polls of something else.
static void other_work(struct side *s, unsigned n)
{
    for (unsigned i = 0; i < (n ? n * s->steps : IDLE_STEPS); i++)
        s->chain = (s->chain ^ (s->chain >> 29)) * 0xbf58476d1ce4e5b9u;
}

static void side_run(struct side *s, uint64_t n)
{
    uint64_t before = rte_rdtsc();

    for (uint64_t moved = 0; moved < n && !atomic_load_explicit(&stop, memory_order_relaxed);) {
        unsigned k = s->move();
        other_work(s, k);
        uint64_t now = rte_rdtsc();
        if (k && now - before < PREEMPTED) {
            s->cycles += now - before;
            s->packets += k;
        }
        before = now;
        moved += k;
    }
}

static double side_cost(const struct side *s)
{
    bench_check(s->packets, "no turn was undisturbed");
    return (double)s->cycles / (double)s->packets;
}

static void *partner_run(void *side)
{
    bench_pin(1);
    side_run(side, UINT64_MAX);
    return NULL;
}

// Cycles per packet of this side while the other, if any, is ahead of it.
static double cost_of(unsigned (*move)(void), unsigned (*partner)(void))
{
    struct side s = {.move = move, .steps = work, .chain = 1};
    struct side other = {.move = partner, .steps = work / 4, .chain = 1};
    pthread_t thread;

    atomic_store(&stop, false);
    bench_check(!partner || !pthread_create(&thread, NULL, partner_run, &other), "no thread");
    side_run(&s, packets);
    atomic_store(&stop, true);
    if (partner)
        pthread_join(thread, NULL);
    while (owner_take()) // the rest
        ;
    return side_cost(&s);
}

// --- distance of the cores ---

static _Atomic unsigned line __attribute__((aligned(64)));

static void *line_answer(void *unused)
{
    bench_pin(1);
    for (unsigned i = 0; i < LINE_TRIPS; i++) {
        while (atomic_load(&line) != 2 * i + 1) // partner: line_measure
            ;
        atomic_store(&line, 2 * i + 2);
    }
    return unused;
}

static double line_measure(void)
{
    double trip[LINE_TRIPS];
    pthread_t thread;

    atomic_store(&line, 0);
    bench_check(!pthread_create(&thread, NULL, line_answer, NULL), "no thread");
    for (unsigned i = 0; i < LINE_TRIPS; i++) {
        uint64_t from = rte_rdtsc();
        atomic_store(&line, 2 * i + 1);
        while (atomic_load(&line) != 2 * i + 2) // partner: line_answer
            ;
        trip[i] = (double)(rte_rdtsc() - from);
    }
    pthread_join(thread, NULL);
    return stat_median(trip, LINE_TRIPS);
}

static void ring_measure(double put[ROUNDS_MAX], double take[ROUNDS_MAX], double both[ROUNDS_MAX],
                         double trip[ROUNDS_MAX], bool two)
{
    for (unsigned r = 0; r < rounds; r++) {
        double alone = cost_of(neither, NULL);

        trip[r] = two ? line_measure() : NAN;
        put[r] = two ? cost_of(feeder_put, owner_take) - alone : NAN;
        take[r] = two ? cost_of(owner_take, feeder_put) - alone : NAN;
        both[r] = two ? put[r] + take[r] : cost_of(both_in_turn, NULL) - alone;
    }
}

static void quick(const char *unused)
{
    rounds = 5;
    packets = 1u << 18;
}

static const struct bench_option options[] = {
    OPTION_NUMBER("rounds", &rounds, 1, ROUNDS_MAX),
    OPTION_NUMBER("packets", &packets, 1024, 1u << 28),
    OPTION_NUMBER("work", &work, 0, 1000),
    OPTION_FLAG("json", &json),
    OPTION_DO("quick", quick),
    {0},
};

int main(int argc, char **argv)
{
    double put[ROUNDS_MAX], take[ROUNDS_MAX], both[ROUNDS_MAX], trip[ROUNDS_MAX];

    bench_options(argc, argv, options, NULL);
    bool two = bench_cores() >= 2;
    bench_eal_heap(64, 64ul << 20);
    bench_pin(0);
    ring = rte_ring_create_elem("ring", sizeof(struct element), RING_SIZE, SOCKET_ID_ANY,
                                RING_F_SP_ENQ | RING_F_SC_DEQ);
    bench_check(ring, "no memory for the ring");
    ring_measure(put, take, both, trip, two);
    report_begin(json);
    report_open("rows", '[');
    report_open(NULL, '{');
    report_text("case", "ring");
    report_null("vrs");
    report_text("engine", "kamuee");
    report_series("cycles", 1, both, rounds);
    report_series("enqueue", 1, put, rounds);
    report_series("dequeue", 1, take, rounds);
    report_series("line", 0, trip, rounds);
    report_number("cores", 0, two ? 2 : 1);
    report_null("ratio");
    report_close();
    report_close();
    report_end();
    return 0;
}
