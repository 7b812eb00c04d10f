// SPDX-License-Identifier: BSD-3-Clause
// starter.h - a process that starts programs for kamueed, whose filter forbids that
// (main/system_calls.c)
//
// Forked before there are threads, capabilities in use or a filter. What it starts is a child of
// kamueed, whose life core/child.h supervises. It has no capabilities (if kamueed is root, it is
// root, too), except for the next kamueed (docs/adr/0020). Called by main and by child.c;
// control role.
#ifndef CORE_STARTER_H
#define CORE_STARTER_H

#include <limits.h>
#include <stdbool.h>
#include <sys/types.h>

#define STARTER_SUCCESSOR "--upgrade"

// Before starter_begin: kamueed's own arguments. Then starter_run(PROGRAM, STARTER_SUCCESSOR, …)
// starts PROGRAM as the next kamueed: with these arguments and STARTER_SUCCESSOR, and with
// kamueed's capabilities. Whoever has taken kamueed over chooses the program, and nothing else.
void starter_know(char *const *argv);
int starter_begin(void); // 0 or -errno
void starter_end(void);
bool starter_runs(void); // between the two

// Where a program of ours lies: beside kamueed's own or at `in_build` from there, else `installed`.
const char *starter_find(const char *name, const char *in_build, const char *installed,
                         char path[PATH_MAX]);

// PROGRAM WORD ("": no argument), in a session of its own, with nothing to read; what it says goes
// where our standard error goes. `fd` is its descriptor 3, -1: none. -EPERM: others than root and
// the owner of kamueed's own program can write it, so that whoever has taken kamueed over cannot
// run what they wrote.
int starter_check(const char *program); // 0, or the error that starter_run() would give
int starter_run(const char *program, const char *word, int fd, pid_t *pid);

#endif
