// SPDX-License-Identifier: BSD-3-Clause
// certificates.c - see certificates.h
#include "remote/certificates.h"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PEM_MAX (4u << 20) // bytes

static BIO *file[REMOTE_FILES]; // of the next try
static SSL_CTX *tried, *in_use;

static BIO **file_of(char word)
{
    unsigned i = (unsigned)(word - REMOTE_CERTIFICATE);

    return i < REMOTE_FILES ? &file[i] : NULL;
}

void certificates_put(char word, int fd)
{
    BIO **to = file_of(word);
    char bytes[4096];
    ssize_t n;

    if (to) {
        BIO_free(*to);
        *to = BIO_new(BIO_s_mem());
        for (off_t at = 0; *to && at < PEM_MAX && (n = pread(fd, bytes, sizeof bytes, at)) > 0;
             at += n)
            BIO_write(*to, bytes, (int)n);
        explicit_bzero(bytes, sizeof bytes);
    }
    close(fd);
}

// The end of a file is an error, too.
static bool read_to_the_end(bool any)
{
    unsigned long e = ERR_peek_last_error();
    bool end = any && ERR_GET_LIB(e) == ERR_LIB_PEM && ERR_GET_REASON(e) == PEM_R_NO_START_LINE;

    if (end)
        ERR_clear_error();
    return end;
}

static bool use_certificate(SSL_CTX *c, BIO *from)
{
    X509 *x = PEM_read_bio_X509_AUX(from, NULL, NULL, NULL);
    bool good = x && SSL_CTX_use_certificate(c, x) == 1;

    X509_free(x);
    while (good && (x = PEM_read_bio_X509(from, NULL, NULL, NULL)))
        if (SSL_CTX_add0_chain_cert(c, x) != 1) {
            X509_free(x);
            return false;
        }
    return good && read_to_the_end(true);
}

static bool use_key(SSL_CTX *c, BIO *from)
{
    EVP_PKEY *k = PEM_read_bio_PrivateKey(from, NULL, NULL, NULL);
    bool good = k && SSL_CTX_use_PrivateKey(c, k) == 1 && SSL_CTX_check_private_key(c) == 1;

    EVP_PKEY_free(k);
    return good;
}

static bool use_client_ca(SSL_CTX *c, BIO *from)
{
    bool any = false, good = true;
    X509 *x;

    while (good && (x = PEM_read_bio_X509_AUX(from, NULL, NULL, NULL))) {
        good = X509_STORE_add_cert(SSL_CTX_get_cert_store(c), x) == 1 &&
               SSL_CTX_add_client_CA(c, x) == 1;
        X509_free(x);
        any = true;
    }
    return good && read_to_the_end(any);
}

static bool (*const use[REMOTE_FILES])(SSL_CTX *c, BIO *from) = {use_certificate, use_key,
                                                                 use_client_ca};

static SSL_CTX *new_context(void)
{
    SSL_CTX *c = SSL_CTX_new(TLS_server_method());

    if (!c || !SSL_CTX_set_min_proto_version(c, TLS1_2_VERSION)) {
        SSL_CTX_free(c);
        return NULL;
    }
    SSL_CTX_set_options(c, SSL_OP_NO_RENEGOTIATION | SSL_OP_CIPHER_SERVER_PREFERENCE);
    return c;
}

static void ask_clients(SSL_CTX *c, bool must)
{
    SSL_CTX_set_verify(c, SSL_VERIFY_PEER | (must ? SSL_VERIFY_FAIL_IF_NO_PEER_CERT : 0), NULL);
    SSL_CTX_set_session_id_context(c, (const unsigned char *)"kamuee", 6);
}

// 0, or the file that cannot be used.
static char use_files(SSL_CTX *c)
{
    for (unsigned i = 0; i < REMOTE_FILES; i++) {
        bool needed = REMOTE_CERTIFICATE + i != REMOTE_CLIENT_CA;

        if ((file[i] || needed) && !(file[i] && use[i](c, file[i])))
            return (char)(REMOTE_CERTIFICATE + i);
    }
    return 0;
}

static void forget_files(void)
{
    for (unsigned i = 0; i < REMOTE_FILES; i++) {
        BIO_free(file[i]);
        file[i] = NULL;
    }
}

void certificates_try(bool must, struct remote_answer *a)
{
    bool asks = file[REMOTE_CLIENT_CA - REMOTE_CERTIFICATE];

    *a = (struct remote_answer){.word = REMOTE_TRY};
    ERR_clear_error();
    SSL_CTX_free(tried);
    tried = new_context();
    if (tried && !(a->word = use_files(tried)) && asks)
        ask_clients(tried, must);
    if (a->word) {
        const char *reason = ERR_reason_error_string(ERR_peek_last_error());
        snprintf(a->why, sizeof a->why, "%s", reason ? reason : "unknown reason");
        SSL_CTX_free(tried);
        tried = NULL;
    }
    ERR_clear_error();
    forget_files();
}

void certificates_use(void)
{
    if (!tried)
        return;
    SSL_CTX_free(in_use);
    in_use = tried;
    tried = NULL;
}

SSL *certificates_new(void)
{
    return in_use ? SSL_new(in_use) : NULL;
}

// --- names of clients ---------------------------------------------------------------------------

struct names {
    char *at;
    size_t room;
};

static void add_name(struct names *to, const ASN1_STRING *s)
{
    const unsigned char *text = ASN1_STRING_get0_data(s);
    size_t n = (size_t)ASN1_STRING_length(s);

    if (!n || n >= to->room || memchr(text, 0, n))
        return;
    memcpy(to->at, text, n);
    to->at[n] = 0;
    to->at += n + 1;
    to->room -= n + 1;
}

static void add_common_names(struct names *to, const X509 *x)
{
    X509_NAME *subject = X509_get_subject_name(x);

    for (int i = -1; (i = X509_NAME_get_index_by_NID(subject, NID_commonName, i)) >= 0;)
        add_name(to, X509_NAME_ENTRY_get_data(X509_NAME_get_entry(subject, i)));
}

static void add_other_names(struct names *to, const X509 *x)
{
    GENERAL_NAMES *others = X509_get_ext_d2i(x, NID_subject_alt_name, NULL, NULL);

    for (int i = 0; i < sk_GENERAL_NAME_num(others); i++) {
        const GENERAL_NAME *g = sk_GENERAL_NAME_value(others, i);

        if (g->type == GEN_DNS || g->type == GEN_EMAIL || g->type == GEN_URI)
            add_name(to, g->d.ia5);
    }
    GENERAL_NAMES_free(others);
}

bool certificates_names(const SSL *ssl, char *names, size_t room, size_t *n)
{
    X509 *x = SSL_get_peer_certificate(ssl);
    struct names to = {names, room};

    *n = 0;
    if (!x)
        return false;
    add_common_names(&to, x);
    add_other_names(&to, x);
    X509_free(x);
    *n = room - to.room;
    return true;
}
