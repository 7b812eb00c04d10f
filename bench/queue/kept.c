// SPDX-License-Identifier: BSD-3-Clause
// kept.c - see kept.h
#include "queue/kept.h"

#include <math.h>
#include <string.h>

#include <rte_cycles.h>

#include "lib/bench.h"
#include "lib/stat.h"
#include "queue/kept_engine.h"

#define CLIENTS KEPT_CLIENTS
#define FRAME KEPT_FRAME
#define BATCH 32u
#define GAP_US 10u // a longer poll was preempted: no credit is saved for it
#define WINDOW_MS 100u
#define DISTURBED 0.01 // share of a run in gaps
#define WAITING 64u // packets that a flooding client keeps queued
#define DELAYS_MAX 65536u
#define DELAY_BPS 2500000000ull
#define SHARE_BPS 10000000000ull

static struct {
    const struct kept_engine *engine;
    uint64_t now, last; // of the scheduler's clock, of the TSC
    uint64_t lost;      // ticks in gaps
    double offer[CLIENTS]; // bytes per tick; 0 = floods
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
    k.lost += step < gap ? 0 : step;
    k.now += step < gap || k.engine->own_clock ? step : 0;
}

static void kept_begin(unsigned engine, enum kept_case which, uint64_t rate_bps)
{
    memset(&k, 0, sizeof k);
    k.last = rte_rdtsc();
    k.engine = &kept_engine[engine];
    k.engine->make(which, rate_bps);
}

static void client_offer(unsigned i, double bps)
{
    k.offer[i] = bps / 8 / (double)rte_get_tsc_hz();
}

static void client_put(unsigned i, unsigned n)
{
    while (n-- && k.engine->put(i, k.now)) {
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
    unsigned client[BATCH];
    uint64_t before = k.now;

    clock_step();
    offer(k.now - before);
    for (unsigned n = k.engine->take(client, BATCH, k.now), j = 0; j < n; j++) {
        unsigned i = client[j];

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

// An engine that reads the TSC itself cannot be judged by a disturbed run: returns NaN.
static double undisturbed(double value)
{
    bool ok = !k.engine->own_clock || (double)k.lost < DISTURBED * (double)k.now;

    return ok ? value : NAN;
}

double kept_rate(unsigned engine)
{
    uint64_t before = 0, after = 0;

    kept_begin(engine, KEPT_RATE, SHARE_BPS);
    run_ms(50);
    for (unsigned i = 0; i < CLIENTS; i++)
        before += k.sent[i];
    run_ms(1000);
    for (unsigned i = 0; i < CLIENTS; i++)
        after += k.sent[i];
    k.engine->end();
    return undisturbed((double)(after - before) * 8 / (double)SHARE_BPS - 1);
}

double kept_share(unsigned engine, unsigned windows)
{
    double square[CLIENTS] = {0}, worst = 0;

    kept_begin(engine, KEPT_SHARE, SHARE_BPS);
    for (unsigned i = 0; i < CLIENTS; i++)
        client_offer(i, 1.2 * (double)SHARE_BPS * (1u << i) / 255);
    run_ms(500); // until the smallest client's queue has packets too
    for (unsigned w = 0; w < windows; w++) {
        uint64_t all = 0;

        memset(k.sent, 0, sizeof k.sent);
        run_ms(WINDOW_MS);
        for (unsigned i = 0; i < CLIENTS; i++)
            all += k.sent[i];
        for (unsigned i = 0; i < CLIENTS; i++) {
            double error = (double)k.sent[i] / ((double)all * (1u << i) / 255) - 1;

            square[i] += error * error / windows;
        }
    }
    for (unsigned i = 0; i < CLIENTS; i++)
        worst = sqrt(square[i]) > worst ? sqrt(square[i]) : worst;
    k.engine->end();
    return undisturbed(worst);
}

double kept_delay_us(unsigned engine, unsigned ms)
{
    kept_begin(engine, KEPT_DELAY, DELAY_BPS);
    client_offer(0, (double)DELAY_BPS / 10 * 0.95);
    run_ms(50);
    k.delays = 0;
    run_ms(ms);
    k.engine->end();
    return undisturbed(stat_quantile(k.delay_us, k.delays, 0.99));
}
