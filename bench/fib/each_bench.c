// SPDX-License-Identifier: BSD-3-Clause
// each_bench.c - what sixteen full tables cost a burst whose packets take turns among them, and how
// much of it is memory
//
//     each_bench [--tables 16] [--rounds 31] [--prefixes FILE]
//
// IPv4, a full table with 64 next hops, as often as --tables says, each with next hops of its own;
// addresses of its prefixes, packet by packet in the next table, bursts of 64. In turns within a
// round:
//
//   bulk, one, each   poptrie_find4_bulk in one table: the plain case; poptrie_find4_each, all
//   addresses in one table; each in its own shared            each in its own again, of tables that
//   stand beside each other and have numbers for next hops, as FIBs have (poptrie_dedupe) loads the
//   same with the kernel for CPUs whose gathers are slow. Kernels that this CPU has not are left
//   out reads             no lookup: the lines that `each` reads first, written down beforehand,
//   read independently of each other: the directories', then the
//                     blocks'. That is the floor: a lookup reads these lines, in this order,
//                     wherever it finds the time
//   ahead             the same with a prefetch into the second-level cache for all 64 before the
//   first is read
//
// Before each burst 64 frames come from 16 MiB and go through buffers, as they do through a
// forwarder's caches; what that costs alone is taken off. Prints TSC cycles a lookup: median,
// least, most.
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <x86intrin.h>

#include "fib/fib_bench.h"
#include "poptrie/walk.h"

#define BURST 64u
#define NEXT_HOPS 64u
#define FRAMES (1u << 18)
#define BUFFERS 256u
#define LOOKUPS (1u << 17) // of a row in a round
#define TABLES_MAX 64u
#define ROUNDS_MAX 101u

static struct poptrie *table[TABLES_MAX], *shared[TABLES_MAX];
static unsigned tables = 16, rounds = 31;
static const struct poptrie *own[N_ADDRESSES], *beside[N_ADDRESSES], *same[BURST];
static const uint32_t *dst;
static const uint8_t *word_line[N_ADDRESSES], *block_line[N_ADDRESSES];
static uint8_t (*frame)[64], (*buffer)[2304];
static uint32_t value[BURST];
static volatile uint32_t sink;

static void check(bool ok, const char *what)
{
    if (ok)
        return;
    fprintf(stderr, "each_bench: %s\n", what);
    exit(1);
}

// What else a forwarder does to its caches in a burst: frames come from far, and go through its
// buffers.
static void frames_pass(unsigned i)
{
    static unsigned at;

    for (unsigned k = 0; k < BURST; k++, at = (at + 1) % FRAMES)
        memcpy(buffer[(i + k) % BUFFERS], frame[at], sizeof *frame);
}

// --- what is timed: LOOKUPS of them ---

static void nothing(unsigned i)
{
    for (unsigned end = i + LOOKUPS; i < end; i += BURST)
        frames_pass(i);
}

static void find_bulk(unsigned i)
{
    for (unsigned end = i + LOOKUPS; i < end; i += BURST) {
        frames_pass(i);
        poptrie_find4_bulk(table[0], dst + i, value, BURST);
    }
}

static void find_one(unsigned i)
{
    for (unsigned end = i + LOOKUPS; i < end; i += BURST) {
        frames_pass(i);
        poptrie_find4_each(same, dst + i, value, BURST);
    }
}

static void find_each(unsigned i)
{
    for (unsigned end = i + LOOKUPS; i < end; i += BURST) {
        frames_pass(i);
        poptrie_find4_each(own + i, dst + i, value, BURST);
    }
}

static void find_shared(unsigned i)
{
    for (unsigned end = i + LOOKUPS; i < end; i += BURST) {
        frames_pass(i);
        poptrie_find4_each(beside + i, dst + i, value, BURST);
    }
}

static void read_lines(const uint8_t *const *line)
{
    uint32_t sum = 0;

    for (unsigned i = 0; i < BURST; i++)
        sum += *(const volatile uint32_t *)line[i];
    sink = sum;
}

static void ask_for_lines(const uint8_t *const *line)
{
    for (unsigned i = 0; i < BURST; i++)
        _mm_prefetch(line[i], _MM_HINT_T2);
}

static void read_words(unsigned i)
{
    for (unsigned end = i + LOOKUPS; i < end; i += BURST) {
        frames_pass(i);
        read_lines(word_line + i);
    }
}

static void read_both(unsigned i)
{
    for (unsigned end = i + LOOKUPS; i < end; i += BURST) {
        frames_pass(i);
        read_lines(word_line + i);
        read_lines(block_line + i);
    }
}

static void ask_words(unsigned i)
{
    for (unsigned end = i + LOOKUPS; i < end; i += BURST) {
        frames_pass(i);
        ask_for_lines(word_line + i);
        read_lines(word_line + i);
    }
}

static void ask_both(unsigned i)
{
    for (unsigned end = i + LOOKUPS; i < end; i += BURST) {
        frames_pass(i);
        ask_for_lines(word_line + i);
        read_lines(word_line + i);
        ask_for_lines(block_line + i);
        read_lines(block_line + i);
    }
}

static struct row {
    const char *name;
    void (*run)(unsigned from);
    enum poptrie_kernel kernel;
    double cycles[ROUNDS_MAX];
} row[] = {
    {"frames alone", nothing, 0, {0}},
    {"bulk: one table", find_bulk, POPTRIE_KERNEL_AVX512_VPOPCNT, {0}},
    {"one: each in the same table", find_one, POPTRIE_KERNEL_AVX512_VPOPCNT, {0}},
    {"each in its own", find_each, POPTRIE_KERNEL_AVX512_VPOPCNT, {0}},
    {"each in its own, shared", find_shared, POPTRIE_KERNEL_AVX512_VPOPCNT, {0}},
    {"avx2: one table", find_bulk, POPTRIE_KERNEL_AVX2, {0}},
    {"avx2: each in its own", find_each, POPTRIE_KERNEL_AVX2, {0}},
    {"avx2: each in its own, shared", find_shared, POPTRIE_KERNEL_AVX2, {0}},
    {"loads: one table", find_bulk, POPTRIE_KERNEL_AVX512_LOADS, {0}},
    {"loads: each in the same table", find_one, POPTRIE_KERNEL_AVX512_LOADS, {0}},
    {"loads: each in its own", find_each, POPTRIE_KERNEL_AVX512_LOADS, {0}},
    {"loads: each in its own, shared", find_shared, POPTRIE_KERNEL_AVX512_LOADS, {0}},
    {"reads: directories", read_words, 0, {0}},
    {"reads: directories, then blocks", read_both, 0, {0}},
    {"ahead: directories", ask_words, 0, {0}},
    {"ahead: directories, then blocks", ask_both, 0, {0}},
};
#define ROWS (sizeof row / sizeof *row)

// --- before and after ---

static void tables_make(const char *prefixes)
{
    struct table t = {0};
    struct traffic a = {.host = memory_huge(N_ADDRESSES * 4ul),
                        .net = memory_huge(N_ADDRESSES * 4ul),
                        .ip6 = memory_huge(N_ADDRESSES * 16ul)};

    frame = memory_huge(FRAMES * sizeof *frame);
    buffer = memory_huge(BUFFERS * sizeof *buffer);
    check(!table_make(&t, "full", 4, prefixes), "no routes in that file");
    table_next_hops(&t, NEXT_HOPS);
    for (unsigned k = 0; k < tables; k++) {
        shared[k] = poptrie_new(&(struct poptrie_config){
            .key_bits = 32, .places = TABLES_MAX, .beside = k ? shared[0] : NULL});
        check(shared[k] && !poptrie_load(shared[k], t.route, t.n), "no memory for the tables");
        poptrie_dedupe(shared[k]);
    }
    for (unsigned k = 0; k < tables; k++) {
        table[k] = poptrie_new(&(struct poptrie_config){.key_bits = 32});
        check(table[k] && !poptrie_load(table[k], t.route, t.n), "no memory for the tables");
        for (size_t i = 0; i < t.n; i++)
            t.route[i].value += NEXT_HOPS; // of the next table
    }
    traffic_make(&t, PREFIX, &a);
    dst = a.net;
    for (unsigned i = 0; i < N_ADDRESSES; i++) {
        uint32_t d = __builtin_bswap32(dst[i]);
        const struct poptrie *of = own[i] = table[i % tables];
        beside[i] = shared[i % tables];
        const uint32_t *w = &of->dir[d >> (32 - DIR4_BITS)];
        word_line[i] = block_line[i] = (const uint8_t *)w;
        if (word_is_ref(*w))
            block_line[i] = block_at(of->arena, *w);
    }
    for (unsigned i = 0; i < BURST; i++)
        same[i] = table[0];
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void measure(unsigned round)
{
    for (struct row *r = row; r < row + ROWS; r++) {
        if (r->kernel && poptrie_set_kernel(r->kernel, 0))
            continue;
        r->run(2 * round * LOOKUPS % N_ADDRESSES); // warm, by other addresses
        uint64_t begun = __rdtsc();
        r->run((2 * round + 1) * LOOKUPS % N_ADDRESSES);
        r->cycles[round] = (double)(__rdtsc() - begun) / LOOKUPS;
    }
}

int main(int argc, char **argv)
{
    static const struct option known[] = {
        {"prefixes", 1, NULL, 'p'}, {"rounds", 1, NULL, 'r'}, {"tables", 1, NULL, 't'}, {0}};
    const char *prefixes = NULL;

    for (int c; (c = getopt_long(argc, argv, "", known, NULL)) != -1;) {
        if (c == 'p')
            prefixes = optarg;
        else if (c == 'r')
            rounds = (unsigned)atoi(optarg);
        else if (c == 't')
            tables = (unsigned)atoi(optarg);
        else
            return 2;
    }
    check(rounds >= 1 && rounds <= ROUNDS_MAX, "--rounds is 1 to 101");
    check(tables >= 1 && tables <= TABLES_MAX, "--tables is 1 to 64");
    tables_make(prefixes);
    for (unsigned r = 0; r < rounds; r++)
        measure(r);
    printf("%-40s %8s %8s %8s\n", "TSC cycles a lookup", "median", "least", "most");
    for (struct row *r = row + ROWS - 1; r >= row; r--)
        for (unsigned k = 0; r > row && k < rounds; k++)
            r->cycles[k] -= row->cycles[k];
    for (struct row *r = row; r < row + ROWS; r++) {
        if (r->kernel && poptrie_set_kernel(r->kernel, 0))
            continue;
        qsort(r->cycles, rounds, sizeof *r->cycles, by_value);
        printf("%-40s %8.1f %8.1f %8.1f\n", r->name, r->cycles[rounds / 2], r->cycles[0],
               r->cycles[rounds - 1]);
    }
    return 0;
}
