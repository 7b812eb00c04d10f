// SPDX-License-Identifier: BSD-3-Clause
// signature.h - kamuee-program sign and verify, by keys in files (program/signature.h)
//
// Called by main.c. No state.
#ifndef PROGRAM_BUILD_SIGNATURE_H
#define PROGRAM_BUILD_SIGNATURE_H

#include <stddef.h>

#include "base/text.h"

// By the private key in that file; in place of a signature that is there already. 0; -errno: why.
int program_sign(struct text *object, const char *key, char *why, size_t why_size);
// Whether it is the one of the key whose public half is in that file. 0; -errno: why.
int program_signature_check(const void *object, size_t n, const char *key, char *why,
                            size_t why_size);

#endif
