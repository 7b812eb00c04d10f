// SPDX-License-Identifier: BSD-3-Clause
// report.h - what `kamuee-program test` prints: each packet's verdict, totals, counters
//
// A verdict is checked by the rules of docs/features/program.md, as kamueed checks it; one that
// breaks them is a fault. Used by offline.c.
#ifndef PROGRAM_BUILD_REPORT_H
#define PROGRAM_BUILD_REPORT_H

#include "base/jwrite.h"
#include "program/declared.h"
#include "program_build/capture.h"
#include "program_build/offline.h"

struct report {
    const struct program_declared *declared;
    enum offline_hook hook;
    bool json;
    struct text out;
    struct jwrite j;
    uint64_t n[KAMUEE_ACTIONS + 1]; // packets by their verdict; the last: faults
    uint64_t elsewhere; // frames that this hook does not see
};

void report_begin(struct report *r);
void report_verdict(struct report *r, const struct capture_frame *f, const struct kamuee_packet *p,
                    uint32_t verdict);
void report_fault(struct report *r, const struct capture_frame *f); // it had no verdict
void report_log(struct report *r, uint32_t number, uint64_t value);
void report_end(struct report *r, const uint64_t *counter);

#endif
