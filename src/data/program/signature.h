// SPDX-License-Identifier: BSD-3-Clause
// signature.h - a built program that another machine can trust: Ed25519, behind the object's bytes
//
// A signed object is the object, 64 bytes of signature over it, and 16 bytes that say so. The
// loaders of shared objects and of BPF do not look at what is behind. Keys are PEM files as
// `openssl genpkey -algorithm ed25519` makes them. Called by kamueed, which loads what is signed
// (program_manager/program_trust.h), and by kamuee-program, which signs. No state.
#ifndef PROGRAM_SIGNATURE_H
#define PROGRAM_SIGNATURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SIGNATURE_SIZE 64
#define SIGNATURE_MARK "kamuee signed 1\n"
#define SIGNATURE_TRAILER (SIGNATURE_SIZE + sizeof SIGNATURE_MARK - 1)

struct signature_key { // public
    uint8_t bytes[32];
};

bool signature_is_there(const void *object, size_t n);
// The key in a PEM file's bytes; false: there is no public Ed25519 key in it.
bool signature_read_key(const void *pem, size_t n, struct signature_key *key);
// Whether the object has a signature, and it is of this key.
bool signature_is_of(const void *object, size_t n, const struct signature_key *key);

#endif
