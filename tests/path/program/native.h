// SPDX-License-Identifier: BSD-3-Clause
// native.h - a packet program whose code is a function of the test
//
// native.c is the shared object that kamueed would load (program/object.h), but its packet() calls
// a function in the test, which decides the verdict and sees the packet. Each program loads the
// object once, and the object takes native_next at that moment.
#ifndef PATH_PROGRAM_NATIVE_H
#define PATH_PROGRAM_NATIVE_H

#include "program/object.h"

// Returns a verdict; NATIVE_TRAPS: no verdict, and the burst ends there.
typedef uint64_t native_code(struct kamuee_packet *p);
#define NATIVE_TRAPS (1ull << 32)

struct native_next {
    const char *declared;
    native_code *code;
};
extern struct native_next native_next; // set by the test

struct native_instance {
    uint8_t page[60 << 10]; // same size as kamuee-program builds
    struct kamuee_packet slot[PROGRAM_SLOTS];
    uint64_t counter[KAMUEE_COUNTERS];
    struct program_host host;
};
extern struct native_instance *native_running; // set by the test: running instance

#endif
