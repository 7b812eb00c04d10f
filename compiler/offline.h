// SPDX-License-Identifier: BSD-3-Clause
// offline.h - runs a built program on a capture, off the router: `kamuee-program test`
//
// Uses the same object and the same bursts as the router; each verdict is checked by its rules
// (docs/features/program.md). Differences: another function computes the field hash, and next hops
// and interfaces are numbers that nothing resolves. Called by main.c.
#ifndef COMPILER_OFFLINE_H
#define COMPILER_OFFLINE_H

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
    const char *entry[OFFLINE_ENTRIES_MAX]; // NAME:KEY=VALUE, added in this order
    unsigned n_entries;
};

// Runs the object in this file and prints to standard output. 0, or -EINVAL and `why`.
int offline_run(const char *object, const struct offline_options *o, char *why, size_t n);

#endif
