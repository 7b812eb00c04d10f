// SPDX-License-Identifier: BSD-3-Clause
// api.h - the configured management interface: users, tokens, the proxy's socket
//
// Control role.
#ifndef HTTP_API_H
#define HTTP_API_H

#include "http/access.h"

struct api_config { // zero-filled behind the end of texts and lists: compared as memory
    struct access_config access;
    char proxy[33]; // user of the proxy process; "" = no proxy
};

// All or nothing: 0, or -errno with a sentence.
int api_set(const struct api_config *c, char *err, size_t err_size);
void api_fini(void); // as at the start; the listeners stop with http_fini
int api_renew(char *err, size_t err_size); // reads the tokens of the current configuration again

#endif
