// SPDX-License-Identifier: BSD-3-Clause
// compiler.h - runs a compiler on untrusted input, in a process that can reach nothing else
//
// Each run has its own directory with copies of its inputs, no network, no privileges, and limits
// of time, memory and file size; the directory is removed at the end. So no run can change the
// input of another. If the caller is root, the child becomes a user that owns nothing else.
// core/child.h supervises it. Called by build.c, one run at a time.
#ifndef COMPILER_COMPILER_H
#define COMPILER_COMPILER_H

#include <stddef.h>

#include "base/text.h"

#define COMPILER_CPU_S 10
#define COMPILER_WALL_S 30
#define COMPILER_MEMORY (512ull << 20)
#define COMPILER_OUTPUT_MAX (4u << 20) // bytes of the result

struct compiler_input {
    const char *name; // file name, or kamuee/ and a file name
    const void *data;
    size_t size;
};

struct compiler_run {
    const char *const *argv; // [0]: a path; the rest relative to the directory; NULL at the end
    const struct compiler_input *input;
    size_t n_inputs;
    unsigned limit_ms;  // of its life; COMPILER_CPU_S is another limit
    const char *output; // file name; NULL: none wanted
    struct text *result;
    struct text *said; // standard output and error, truncated
};

// 0: the program exited with 0 and wrote its output. -errno: `why` has its name and the reason.
int compiler_run(const struct compiler_run *run, char *why, size_t why_size);

#endif
