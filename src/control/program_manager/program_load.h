// SPDX-License-Identifier: BSD-3-Clause
// program_load.h - loads the file of a packet program and prepares its instances for all forwarders
//
// Called by program_manager; control role.
#ifndef PROGRAM_MANAGER_PROGRAM_LOAD_H
#define PROGRAM_MANAGER_PROGRAM_LOAD_H

#include <stddef.h>

#include "program/set.h"

#define PROGRAM_SIGNERS 16
#define PROGRAM_SIGNER_NAME 32

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

// program_trust.c: signers, known by their public keys, whose packet programs may run. If signers
// are configured, program_load.c loads only files that one of them signed. The checked bytes are
// the loaded bytes: a sealed copy. Without signers, only owner and mode of the file decide.
struct program_signers { // as configured; zero the memory first
    unsigned n;
    struct {
        char name[PROGRAM_SIGNER_NAME];
        char key[256]; // path of the key file
    } signer[PROGRAM_SIGNERS];
};

// Reads the keys of the signers; does not check running programs (program_manager_check does).
// Returns 0; on -errno with a message in `err`, the previous signers stay.
int program_trust_set(const struct program_signers *s, char *err, size_t n);

// Finds the signer of the file: *signer is a name, or "" if no signature is needed. `fd` holds the
// bytes of the file, which must not change any more. Returns 0, or -errno with a message in `err`.
int program_trust_check(int fd, const char *file, char signer[PROGRAM_SIGNER_NAME], char *err,
                        size_t n);

// Returns 0; -EPERM with a message in `err` if users other than root and kamueed's can change the
// file.
struct stat;
int program_trust_owner(const char *file, const struct stat *st, char *err, size_t n);

#endif
