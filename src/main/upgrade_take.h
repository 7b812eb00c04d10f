// SPDX-License-Identifier: BSD-3-Clause
// upgrade_take.h - the new kamueed in an upgrade (upgrade_protocol.h); called by main, control
//
// Until the old one has ended, what is in the kernel is both's: whoever fails here exits and leaves
// all of it as it is.
#ifndef MAIN_UPGRADE_TAKE_H
#define MAIN_UPGRADE_TAKE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct event_base;

struct upgrade_given { // by the old one, at the beginning
    int lock;
    bool second;     // it has the second DPDK prefix, so we have the first
    uint64_t digest; // of its configuration
};

// First of all, with --upgrade. 0, or -errno with a sentence.
int upgrade_take_begin(struct upgrade_given *g, char *err, size_t err_size);
bool upgrade_takes(void); // the old one has not ended yet
// With `sentence` for the old one and the log, if we are to take over; else nothing.
void upgrade_take_fail(int code, const char *sentence);
// Before the modules start: they find what they were given. `done`: when the old one has ended.
void upgrade_take_prepare(struct event_base *loop, void (*done)(void));

#endif
