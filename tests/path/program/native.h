// SPDX-License-Identifier: BSD-3-Clause
// native.h - a packet program as a function of the test
//
// native.c is the shared object that kamueed would load (program/object.h), but its packet() is a
// function in the test, which says what the program does and sees what it saw. The object is
// loaded once for each program, and takes at that moment what native_next says.
#ifndef PATH_PROGRAM_NATIVE_H
#define PATH_PROGRAM_NATIVE_H

#include "program/object.h"

// A verdict; or NATIVE_TRAPS: it has none, and the burst ends there.
typedef uint64_t native_code(struct kamuee_packet *p);
#define NATIVE_TRAPS (1ull << 32)

struct native_next {
    const char *declared;
    native_code *code;
};
extern struct native_next native_next; // the test's

struct native_instance {
    uint8_t page[60 << 10]; // as large as what kamuee-program builds
    struct kamuee_packet slot[PROGRAM_SLOTS];
    uint64_t counter[KAMUEE_COUNTERS];
    struct program_host host;
};
extern struct native_instance *native_running; // the test's: whose code runs

#endif
