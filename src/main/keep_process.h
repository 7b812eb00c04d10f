// SPDX-License-Identifier: BSD-3-Clause
// keep_process.h - connection to kamuee-keeper (keeper_protocol.h); used by keep.c, control
#ifndef MAIN_KEEP_PROCESS_H
#define MAIN_KEEP_PROCESS_H

#include <stdbool.h>
#include <stddef.h>

// Connects to the keeper that listens at `path`, or starts one. -1 with a sentence.
int keep_process_connect(const char *path, char *err, size_t err_size);
// Calls fn with each of its descriptors, which fn owns. 0 or -1.
int keep_process_take(int s, void (*fn)(const char *name, int fd));
// Does both. A keeper that does not answer is killed, and a new one started.
int keep_process_open(const char *path, void (*fn)(const char *name, int fd), char *err,
                      size_t err_size);
bool keep_process_end(int s);     // kills the keeper at the other end; false: it survived SIGKILL
void keep_process_continue(void); // it may be stopped, and has messages to read

#endif
