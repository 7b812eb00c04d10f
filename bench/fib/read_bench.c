// SPDX-License-Identifier: BSD-3-Clause
// read_bench.c - what a read of memory costs on this machine, by how much memory is read
//
//     read_bench [--rounds 9]
//
// Random reads of one word a cache line in 1 to 256 MiB of huge-page memory, in two ways: a burst's
// worth under way together, as vector lookups read their tables (independent); and each only when
// the one before has answered (chained). The first is what the model in docs/performance.md calls
// c: no lookup of a table that does not fit the caches gets below one such read. Sizes take turns
// within a round. Prints JSON: for each size and way the TSC cycles a read of every round.
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <x86intrin.h>


#define READS (1u << 16)
#define LINE 64u
#define HUGE ((size_t)2 << 20)
#define ROUNDS_MAX 101

static const unsigned sizes_mib[] = {1, 2, 4, 8, 16, 32, 64, 128, 256};
#define SIZES (sizeof sizes_mib / sizeof *sizes_mib)

static uint32_t at[READS]; // where to read, in lines
static double independent[SIZES][ROUNDS_MAX], chained[SIZES][ROUNDS_MAX];
static volatile uint32_t sink;

static uint64_t random_next(void)
{
    static uint64_t s = 88172645463325252u;

    s ^= s << 13;
    s ^= s >> 7;
    return s ^= s << 17;
}

static uint8_t *memory_huge(size_t bytes)
{
    uint8_t *p =
        mmap(NULL, bytes + HUGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (p == MAP_FAILED) {
        fprintf(stderr, "read_bench: no memory: %zu MiB\n", bytes >> 20);
        exit(1);
    }
    p += -(uintptr_t)p & (HUGE - 1);
    madvise(p, bytes, MADV_HUGEPAGE);
    memset(p, 0, bytes);
    return p;
}

static void choose(size_t bytes)
{
    for (unsigned i = 0; i < READS; i++)
        at[i] = (uint32_t)(random_next() % (bytes / LINE));
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

// What is read is zero, and the next place depends on it.
static double read_chained(const uint8_t *p)
{
    uint32_t last = 0;
    uint64_t begun = __rdtsc();

    for (unsigned i = 0; i < READS / 8; i++)
        last = *(const volatile uint32_t *)(p + (size_t)(at[i] + last) * LINE);
    sink = last;
    return (double)(__rdtsc() - begun) / (READS / 8);
}

static void print(const double (*v)[ROUNDS_MAX], const char *way, unsigned rounds, bool last)
{
    for (unsigned s = 0; s < SIZES; s++) {
        printf("  {\"way\": \"%s\", \"mib\": %u, \"cycles\": [", way, sizes_mib[s]);
        for (unsigned r = 0; r < rounds; r++)
            printf("%s%.1f", r ? ", " : "", v[s][r]);
        printf("]}%s\n", last && s + 1 == SIZES ? "" : ",");
    }
}

int main(int argc, char **argv)
{
    unsigned rounds = 9;
    uint8_t *p = memory_huge((size_t)sizes_mib[SIZES - 1] << 20);

    if (argc == 3 && !strcmp(argv[1], "--rounds"))
        rounds = (unsigned)atoi(argv[2]);
    else if (argc != 1)
        rounds = 0;
    if (rounds < 1 || rounds > ROUNDS_MAX) {
        fprintf(stderr, "read_bench: usage: read_bench [--rounds 1..%d]\n", ROUNDS_MAX);
        return 2;
    }
    for (unsigned r = 0; r < rounds; r++)
        for (unsigned s = 0; s < SIZES; s++) {
            choose((size_t)sizes_mib[s] << 20);
            (void)read_independent(p); // warm, as far as it fits
            choose((size_t)sizes_mib[s] << 20);
            independent[s][r] = read_independent(p);
            choose((size_t)sizes_mib[s] << 20);
            chained[s][r] = read_chained(p);
        }
    printf("{\"reads\": [\n");
    print(independent, "independent", rounds, false);
    print(chained, "chained", rounds, true);
    printf("]}\n");
    return 0;
}
