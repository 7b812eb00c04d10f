// SPDX-License-Identifier: BSD-3-Clause
// program_trust.h - whose packet programs may run: signers, known by their public keys
//
// While there is a signer, program_load.c loads only what one of them has signed: the bytes that
// are checked are those that are loaded, a sealed copy. Without one, owner and mode of the file
// decide alone. Control role.
#ifndef PROGRAM_MANAGER_PROGRAM_TRUST_H
#define PROGRAM_MANAGER_PROGRAM_TRUST_H

#include <stdbool.h>
#include <stddef.h>

#define PROGRAM_SIGNERS 16
#define PROGRAM_SIGNER_NAME 32

struct program_signers { // as configured; memory was all zero
    unsigned n;
    struct {
        char name[PROGRAM_SIGNER_NAME];
        char key[256]; // file
    } signer[PROGRAM_SIGNERS];
};

// Reads their keys; what runs is not looked at (program_manager_check). 0; -errno with a sentence,
// and the signers stay those that they were.
int program_trust_set(const struct program_signers *s, char *err, size_t n);

// Whose the file is: *signer is a name, or "" where nobody need have signed it. `fd`: its bytes,
// which nobody changes any more. 0; -errno with a sentence.
int program_trust_check(int fd, const char *file, char signer[PROGRAM_SIGNER_NAME], char *err,
                        size_t n);

// 0; -EPERM with a sentence: others than root and kamueed's user can change the file.
struct stat;
int program_trust_owner(const char *file, const struct stat *st, char *err, size_t n);

#endif
