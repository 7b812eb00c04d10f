// SPDX-License-Identifier: BSD-3-Clause
// control_event.c - calls the listeners of an event (control_event.h)
//
// There is one array for each kind, in the order of registration. Registering a function again
// changes nothing, so a file may register at every start.
#include "interface/control_event.h"

#include "base/log.h"
#include "core/thread.h"

#define LISTENERS_MAX 4 // of one kind; more than there are

static void (*listener[CONTROL_EVENTS][LISTENERS_MAX])(const struct control_event *e);

void control_event_listen(enum control_event_kind kind, void (*fn)(const struct control_event *e))
{
    unsigned n = 0;

    thread_must_be(ROLE_CONTROL);
    while (n < LISTENERS_MAX && listener[kind][n] && listener[kind][n] != fn)
        n++;
    bug_on(n == LISTENERS_MAX);
    listener[kind][n] = fn;
}

void control_event_pass(const struct control_event *e)
{
    thread_must_be(ROLE_CONTROL);
    for (unsigned n = 0; n < LISTENERS_MAX && listener[e->kind][n]; n++)
        listener[e->kind][n](e);
}
