// SPDX-License-Identifier: BSD-3-Clause
// program_trust.h - signers, known by their public keys, whose packet programs may run
//
// If signers are configured, program_load.c loads only files that one of them signed. The checked
// bytes are the loaded bytes: a sealed copy. Without signers, only owner and mode of the file
// decide. Control role.
#ifndef PROGRAM_MANAGER_PROGRAM_TRUST_H
#define PROGRAM_MANAGER_PROGRAM_TRUST_H

#include <stdbool.h>
#include <stddef.h>

#define PROGRAM_SIGNERS 16
#define PROGRAM_SIGNER_NAME 32

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
