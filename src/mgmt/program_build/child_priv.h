// SPDX-License-Identifier: BSD-3-Clause
// child_priv.h - interface between child.c and child_confine.c
#ifndef PROGRAM_BUILD_CHILD_PRIV_H
#define PROGRAM_BUILD_CHILD_PRIV_H

#include <sys/types.h>

#define CHILD_UNCONFINED 127 // exit status: not confined, or not started

// Gives the directory to the child's user. 0 or -errno.
int child_own(const char *path);
uid_t child_user(void); // the child's user
// In the child: drops all rights, then runs the program in `path`. Does not return.
void child_become(const char *path, const char *const *argv) __attribute__((noreturn));

#endif
