// SPDX-License-Identifier: BSD-3-Clause
// program_fill.h - copies packets of a burst into the slots of a packet program (program.c)
//
// A slot has the packet's first bytes, followed by zeros, and its metadata. The program may write
// any byte of its slots at any time, so filled-in data is not read back.
#ifndef FORWARDER_PROGRAM_FILL_H
#define FORWARDER_PROGRAM_FILL_H

#include "forwarder/state.h"
#include "program/set.h"

struct passage { // of packets of one burst through one program
    const struct program *p;
    struct program_instance *in;
    bool alone; // the packet has left its burst
    bool row;   // indexes are at[0], at[0] + 1 ...
    unsigned n;
    uint8_t at[PROGRAM_SLOTS]; // indexes in the burst
    uint16_t readable[PROGRAM_SLOTS];
    uint32_t verdict[PROGRAM_SLOTS];
};

// Copies packets at[0] to at[n - 1] into g->in's slots; sets readable[].
void program_fill(const struct forwarder *f, const struct burst *b, struct passage *g);

#endif
