// SPDX-License-Identifier: BSD-3-Clause
// http_tls.c - certificates of the HTTP server
#include "http/http_tls.h"

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <stdio.h>

#include "http/http_priv.h"

SSL_CTX *http_tls;

static SSL_CTX *refuse(SSL_CTX *c, const char *what, const char *file, char *err, size_t err_size)
{
    const char *reason = ERR_reason_error_string(ERR_peek_last_error());

    snprintf(err, err_size, "%s '%s' cannot be used: %s; expected a file in PEM", what, file, reason ? reason : "unknown reason");
    ERR_clear_error();
    SSL_CTX_free(c);
    return NULL;
}

SSL_CTX *http_tls_new(const struct tls_files *f, bool must, char *err, size_t err_size)
{
    SSL_CTX *c = SSL_CTX_new(TLS_server_method());

    ERR_clear_error();
    if (!c || !SSL_CTX_set_min_proto_version(c, TLS1_2_VERSION))
        return refuse(c, "TLS", "", err, err_size);
    SSL_CTX_set_options(c, SSL_OP_NO_RENEGOTIATION | SSL_OP_CIPHER_SERVER_PREFERENCE);
    if (SSL_CTX_use_certificate_chain_file(c, f->certificate) != 1)
        return refuse(c, "certificate", f->certificate, err, err_size);
    if (SSL_CTX_use_PrivateKey_file(c, f->key, SSL_FILETYPE_PEM) != 1 || SSL_CTX_check_private_key(c) != 1)
        return refuse(c, "key", f->key, err, err_size);
    if (!*f->client_ca)
        return c;
    if (SSL_CTX_load_verify_locations(c, f->client_ca, NULL) != 1)
        return refuse(c, "client-ca", f->client_ca, err, err_size);
    SSL_CTX_set_client_CA_list(c, SSL_load_client_CA_file(f->client_ca));
    SSL_CTX_set_verify(c, SSL_VERIFY_PEER | (must ? SSL_VERIFY_FAIL_IF_NO_PEER_CERT : 0), NULL);
    SSL_CTX_set_session_id_context(c, (const unsigned char *)"kamuee", 6);
    return c;
}

void http_tls_drop(SSL_CTX *c)
{
    SSL_CTX_free(c);
}

void http_tls_take(SSL_CTX *c)
{
    SSL_CTX_free(http_tls);
    http_tls = c;
}
