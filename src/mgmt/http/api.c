// SPDX-License-Identifier: BSD-3-Clause
// api.c - the configured management interface: users, tokens, the proxy's socket
//
// Steps that can fail come first; then the rest takes effect at once.
#include "http/api.h"

#include "core/thread.h"
#include "http/http_listen.h"

static struct api_config in_force;
static bool any; // false: as at the start

int api_set(const struct api_config *c, char *err, size_t err_size)
{
    char ignored[256];

    thread_must_be(ROLE_CONTROL);
    int r = access_set(&c->access, err, err_size);
    if (r)
        return r;
    r = http_proxy(c->proxy, err, err_size);
    if (r) {
        any ? (void)access_set(&in_force.access, ignored, sizeof ignored) : access_reset();
        return r;
    }
    http_guard_socket();
    in_force = *c;
    any = true;
    return 0;
}

void api_fini(void)
{
    access_reset();
    in_force = (struct api_config){0};
    any = false;
}

int api_renew(char *err, size_t err_size)
{
    const struct api_config c = in_force;

    return any ? api_set(&c, err, err_size) : 0;
}
