// SPDX-License-Identifier: BSD-3-Clause
// modules.h - starts and stops kamueed's modules; called by main()
//
//     modules_start(...)   each init in order; at the first failure the started ones are stopped
//     modules_stop()       each fini in reverse order
#ifndef MAIN_MODULES_H
#define MAIN_MODULES_H

#include <stdbool.h>
#include <stddef.h>

struct event_base;

struct start_inputs { // for the modules
    struct event_base *loop;
    const char *run_dir;
    bool no_huge;
    unsigned memory_mib; // 0 = chosen for the machine
    bool second; // another kamueed of this run directory uses the first DPDK prefix
};

// 0 or -errno with "module: sentence".
int modules_start(const struct start_inputs *s, char *err, size_t err_size);
void modules_stop(void);

#endif
