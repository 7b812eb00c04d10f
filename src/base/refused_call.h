// SPDX-License-Identifier: BSD-3-Clause
// refused_call.h - what a process says of a system call that its own filter refuses
//
// For filters whose default is SECCOMP_RET_TRAP: the call fails with EPERM, and a line names it.
// Called by kamueed before it loads its filter.
#ifndef BASE_REFUSED_CALL_H
#define BASE_REFUSED_CALL_H

#define REFUSED_CALL_NAME 24

// `who`: "kamueed"; `name`: of each call by its number, "" where it has none, of n; NULL: the line
// has the number. 0 or -errno.
int refused_call_tell(const char *who, const char (*name)[REFUSED_CALL_NAME], unsigned n);

#endif
