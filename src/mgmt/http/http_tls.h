// SPDX-License-Identifier: BSD-3-Clause
// http_tls.h - certificates of the HTTP server, for kamuee-http; control role
//
// kamueed reads the files, as it may and kamuee-http may not, into memory that kamuee-http is given
// (http_remote.h): the next kamuee-http gets the same ones, whatever has become of the files.
#ifndef HTTP_HTTP_TLS_H
#define HTTP_HTTP_TLS_H

#include <stdbool.h>
#include <stddef.h>

struct tls_files {
    char certificate[256], key[256]; // PEM; the certificate with those that sign it
    char client_ca[256];             // PEM; "" = clients show no certificate
};

// Reads the files, and has them tried. 0, or -errno with a sentence. `must`: a client without a
// certificate is refused at once.
int http_tls_try(const struct tls_files *f, bool must, char *err, size_t err_size);
void http_tls_drop(void); // what was tried, if anything
void http_tls_take(void); // the same, for connections from now on; nothing was tried: none
void http_tls_give(void); // what is in force, to a new kamuee-http
bool http_tls_asks(void); // clients for certificates

#endif
