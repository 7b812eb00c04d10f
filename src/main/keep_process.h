// SPDX-License-Identifier: BSD-3-Clause
// keep_process.h - the connection to kamuee-keeper (keeper_protocol.h); keep.c's helper, control
#ifndef MAIN_KEEP_PROCESS_H
#define MAIN_KEEP_PROCESS_H

#include <stdbool.h>
#include <stddef.h>

// A connection to the keeper that listens at `path`, or to a new one. -1 with a sentence.
int keep_process_connect(const char *path, char *err, size_t err_size);
// What it has; each descriptor is fn's. 0 or -1.
int keep_process_take(int s, void (*fn)(const char *name, int fd));
// Both; a keeper that does not answer is ended, and a new one started.
int keep_process_open(const char *path, void (*fn)(const char *name, int fd), char *err,
                      size_t err_size);
bool keep_process_end(int s);     // the keeper at the other end; false: it outlives SIGKILL
void keep_process_continue(void); // somebody may have stopped it, and it has something to read

#endif
