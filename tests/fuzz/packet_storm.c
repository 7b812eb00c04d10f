// SPDX-License-Identifier: BSD-3-Clause
// packet_storm.c - very many mutated frames through the whole forwarder
//
//     packet_storm [FRAMES [SEED]]    2 x 10^5 by default; 10^8 is what a release passes under
//     sanitizers (make fuzz) packet_storm --seeds DIR        writes the inputs that packet_fuzz
//     starts from
//
// libFuzzer looks for new paths, some hundred inputs a second; this one looks for rare
// coincidences, some hundred thousand frames a second: bursts of frames of all kinds together, each
// a seed (seeds.h) changed a few times (mutate.h). After each burst the ledger must be at 0, with
// no buffer missing. Now and then a burst comes twice, with other bytes behind the frames' data:
// the outcome must be the same, because no decision may depend on bytes outside the frame.
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "mutate.h"
#include "router.h"
#include "seeds.h"

#define BURST_FRAMES 256u
#define TWICE_EVERY 16u

const char *__asan_default_options(void);
const char *__ubsan_default_options(void);

const char *__asan_default_options(void)
{
    return "detect_leaks=0"; // as in packet_fuzz.c
}

const char *__ubsan_default_options(void)
{
    return "halt_on_error=1:print_stacktrace=1";
}

static unsigned n_seeds;

static void send_one(struct random *r, uint8_t behind)
{
    static struct frame f;
    const struct seed *s = seed_get(random_below(r, n_seeds));
    unsigned odd = random_below(r, 16);
    struct fuzz_arrival a = {.port = s->port, .segment = 2048, .behind = behind};

    f.n = s->n;
    memcpy(f.b, s->b, s->n);
    mutate(r, &f, random_below(r, 5));
    if (odd == 0) {
        a.port = (uint8_t)random_below(r, RIG_PORTS);
    } else if (odd == 1) {
        a.stripped = true;
        a.tag = (uint16_t)(random_below(r, 2) ? 10 : random_next(r));
    } else if (odd == 2) {
        a.sum_good = true;
    } else if (odd == 3) {
        a.segment = (uint16_t)(14 + random_below(r, 400));
    }
    fuzz_send(&a, &f);
}

struct outcome {
    uint64_t tx, inject, punt[PUNT_CLASS_N], drop[DROP_N];
};

#define OUTCOME_DROP (2u + PUNT_CLASS_N)

static struct outcome outcome_now(void)
{
    struct outcome o = {0};
    struct ledger l;

    ledger_read(&l, 2);
    o.tx = l.tx;
    o.inject = l.inject;
    memcpy(o.punt, fuzz_punted, sizeof o.punt);
    for (unsigned k = 1; k < DROP_N; k++)
        o.drop[k] = counter_sum_drop(k);
    return o;
}

static void burst(struct random *r, uint32_t state, uint8_t behind)
{
    unsigned n = 1 + random_below(r, BURST_FRAMES);

    fuzz_switch(state);
    for (unsigned i = 0; i < n; i++)
        send_one(r, behind);
    fuzz_settle(state);
}

// The same burst again, with something else behind the frames.
static void burst_twice(struct random *r, uint32_t state)
{
    struct random again = *r;
    struct outcome o[3];
    uint64_t *was = (uint64_t *)&o[0], *first = (uint64_t *)&o[1], *second = (uint64_t *)&o[2];

    o[0] = outcome_now();
    burst(r, state, 0x45);
    o[1] = outcome_now();
    burst(&again, state, 0xff);
    o[2] = outcome_now();
    for (unsigned k = 0; k < sizeof o[0] / sizeof *was; k++)
        if (first[k] - was[k] != second[k] - first[k]) {
            fprintf(stderr, "packet_storm: the same burst had two outcomes: %s: %lu and %lu\n",
                    k < OUTCOME_DROP ? "tx, inject or punt" : drop_info[k - OUTCOME_DROP].name,
                    first[k] - was[k], second[k] - first[k]);
            abort();
        }
}

static double now_s(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void storm(uint64_t frames, uint64_t seed)
{
    struct random r = {.state = seed};
    struct ledger l = {0};
    double begun = now_s();
    uint64_t told = 0;

    for (unsigned turn = 0; l.rx < frames; turn++) {
        uint32_t state = random_next(&r);
        if (turn % TWICE_EVERY)
            burst(&r, state, (uint8_t)state);
        else
            burst_twice(&r, state);
        ledger_read(&l, 2);
        if (l.rx / 10000000 > told) {
            told = l.rx / 10000000;
            printf("%lu frames, %.0f/s\n", l.rx, (double)l.rx / (now_s() - begun));
            fflush(stdout);
        }
    }
    double s = now_s() - begun;
    printf("%lu frames in %.0f s, %.0f/s: tx %lu, punt %lu, inject %lu, drops %lu, ledger %ld\n",
           l.rx, s, (double)l.rx / s, l.tx, l.punt, l.inject, l.drops, l.imbalance);
    for (unsigned k = 1; k < DROP_N; k++)
        if (counter_sum_drop(k))
            printf("  %-20s %lu\n", drop_info[k].name, counter_sum_drop(k));
}

static int write_seeds(const char *dir)
{
    char path[512];

    for (unsigned i = 0; i < n_seeds; i++) {
        const struct seed *s = seed_get(i);
        uint8_t head[10] = {15,  0,  0,    (uint8_t)(i % 3),     (uint8_t)(s->port | 128),
                            255, 10, 0x45, (uint8_t)(s->n >> 8), (uint8_t)s->n};
        snprintf(path, sizeof path, "%s/seed-%03u", dir, i);
        FILE *out = fopen(path, "wb");
        if (!out || fwrite(head, sizeof head, 1, out) != 1 || fwrite(s->b, s->n, 1, out) != 1 ||
            fclose(out)) {
            perror(path);
            return 1;
        }
    }
    return 0;
}

int main(int argc, char **argv)
{
    if (unit_begin(NULL) || rig_setup(NULL))
        return 1;
    fuzz_router();
    n_seeds = seeds_make();
    if (argc == 3 && !strcmp(argv[1], "--seeds"))
        return write_seeds(argv[2]);
    storm(argc > 1 ? strtoull(argv[1], NULL, 10) : 200000,
          argc > 2 ? strtoull(argv[2], NULL, 0) : 20260101);
    rig_teardown(NULL);
    return unit_end(NULL);
}
