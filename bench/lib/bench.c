// SPDX-License-Identifier: BSD-3-Clause
// bench.c - see bench.h
#include "lib/bench.h"

#include <errno.h>
#include <getopt.h>
#include <pthread.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "base/hash.h"

#define OPTIONS_MAX 24u

void bench_fail(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    fprintf(stderr, "%s: ", program_invocation_short_name);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
    exit(1);
}

// --- options ---

static bool has_value(const struct bench_option *o)
{
    return o->kind != OPTION_FLAG && o->kind != OPTION_DO;
}

static _Noreturn void usage_print(const struct bench_option *known, const char *arguments)
{
    fprintf(stderr, "usage: %s", program_invocation_short_name);
    for (const struct bench_option *o = known; o->name; o++) {
        fprintf(stderr, " [--%s", o->name);
        if (o->kind == OPTION_NUMBER && o->high)
            fprintf(stderr, " %u..%u", o->low, o->high);
        else if (has_value(o))
            fprintf(stderr, " %s", o->kind == OPTION_REAL ? "NUMBER" : "VALUE");
        fputc(']', stderr);
    }
    fprintf(stderr, " %s\n", arguments ? arguments : "");
    exit(2);
}

// Whether the value is valid for the option; stores it.
static bool option_take(const struct bench_option *o, const char *value)
{
    char *end = NULL;

    switch (o->kind) {
    case OPTION_FLAG:
        *(bool *)o->to = true;
        return true;
    case OPTION_TEXT:
        *(const char **)o->to = value;
        return true;
    case OPTION_CALL:
    case OPTION_DO:
        o->call(value);
        return true;
    case OPTION_REAL:
        *(double *)o->to = strtod(value, &end);
        return end != value && !*end;
    case OPTION_NUMBER: {
        unsigned long n = strtoul(value, &end, 0);
        *(unsigned *)o->to = (unsigned)n;
        return end != value && !*end && *value != '-' && n >= o->low &&
               n <= (o->high ? o->high : UINT32_MAX);
    }
    }
    return false;
}

int bench_options(int argc, char **argv, const struct bench_option *known, const char *arguments)
{
    struct option all[OPTIONS_MAX] = {0};
    int at;

#ifdef BENCH_WITHOUT_LTO
    fprintf(stderr, "%s: slower than kamueed: linked without link-time optimization "
        "(remedy: make bench-build)\n", program_invocation_short_name);
#endif
    for (unsigned i = 0; known[i].name && i < OPTIONS_MAX - 1; i++)
        all[i] = (struct option){known[i].name, has_value(&known[i]), NULL, 0};
    for (int c; (c = getopt_long(argc, argv, "", all, &at)) != -1;) {
        if (c == '?')
            usage_print(known, arguments);
        if (!option_take(&known[at], optarg)) {
            fprintf(stderr, "%s: --%s cannot be '%s'\n", program_invocation_short_name,
                    known[at].name, optarg);
            usage_print(known, arguments);
        }
    }
    if (optind < argc && !arguments)
        usage_print(known, arguments);
    return optind;
}

// --- random numbers, memory, cores, clocks ---

uint64_t bench_random(void)
{
    static uint64_t state = 88172645463325252u;

    state += 0x9e3779b97f4a7c15u;
    return hash_mix64(state);
}

double bench_random_unit(void)
{
    return (double)(bench_random() >> 11) * 0x1p-53;
}

void *memory_huge(size_t bytes)
{
    size_t align = 2u << 20;
    char *p = mmap(NULL, bytes + align, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    bench_check(p != MAP_FAILED, "no address space for %zu MiB", bytes >> 20);
    p = (char *)(((uintptr_t)p + align - 1) & ~(align - 1));
    madvise(p, bytes, MADV_HUGEPAGE);
    return p;
}

static const cpu_set_t *allowed_cores(void)
{
    static cpu_set_t all;

    if (CPU_COUNT(&all) == 0)
        sched_getaffinity(0, sizeof all, &all);
    return &all;
}

unsigned bench_cores(void)
{
    return (unsigned)CPU_COUNT(allowed_cores());
}

// Wraps around: with one core, all threads share it.
void bench_pin(unsigned n)
{
    unsigned wanted = bench_cores() - n % bench_cores();
    cpu_set_t one;

    CPU_ZERO(&one);
    for (unsigned i = 0, k = 0; i < CPU_SETSIZE; i++)
        if (CPU_ISSET(i, allowed_cores()) && ++k == wanted)
            CPU_SET(i, &one);
    pthread_setaffinity_np(pthread_self(), sizeof one, &one);
}

static double clock_read(clockid_t clock)
{
    struct timespec t;

    clock_gettime(clock, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

double bench_cpu_s(void)
{
    return clock_read(CLOCK_THREAD_CPUTIME_ID);
}

double bench_wall_s(void)
{
    return clock_read(CLOCK_MONOTONIC);
}
