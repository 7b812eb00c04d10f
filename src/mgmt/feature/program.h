// SPDX-License-Identifier: BSD-3-Clause
// program.h - configured packet programs, for features that need all of them
#ifndef FEATURE_PROGRAM_H
#define FEATURE_PROGRAM_H

#include "base/vec.h"
#include "config/model.h"
#include "program_manager/program_manager.h"

struct model_program {
    struct program_config config; // name comes first
    char owner[16];               // virtual router; "" = none, it belongs to the default one
    unsigned line;
};

struct model_programs { // in natural order of names
    VEC(struct model_program) program;
};

struct model_programs *programs_of(const struct model *m);

#endif
