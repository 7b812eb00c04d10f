// SPDX-License-Identifier: BSD-3-Clause
// set.c - the handle of an address set: its lifetime, its limits, memory that readers may still use
//
// A set has one half per family, made when needed. The IPv6 half is a Poptrie with its own epochs;
// ahead6 converts between these and the set's.
#include "acl/set_priv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define BYTES_EACH4 14u // per member, estimate: 12 in a blocklist of a million, 20 of random hosts
#define BYTES_FIXED4 (600u << 10)
#define BYTES_FILTER4 (512u << 10)

// --- life ---

struct acl_set *acl_set_new(size_t max_bytes)
{
    struct acl_set *s = calloc(1, sizeof *s);

    if (!s)
        return NULL;
    s->max_bytes = max_bytes;
    s->epoch = 1;
    return s;
}

void acl_set_free(struct acl_set *s)
{
    if (!s)
        return;
    acl_set_reclaim(s, s->epoch);
    set4_free(s->v4);
    poptrie_free(s->v6);
    free(s);
}

uint64_t acl_set_epoch(struct acl_set *s)
{
    if (s->v6)
        poptrie_epoch(s->v6);
    return s->epoch++;
}

void acl_set_reclaim(struct acl_set *s, uint64_t epoch)
{
    if (s->v4)
        set4_reclaim(s->v4, epoch);
    if (s->v6 && epoch > s->ahead6)
        poptrie_reclaim(s->v6, epoch - s->ahead6);
}

void acl_set_stats(const struct acl_set *s, struct acl_set_stats *out)
{
    *out = (struct acl_set_stats){.writer_bytes = sizeof *s};
    if (s->v4) {
        out->members[0] = s->v4->members;
        out->bytes = set4_bytes(s->v4);
        out->writer_bytes += set4_writer_bytes(s->v4);
    }
    if (s->v6) {
        struct poptrie_stats six;
        poptrie_usage(s->v6, &six);
        out->members[1] = six.routes;
        out->bytes += six.bytes_used;
        out->writer_bytes += six.writer_bytes;
    }
}

size_t acl_set_need(size_t n4, size_t n6)
{
    size_t need = sizeof(struct acl_set);

    if (n4)
        need += BYTES_FIXED4 + BYTES_EACH4 * n4 + (n4 > 30000 ? BYTES_FILTER4 : 0);
    return need + set6_need(NULL, n6);
}

// --- questions of the writer ---

bool acl_set_has(const struct acl_set *s, const struct prefix *p)
{
    if (p->family == IP4)
        return s->v4 && set4_has(s->v4, acl_prefix_addr4(p), p->len);
    return s->v6 && poptrie_get(s->v6, p->b, p->len) != POPTRIE_NONE;
}

struct walker {
    int (*fn)(void *ctx, const struct prefix *p);
    void *ctx;
};

static int walk4(void *ctx, uint32_t addr, unsigned len)
{
    const struct walker *w = ctx;
    struct prefix p = {.family = IP4, .len = (uint8_t)len};

    p.ip4 = __builtin_bswap32(addr);
    return w->fn(w->ctx, &p);
}

static int walk6(void *ctx, const uint8_t *key, unsigned len, uint32_t value)
{
    const struct walker *w = ctx;
    struct prefix p = {.family = IP6, .len = (uint8_t)len};

    memcpy(p.b, key, 16);
    return w->fn(w->ctx, &p);
}

int acl_set_walk(const struct acl_set *s, int (*fn)(void *ctx, const struct prefix *p), void *ctx)
{
    struct walker w = {fn, ctx};
    int rc = s->v4 ? set4_walk(s->v4, walk4, &w) : 0;

    return rc || !s->v6 ? rc : poptrie_walk(s->v6, walk6, &w);
}
