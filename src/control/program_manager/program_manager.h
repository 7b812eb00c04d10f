// SPDX-License-Identifier: BSD-3-Clause
// program_manager.h - packet programs of virtual routers: loads, orders, replaces and counts them
//
// Writes program/set.h. A change loads the new program aside and publishes the whole set of its
// hook, so no packet sees a partial change. The new program keeps the counters of its predecessor
// and the tables that both declare alike. Called by the steps of a change and by operations;
// control role.
#ifndef PROGRAM_MANAGER_PROGRAM_MANAGER_H
#define PROGRAM_MANAGER_PROGRAM_MANAGER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/ip.h"
#include "program/set.h"
#include "program_manager/program_load.h"

#define PROGRAM_MAX 1024

struct program_config { // as configured; zero the memory first: it is compared bytewise
    char name[PROGRAM_NAME_SIZE];
    char vr[32];
    char file[256];
    char mirror[32]; // mirror session, "" = none
    uint8_t hook;    // enum program_hook
    bool fault_drops;
    uint16_t ether_type; // hook ether-type
    uint16_t order;
    struct ip_addr next_hop[KAMUEE_NEXT_HOPS]; // family 0 = none
};

struct program_status {
    const struct program_config *config;
    const struct program_declared *declared;
    const char *source_hash;
    const char *signer; // "" = no signature needed
    uint32_t instructions;
    uint16_t vr;                        // id
    struct program_count count;         // all forwarders, since it was configured
    unsigned off;                       // number of forwarders on which a fault switched it off
    uint8_t fault;                      // enum program_fault: reason on one of them
    struct program_log log;             // its last messages
    struct program_table *const *table; // [declared->n_tables]
    uint64_t loaded_ns;                 // clock_now_ns
    uint32_t loads;                     // number of times that its file was loaded
};

// Both return 0, or -errno with a message in `err` and nothing changed.
int program_manager_add(const struct program_config *c, char *err, size_t err_size);
int program_manager_change(const struct program_config *c, char *err, size_t err_size);
void program_manager_del(const char *name);
// Loads its file again, also after a fault. Returns -ENOENT if there is no such program.
int program_manager_replace(const char *name, char *err, size_t err_size);
// Checks whether the signers allow this program to run: the running copy or, if `c` differs from
// its configuration, the file. Returns 0, or -errno with a message in `err`.
int program_manager_check(const struct program_config *c, char *err, size_t err_size);
void program_manager_fini(void); // forwarders have stopped

// Reads the i-th program, by virtual router, hook and order; false if there are fewer.
bool program_manager_at(unsigned i, struct program_status *s);
bool program_manager_find(const char *name, struct program_status *s);

#endif
