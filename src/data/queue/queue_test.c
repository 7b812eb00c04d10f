// SPDX-License-Identifier: BSD-3-Clause
// queue_test.c - does the queue manager keep its promises? In virtual time, against a fluid model
#include <stdint.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "queue/queue.h"
#include "tests/unit.h"

#define HZ 2500000000ull
#define START ((1ull << 56) - HZ / 10) // ticks x 2^8 wrap soon
#define CLIENTS 16u
#define FRAME 1518u
#define BATCH 64u

static unsigned rounded(double x)
{
    return (unsigned)(x + 0.5);
}

static struct queue_client_config plain(uint64_t g, uint64_t m, uint8_t w)
{
    struct queue_client_config c = {.guarantee_bps = g, .maximum_bps = m, .weight = w,
                                .limit_bytes = 1u << 20};

    for (unsigned k = 0; k < QUEUE_CLASSES; k++)
        c.class[k].limit_bytes = 1u << 20;
    c.class[7].weight = 1;
    return c;
}

// --- sources ------------------------------------------------------------------------------------

struct source {
    struct queue_client_config config;
    double demand_bps; // offered load; infinity: always backlogged
    uint32_t len;      // packet length
    double owed;       // bytes not put yet
    uint64_t sent, refused, delay_max;
    uint64_t put_at[4096]; // of the waiting packets, in order
    unsigned first, n;
    double expected_bps;
};

static struct {
    struct queue_manager *q;
    uint64_t rate, now;
    struct source source[CLIENTS];
    unsigned clients;
    bool passes; // sources try queue_pass() first
    uint64_t passed;
} t;

static void source_put(unsigned i, unsigned n)
{
    struct source *s = &t.source[i];
    struct queue_packet p[BATCH];
    uint8_t refusal[BATCH];

    n = n > BATCH ? BATCH : n;
    for (unsigned k = 0; k < n; k++)
        p[k] = (struct queue_packet){(void *)(uintptr_t)(i + 1), s->len, (uint16_t)i, 7, 0, 0};
    unsigned passed = t.passes ? queue_pass(t.q, p, n, t.now) : 0;
    s->sent += passed * s->len;
    t.passed += passed;
    n -= passed;
    unsigned taken = queue_put(t.q, p + passed, n, t.now, refusal);
    for (unsigned k = 0; k < taken; k++)
        s->put_at[(s->first + s->n++) % 4096] = t.now;
    s->refused += n - taken;
}

static void offer(unsigned i, uint64_t ticks)
{
    struct source *s = &t.source[i];

    if (isinf(s->demand_bps)) {
        if (s->n < 128)
            source_put(i, 128 - s->n);
        return;
    }
    s->owed += s->demand_bps / 8 * (double)ticks / (double)HZ;
    unsigned n = (unsigned)(s->owed / s->len);
    s->owed -= (double)n * s->len;
    if (n)
        source_put(i, n);
}

static void take_all(void)
{
    void *packet[BATCH];
    uint8_t verdict[BATCH];
    unsigned n = queue_take(t.q, t.now, packet, verdict, BATCH);

    for (unsigned k = 0; k < n; k++) {
        struct source *s = &t.source[(uintptr_t)packet[k] - 1];
        uint64_t waited = t.now - s->put_at[s->first++ % 4096];

        assert_true(s->n--);
        s->sent += s->len;
        s->delay_max = waited > s->delay_max ? waited : s->delay_max;
    }
}

static void run_for(double seconds)
{
    const uint64_t step = HZ / 1000000 * 2; // a poll every 2 us

    for (uint64_t end = t.now + (uint64_t)(seconds * (double)HZ); t.now < end; t.now += step) {
        for (unsigned i = 0; i < t.clients; i++)
            offer(i, step);
        take_all();
    }
    const char *wrong = queue_check(t.q);
    if (wrong)
        fail_msg("%s", wrong);
}

static void begin(uint64_t rate, unsigned clients)
{
    const struct queue_config c = {.ticks_hz = HZ, .rate_bps = rate, .clients = CLIENTS,
                                   .packets_max = 1u << 16, .frame_max = FRAME};

    memset(&t, 0, sizeof t);
    t.now = START;
    t.rate = rate;
    t.clients = clients;
    t.q = queue_make(&c);
    assert_non_null(t.q);
}

static void add(unsigned i, struct queue_client_config c, double demand_bps, uint32_t len)
{
    t.source[i].config = c;
    t.source[i].demand_bps = demand_bps;
    t.source[i].len = len;
    assert_int_equal(queue_configure(t.q, (uint16_t)i, &c, t.now), 0);
}

static void drop_nothing(void *ctx, void *packet)
{
    (*(unsigned *)ctx)++;
}

static void end(void)
{
    unsigned dropped = 0, waiting = 0;
    struct queue_stats s;

    for (unsigned i = 0; i < CLIENTS; i++) {
        queue_stats(t.q, (uint16_t)i, &s);
        waiting += (unsigned)s.waiting_packets;
    }
    queue_free(t.q, drop_nothing, &dropped);
    assert_int_equal(dropped, waiting); // none is lost or duplicated
}

// --- the fluid model -----------------------------------------------------------------------------

// Rate of a client if the share per unit of weight is `level`.
static double rate_at(const struct source *s, double level)
{
    double r = (double)s->config.guarantee_bps + s->config.weight * level;

    if (s->config.maximum_bps && r > (double)s->config.maximum_bps)
        r = (double)s->config.maximum_bps;
    return r > s->demand_bps ? s->demand_bps : r;
}

static double sum_at(double level)
{
    double sum = 0;

    for (unsigned i = 0; i < t.clients; i++)
        sum += rate_at(&t.source[i], level);
    return sum;
}

static void expect_rates(void)
{
    double low = 0, high = 1e13;

    for (unsigned i = 0; i < 200; i++) {
        double middle = (low + high) / 2;

        *(sum_at(middle) > (double)t.rate ? &high : &low) = middle;
    }
    for (unsigned i = 0; i < t.clients; i++)
        t.source[i].expected_bps = rate_at(&t.source[i], low);
}

// The worst error of a client, relative to its expected bytes.
static double worst_error(const uint64_t *before, double seconds)
{
    double worst = 0;

    expect_rates();
    for (unsigned i = 0; i < t.clients; i++) {
        double got = (double)(t.source[i].sent - before[i]) * 8 / seconds;
        double want = t.source[i].expected_bps;
        double least = (double)t.rate / 50; // below this, one turn more or less is a percent
        double error = fabs(got - want) / (want > least ? want : least);

        worst = error > worst ? error : worst;
    }
    return worst;
}

static double run_and_compare(double settle, double seconds)
{
    uint64_t before[CLIENTS];

    run_for(settle);
    for (unsigned i = 0; i < t.clients; i++)
        before[i] = t.source[i].sent;
    run_for(seconds);
    return worst_error(before, seconds);
}

// --- tests ---------------------------------------------------------------------------------------

unit_test(a_port_sends_at_its_rate)
{
    begin(1000000000, 1);
    add(0, plain(0, 0, 1), INFINITY, 1000);
    run_for(0.2);
    double got = (double)t.source[0].sent * 8 / 0.2;
    assert_true(fabs(got / 1e9 - 1) < 0.001);
    end();
}

unit_test(weights_share_what_there_is)
{
    begin(1000000000, 8);
    for (unsigned i = 0; i < 8; i++)
        add(i, plain(0, 0, (uint8_t)(1u << i > 128 ? 128 : 1u << i)), INFINITY, 64 + 200 * i);
    double error = run_and_compare(0.1, 1);
    print_message("weights 1:2:...:128: worst error %.4f\n", error);
    assert_true(error < 0.02);
    end();
}

unit_test(a_guarantee_is_kept_while_others_flood)
{
    begin(1000000000, 8);
    add(0, plain(100000000, 0, 0), 99e6, 1518);
    for (unsigned i = 1; i < 8; i++)
        add(i, plain(0, 0, 128), INFINITY, i % 2 ? 64 : 1518);
    double error = run_and_compare(0.1, 1);
    double frames = (double)t.source[0].delay_max / HZ * 1e9 / (1518 * 8);
    print_message("guarantee beside floods: worst error %.4f, longest wait %.2f frames\n", error,
                  frames);
    assert_true(error < 0.01);
    assert_true(frames < 4); // one on the wire, its own, and a poll of 2 us
    assert_int_equal(t.source[0].refused, 0);
    end();
}

unit_test(a_maximum_is_not_exceeded)
{
    begin(1000000000, 3);
    add(0, plain(0, 50000000, 128), INFINITY, 700);
    add(1, plain(100000000, 100000000, 1), INFINITY, 1200);
    add(2, plain(0, 0, 1), 10e6, 300);
    double error = run_and_compare(0.1, 1);
    print_message("maxima: worst error %.4f\n", error);
    assert_true(error < 0.01);
    end();
}

unit_test(the_formula_holds_for_random_configurations)
{
    double worst = 0;

    srand(7);
    for (unsigned round = 0; round < 500; round++) {
        unsigned clients = 2 + (unsigned)rand() % (CLIENTS - 1);
        uint64_t rate = 100000000ull * (1 + (unsigned)rand() % 20), free = rate / 100 * 98;

        begin(rate, clients);
        t.passes = round % 2;
        for (unsigned i = 0; i < clients; i++) {
            uint64_t g = rand() % 2 ? (uint64_t)(rand() % 100) * free / 200 : 0;
            uint64_t m = rand() % 3 ? 0 : g + rate / 50 + (uint64_t)(rand() % 50) * rate / 100;
            uint8_t w = (uint8_t)(g && rand() % 4 == 0 ? 0 : 1 + rand() % 8);
            double demand = rand() % 3 ? INFINITY : (1 + rand() % 50) * 0.01 * (double)rate;

            free -= g;
            add(i, plain(g, m, w), demand, 64 + (uint32_t)rand() % 1400);
        }
        double error = run_and_compare(0.1, rate < 500000000 ? 1 : 0.4);
        if (error > 0.01)
            for (unsigned i = 0; i < clients; i++)
                print_message("  %u: g %.1f m %.1f w %u demand %.1f: want %.2f Mbit/s, got %.2f\n",
                              i, (double)t.source[i].config.guarantee_bps / 1e6,
                              (double)t.source[i].config.maximum_bps / 1e6,
                              t.source[i].config.weight, t.source[i].demand_bps / 1e6,
                              t.source[i].expected_bps / 1e6,
                              (double)t.source[i].sent * 8 / 0.35e6);
        if (error > 0.01)
            fail_msg("round %u: error %.4f", round, error);
        worst = error > worst ? error : worst;
        end();
    }
    print_message("random configurations: worst error %.4f\n", worst);
}

unit_test(what_need_not_wait_passes_within_all_rates)
{
    struct queue_class_stats s;

    begin(1000000000, 3);
    t.passes = true;
    add(0, plain(0, 0, 1), 600e6, 700);
    add(1, plain(0, 200000000, 1), 199e6, 300);
    add(2, plain(100000000, 0, 0), 50e6, 100);  // only a guarantee: nothing without demand
    double error = run_and_compare(0.01, 1);
    queue_class_stats(t.q, 2, 7, &s);
    print_message("%lu passed, worst error %.4f\n", t.passed, error);
    assert_true(error < 0.01);
    assert_true(t.passed > 1000);
    assert_int_equal(s.sent_bytes, t.source[2].sent);
    queue_class_stats(t.q, 0, 7, &s);
    assert_int_equal(s.sent_bytes, t.source[0].sent);
    end();
}

unit_test(nothing_passes_while_somebody_waits)
{
    struct queue_packet p[8];
    uint8_t refusal[8];

    begin(8000000, 2); // a byte each microsecond
    add(0, plain(0, 0, 1), 0, 1000);
    for (unsigned i = 0; i < 8; i++)
        p[i] = (struct queue_packet){p, 1000, (uint16_t)(i == 7), 7, 0, 0};
    assert_int_equal(queue_pass(t.q, p + 7, 1, t.now), 0); // not configured
    unsigned passed = queue_pass(t.q, p, 7, t.now);
    assert_in_range(passed, 2, 4); // two frames' worth of credit
    assert_int_equal(queue_put(t.q, p + passed, 7 - passed, t.now, refusal), 7 - passed);
    t.now += HZ;
    assert_int_equal(queue_pass(t.q, p, 1, t.now), 0);
    assert_null(queue_check(t.q));
    end();
}

unit_test(a_jump_of_the_clock_changes_nothing)
{
    begin(1000000000, 3);
    add(0, plain(300000000, 0, 1), INFINITY, 1000);
    add(1, plain(0, 0, 3), INFINITY, 500);
    add(2, plain(0, 200000000, 8), INFINITY, 1500);
    run_for(0.1);
    t.now += 10 * HZ;
    double forwards = run_and_compare(0.2, 0.3); // it catches up with GAP_US of the jump
    t.now -= 20 * HZ;
    double backwards = run_and_compare(0.02, 0.3);
    print_message("jumps of 10 s: worst error %.4f, %.4f\n", forwards, backwards);
    assert_true(forwards < 0.01 && backwards < 0.01);
    end();
}

// Returns the seconds' worth of its rate that a guarantee sends after a gap without calls,
// including 0.2 s with calls.
static double guaranteed_after_gap(unsigned ms)
{
    begin(1000000000, 2);
    add(0, plain(100000000, 0, 0), INFINITY, 1000);
    add(1, plain(0, 0, 1), INFINITY, 1500);
    run_for(0.1);
    uint64_t before = t.source[0].sent;
    t.now += ms * (HZ / 1000);
    run_for(0.2);
    double sent = (double)(t.source[0].sent - before) * 8 / 1e8;
    end();
    return sent;
}

// A thread may be kept from its CPU for 100 ms; a longer gap is a jump of the clock.
unit_test(a_guarantee_catches_up_with_a_gap)
{
    static const unsigned gap_ms[] = {5, 50, 95, 300};

    for (unsigned i = 0; i < 4; i++) {
        double seconds = guaranteed_after_gap(gap_ms[i]);
        double want = 0.2 + (gap_ms[i] < 100 ? gap_ms[i] : 100) / 1000.0;

        print_message("gap of %u ms: %.4f s are sent\n", gap_ms[i], seconds);
        assert_true(fabs(seconds - want) < 0.001);
    }
}

static unsigned taken_after(uint64_t us)
{
    uint64_t before = t.source[0].sent;

    t.now += us * (HZ / 1000000);
    take_all();
    return (unsigned)((t.source[0].sent - before) / t.source[0].len);
}

// A preempted owner sends its backlog; credit that no packet wanted meanwhile is not saved.
unit_test(what_a_late_owner_owes_is_sent)
{
    begin(100000000, 1); // 1,000 bytes are 80 us
    add(0, plain(0, 0, 1), 0, 1000);
    for (unsigned i = 0; i < 4; i++)
        source_put(0, 32);
    while (t.source[0].n > 64)
        taken_after(80);
    assert_in_range(taken_after(2400), 29, 31);
    while (t.source[0].n)
        taken_after(80);
    t.now += 3 * HZ / 1000;
    source_put(0, 32);
    assert_in_range(taken_after(0), 1, 1 + 2 * FRAME / 1000);
    end();
}

// A clock that keeps stepping back: only the time between its steps counts.
unit_test(steps_of_the_clock_change_nothing)
{
    begin(1000000000, 3);
    add(0, plain(300000000, 0, 1), INFINITY, 1000);
    add(1, plain(0, 0, 3), INFINITY, 500);
    add(2, plain(0, 200000000, 8), INFINITY, 1500);
    srand(5);
    for (unsigned i = 0; i < 400; i++) {
        run_for(0.001);
        t.now -= (uint64_t)rand() % HZ;
        take_all(); // the step itself passes no time
    }
    expect_rates();
    for (unsigned i = 0; i < 3; i++) {
        double got = (double)t.source[i].sent * 8 / 0.4;

        assert_true(fabs(got / t.source[i].expected_bps - 1) < 0.02);
    }
    end();
}

unit_test(strict_classes_come_first_and_weighted_ones_share)
{
    uint64_t sent[QUEUE_CLASSES] = {0};
    struct queue_client_config c = plain(0, 0, 1);
    uint8_t refusal[1], verdict[1];

    c.limit_bytes = 4u << 20; // more than two full classes
    c.class[5].weight = 1;
    c.class[6].weight = 3;
    begin(1000000000, 1);
    assert_int_equal(queue_configure(t.q, 0, &c, t.now), 0);
    for (unsigned i = 0; i < 60000; i++) {
        void *packet;

        for (unsigned k = 5; k < 7; k++)
            queue_put(t.q,
                      &(struct queue_packet){(void *)(uintptr_t)k, 500, 0, (uint8_t)k, 0, 0}, 1,
                      t.now, refusal);
        if (i % 10 == 0)
            queue_put(t.q, &(struct queue_packet){(void *)2, 500, 0, 2, 0, 0}, 1, t.now, refusal);
        t.now += HZ / 1000000 * 4; // a packet of 500 bytes
        if (queue_take(t.q, t.now, &packet, verdict, 1))
            sent[(uintptr_t)packet]++;
    }
    assert_int_equal(sent[2], 6000);
    assert_int_equal(rounded((double)sent[6] / (double)sent[5]), 3);
    end();
}

unit_test(what_does_not_fit_is_refused_by_name)
{
    struct queue_client_config c = plain(0, 0, 1);
    struct queue_packet p[4];
    uint8_t refusal[4];

    c.limit_bytes = 3000;
    c.class[0].limit_bytes = 1500;
    begin(1000000000, 2);
    assert_int_equal(queue_configure(t.q, 0, &c, t.now), 0);
    for (unsigned i = 0; i < 4; i++)
        p[i] = (struct queue_packet){p, 1000, 0, (uint8_t)(i < 2 ? 0 : 7), 0, 0};
    assert_int_equal(queue_put(t.q, p, 4, t.now, refusal), 3);
    assert_int_equal(refusal[1], QUEUE_CLASS_FULL);
    assert_int_equal(queue_put(t.q, p + 3, 1, t.now, refusal), 0);
    assert_int_equal(refusal[0], QUEUE_CLIENT_FULL);
    p[0].client = 1; // not configured
    assert_int_equal(queue_put(t.q, p, 1, t.now, refusal), 0);
    end();
}

unit_test(rates_that_cannot_be_kept_are_refused)
{
    struct queue_client_config c = plain(500000000, 0, 1);

    begin(1000000000, 2);
    assert_int_equal(queue_configure(t.q, 0, &c, t.now), 0);
    c.guarantee_bps = 480000000;
    assert_int_equal(queue_configure(t.q, 1, &c, t.now), 0);
    c.guarantee_bps = 480000001; // 98 %
    assert_int_equal(queue_configure(t.q, 1, &c, t.now), -ENOSPC);
    assert_int_equal(queue_set_rate(t.q, 999999999, t.now), -ENOSPC);
    c.maximum_bps = 1000000;
    assert_int_equal(queue_configure(t.q, 1, &c, t.now), -ERANGE);
    c = plain(0, 0, 0);
    assert_int_equal(queue_configure(t.q, 1, &c, t.now), -ERANGE);
    c = plain(7999, 0, 1);
    assert_int_equal(queue_configure(t.q, 1, &c, t.now), -ERANGE);
    end();
}

unit_test(a_change_under_load_loses_nothing)
{
    begin(1000000000, 4);
    for (unsigned i = 0; i < 4; i++)
        add(i, plain(100000000, 0, 1), INFINITY, 400 + 100 * i);
    srand(3);
    for (unsigned i = 0; i < 1000; i++) {
        unsigned client = (unsigned)rand() % 4;
        struct queue_client_config c =
            plain((uint64_t)(rand() % 200) * 1000000, 0, (uint8_t)(1 + rand() % 128));

        c.guarantee_bps = c.guarantee_bps < 8000 ? 0 : c.guarantee_bps;
        c.maximum_bps = rand() % 2 ? c.guarantee_bps + 1000000 : 0;
        for (unsigned k = 0; k < QUEUE_CLASSES; k++)
            c.class[k].weight = (uint8_t)(rand() % 3);
        assert_int_equal(queue_configure(t.q, (uint16_t)client, &c, t.now), 0);
        run_for(0.0002);
    }
    end();
}

// Packets of a class leave in order of arrival, each once, and queue_check() holds after every
// step.
unit_test(random_steps_keep_every_invariant)
{
    static uint32_t in[CLIENTS][QUEUE_CLASSES], out[CLIENTS][QUEUE_CLASSES];
    unsigned put = 0, taken = 0;

    memset(in, 0, sizeof in);
    memset(out, 0, sizeof out);
    srand(11);
    begin(1000000000, CLIENTS);
    for (unsigned step = 0; step < 100000; step++) {
        uint16_t client = (uint16_t)(rand() % CLIENTS);
        uint8_t class = (uint8_t)(rand() % QUEUE_CLASSES), refusal[8], verdict[8];
        unsigned kind = (unsigned)rand() % 16;
        void *packet[8];

        if (!kind) {
            struct queue_client_config c =
                plain(rand() % 2 ? 10000000 : 0, 0, (uint8_t)(1 + rand() % 128));

            c.maximum_bps = rand() % 2 ? 10000000 + (uint64_t)(rand() % 100) * 1000000 : 0;
            c.limit_bytes = 20000;
            for (unsigned k = 0; k < QUEUE_CLASSES; k++)
                c.class[k].weight = (uint8_t)(rand() % 3);
            assert_int_equal(queue_configure(t.q, client, &c, t.now), 0);
        } else if (kind < 8) {
            uintptr_t name = (uintptr_t)in[client][class] << 16 | (uintptr_t)client << 4 | class;
            struct queue_packet p = {(void *)name, 64 + (uint32_t)rand() % 1455, client, class,
                                     0, 0};

            if (queue_put(t.q, &p, 1, t.now, refusal)) {
                in[client][class]++;
                put++;
            }
        } else {
            unsigned n = queue_take(t.q, t.now, packet, verdict, 1 + (unsigned)rand() % 8);

            for (unsigned i = 0; i < n; i++, taken++) {
                uintptr_t name = (uintptr_t)packet[i];

                assert_int_equal(name >> 16, out[name >> 4 & 0xfff][name & 15]++);
            }
        }
        // Also jumps over past and future due times.
        t.now += rand() % 100 ? (uint64_t)rand() % 20000 : (uint64_t)rand() % HZ;
        const char *wrong = queue_check(t.q);
        if (wrong)
            fail_msg("step %u: %s", step, wrong);
    }
    print_message("%u packets put, %u taken\n", put, taken);
    assert_true(taken > 10000);
    for (unsigned i = 0; i < CLIENTS; i++)
        t.source[i].n = 0;
    end();
}

// A packet leaves at the time queue_due() names, none before it.
unit_test(what_is_due_goes_then_and_not_before)
{
    struct queue_client_config c = plain(0, 8000000, 1); // a byte each microsecond
    struct queue_packet p = {&p, 1000, 0, 0, 0, 0};
    uint64_t due = 0;
    uint8_t refusal[1], verdict[1];
    void *packet;

    begin(1000000000, 1);
    assert_true(queue_due(t.q) == QUEUE_NEVER);
    assert_int_equal(queue_configure(t.q, 0, &c, t.now), 0);
    for (unsigned i = 0; i < 100; i++)
        assert_int_equal(queue_put(t.q, &p, 1, t.now, refusal), 1);
    for (unsigned i = 0; i < 100; i++) {
        while (queue_take(t.q, t.now, &packet, verdict, 1) == 0) {
            due = queue_due(t.q);
            assert_true(due != QUEUE_NEVER);
            t.now = due > t.now ? due : t.now + HZ / 10000000;
        }
    }
    assert_true(queue_due(t.q) == QUEUE_NEVER);
    double us = (double)(t.now - START) / (HZ / 1e6);
    print_message("100 packets of 1 ms each: %.0f us\n", us);
    assert_true(us > 98900 && us < 99100); // the first goes at once
    end();
}

// --- many clients --------------------------------------------------------------------------------

#define MANY 4096u

static struct many {
    struct queue_client_config config;
    uint32_t len, n;
    uint64_t sent;
} many[MANY];

static void many_put(struct queue_manager *q, unsigned i, uint64_t now)
{
    struct queue_packet p = {&many[i], many[i].len, (uint16_t)i, (uint8_t)(7 - i % 2), i % 4, i};
    uint8_t refusal[1];

    assert_int_equal(queue_put(q, &p, 1, now, refusal), 1);
    many[i].n++;
}

static double many_rate(double level)
{
    double sum = 0;

    for (unsigned i = 0; i < MANY; i++) {
        double r = (double)many[i].config.guarantee_bps + many[i].config.weight * level;
        double m = (double)many[i].config.maximum_bps;

        sum += m > 0 && r > m ? m : r;
    }
    return sum;
}

// Each gets its share by the formula, within two turns and a frame.
unit_test(four_thousand_clients_get_what_the_formula_says)
{
    const struct queue_config c = {HZ, 10000000000, MANY, 1u << 18, FRAME};
    struct queue_manager *q = queue_make(&c);
    uint64_t now = START, end_at = START + HZ;
    double low = 0, high = 1e10, worst = 0;
    unsigned dropped = 0, waiting;

    srand(9);
    memset(many, 0, sizeof many);
    for (unsigned i = 0; i < MANY; i++) {
        uint64_t g = rand() % 2 ? 100000 + (uint64_t)rand() % 2000000 : 0;

        many[i].config = plain(g, rand() % 4 ? 0 : g + 500000, (uint8_t)(1 + rand() % 4));
        many[i].len = 200 + (uint32_t)rand() % 1300;
        assert_int_equal(queue_configure(q, (uint16_t)i, &many[i].config, now), 0);
    }
    for (; now < end_at; now += HZ / 100000) {
        void *packet[BATCH];
        uint8_t verdict[BATCH];

        for (unsigned i = 0; i < MANY && now == START; i++)
            while (many[i].n * many[i].len < 2 * FRAME) // more than a turn
                many_put(q, i, now);
        for (unsigned n; (n = queue_take(q, now, packet, verdict, BATCH));)
            for (unsigned k = 0; k < n; k++) {
                struct many *m = packet[k];

                assert_int_equal(verdict[k], QUEUE_SEND);
                m->sent += m->len;
                m->n--;
                many_put(q, (unsigned)(m - many), now);
            }
    }
    assert_null(queue_check(q));
    for (unsigned i = 0; i < 100; i++)
        *(many_rate((low + high) / 2) > 1e10 ? &high : &low) = (low + high) / 2;
    for (unsigned i = 0; i < MANY; i++) {
        double m = (double)many[i].config.maximum_bps;
        double want = (double)many[i].config.guarantee_bps + many[i].config.weight * low;
        double turns = 2 * many[i].config.weight * (FRAME / 4) + 3 * FRAME;
        double error;

        want = m > 0 && want > m ? m : want;
        error = fabs((double)many[i].sent - want / 8) / turns;
        worst = error > worst ? error : worst;
    }
    print_message("4096 clients: worst error %.2f of two turns and three frames\n", worst);
    assert_true(worst < 1);
    waiting = queue_waiting(q);
    queue_free(q, drop_nothing, &dropped);
    assert_int_equal(dropped, waiting);
}
