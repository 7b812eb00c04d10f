// SPDX-License-Identifier: BSD-3-Clause
// unwell.h - processes beside kamueed that do not work at the moment
//
// Whoever depends on a process says when it does not work and when it works again. The alarm
// `process` (feature/alarm_watch.c) reads it. Control role.
#ifndef BASE_UNWELL_H
#define BASE_UNWELL_H

void unwell_set(const char *process, const char *why); // NULL: it works
// `process` and `why` stay valid until the next unwell_set().
void unwell_each(void (*fn)(void *ctx, const char *process, const char *why), void *ctx);

#endif
