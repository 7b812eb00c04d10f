// SPDX-License-Identifier: BSD-3-Clause
// declared.h - what a packet program declares: its window, counters, reasons and tables
//
// The text is untrusted. `kamuee-program build` reads it and refuses errors; kamueed reads it again
// when it loads the object. No state.
#ifndef PROGRAM_DECLARED_H
#define PROGRAM_DECLARED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "program/program.h"

#define DECLARED_TEXT_MAX 4096 // bytes
#define DECLARED_NAME_MAX 32   // bytes, with the NUL
#define DECLARED_ENTRIES_MAX 1000000

struct declared_table {
    char name[DECLARED_NAME_MAX];
    uint32_t entries; // 1 to DECLARED_ENTRIES_MAX
    bool array;       // keys are 0 to entries - 1, values initially 0; otherwise a hash
    bool read_only;   // only the operator fills it
};

struct program_declared {
    unsigned window; // 0, 64 or 128; KAMUEE_WINDOW if the text has none
    bool hash;       // it reads the field hash, which is 0 otherwise
    unsigned n_counters, n_reasons, n_tables;
    char counter[KAMUEE_COUNTERS][DECLARED_NAME_MAX];
    char reason[KAMUEE_REASONS][DECLARED_NAME_MAX];
    struct declared_table table[KAMUEE_TABLES];
};

// 0, or -EINVAL and `why` names the wrong words and the accepted ones.
int program_declared_read(const char *text, struct program_declared *d, char *why, size_t n);

#endif
