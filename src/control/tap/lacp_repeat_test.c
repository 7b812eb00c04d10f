// SPDX-License-Identifier: BSD-3-Clause
// lacp_repeat_test.c - when LACPDUs are repeated because control is late, and when that ends
#include "tap/lag_frame.h"

#include <stdint.h>
#include <string.h>

#include "base/clock.h"
#include "core/manager.h"
#include "core/thread.h"
#include "tests/unit.h"

#define PORT 3
#define PERIOD (1000 * NS_PER_MS)

static unsigned n_sent;
static uint8_t last[LAG_SLOW_FRAME];

void lag_frame_send(uint16_t port, uint16_t iface, const uint8_t *frame, uint16_t n)
{
    assert_int_equal(port, PORT);
    assert_int_equal(iface, 7);
    assert_int_equal(n, LAG_SLOW_FRAME);
    memcpy(last, frame, sizeof last);
    n_sent++;
}

int manager_ask(enum thread_role role, void (*fn)(void *arg), const void *arg, size_t size)
{
    void *copy = malloc(size);

    assert_non_null(copy);
    memcpy(copy, arg, size);
    assert_int_equal(role, ROLE_TAP_MANAGER);
    thread_adopt(ROLE_TAP_MANAGER, THREAD_SLOT_TAP_MANAGER);
    fn(copy);
    thread_adopt(ROLE_CONTROL, THREAD_SLOT_CONTROL);
    return 0;
}

static void keep(uint64_t every_ns, uint8_t says)
{
    struct lacp_repeat k = {.port = PORT, .iface = 7, .every_ns = every_ns};

    memset(k.frame, says, sizeof k.frame);
    lacp_repeat_set(&k);
}

// Runs tap_manager's rounds; returns the number of LACPDUs that they sent.
static unsigned sent_until(uint64_t from_ns, uint64_t to_ns)
{
    unsigned before = n_sent;

    thread_adopt(ROLE_TAP_MANAGER, THREAD_SLOT_TAP_MANAGER);
    for (; from_ns <= to_ns; from_ns += 10 * NS_PER_MS)
        lacp_repeat_round(from_ns);
    thread_adopt(ROLE_CONTROL, THREAD_SLOT_CONTROL);
    return n_sent - before;
}

unit_test(a_control_in_time_needs_no_help)
{
    uint64_t t = clock_now_ns();

    keep(PERIOD, 1);
    assert_int_equal(sent_until(t, t + PERIOD + 100 * NS_PER_MS), 0);
    assert_int_equal(lacp_repeat_sent(PORT), 0);
}

unit_test(one_that_is_late_is_helped_each_period_with_what_it_said_last)
{
    uint64_t t = clock_now_ns();

    keep(PERIOD, 1);
    keep(PERIOD, 2);
    assert_int_equal(sent_until(t, t + 5 * PERIOD), 4); // after 1.2, 2.2, 3.2 and 4.2 s
    assert_int_equal(last[0], 2);
    assert_int_equal(lacp_repeat_sent(PORT), 4);
    assert_int_equal(lacp_repeat_sent(PORT), 0); // none since the last call
}

unit_test(one_that_is_stuck_is_helped_no_more)
{
    uint64_t t = clock_now_ns();

    keep(PERIOD, 1);
    assert_int_equal(sent_until(t, t + 100 * PERIOD), 10);
    keep(PERIOD, 1); // control was not stuck
    t = clock_now_ns();
    assert_int_equal(sent_until(t, t + 2 * PERIOD), 1);
}

unit_test(a_member_that_is_silent_stays_silent)
{
    uint64_t t = clock_now_ns();

    keep(PERIOD, 1);
    keep(0, 0);
    assert_int_equal(sent_until(t, t + 5 * PERIOD), 0);
}

int main(void)
{
    thread_adopt(ROLE_CONTROL, THREAD_SLOT_CONTROL);
    return unit_tests_run(NULL, NULL);
}
