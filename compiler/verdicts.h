// SPDX-License-Identifier: BSD-3-Clause
// verdicts.h - prints the results of `kamuee-program test`: verdict of each packet, totals,
// counters
//
// Verdicts are checked by the rules of docs/features/program.md, as in kamueed; a verdict that
// breaks them is a fault. Used by offline.c.
#ifndef COMPILER_VERDICTS_H
#define COMPILER_VERDICTS_H

#include "base/jwrite.h"
#include "program/declared.h"
#include "compiler/capture.h"
#include "compiler/offline.h"

struct verdict_list {
    const struct program_declared *declared;
    enum offline_hook hook;
    bool json;
    struct text out;
    struct jwrite j;
    uint64_t n[KAMUEE_ACTIONS + 1]; // packets by verdict; the last entry: faults
    uint64_t elsewhere;             // frames that do not reach this hook
};

void verdicts_begin(struct verdict_list *r);
void verdicts_take(struct verdict_list *r, const struct capture_frame *f,
                   const struct kamuee_packet *p, uint32_t verdict);
void verdicts_fault(struct verdict_list *r, const struct capture_frame *f); // no verdict
void verdicts_log(struct verdict_list *r, uint32_t number, uint64_t value);
void verdicts_end(struct verdict_list *r, const uint64_t *counter);

#endif
