// SPDX-License-Identifier: BSD-3-Clause
// starter.h - a process that starts programs for kamueed, because kamueed's system call filter
// forbids it (main/system_calls.c)
//
// Forked before there are threads, capabilities in use or a filter. Started programs are children
// of kamueed, supervised by core/child.h. They have no capabilities (but run as root if kamueed
// does), except for the next kamueed (docs/adr/0020). Called by main and by child.c; control role.
#ifndef CORE_STARTER_H
#define CORE_STARTER_H

#include <limits.h>
#include <sys/types.h>

#define STARTER_SUCCESSOR "--upgrade"

// Call before starter_begin with kamueed's own arguments. Then starter_run(PROGRAM,
// STARTER_SUCCESSOR, …) starts PROGRAM as the next kamueed: with these arguments, STARTER_SUCCESSOR
// and kamueed's capabilities. An attacker in control of kamueed can choose the program but nothing
// else.
void starter_know(char *const *argv);
int starter_begin(void); // 0 or -errno
void starter_end(void);

// Path of one of our programs: beside kamueed's own, or at `in_build` relative to it, else
// `installed`.
const char *starter_find(const char *name, const char *in_build, const char *installed,
                         char path[PATH_MAX]);

// Runs PROGRAM WORD ("": no argument) in its own session, with empty input; its output goes to our
// standard error. `fd` becomes its descriptor 3; -1: none. -EPERM: the program is writable by users
// other than root and the owner of kamueed's own program, so an attacker in control of kamueed
// cannot run code of its own.
int starter_check(const char *program); // 0, or the error that starter_run() would return
int starter_run(const char *program, const char *word, int fd, pid_t *pid);

#endif
