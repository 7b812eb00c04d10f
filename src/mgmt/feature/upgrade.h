// SPDX-License-Identifier: BSD-3-Clause
// upgrade.h - the operation that starts an upgrade, and how the last one went (docs/adr/0020)
//
// main/upgrade_give.c and main/upgrade_take.c do it; clients ask the old kamueed until it ends, and
// then the new one. Control.
#ifndef FEATURE_UPGRADE_H
#define FEATURE_UPGRADE_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "table/limits.h"

struct upgrade_state {
    const char *phase; // a word of the schema; NULL: none since the start
    char why[1024];    // of "failed"; with the remedy
    char binary[PATH_MAX], from[32], to[32]; // versions
    uint64_t time_ns, since_ns; // begun, by the wall clock and by the monotonic one
    uint64_t took_ns;           // until all links were up
    uint64_t audited, lookups;               // routes of the kernel, addresses that were compared
    unsigned n_ports;
    struct upgrade_port_state {
        char name[16];
        bool blocked_known;
        uint64_t blocked_ns; // nobody forwarded what it received
        uint64_t discarded;  // frames that came meanwhile, at most
    } port[PORT_MAX];
};

extern struct upgrade_state upgrade_state;

bool upgrade_runs(void);
// Who starts one: 0, or -errno with a sentence. binary: "" = the file that this process was started
// from.
void upgrade_by(int (*begin)(const char *binary, char *err, size_t err_size));

#endif
