// SPDX-License-Identifier: BSD-3-Clause
// kept.c - see kept.h
#include "queue/kept.h"

#include <math.h>
#include <string.h>

#include <rte_cycles.h>

#include "lib/bench.h"
#include "lib/stat.h"
#include "queue/queue.h"

#define CLIENTS 8u
#define FRAME 1518u
#define BATCH 32u
#define GAP_US 10u // a poll that took longer was not ours alone: more credit is not saved
#define WINDOW_MS 100u
#define WINDOWS 20u
#define WAITING 64u // packets that a flooding client keeps in its queue
#define DELAYS_MAX 65536u
#define DELAY_BPS 2500000000ull
#define SHARE_BPS 10000000000ull

static struct {
    struct queue_manager *q;
    uint64_t now, last; // of the scheduler's clock, of the TSC
    double offer[CLIENTS]; // bytes a tick; 0: floods
    double owed[CLIENTS];
    unsigned waiting[CLIENTS];
    uint64_t sent[CLIENTS];
    uint64_t put_at[4096]; // of client 0, in order
    unsigned first, next;
    double delay_us[DELAYS_MAX];
    unsigned delays;
} k;

static void clock_step(void)
{
    uint64_t tsc = rte_rdtsc(), step = tsc - k.last, gap = rte_get_tsc_hz() / 1000000 * GAP_US;

    k.last = tsc;
    k.now += step < gap ? step : 0;
}

static void kept_begin(uint64_t rate)
{
    const struct queue_config c = {rte_get_tsc_hz(), rate, CLIENTS, 1u << 14, FRAME};

    memset(&k, 0, sizeof k);
    k.last = rte_rdtsc();
    k.q = queue_make(&c);
    bench_check(k.q, "no memory");
}

static void client_add(unsigned i, uint64_t guarantee_bps, uint8_t weight, double offer_bps)
{
    struct queue_client_config c = {
        .guarantee_bps = guarantee_bps, .weight = weight, .limit_bytes = 512 * FRAME};

    c.class[0] = (struct queue_class_config){.weight = 1, .limit_bytes = 512 * FRAME};
    k.offer[i] = offer_bps / 8 / (double)rte_get_tsc_hz();
    bench_check(!queue_configure(k.q, (uint16_t)i, &c, k.now), "a client is refused");
}

static void client_put(unsigned i, unsigned n)
{
    struct queue_packet p = {&k.waiting[i], FRAME, (uint16_t)i, 0, 0, 0};
    uint8_t refusal;

    while (n-- && queue_put(k.q, &p, 1, k.now, &refusal)) {
        k.waiting[i]++;
        if (!i)
            k.put_at[k.next++ % 4096] = k.now;
    }
}

static void offer(uint64_t ticks)
{
    for (unsigned i = 0; i < CLIENTS; i++) {
        if (k.offer[i] <= 0) {
            client_put(i, k.waiting[i] < WAITING ? WAITING - k.waiting[i] : 0);
            continue;
        }
        k.owed[i] += k.offer[i] * (double)ticks;
        unsigned n = (unsigned)(k.owed[i] / FRAME);
        k.owed[i] -= n * (double)FRAME;
        client_put(i, n);
    }
}

static void note_delay(void)
{
    uint64_t waited = k.now - k.put_at[k.first++ % 4096];

    if (k.delays < DELAYS_MAX)
        k.delay_us[k.delays++] = (double)waited * 1e6 / (double)rte_get_tsc_hz();
}

static void poll_once(void)
{
    void *packet[BATCH];
    uint8_t verdict[BATCH];
    uint64_t before = k.now;

    clock_step();
    offer(k.now - before);
    for (unsigned n = queue_take(k.q, k.now, packet, verdict, BATCH), j = 0; j < n; j++) {
        unsigned i = (unsigned)((unsigned *)packet[j] - k.waiting);

        k.waiting[i]--;
        k.sent[i] += FRAME;
        if (!i)
            note_delay();
    }
}

static void run_ms(unsigned ms)
{
    for (uint64_t end = k.now + rte_get_tsc_hz() / 1000 * ms; k.now < end;)
        poll_once();
}

double kept_rate(void)
{
    uint64_t before = 0, after = 0;

    kept_begin(SHARE_BPS);
    for (unsigned i = 0; i < CLIENTS; i++)
        client_add(i, SHARE_BPS / 20, 1, 0);
    run_ms(50);
    for (unsigned i = 0; i < CLIENTS; i++)
        before += k.sent[i];
    run_ms(1000);
    for (unsigned i = 0; i < CLIENTS; i++)
        after += k.sent[i];
    queue_free(k.q, NULL, NULL);
    return (double)(after - before) * 8 / (double)SHARE_BPS - 1;
}

double kept_share(void)
{
    double square[CLIENTS] = {0}, worst = 0;

    kept_begin(SHARE_BPS);
    for (unsigned i = 0; i < CLIENTS; i++)
        client_add(i, 0, (uint8_t)(1u << i), 1.2 * (double)SHARE_BPS * (1u << i) / 255);
    run_ms(500); // until the smallest one's queue, too, has some
    for (unsigned w = 0; w < WINDOWS; w++) {
        uint64_t all = 0;

        memset(k.sent, 0, sizeof k.sent);
        run_ms(WINDOW_MS);
        for (unsigned i = 0; i < CLIENTS; i++)
            all += k.sent[i];
        for (unsigned i = 0; i < CLIENTS; i++) {
            double error = (double)k.sent[i] / ((double)all * (1u << i) / 255) - 1;

            square[i] += error * error / WINDOWS;
        }
    }
    for (unsigned i = 0; i < CLIENTS; i++)
        worst = sqrt(square[i]) > worst ? sqrt(square[i]) : worst;
    queue_free(k.q, NULL, NULL);
    return worst;
}

double kept_delay_us(void)
{
    kept_begin(DELAY_BPS);
    client_add(0, DELAY_BPS / 10, 0, (double)DELAY_BPS / 10 * 0.95);
    for (unsigned i = 1; i < CLIENTS; i++)
        client_add(i, 0, 128, 0);
    run_ms(50);
    k.delays = 0;
    run_ms(1000);
    queue_free(k.q, NULL, NULL);
    return stat_quantile(k.delay_us, k.delays, 0.99);
}
