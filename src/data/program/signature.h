// SPDX-License-Identifier: BSD-3-Clause
// signature.h - Ed25519 signature of a built program, appended to the object, so that another
// machine can trust it
//
// A signed object is the object, 64 bytes of signature over it, and a 16-byte mark. Loaders of
// shared objects and of BPF ignore appended bytes. Keys are PEM files from `openssl genpkey
// -algorithm ed25519`. Called by kamueed, which loads signed objects
// (program_manager/program_load.h), and by kamuee-program, which signs. No state.
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
// Reads the key from a PEM file's bytes; false: it has no public Ed25519 key.
bool signature_read_key(const void *pem, size_t n, struct signature_key *key);
// Does the object have a signature of this key?
bool signature_is_of(const void *object, size_t n, const struct signature_key *key);

#endif
