// SPDX-License-Identifier: BSD-3-Clause
// signature.c - verifies the signature of an object with OpenSSL (signature.h)
//
// The mark at the end shows whether there is a signature; the signature is checked over all bytes
// before the trailer. Only public Ed25519 keys are accepted.
#include "program/signature.h"

#include <limits.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <string.h>

bool signature_is_there(const void *object, size_t n)
{
    const size_t mark = sizeof SIGNATURE_MARK - 1;

    return n > SIGNATURE_TRAILER && !memcmp((const char *)object + n - mark, SIGNATURE_MARK, mark);
}

bool signature_read_key(const void *pem, size_t n, struct signature_key *key)
{
    BIO *b = n <= INT_MAX ? BIO_new_mem_buf(pem, (int)n) : NULL;
    EVP_PKEY *k = b ? PEM_read_bio_PUBKEY(b, NULL, NULL, NULL) : NULL;
    size_t size = sizeof key->bytes;
    bool read = k && EVP_PKEY_get_base_id(k) == EVP_PKEY_ED25519 &&
                EVP_PKEY_get_raw_public_key(k, key->bytes, &size) == 1 && size == sizeof key->bytes;

    EVP_PKEY_free(k);
    BIO_free(b);
    return read;
}

bool signature_is_of(const void *object, size_t n, const struct signature_key *key)
{
    const unsigned char *bytes = object;
    const size_t size = n - SIGNATURE_TRAILER;

    if (!signature_is_there(object, n))
        return false;
    EVP_PKEY *k =
        EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, NULL, key->bytes, sizeof key->bytes);
    EVP_MD_CTX *c = k ? EVP_MD_CTX_new() : NULL;
    bool is = c && EVP_DigestVerifyInit(c, NULL, NULL, NULL, k) == 1 &&
              EVP_DigestVerify(c, bytes + size, SIGNATURE_SIZE, bytes, size) == 1;
    EVP_MD_CTX_free(c);
    EVP_PKEY_free(k);
    return is;
}
