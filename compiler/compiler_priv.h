// SPDX-License-Identifier: BSD-3-Clause
// compiler_priv.h - interface between compiler.c and compiler_confine.c
#ifndef COMPILER_COMPILER_PRIV_H
#define COMPILER_COMPILER_PRIV_H

#include <sys/types.h>

#define COMPILER_UNCONFINED 127 // exit status: not confined, or not started

// Gives the directory to the child's user. 0 or -errno.
int compiler_own(const char *path);
uid_t compiler_user(void); // the child's user
// In the child: drops all rights, then runs the program in `path`. Does not return.
void compiler_become(const char *path, const char *const *argv) __attribute__((noreturn));

#endif
