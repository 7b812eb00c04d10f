// SPDX-License-Identifier: BSD-3-Clause
// bench.h - basics of every benchmark: options, exit with a message, random numbers, memory in
// large pages, cores, and the CPU time of a thread
//
// All messages start with the program's name. Nothing here needs DPDK.
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
#define OPTION_DO(name, call) {name, OPTION_DO, NULL, call, 0, 0}              // without a value
// Index of the first argument that is not an option. Ends the program with status 2 and the list of
// options if an option is unknown, a number is out of range, or an argument is left and `arguments`
// is NULL (otherwise it names them in that list).
int bench_options(int argc, char **argv, const struct bench_option *known, const char *arguments);

uint64_t bench_random(void); // the same numbers in each run
double bench_random_unit(void);
void *memory_huge(size_t bytes); // or ends the program
void bench_pin(unsigned n);      // pins the calling thread to the n-th last of its cores
unsigned bench_cores(void);      // number of usable cores
double bench_cpu_s(void);        // CPU time of this thread: preemption does not count
double bench_wall_s(void);

#endif
