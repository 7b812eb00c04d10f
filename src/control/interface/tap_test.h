// SPDX-License-Identifier: BSD-3-Clause
// tap_test.h - the self-test of TAPs: do sockets work through them, in both directions?
//
// Opens TCP, UDP and raw sockets on each TAP, in its namespace, towards a neighbor that tap_manager
// simulates (tap_manager.h). Their packets go down the TAP and come up again through the punt
// queue, with everything that a packet for the router meets: classes, limits, checksum metadata,
// rp_filter, the operator's packet filter. One test at a time. The operation `test tap` steps it
// from control's loop; it never waits.
#ifndef INTERFACE_TAP_TEST_H
#define INTERFACE_TAP_TEST_H

#include <stdbool.h>

struct tap_test_result {
    const char *interface;
    const char *family; // "ipv4", "ipv6"
    const char *socket; // "udp", "tcp", "raw"
    bool passed;
    const char *reason; // "" when passed
};

// Tests interface `name`, or all (NULL). Returns 0; -ENOENT: no such interface; -EBUSY: a test is
// running.
int tap_test_start(const char *name);
#define TAP_TEST_STEP_MS 10
bool tap_test_step(void); // true when all results are there; else call again in TAP_TEST_STEP_MS
unsigned tap_test_results(const struct tap_test_result **r); // valid until the next tap_test_start

#endif
