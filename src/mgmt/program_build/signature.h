// SPDX-License-Identifier: BSD-3-Clause
// signature.h - a built object that another machine can trust: Ed25519, behind the object's bytes
//
// A signed object is the object, 64 bytes of signature over it, and 16 bytes that say so. The
// loader of shared objects does not look at what is behind. Keys are PEM files as
// `openssl genpkey -algorithm ed25519` makes them. Called by main.c. No state.
#ifndef PROGRAM_BUILD_SIGNATURE_H
#define PROGRAM_BUILD_SIGNATURE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/text.h"

#define SIGNATURE_SIZE 64
#define SIGNATURE_MARK "kamuee signed 1\n"
#define SIGNATURE_TRAILER (SIGNATURE_SIZE + sizeof SIGNATURE_MARK - 1)

bool program_is_signed(const void *object, size_t n);
// By the private key in that file; in place of a signature that is there already. 0; -errno: why.
int program_sign(struct text *object, const char *key, char *why, size_t why_size);
// Whether it is the one of the key whose public half is in that file. 0; -errno: why.
int program_signature_check(const void *object, size_t n, const char *key, char *why,
                            size_t why_size);

#endif
