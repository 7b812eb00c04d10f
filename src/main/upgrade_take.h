// SPDX-License-Identifier: BSD-3-Clause
// upgrade_take.h - the new kamueed's part of an upgrade (upgrade_protocol.h); called by main,
// control
//
// Until the old one has ended, both share the state in the kernel: if the new one fails, it exits
// and leaves everything as it is.
#ifndef MAIN_UPGRADE_TAKE_H
#define MAIN_UPGRADE_TAKE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct event_base;

struct upgrade_given { // from the old one, at the beginning
    int lock;
    bool second;     // the old one uses the second DPDK prefix, so we use the first
    uint64_t digest; // of the old one's configuration
};

// Called first, with --upgrade. 0, or -errno with a sentence.
int upgrade_take_begin(struct upgrade_given *g, char *err, size_t err_size);
bool upgrade_takes(void); // the old one has not ended yet
// During an upgrade: exits with `code` and tells the old one and the log `sentence`. Else does
// nothing.
void upgrade_take_fail(int code, const char *sentence);
// Before the modules start: provides them with the old one's files. `done`: called when the old one
// has ended.
void upgrade_take_prepare(struct event_base *loop, void (*done)(void));

#endif
