// SPDX-License-Identifier: BSD-3-Clause
// upgrade.h - the operation that starts an upgrade, and the result of the last one (docs/adr/0020)
//
// main/upgrade_give.c and main/upgrade_take.c do the work; clients ask the old kamueed until it
// ends, and then the new one. Control.
#ifndef FEATURE_UPGRADE_H
#define FEATURE_UPGRADE_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "table/limits.h"

struct upgrade_state {
    const char *phase; // word of the schema; NULL = none since the start
    char why[1024];    // reason of "failed", with the remedy
    char binary[PATH_MAX], from[32], to[32]; // versions
    uint64_t time_ns, since_ns; // start, by the wall clock and by the monotonic clock
    uint64_t took_ns;           // time until all links were up
    uint64_t audited, lookups;               // kernel routes audited, addresses compared
    unsigned n_ports;
    struct upgrade_port_state {
        char name[16];
        bool blocked_known;
        uint64_t blocked_ns; // time in which received frames were not forwarded
        uint64_t discarded;  // upper bound of the frames lost meanwhile
    } port[PORT_MAX];
};

extern struct upgrade_state upgrade_state;

bool upgrade_runs(void);
// Sets the function that starts an upgrade: 0, or -errno with a sentence. binary: "" = the file
// that this process was started from.
void upgrade_by(int (*begin)(const char *binary, char *err, size_t err_size));

#endif
