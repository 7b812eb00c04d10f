// SPDX-License-Identifier: BSD-3-Clause
// program_load.h - the file of a packet program: what may run, as instances of all forwarders
//
// program_manager loads; control role. Nothing else knows a tenant's object from an operator's.
#ifndef PROGRAM_MANAGER_PROGRAM_LOAD_H
#define PROGRAM_MANAGER_PROGRAM_LOAD_H

#include "program/set.h"
#include "program_manager/program_trust.h"

enum program_target { PROGRAM_TENANT, PROGRAM_OPERATOR };

struct program_loaded {
    struct program_declared declared;
    char source_hash[72];  // of a tenant's module, hex; "" = not known
    char signer[PROGRAM_SIGNER_NAME]; // "" = it need not be signed
    uint32_t instructions; // the most that one call executes; 0 = not known
    // own
    int fd;
    void *handle;
    const struct program_object *object; // NULL: an operator's
    struct rte_bpf *packet, *prepare;    // an operator's; prepare: NULL when it has none
    uint8_t *memory;                     // of all instances
    size_t stride;
};

// Reads the file. 0; or -errno with a sentence, and nothing is left.
int program_load(struct program_loaded *l, enum program_target target, const char *file, char *err,
                 size_t err_size);
// Makes p->instance, of memory that `l` owns; p->table is filled. 0 or -errno.
int program_start(struct program_loaded *l, struct program *p);
// Whether the file is one that its signer lets load. 0; or -errno with a sentence.
int program_load_check(const char *file, char *err, size_t err_size);
void program_unload(struct program_loaded *l, struct program *p); // no reader is left

#endif
