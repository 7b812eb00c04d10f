// SPDX-License-Identifier: BSD-3-Clause
// refused_call.h - reports system calls that the process's own seccomp filter refuses
//
// For filters whose default action is SECCOMP_RET_TRAP: the call fails with EPERM, and a line names
// it. kamueed calls this before it loads its filter.
#ifndef BASE_REFUSED_CALL_H
#define BASE_REFUSED_CALL_H

#define REFUSED_CALL_NAME 24

// `who`: name of the process, "kamueed". `name`: n names of system calls, indexed by number, "" if
// unknown; NULL: the line shows the number. 0 or -errno.
int refused_call_tell(const char *who, const char (*name)[REFUSED_CALL_NAME], unsigned n);

#endif
