// SPDX-License-Identifier: BSD-3-Clause
// program_load.h - loads the file of a packet program and prepares its instances for all forwarders
//
// Called by program_manager; control role.
#ifndef PROGRAM_MANAGER_PROGRAM_LOAD_H
#define PROGRAM_MANAGER_PROGRAM_LOAD_H

#include "program/set.h"
#include "program_manager/program_trust.h"

struct program_loaded {
    struct program_declared declared;
    char source_hash[72]; // of its module, hex; "" = unknown
    char signer[PROGRAM_SIGNER_NAME]; // "" = no signature needed
    uint32_t instructions; // maximum that one call executes; 0 = unknown
    // Private to program_load.c.
    int fd;
    void *handle;
    const struct program_object *object;
    uint8_t *memory; // of all instances
    size_t stride;
};

// Loads the file. Returns 0, or -errno with a message in `err` and nothing left behind.
int program_load(struct program_loaded *l, const char *file, char *err, size_t err_size);
// Creates p->instance in memory that `l` owns; p->table must be filled in. Returns 0 or -errno.
int program_start(struct program_loaded *l, struct program *p);
// Checks whether the signers allow the file to be loaded. Returns 0, or -errno with a message in
// `err`.
int program_load_check(const char *file, char *err, size_t err_size);
void program_unload(struct program_loaded *l, struct program *p); // no reader may be left

#endif
