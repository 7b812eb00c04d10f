// SPDX-License-Identifier: BSD-3-Clause
// queue_aqm_test.c - CoDel, flow queues, ECN marks, limits and places of waiting packets
//
// Virtual time: a tick is 1/256 microsecond, so a span is a microsecond. A packet's name says its
// client, class, flow and number in its flow.
#include <stdint.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "queue/queue.h"
#include "tests/unit.h"

#define US 256u // ticks
#define HZ (1000000ull * US)
#define START ((1ull << 56) - HZ / 10) // ticks x 2^8 wrap soon
#define FRAME 1518u
#define BATCH 64u
#define CLIENTS 4u
#define FLOWS 64u
#define PACKETS 60000u

struct got { // a packet that was taken out
    unsigned client, class, flow, number;
    uint8_t verdict;
    uint64_t waited_us;
};

static struct {
    struct queue_manager *q;
    uint64_t now;
    unsigned put[CLIENTS][QUEUE_CLASSES][FLOWS]; // by flow
    uint64_t put_at[1u << 22];                   // by name, modulo the size
    unsigned taken, refused, all;
} t;

static uintptr_t name_of(unsigned client, unsigned class, unsigned flow, unsigned number)
{
    return (uintptr_t)number << 16 | client << 12 | class << 8 | flow | 1ull << 48;
}

static uint64_t *put_at(uintptr_t name)
{
    return &t.put_at[(name ^ name >> 16 << 7) % (1u << 22)];
}

static void begin(uint64_t rate, uint32_t packets_max)
{
    const struct queue_config c = {HZ, rate, CLIENTS, packets_max, FRAME};

    memset(&t, 0, sizeof t);
    t.now = START;
    t.q = queue_make(&c);
    assert_non_null(t.q);
}

static struct queue_client_config client_of(uint64_t maximum)
{
    struct queue_client_config c = {.maximum_bps = maximum, .weight = 1, .limit_bytes = 1u << 24};

    for (unsigned k = 0; k < QUEUE_CLASSES; k++)
        c.class[k] = (struct queue_class_config){
            .weight = 1, .limit_bytes = 1u << 24, .target_us = 5000, .interval_us = 100000};
    return c;
}

static void configure(unsigned client, const struct queue_client_config *c)
{
    assert_int_equal(queue_configure(t.q, (uint16_t)client, c, t.now), 0);
}

static enum queue_refusal put(unsigned client, unsigned class, unsigned flow, uint32_t len,
                              uint8_t ecn)
{
    unsigned *number = &t.put[client][class][flow];
    uintptr_t name = name_of(client, class, flow, *number);
    struct queue_packet p = {(void *)name, len, (uint16_t)client, (uint8_t)class, ecn, flow * 7919};
    uint8_t refusal;

    t.all++;
    if (!queue_put(t.q, &p, 1, t.now, &refusal)) {
        t.refused++;
        return refusal;
    }
    ++*number;
    *put_at(name) = t.now;
    return QUEUE_TAKEN;
}

// Takes at most one packet, so that time may pass between packets.
static bool take(struct got *g)
{
    void *packet;
    uint8_t verdict;

    if (!queue_take(t.q, t.now, &packet, &verdict, 1))
        return false;
    uintptr_t name = (uintptr_t)packet;
    *g = (struct got){.client = name >> 12 & 15,
                      .class = name >> 8 & 15,
                      .flow = name & 255,
                      .number = name >> 16 & 0xffffffff,
                      .verdict = verdict,
                      .waited_us = (t.now - *put_at(name)) / US};
    t.taken++;
    return true;
}

static bool is_sent(const struct got *g)
{
    return g->verdict <= QUEUE_SEND_MARKED;
}

static void check(void)
{
    const char *wrong = queue_check(t.q);

    if (wrong)
        fail_msg("%s", wrong);
    assert_int_equal(t.all, t.taken + t.refused + queue_waiting(t.q));
}

static void count_one(void *ctx, void *packet)
{
    ++*(unsigned *)ctx;
}

static void end(void)
{
    unsigned waiting = queue_waiting(t.q), dropped = 0;

    check();
    queue_free(t.q, count_one, &dropped);
    assert_int_equal(dropped, waiting);
}

// --- CoDel ---------------------------------------------------------------------------------------

static struct { // RFC 8289, appendix, with real numbers, in microseconds
    double first_above, drop_next;
    unsigned count, last_count, count_most;
    bool dropping;
} model;

static bool model_ok_to_drop(double now, double waited, uint64_t behind)
{
    if (waited < 5000 || behind <= FRAME) {
        model.first_above = 0;
        return false;
    }
    if (model.first_above == 0) {
        model.first_above = now + 100000;
        return false;
    }
    return now >= model.first_above;
}

// Does CoDel drop this packet, and how near was the decision?
static bool model_drops(double now, double waited, uint64_t behind, double *near)
{
    bool ok = model_ok_to_drop(now, waited, behind);

    *near = fabs(now - (model.dropping ? model.drop_next : model.first_above));
    if (!ok) {
        model.dropping = false;
        return false;
    }
    if (!model.dropping) {
        unsigned delta = model.count - model.last_count;

        model.dropping = true;
        model.count = delta > 1 && now - model.drop_next < 1600000 ? delta : 1;
        model.last_count = model.count;
        model.drop_next = now + 100000 / sqrt(model.count);
        return true;
    }
    if (now < model.drop_next)
        return false;
    model.count++;
    model.count_most = model.count > model.count_most ? model.count : model.count_most;
    model.drop_next += 100000 / sqrt(model.count);
    return true;
}

// Feeds each departing packet to the model and compares the verdicts. The model's roots are exact,
// ours are not: if one of the two drops a packet late, the other drops the next one. In every 100
// ms, `second` milliseconds have two packets of 1000 bytes, the others one; 25 give 10 Mbit/s.
// Returns the number of drops; `apart` counts sent packets whose decision came one packet apart.
static unsigned compare_with_model(int second, unsigned *sent, unsigned *apart)
{
    struct queue_client_config c = client_of(10000000);
    unsigned dropped = 0;
    int ahead = 0; // drops of the model that the queue has not made yet
    uint64_t waiting = 0;
    struct got g;

    *sent = *apart = 0;
    begin(1000000000, PACKETS);
    memset(&model, 0, sizeof model);
    c.class[7].discipline = QUEUE_CODEL;
    configure(0, &c);
    srand(21);
    for (unsigned ms = 0; ms < 60000; ms++) {
        bool busy = ms % 13000 < 9000; // no packets for some seconds

        for (int i = 0; busy && i < 1 + (rand() % 100 < second); i++)
            waiting += put(0, 7, 0, 1000, 0) ? 0 : 1000;
        for (unsigned step = 0; step < 10; step++, t.now += 100 * US)
            while (take(&g)) {
                double near, now = (double)(t.now - START) / US + 1e6;
                bool drops = g.verdict == QUEUE_DROP_CODEL;

                waiting -= 1000;
                ahead += model_drops(now, (double)g.waited_us, waiting, &near) - drops;
                assert_in_range(ahead + 1, 0, 2);
                if (!model.dropping) // the queue emptied before the late side could drop
                    ahead = 0;
                assert_true(!ahead || near < 1200); // a packet at 10 Mbit/s and a step
                *apart += !!ahead;
                dropped += drops;
                *sent += is_sent(&g);
            }
    }
    print_message("CoDel: %u sent, %u dropped, %u decided a packet apart\n", *sent, dropped,
                  *apart);
    end();
    return dropped;
}

unit_test(codel_drops_when_the_rfc_says)
{
    unsigned sent, apart;

    assert_true(compare_with_model(30, &sent, &apart) > 200);
    assert_true(apart * 10 < sent);
    // Here CoDel counts beyond its table of 256 roots. Rounding errors of thousands of pauses add
    // up, so more decisions differ from the model's by a packet, but fewer than a third.
    assert_true(compare_with_model(50, &sent, &apart) > 8000);
    assert_true(model.count_most > 1000);
    assert_true(apart * 3 < sent);
}

unit_test(codel_marks_what_can_be_marked)
{
    struct queue_client_config c = client_of(10000000);
    unsigned marked[4] = {0}, dropped[4] = {0};
    struct queue_class_stats s;
    struct got g;

    begin(1000000000, PACKETS);
    c.class[7].discipline = QUEUE_CODEL;
    for (unsigned ecn = 0; ecn < 2; ecn++) {
        c.class[7].ecn = ecn;
        configure(0, &c);
        memset(marked, 0, sizeof marked);
        memset(dropped, 0, sizeof dropped);
        for (unsigned ms = 0; ms < 10000; ms++, t.now += 1000 * US) {
            for (unsigned i = 0; i < 1 + ms % 2; i++)
                put(0, 7, (ms + i * 2) % 4, 1000, (uint8_t)((ms + i * 2) % 4));
            while (take(&g)) {
                marked[g.flow] += g.verdict == QUEUE_SEND_MARKED;
                dropped[g.flow] += g.verdict == QUEUE_DROP_CODEL;
            }
        }
        assert_true(dropped[0] > 20 && !marked[0]);
        for (unsigned i = 1; i < 4; i++) {
            assert_true(ecn ? marked[i] > 20 : !marked[i]);
            assert_true(ecn ? !dropped[i] : dropped[i] > 20);
        }
    }
    queue_class_stats(t.q, 0, 7, &s);
    assert_int_equal(s.marked, marked[1] + marked[2] + marked[3]);
    assert_true(s.dropped_codel > 0 && s.sent_packets + s.dropped_codel == t.taken);
    end();
}

// --- flow queues ---------------------------------------------------------------------------------

unit_test(a_sparse_flow_does_not_wait_for_bulk)
{
    struct queue_client_config c = client_of(10000000);
    uint64_t longest = 0, bulk = 0, sparse = 0;
    struct got g;

    begin(1000000000, PACKETS);
    c.class[7].discipline = QUEUE_FQ_CODEL;
    c.class[7].flows = 1024;
    c.class[7].limit_bytes = 300000;
    configure(0, &c);
    for (unsigned us = 0; us < 10000000; us += 100, t.now += 100 * US) {
        if (us % 1000 == 0)
            for (unsigned i = 0; i < 2; i++)
                assert_int_equal(put(0, 7, 1 + i, 1518, 0), QUEUE_TAKEN);
        if (us % 20000 == 0)
            assert_int_equal(put(0, 7, 9, 200, 0), QUEUE_TAKEN);
        while (take(&g)) {
            bulk += g.flow < 9 && is_sent(&g) ? 1518 : 0;
            if (g.flow < 9)
                continue;
            assert_int_equal(g.verdict, QUEUE_SEND);
            sparse++;
            longest = g.waited_us > longest ? g.waited_us : longest;
        }
    }
    print_message("sparse beside bulk: waits %.2f frames at most\n", (double)longest / 1214.4);
    assert_true(longest < 2.2 * 1214.4);
    assert_true(sparse >= 499 && bulk > 12300000);
    end();
}

unit_test(the_longest_flow_loses_when_the_class_is_full)
{
    struct queue_client_config c = client_of(1000000);
    unsigned lost = 0;
    struct queue_class_stats s;
    struct got g;

    begin(1000000000, PACKETS);
    c.class[7].discipline = QUEUE_FQ_CODEL;
    c.class[7].flows = 64;
    c.class[7].limit_bytes = 40000;
    configure(0, &c);
    for (unsigned i = 0; i < 20; i++) {
        put(0, 7, 1, 1000, 0);
        if (i < 10)
            put(0, 7, 2, 1000, 0);
        if (i < 5)
            put(0, 7, 3, 1000, 0);
    }
    for (unsigned i = 0; i < 100; i++) {
        assert_int_equal(put(0, 7, 1, 1000, 0), QUEUE_TAKEN);
        check();
    }
    // Needs no credit, and happens at once.
    while (take(&g))
        if (g.verdict == QUEUE_DROP_FLOW) {
            assert_int_equal(g.flow, 1);
            lost++;
        }
    queue_class_stats(t.q, 0, 7, &s);
    assert_int_equal(s.dropped_flow, lost);
    assert_true(lost >= 95 && s.waiting_packets > 30 && s.waiting_bytes <= 40000);
    end();
}

// Dropping its packets would not make enough room: other classes fill the client.
unit_test(a_class_that_does_not_fill_the_client_loses_nothing)
{
    struct queue_client_config c = client_of(1000000);
    struct queue_class_stats s;

    begin(1000000000, PACKETS);
    c.limit_bytes = 10000;
    c.class[7].discipline = QUEUE_FQ_CODEL;
    c.class[7].flows = 64;
    configure(0, &c);
    for (unsigned i = 0; i < 5; i++)
        assert_int_equal(put(0, 7, i, 100, 0), QUEUE_TAKEN);
    for (unsigned i = 0; i < 9; i++)
        assert_int_equal(put(0, 6, 0, 1000, 0), QUEUE_TAKEN);
    assert_int_equal(put(0, 7, 1, 800, 0), QUEUE_CLIENT_FULL); // 300 bytes too many
    queue_class_stats(t.q, 0, 7, &s);
    assert_int_equal(s.dropped_flow, 0);
    assert_int_equal(s.waiting_packets, 5);
    assert_int_equal(put(0, 7, 1, 700, 0), QUEUE_TAKEN); // 200: not more than half of its bytes
    queue_class_stats(t.q, 0, 7, &s);
    assert_true(s.dropped_flow > 0);
    end();
}

// 64 flows of two packets each: all are longest, and each new packet makes room.
unit_test(flows_of_one_length_share_the_loss)
{
    struct queue_client_config c = client_of(1000000);
    unsigned lost[FLOWS] = {0};
    struct got g;

    begin(1000000000, PACKETS);
    c.class[7].discipline = QUEUE_FQ_CODEL;
    c.class[7].flows = 1024;
    c.class[7].limit_bytes = 128000;
    configure(0, &c);
    for (unsigned i = 0; i < 6400; i++) {
        assert_int_equal(put(0, 7, i % FLOWS, 1000, 0), QUEUE_TAKEN);
        while (take(&g))
            lost[g.flow] += g.verdict == QUEUE_DROP_FLOW;
    }
    for (unsigned i = 0; i < FLOWS; i++)
        assert_in_range(lost[i], 80, 115);
    end();
}

unit_test(an_ect1_packet_is_marked_above_the_step)
{
    struct queue_client_config c = client_of(10000000);
    unsigned marked = 0, unmarked = 0;
    struct got g;

    begin(1000000000, PACKETS);
    c.class[7].discipline = QUEUE_FQ_CODEL;
    c.class[7].flows = 64;
    c.class[7].ecn = true;
    c.class[7].step_us = 1000;
    configure(0, &c);
    srand(4);
    for (unsigned ms = 0; ms < 5000; ms++) {
        for (unsigned i = rand() % 3; i; i--) {
            put(0, 7, 1, 500, 1);
            put(0, 7, 2, 500, 2);
            put(0, 7, 3, 100, 0);
        }
        for (unsigned i = 0; i < 10; i++, t.now += 100 * US)
            while (take(&g)) {
                if (g.flow == 1 && g.waited_us != 1000)
                    assert_int_equal(g.verdict,
                                     g.waited_us > 1000 ? QUEUE_SEND_MARKED : QUEUE_SEND);
                else if (g.waited_us < 5000)
                    assert_int_equal(g.verdict, QUEUE_SEND);
                marked += g.flow == 1 && g.verdict == QUEUE_SEND_MARKED;
                unmarked += g.flow == 1 && g.verdict == QUEUE_SEND;
            }
    }
    print_message("step: %u marked, %u not\n", marked, unmarked);
    assert_true(marked > 100 && unmarked > 100);
    end();
}

// --- classes -------------------------------------------------------------------------------------

static void flood(uint64_t *sent, unsigned classes, unsigned ms)
{
    struct got g;

    memset(sent, 0, QUEUE_CLASSES * sizeof *sent);
    for (unsigned us = 0; us < ms * 1000; us += 20, t.now += 20 * US) {
        for (unsigned k = 0; k < QUEUE_CLASSES; k++)
            if (classes >> k & 1 && us % 40 == 0)
                put(0, k, 0, 1000, 0);
        while (take(&g))
            sent[g.class] += 1000;
    }
}

unit_test(a_strict_class_above_its_rate_comes_last)
{
    struct queue_client_config c = client_of(100000000);
    uint64_t sent[QUEUE_CLASSES];

    begin(1000000000, PACKETS);
    for (unsigned k = 0; k < QUEUE_CLASSES; k++)
        c.class[k].limit_bytes = 50000;
    c.class[0].weight = c.class[1].weight = 0;
    c.class[0].rate_bps = 10000000;
    c.class[1].rate_bps = 20000000;
    configure(0, &c);
    flood(sent, 1 << 0 | 1 << 1 | 1 << 6 | 1 << 7, 1000); // bytes in one second
    print_message("strict rates: %.2f %.2f Mbit/s, the others %.2f %.2f\n",
                  (double)sent[0] * 8e-6, (double)sent[1] * 8e-6, (double)sent[6] * 8e-6,
                  (double)sent[7] * 8e-6);
    assert_true(fabs((double)sent[0] * 8 / 10e6 - 1) < 0.02);
    assert_true(fabs((double)sent[1] * 8 / 20e6 - 1) < 0.02);
    assert_true(fabs((double)sent[6] * 8 / 35e6 - 1) < 0.02);
    flood(sent, 1 << 0, 100); // a class gets all capacity that no other class uses
    flood(sent, 1 << 0, 1000);
    assert_true(fabs((double)sent[0] * 8 / 100e6 - 1) < 0.01);
    end();
}

unit_test(what_waits_too_long_is_dropped_and_takes_no_rate)
{
    struct queue_client_config c = client_of(1000000);
    unsigned sent = 0, old = 0;
    struct got g;

    begin(1000000000, PACKETS);
    c.class[3].limit_us = 20000;
    configure(0, &c);
    for (unsigned i = 0; i < 100; i++)
        put(0, 3, 0, 1000, 0); // 8 ms each
    for (unsigned i = 0; i < 400; i++, t.now += 100 * US)
        while (take(&g)) {
            assert_int_equal(g.verdict, g.waited_us > 20000 ? QUEUE_DROP_OLD : QUEUE_SEND);
            *(is_sent(&g) ? &sent : &old) += 1;
        }
    assert_true(sent >= 3 && sent <= 5 && sent + old == 100);
    put(0, 3, 0, 1000, 0);
    assert_true(take(&g) && g.verdict == QUEUE_SEND);
    end();
}

unit_test(waits_are_counted_by_length)
{
    struct queue_client_config c = client_of(0);
    struct queue_class_stats s;
    uint64_t counted = 0;
    struct got g;

    begin(1000000000, PACKETS);
    configure(0, &c);
    for (unsigned i = 0; i < 1000; i++) {
        put(0, 3, 0, 1000, 0);
        t.now += 100 * US; // bucket bounds 90.5 and 128
        assert_true(take(&g));
    }
    queue_class_stats(t.q, 0, 3, &s);
    for (unsigned i = 0; i < QUEUE_WAIT_N; i++) {
        uint64_t least = i ? queue_wait_ns(i - 1) : 0, most = queue_wait_ns(i);

        assert_true(most > least);
        counted += s.wait[i];
        if (s.wait[i])
            assert_true(least < 100000 && 100000 <= most);
    }
    assert_int_equal(counted, 1000); // few packets wait: each one is sampled
    assert_int_equal(queue_wait_ns(0), QUEUE_WAIT_FIRST_US * 1000);
    assert_int_equal(queue_wait_ns(2), 2 * QUEUE_WAIT_FIRST_US * 1000);
    end();
}

// --- places --------------------------------------------------------------------------------------

static unsigned fill(unsigned client, enum queue_refusal *why)
{
    unsigned n = 0;

    while (!(*why = put(client, 5, 0, 100, 0)))
        n++;
    return n;
}

unit_test(above_its_reserve_a_client_has_as_many_places_as_are_free)
{
    struct queue_client_config c = client_of(0);
    struct queue_class_stats s;
    enum queue_refusal why;

    begin(1000000000, 1000);
    configure(1, &c);
    configure(2, &c);
    c.reserve_packets = 100;
    configure(0, &c);
    assert_int_equal(fill(1, &why), 450);
    assert_int_equal(why, QUEUE_SHARE_FULL);
    assert_int_equal(fill(2, &why), 225);
    assert_int_equal(fill(0, &why), 100 + 113);
    assert_int_equal(why, QUEUE_SHARE_FULL);
    queue_class_stats(t.q, 2, 5, &s);
    assert_int_equal(s.refused_share, 1);
    c.reserve_packets = 900;
    assert_int_equal(queue_configure(t.q, 3, &c, t.now), 0);
    assert_int_equal(fill(0, &why), 0);
    assert_int_equal(why, QUEUE_PORT_FULL); // the rest is reserved
    c.reserve_packets = 901;
    assert_int_equal(queue_configure(t.q, 3, &c, t.now), -ENOSPC);
    end();
}

// Fewer places than waiting packets: these stay, and no new one is accepted until places are free.
unit_test(places_can_be_taken_away_while_packets_wait)
{
    struct queue_client_config c = client_of(0);
    enum queue_refusal why;
    struct got g;

    begin(1000000000, 1000);
    configure(1, &c);
    assert_int_equal(fill(1, &why), 500);
    queue_set_packets_max(t.q, 300);
    assert_int_equal(put(1, 5, 0, 100, 0), QUEUE_PORT_FULL);
    check();
    for (unsigned i = 0; i < 400; i++) {
        t.now += 2 * US; // the time of 100 bytes
        assert_true(take(&g));
    }
    assert_int_equal(fill(1, &why), 50);
    queue_set_packets_max(t.q, 1000);
    assert_int_equal(fill(1, &why), 350);
    end();
}

// --- configuration -------------------------------------------------------------------------------

unit_test(what_cannot_be_kept_is_refused)
{
    struct queue_client_config good = client_of(0), c;

    assert_int_equal(queue_config_check(&good), 0);
#define REFUSED(...)                                                                               \
    do {                                                                                           \
        c = good;                                                                                  \
        c.__VA_ARGS__;                                                                             \
        assert_int_equal(queue_config_check(&c), -ERANGE);                                         \
    } while (0)
    REFUSED(weight = QUEUE_WEIGHT_MAX + 1);
    REFUSED(weight = 0);
    REFUSED(guarantee_bps = 7999);
    REFUSED(maximum_bps = 7999);
    REFUSED(guarantee_bps = 2000000, c.maximum_bps = 1000000);
    REFUSED(class[2].weight = QUEUE_WEIGHT_MAX + 1);
    REFUSED(class[2].weight = 0, c.class[2].rate_bps = 7999);
    REFUSED(class[2].discipline = QUEUE_FQ_CODEL + 1);
    REFUSED(class[2].discipline = QUEUE_CODEL, c.class[2].target_us = 0);
    REFUSED(class[2].discipline = QUEUE_CODEL, c.class[2].interval_us = 0);
    REFUSED(class[2].discipline = QUEUE_FQ_CODEL, c.class[2].flows = 0);
    REFUSED(class[2].discipline = QUEUE_FQ_CODEL, c.class[2].flows = 48);
    REFUSED(class[2].discipline = QUEUE_FQ_CODEL, c.class[2].flows = 2048);
}

static struct queue_client_config random_client(void)
{
    static const uint16_t flows[] = {1, 2, 16, 64, 1024};
    struct queue_client_config c = client_of(0);

    c.guarantee_bps = rand() % 2 ? 8000 + (uint64_t)rand() % 20000000 : 0;
    c.maximum_bps = rand() % 2 ? c.guarantee_bps + 8000 + (uint64_t)rand() % 50000000 : 0;
    c.weight = (uint8_t)(rand() % 129);
    c.weight += !c.weight && !c.guarantee_bps;
    c.limit_bytes = 2000 + (uint32_t)rand() % 200000;
    c.reserve_packets = (uint32_t)rand() % 100;
    for (unsigned k = 0; k < QUEUE_CLASSES; k++)
        c.class[k] = (struct queue_class_config){
            .weight = (uint8_t)(rand() % 2 ? rand() % 129 : 0),
            .discipline = (uint8_t)(rand() % 3),
            .ecn = rand() % 2,
            .flows = flows[rand() % 5],
            .rate_bps = rand() % 2 ? 8000 + (uint64_t)rand() % 10000000 : 0,
            .limit_bytes = 2000 + (uint32_t)rand() % 60000,
            .limit_us = rand() % 4 ? 0 : (uint32_t)rand() % 100000,
            .target_us = 1 + (uint32_t)rand() % 10000,
            .interval_us = 1 + (uint32_t)rand() % 100000,
            .step_us = (uint32_t)rand() % 2000};
    return c;
}

// Half of the 64-bit time range passes; the clock is so fast that this takes some minutes.
unit_test(a_client_may_be_idle_for_half_a_year)
{
    const struct queue_config config = {1ull << 46, 10000000000, CLIENTS, 1000, FRAME};
    struct queue_client_config c = client_of(4000000000);
    const uint64_t step = config.ticks_hz / 1000 * 90; // no jump of the clock
    struct got g;

    memset(&t, 0, sizeof t);
    t.q = queue_make(&config);
    assert_non_null(t.q);
    c.guarantee_bps = 2000000000;
    c.class[0].weight = 0;
    c.class[0].rate_bps = 1000000000;
    configure(0, &c);
    assert_true(1440 * 8 * step > 1ull << (63 - 8)); // a time is ticks x 2^8
    for (unsigned round = 0; round < 8; round++) {
        for (unsigned k = 0; k < 8; k += 7)
            for (unsigned i = 0; i < 10; i++)
                assert_int_equal(put(0, k, 0, 1000, 0), QUEUE_TAKEN);
        for (unsigned us = 0; us < 50; us++, t.now += config.ticks_hz / 1000000)
            while (take(&g))
                assert_int_equal(g.verdict, QUEUE_SEND);
        assert_int_equal(queue_waiting(t.q), 0);
        for (unsigned i = 0; i < 1440 * (round + 1); i++, t.now += step)
            assert_false(take(&g));
    }
    end();
}

// A class whose packets are dropped in its turn gets no extra turns later.
unit_test(what_is_dropped_earns_no_credit)
{
    struct queue_client_config c = client_of(8000000); // a packet each millisecond
    unsigned sent[QUEUE_CLASSES] = {0};
    struct queue_class_stats s;
    struct got g;

    begin(1000000000, PACKETS);
    c.class[6].limit_us = 500;
    configure(0, &c);
    for (unsigned ms = 0; ms < 2100; ms++, t.now += 1000 * US) {
        bool old = ms < 2000;

        for (queue_class_stats(t.q, 0, 7, &s); s.waiting_packets < 4; s.waiting_packets++)
            put(0, 7, 0, 1000, 0);
        for (unsigned i = 0; i < 2 && !old; i++)
            put(0, 6, 0, 1000, 0);
        while (take(&g))
            sent[g.class] += is_sent(&g) && !old;
        if (old && ms % 3 == 0)
            put(0, 6, 0, 1000, 0);
    }
    queue_class_stats(t.q, 0, 6, &s);
    assert_true(s.dropped_old > 600);
    assert_in_range(sent[6], 45, 55); // half of a hundred
    end();
}

// Every accepted packet leaves once, and sent packets of a flow stay in order, through any
// configuration changes.
unit_test(a_thousand_changes_under_load_lose_nothing)
{
    static uint8_t seen[CLIENTS][QUEUE_CLASSES][FLOWS][4096];
    static unsigned next[CLIENTS][QUEUE_CLASSES][FLOWS];
    unsigned sent = 0, verdicts[8] = {0}, changes = 0;
    struct got g;

    memset(seen, 0, sizeof seen);
    memset(next, 0, sizeof next);
    srand(33);
    begin(100000000, 3000);
    for (unsigned step = 0; step < 60000; step++) {
        if (step % 50 == 0) {
            struct queue_client_config c = random_client();

            changes += !queue_configure(t.q, (uint16_t)(rand() % CLIENTS), &c, t.now);
        }
        if (step % 7000 == 0)
            assert_int_equal(queue_set_rate(t.q, 90000000 + rand() % 20000000u, t.now), 0);
        for (unsigned i = rand() % 4; i; i--)
            put((unsigned)rand() % CLIENTS, (unsigned)rand() % QUEUE_CLASSES,
                (unsigned)(rand() % 8 * (rand() % 8)), 64 + (uint32_t)rand() % 1455,
                (uint8_t)(rand() % 4));
        for (unsigned i = rand() % 5; i && take(&g); i--) {
            unsigned *n = &next[g.client][g.class][g.flow];

            assert_int_equal(seen[g.client][g.class][g.flow][g.number]++, 0);
            verdicts[g.verdict]++;
            if (!is_sent(&g))
                continue;
            assert_true(g.number >= *n);
            *n = g.number + 1;
            sent++;
        }
        t.now += rand() % 1000 ? (uint64_t)rand() % (100 * US) : (uint64_t)rand() % HZ;
        check();
    }
    print_message("%u changes, %u put, %u refused, %u sent (%u marked), dropped: %u CoDel, %u old, "
                  "%u flow\n",
                  changes, t.all, t.refused, sent, verdicts[1], verdicts[2], verdicts[3],
                  verdicts[4]);
    assert_true(changes >= 1000 && sent > 10000);
    for (unsigned i = 0; i <= QUEUE_DROP_FLOW; i++)
        assert_true(verdicts[i] > 50);
    end();
}
