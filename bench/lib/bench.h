// SPDX-License-Identifier: BSD-3-Clause
// bench.h - what every measuring program begins with: options, an end with a sentence, random
// numbers, memory in large pages, cores, and the CPU time of a thread
//
// All messages begin with the program's name. Nothing here needs DPDK.
#ifndef BENCH_LIB_BENCH_H
#define BENCH_LIB_BENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// End the program with status 1.
_Noreturn void bench_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));
#define bench_check(ok, ...) ((ok) ? (void)0 : bench_fail(__VA_ARGS__))

struct bench_option {
    const char *name; // NULL ends the list
    enum { OPTION_FLAG, OPTION_NUMBER, OPTION_REAL, OPTION_TEXT, OPTION_CALL, OPTION_DO } kind;
    void *to;
    void (*call)(const char *value);
    unsigned low, high;
};
#define OPTION_FLAG(name, to) {name, OPTION_FLAG, to, NULL, 0, 0}              // bool
#define OPTION_NUMBER(name, to, low, high) {name, OPTION_NUMBER, to, NULL, low, high} // unsigned
#define OPTION_REAL(name, to) {name, OPTION_REAL, to, NULL, 0, 0}              // double
#define OPTION_TEXT(name, to) {name, OPTION_TEXT, to, NULL, 0, 0}              // const char *
#define OPTION_CALL(name, call) {name, OPTION_CALL, NULL, call, 0, 0}          // with its value
#define OPTION_DO(name, call) {name, OPTION_DO, NULL, call, 0, 0}              // without one
// Index of the first argument that is no option. Ends the program with status 2 and the list of
// options where one is unknown, a number out of range, or an argument is left and `arguments` is
// NULL (else it names them in that list).
int bench_options(int argc, char **argv, const struct bench_option *known, const char *arguments);

uint64_t bench_random(void); // the same numbers in each run
double bench_random_unit(void);
void *memory_huge(size_t bytes); // or the program ends
void bench_pin(unsigned n);      // the calling thread, to the n-th last core of those we may use
unsigned bench_cores(void);      // that we may use
double bench_cpu_s(void);        // of this thread: one that is preempted counts like any other
double bench_wall_s(void);

#endif
