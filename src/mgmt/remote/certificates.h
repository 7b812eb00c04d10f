// SPDX-License-Identifier: BSD-3-Clause
// certificates.h - kamuee-http's certificate and key, and the names in those of clients
//
// Of files that kamueed has sent (http/remote_protocol.h): one is kept until they are tried, what
// has been tried until it is used. Called by process.c.
#ifndef REMOTE_CERTIFICATES_H
#define REMOTE_CERTIFICATES_H

#include <openssl/ossl_typ.h>
#include <stdbool.h>
#include <stddef.h>

#include "http/remote_protocol.h"

void certificates_put(char word, int fd); // reads it, and closes the descriptor
void certificates_try(bool must, struct remote_answer *a);
void certificates_use(void);
SSL *certificates_new(void); // for a connection; NULL: there are none
// The names that the client's certificate proves, each with a NUL behind it, at most `room` bytes.
// False: it has shown none.
bool certificates_names(const SSL *ssl, char *names, size_t room, size_t *n);

#endif
