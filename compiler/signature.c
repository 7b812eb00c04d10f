// SPDX-License-Identifier: BSD-3-Clause
// signature.c - signs and verifies an object with keys in files (signature.h)
//
// An object that is signed already gets a new signature in place of the old one. Private keys with
// a password are refused without asking for it.
#include "compiler/signature.h"

#include <errno.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "program/signature.h"

static int refuse(char *why, size_t n, const char *what, const char *remedy)
{
    snprintf(why, n, "%s: %s", what, remedy);
    return -EINVAL;
}

static EVP_PKEY *read_private_key(const char *path, char *why, size_t n)
{
    FILE *f = fopen(path, "re");

    if (!f) {
        refuse(why, n, path, strerror(errno));
        return NULL;
    }
    // With no callback and an empty password, a key with a password is refused without a prompt.
    EVP_PKEY *key = PEM_read_PrivateKey(f, NULL, NULL, (char[]){""});
    fclose(f);
    if (key && EVP_PKEY_get_base_id(key) == EVP_PKEY_ED25519)
        return key;
    EVP_PKEY_free(key);
    refuse(why, n, path,
           "no private Ed25519 key without a password (openssl genpkey -algorithm ed25519 -out "
           "FILE)");
    return NULL;
}

int program_sign(struct text *object, const char *path, char *why, size_t n)
{
    EVP_PKEY *key = read_private_key(path, why, n);
    EVP_MD_CTX *c = key ? EVP_MD_CTX_new() : NULL;
    unsigned char signature[SIGNATURE_SIZE];
    size_t size = sizeof signature;
    int r = key ? 0 : -EINVAL;

    if (signature_is_there(text_str(object), object->n))
        object->n -= SIGNATURE_TRAILER;
    if (!r && (!c || EVP_DigestSignInit(c, NULL, NULL, NULL, key) != 1 ||
               EVP_DigestSign(c, signature, &size, (const unsigned char *)text_str(object),
                              object->n) != 1 ||
               size != sizeof signature))
        r = refuse(why, n, path, "it cannot sign");
    if (!r) {
        text_append(object, signature, sizeof signature);
        text_append(object, SIGNATURE_MARK, sizeof SIGNATURE_MARK - 1);
    }
    EVP_MD_CTX_free(c);
    EVP_PKEY_free(key);
    return r;
}

int program_signature_check(const void *object, size_t n, const char *path, char *why,
                            size_t why_size)
{
    struct signature_key key;
    struct text pem = {0};
    int r = signature_is_there(object, n) ? file_read(path, &pem) : -ENOMSG;

    if (r == -ENOMSG)
        r = refuse(why, why_size, "not signed", "kamuee program sign OBJECT --key KEY");
    else if (r)
        r = refuse(why, why_size, path, strerror(-r));
    else if (!signature_read_key(text_str(&pem), pem.n, &key))
        r = refuse(why, why_size, path,
                   "no public Ed25519 key (openssl pkey -pubout -in KEY -out FILE)");
    else if (!signature_is_of(object, n, &key))
        r = refuse(why, why_size, "the signature is not of this key, or the object was changed",
                   path);
    text_free(&pem);
    return r;
}
