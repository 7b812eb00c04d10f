// SPDX-License-Identifier: BSD-3-Clause
// http_tls.h - certificates of the HTTP server; control role
#ifndef HTTP_HTTP_TLS_H
#define HTTP_HTTP_TLS_H

#include <openssl/ossl_typ.h>
#include <stdbool.h>
#include <stddef.h>

struct tls_files {
    char certificate[256], key[256]; // PEM; the certificate with those that sign it
    char client_ca[256];             // PEM; "" = clients show no certificate
};

// A context of the files; NULL with a sentence. `must`: a client without a certificate is refused
// at once.
SSL_CTX *http_tls_new(const struct tls_files *f, bool must, char *err, size_t err_size);
void http_tls_drop(SSL_CTX *c); // one that is not taken
void http_tls_take(SSL_CTX *c); // for connections from now on; takes it over. NULL: none

#endif
