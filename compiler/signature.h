// SPDX-License-Identifier: BSD-3-Clause
// signature.h - kamuee-program sign and verify, with keys in files (program/signature.h)
//
// Called by main.c. No state.
#ifndef COMPILER_SIGNATURE_H
#define COMPILER_SIGNATURE_H

#include <stddef.h>

#include "base/text.h"

// Signs with the private key in this file and replaces an existing signature. 0, or -errno and
// `why`.
int program_sign(struct text *object, const char *key, char *why, size_t why_size);
// Checks the signature against the public key in this file. 0, or -errno and `why`.
int program_signature_check(const void *object, size_t n, const char *key, char *why,
                            size_t why_size);

#endif
