// SPDX-License-Identifier: BSD-3-Clause
// api.c - the management interface as it is configured: listeners, certificates, who may do what
//
// What can be refused comes first: files are read, addresses bound; then the rest follows at once.
#include "http/api.h"

#include <errno.h>

#include "core/thread.h"

static struct api_config in_force;
static bool any; // false: as at the start
static void (*answer)(struct http *h);

void api_init(void (*fn)(struct http *h))
{
    answer = fn;
}

static bool has_tls(const struct api_config *c)
{
    for (unsigned i = 0; i < c->n_listen; i++)
        if (c->listen[i].tls)
            return true;
    return false;
}

int api_set(const struct api_config *c, char *err, size_t err_size)
{
    char ignored[256];

    thread_must_be(ROLE_CONTROL);
    http_tls_drop();
    if (has_tls(c) && http_tls_try(&c->tls, !*c->access.tokens, err, err_size))
        return -EBADMSG;
    int r = access_set(&c->access, err, err_size);
    if (!r) {
        r = http_listen(c->listen, c->n_listen, answer, err, err_size);
        if (r)
            any ? (void)access_set(&in_force.access, ignored, sizeof ignored) : access_reset();
    }
    if (r) {
        http_tls_drop();
        return r;
    }
    http_tls_take();
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

    return c.n_listen ? api_set(&c, err, err_size) : 0;
}
