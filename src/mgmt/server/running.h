// SPDX-License-Identifier: BSD-3-Clause
// running.h - asks a running kamueed for its configuration; before the threads start
#ifndef SERVER_RUNNING_H
#define SERVER_RUNNING_H

#include <stdbool.h>

#include "base/text.h"

// Appends the running configuration of the kamueed in `run_dir`, as lines. False: no answer.
bool running_lines(const char *run_dir, struct text *t);

#endif
