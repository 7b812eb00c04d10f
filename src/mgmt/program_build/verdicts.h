// SPDX-License-Identifier: BSD-3-Clause
// verdicts.h - what `kamuee-program test` prints: each packet's verdict, totals, counters
//
// A verdict is checked by the rules of docs/features/program.md, as kamueed checks it; one that
// breaks them is a fault. Used by offline.c.
#ifndef PROGRAM_BUILD_VERDICTS_H
#define PROGRAM_BUILD_VERDICTS_H

#include "base/jwrite.h"
#include "program/declared.h"
#include "program_build/capture.h"
#include "program_build/offline.h"

struct verdict_list {
    const struct program_declared *declared;
    enum offline_hook hook;
    bool json;
    struct text out;
    struct jwrite j;
    uint64_t n[KAMUEE_ACTIONS + 1]; // packets by their verdict; the last: faults
    uint64_t elsewhere;             // frames that this hook does not see
};

void verdicts_begin(struct verdict_list *r);
void verdicts_take(struct verdict_list *r, const struct capture_frame *f,
                   const struct kamuee_packet *p, uint32_t verdict);
void verdicts_fault(struct verdict_list *r, const struct capture_frame *f); // it had no verdict
void verdicts_log(struct verdict_list *r, uint32_t number, uint64_t value);
void verdicts_end(struct verdict_list *r, const uint64_t *counter);

#endif
