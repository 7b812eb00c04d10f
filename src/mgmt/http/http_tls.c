// SPDX-License-Identifier: BSD-3-Clause
// http_tls.c - certificates of the HTTP server
#include "http/http_tls.h"

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <stdio.h>
#include <unistd.h>

#include "base/file.h"
#include "http/http_priv.h"

SSL_CTX *http_tls;

static SSL_CTX *refuse(SSL_CTX *c, const char *what, const char *file, char *err, size_t err_size)
{
    const char *reason = ERR_reason_error_string(ERR_peek_last_error());

    snprintf(err, err_size, "%s '%s' cannot be used: %s; expected a PEM file", what, file,
             reason ? reason : "unknown reason");
    ERR_clear_error();
    SSL_CTX_free(c);
    return NULL;
}

#define PEM_MAX (4u << 20) // bytes

// OpenSSL opens files by name and would wait for a pipe for ever: it gets the name of what
// file_open_named has opened.
struct pem {
    int fd;
    char name[32];
};

static bool pem_open(struct pem *p, const char *what, const char *file, char *err, size_t err_size)
{
    struct stat st;
    char why[700];

    p->fd = file_open_named(file, PEM_MAX, &st);
    snprintf(p->name, sizeof p->name, "/proc/self/fd/%d", p->fd);
    if (p->fd >= 0)
        return true;
    file_why(p->fd, why, sizeof why);
    snprintf(err, err_size, "%s '%s': %s; expected a PEM file", what, file, why);
    return false;
}

static bool use_certificate(SSL_CTX *c, const char *name)
{
    return SSL_CTX_use_certificate_chain_file(c, name) == 1;
}

static bool use_key(SSL_CTX *c, const char *name)
{
    return SSL_CTX_use_PrivateKey_file(c, name, SSL_FILETYPE_PEM) == 1 &&
           SSL_CTX_check_private_key(c) == 1;
}

static bool use_client_ca(SSL_CTX *c, const char *name)
{
    if (SSL_CTX_load_verify_locations(c, name, NULL) != 1)
        return false;
    SSL_CTX_set_client_CA_list(c, SSL_load_client_CA_file(name));
    return true;
}

// The context, or NULL when the file cannot be used; then the context is gone, too.
static SSL_CTX *use(SSL_CTX *c, bool (*fn)(SSL_CTX *c, const char *name), const char *what,
                    const char *file, char *err, size_t err_size)
{
    struct pem p;

    if (!c)
        return NULL;
    if (!pem_open(&p, what, file, err, err_size)) {
        SSL_CTX_free(c);
        return NULL;
    }
    if (!fn(c, p.name))
        c = refuse(c, what, file, err, err_size);
    close(p.fd);
    return c;
}

SSL_CTX *http_tls_new(const struct tls_files *f, bool must, char *err, size_t err_size)
{
    SSL_CTX *c = SSL_CTX_new(TLS_server_method());

    ERR_clear_error();
    if (!c || !SSL_CTX_set_min_proto_version(c, TLS1_2_VERSION))
        return refuse(c, "TLS", "", err, err_size);
    SSL_CTX_set_options(c, SSL_OP_NO_RENEGOTIATION | SSL_OP_CIPHER_SERVER_PREFERENCE);
    c = use(c, use_certificate, "certificate", f->certificate, err, err_size);
    c = use(c, use_key, "key", f->key, err, err_size);
    if (!c || !*f->client_ca)
        return c;
    c = use(c, use_client_ca, "client-ca", f->client_ca, err, err_size);
    if (!c)
        return NULL;
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
