// SPDX-License-Identifier: BSD-3-Clause
// router_fib.h - tables of a router with four ports, and a choice of FIBs
//
// For path_bench and publish_bench. Each (table, engine) is a virtual router, created on first use,
// so that engines take turns in one run over the same packets.
#ifndef BENCH_LIB_ROUTER_FIB_H
#define BENCH_LIB_ROUTER_FIB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/table.h"
#include "table/fib.h"

#define ROUTER_FIBS 32u

// Loads a table; hop[] is indexed by the values of its routes. `twice`: it may have duplicate
// prefixes.
void router_fib_fill(struct fib *fib, const struct table *t, const uint32_t *hop, bool twice);

struct router_fib {
    char table[16], engine[16];
    const struct table *routes;
    uint16_t vr;
    double load_ms; // time to build the table
    uint64_t bytes; // bytes that forwarders read
};
extern struct router_fib router_fib[ROUTER_FIBS];
extern unsigned router_n_fibs;

// File of the table "full"; without it the table is generated.
void router_prefixes(const char *path);
// MiB of DPDK's memory that a FIB of this table and engine (fib_engine_name) needs; -1: unknown
// table or engine.
int router_fib_mib(const char *table, const char *engine);
// Creates the tables and ports port_id[0..4) with an interface each (all with MAC
// 02:00:00:01:00:00). Ends the program if memory is short.
void router_init(const uint16_t *port_id);
// Finds or creates it; NULL: it does not fit.
const struct router_fib *router_fib_get(const char *table, const char *engine);
// From now on all ports belong to this FIB's virtual router.
void router_use(const struct router_fib *f);
// Binds or unbinds an input list without rules on all ports.
void router_lists(bool bound);

#endif
