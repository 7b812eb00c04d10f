// SPDX-License-Identifier: BSD-3-Clause
// child.h - runs a compiler on untrusted input, in a process that can reach nothing else
//
// Each run has its own directory with copies of its inputs, no network, no privileges, and limits
// of time, memory and file size; the directory is removed at the end. So no run can change the
// input of another. If the caller is root, the child becomes a user that owns nothing else. Called
// by build.c, one run at a time.
#ifndef PROGRAM_BUILD_CHILD_H
#define PROGRAM_BUILD_CHILD_H

#include <stddef.h>

#include "base/text.h"

#define CHILD_CPU_S 10
#define CHILD_WALL_S 30
#define CHILD_MEMORY (512ull << 20)
#define CHILD_OUTPUT_MAX (4u << 20) // bytes of the result

struct child_input {
    const char *name; // file name, or kamuee/ and a file name
    const void *data;
    size_t size;
};

struct child_run {
    const char *const *argv; // [0]: a path; the rest relative to the directory; NULL at the end
    const struct child_input *input;
    size_t n_inputs;
    const char *output; // file name; NULL: none wanted
    struct text *result;
    struct text *said; // standard output and error, truncated
};

// 0: the program exited with 0 and wrote its output. -errno: `why` has its name and the reason.
int child_run(const struct child_run *run, char *why, size_t why_size);

#endif
