// SPDX-License-Identifier: BSD-3-Clause
// offline.h - a built program run on a capture, off the router: `kamuee-program test`
//
// The same object and the same bursts as on the router; each verdict is checked by its rules
// (docs/features/program.md). What is not the same: the field hash is another function, and next
// hops and interfaces are numbers that nobody looks up. Called by main.c.
#ifndef PROGRAM_BUILD_OFFLINE_H
#define PROGRAM_BUILD_OFFLINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text.h"

enum offline_hook { HOOK_ETHER, HOOK_INPUT, HOOK_OUTPUT, HOOK_ETHER_TYPE, OFFLINE_HOOKS };
extern const char *const offline_hook_name[OFFLINE_HOOKS];

#define OFFLINE_ENTRIES_MAX 1024

struct offline_options {
    const char *capture;
    enum offline_hook hook;
    uint32_t interface;
    uint8_t class;
    bool json;
    const char *entry[OFFLINE_ENTRIES_MAX]; // NAME:KEY=VALUE, in this order
    unsigned n_entries;
};

// Runs the object, a file's path, and prints to standard output. 0; -EINVAL: `why`.
int offline_run(const char *object, const struct offline_options *o, char *why, size_t n);

#endif
