// SPDX-License-Identifier: BSD-3-Clause
// program.h - packet programs as configured, for features that look at all of them
#ifndef FEATURE_PROGRAM_H
#define FEATURE_PROGRAM_H

#include "base/vec.h"
#include "config/model.h"
#include "program_manager/program_manager.h"

struct model_program {
    struct program_config config; // its name comes first
    char owner[16];               // virtual router, "" = none, it is the default one's
    unsigned line;
};

struct model_programs { // sorted by name, naturally
    VEC(struct model_program) program;
};

struct model_programs *programs_of(const struct model *m);

#endif
