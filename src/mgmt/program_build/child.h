// SPDX-License-Identifier: BSD-3-Clause
// child.h - a compiler's run on a stranger's bytes: a process that can reach nothing else
//
// Each run has a directory of its own with copies of its inputs, no network, no privilege, and
// limits of time, memory and size of files; what it leaves is gone when it ends. So no run can
// change what another one reads. As root it becomes a user that has nothing else. Called by
// build.c, one at a time.
#ifndef PROGRAM_BUILD_CHILD_H
#define PROGRAM_BUILD_CHILD_H

#include <stddef.h>

#include "base/text.h"

#define CHILD_CPU_S 10
#define CHILD_WALL_S 30
#define CHILD_MEMORY (512ull << 20)
#define CHILD_OUTPUT_MAX (4u << 20) // bytes of the result

struct child_input {
    const char *name; // a file's, or kamuee/ and a file's
    const void *data;
    size_t size;
};

struct child_run {
    const char *const *argv; // [0]: a path; the rest relative to its directory; NULL at the end
    const struct child_input *input;
    size_t n_inputs;
    const char *output; // a file's name; NULL: none wanted
    struct text *result;
    struct text *said; // standard error, cut
};

// 0: it ended with 0 and left its output. -errno; `why` names the program and what happened.
int child_run(const struct child_run *run, char *why, size_t why_size);

#endif
