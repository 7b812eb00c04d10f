// SPDX-License-Identifier: BSD-3-Clause
// token.h - bearer tokens by their hashes; control role
//
//     # name   role       SHA-256 of the token
//     ansible  admin      sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08
//     alice    admin vr blue sha256:…         bound to the virtual router blue
//
// A token is long and random, so a plain hash cannot be guessed back. The file is read again when
// it changes.
#ifndef HTTP_TOKEN_H
#define HTTP_TOKEN_H

#include <stddef.h>
#include <stdint.h>

#include "http/access.h"

#define TOKENS_MAX 4096 // three roles for each of 1,000 virtual routers, and others

struct token {
    char name[65];
    char vr[ACCESS_VR_SIZE]; // "" = bound to none
    uint8_t access; // enum access_level
    uint8_t hash[32];
};

// Derives the secret of one virtual router from the global one; it does not reveal the global
// secret.
#define TOKEN_HEX 33
void token_of_vr(const char *secret, const char *vr, char hex[TOKEN_HEX]);

int token_file(const char *path, char *err,
               size_t err_size); // "" = none; 0 or -errno with a sentence: the old file stays
const struct token *token_find(const char *token);            // NULL: unknown
const struct token *token_of(const char *vr); // first token bound to it, or NULL

#endif
