// SPDX-License-Identifier: BSD-3-Clause
// unwell.h - helper processes of kamueed that do not work at the moment
//
// A user of such a process reports when it stops working and when it works again. The alarm
// `process` (feature/alarm_watch.c) reads it. Control role.
#ifndef BASE_UNWELL_H
#define BASE_UNWELL_H

void unwell_set(const char *process, const char *why); // NULL: it works
// `process` and `why` stay valid until the next unwell_set().
void unwell_each(void (*fn)(void *ctx, const char *process, const char *why), void *ctx);

#endif
