// SPDX-License-Identifier: BSD-3-Clause
// control_event_test.c - an event reaches its own listeners once, in the order of registration
#include <string.h>

#include "core/thread.h"
#include "interface/control_event.h"
#include "tests/unit.h"

static char heard[16];

static void hear(char who, const struct control_event *e)
{
    assert_int_equal(e->vr, 7);
    heard[strlen(heard)] = who;
}

static void first(const struct control_event *e)
{
    hear('1', e);
    if (e->kind == EVENT_VR_ADDED) // before the others hear of the first event
        control_event_tell(EVENT_VR_LEAVES, .vr = 7);
}

static void second(const struct control_event *e)
{
    hear('2', e);
}

static void third(const struct control_event *e)
{
    hear('3', e);
}

unit_test(listeners_hear_in_order)
{
    control_event_tell(EVENT_VR_ADDED, .vr = 7); // nobody listens
    assert_string_equal(heard, "");
    control_event_listen(EVENT_VR_ADDED, first);
    control_event_listen(EVENT_VR_LEAVES, third);
    control_event_listen(EVENT_VR_ADDED, second);
    control_event_listen(EVENT_VR_ADDED, first); // once is enough
    control_event_tell(EVENT_VR_ADDED, .vr = 7);
    assert_string_equal(heard, "132");
    control_event_tell(EVENT_VR_LEAVES, .vr = 7);
    assert_string_equal(heard, "1323");
}

int main(void)
{
    thread_adopt(ROLE_CONTROL, THREAD_SLOT_CONTROL);
    return unit_tests_run(NULL, NULL);
}
