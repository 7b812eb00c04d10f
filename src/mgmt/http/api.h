// SPDX-License-Identifier: BSD-3-Clause
// api.h - the management interface as it is configured: listeners, certificates, who may do what
//
// Control role.
#ifndef HTTP_API_H
#define HTTP_API_H

#include "http/access.h"
#include "http/http_listen.h"
#include "http/http_tls.h"

struct api_config { // all zero behind the end of texts and lists: compared as memory
    struct access_config access;
    struct tls_files tls;
    struct http_listen listen[HTTP_LISTEN_MAX];
    unsigned n_listen;
};

struct http;
void api_init(void (*answer)(struct http *h)); // who answers, on every listener
// All or nothing: 0, or -errno with a sentence.
int api_set(const struct api_config *c, char *err, size_t err_size);
void api_fini(void); // as at the start; the listeners stop with http_fini
// Reads certificates, keys and tokens again, of the configuration that is in force.
int api_renew(char *err, size_t err_size);

#endif
