// SPDX-License-Identifier: BSD-3-Clause
// child_priv.h - what child.c asks of child_confine.c
#ifndef PROGRAM_BUILD_CHILD_PRIV_H
#define PROGRAM_BUILD_CHILD_PRIV_H

#include <sys/types.h>

#define CHILD_UNCONFINED 127 // exit status: it could not be confined, or not be started

// Gives the directory to whom the child will be. 0 or -errno.
int child_own(const char *path);
uid_t child_user(void); // who that is
// In the child: gives up everything, then runs it in `path`. Does not return.
void child_become(const char *path, const char *const *argv) __attribute__((noreturn));

#endif
