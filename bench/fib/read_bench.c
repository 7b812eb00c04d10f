// SPDX-License-Identifier: BSD-3-Clause
// read_bench.c - measures a memory read on this machine, by size of the memory
//
//     read_bench [--rounds 9] [--json]
//
// Random reads of one word per cache line in 1 to 256 MiB of huge-page memory, in two ways: a burst
// of reads in flight together, as vector lookups do (independent); and each read after the previous
// one has returned (chained). The first is c in the model of docs/performance.md: no lookup in a
// table larger than the caches is faster than one such read. Sizes take turns within a round.
// Prints JSON: TSC cycles per read of every round, for each size and way.
#include <string.h>
#include <x86intrin.h>

#include "lib/bench.h"
#include "lib/report.h"
#include "lib/stat.h"

#define READS (1u << 16)
#define LINE 64u

static const unsigned sizes_mib[] = {1, 2, 4, 8, 16, 32, 64, 128, 256};
#define SIZES (sizeof sizes_mib / sizeof *sizes_mib)

static uint32_t at[READS]; // line numbers to read
static double independent[SIZES][ROUNDS_MAX], chained[SIZES][ROUNDS_MAX];
static volatile uint32_t sink;

static void places_choose(size_t bytes)
{
    for (unsigned i = 0; i < READS; i++)
        at[i] = (uint32_t)(bench_random() % (bytes / LINE));
}

static double read_independent(const uint8_t *p)
{
    uint32_t sum = 0;
    uint64_t begun = __rdtsc();

    for (unsigned i = 0; i < READS; i++)
        sum += *(const volatile uint32_t *)(p + (size_t)at[i] * LINE);
    sink = sum;
    return (double)(__rdtsc() - begun) / READS;
}

// The value read is zero, and the next address depends on it.
static double read_chained(const uint8_t *p)
{
    uint32_t last = 0;
    uint64_t begun = __rdtsc();

    for (unsigned i = 0; i < READS / 8; i++)
        last = *(const volatile uint32_t *)(p + (size_t)(at[i] + last) * LINE);
    sink = last;
    return (double)(__rdtsc() - begun) / (READS / 8);
}

static void reads_report(const double (*v)[ROUNDS_MAX], const char *way, unsigned rounds)
{
    for (unsigned s = 0; s < SIZES; s++) {
        report_open(NULL, '{');
        report_text("way", "%s", way);
        report_number("mib", 0, sizes_mib[s]);
        report_series("cycles", 1, v[s], rounds);
        report_close();
    }
}

int main(int argc, char **argv)
{
    size_t most = (size_t)sizes_mib[SIZES - 1] << 20;
    unsigned rounds = 9;
    bool json = false;
    const struct bench_option options[] = {
        OPTION_NUMBER("rounds", &rounds, 1, ROUNDS_MAX), OPTION_FLAG("json", &json), {0}};

    bench_options(argc, argv, options, NULL);
    uint8_t *p = memset(memory_huge(most), 0, most);
    for (unsigned r = 0; r < rounds; r++)
        for (unsigned s = 0; s < SIZES; s++) {
            places_choose((size_t)sizes_mib[s] << 20);
            (void)read_independent(p); // warms the caches, as far as it fits
            places_choose((size_t)sizes_mib[s] << 20);
            independent[s][r] = read_independent(p);
            places_choose((size_t)sizes_mib[s] << 20);
            chained[s][r] = read_chained(p);
        }
    report_begin(json);
    report_open("reads", '[');
    reads_report(independent, "independent", rounds);
    reads_report(chained, "chained", rounds);
    report_close();
    report_end();
    return 0;
}
