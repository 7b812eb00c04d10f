// SPDX-License-Identifier: BSD-3-Clause
// rib_length.c - answers control: length of the prefix that routes an address
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/mailbox.h"
#include "core/manager.h"
#include "rib/rib_manager.h"
#include "rib/vr.h"

struct lengths {
    struct rib_length *ask;
    unsigned n;
    void (*done)(void *ctx);
    void *ctx;
};

static void find_length(struct rib_length *a)
{
    struct rib_vr *v = a->addr.family ? rib_vr_find(a->vr) : NULL;

    a->len = 0;
    if (!v)
        return;
    struct prefix host = rib_host(&a->addr);
    struct rib *r = rib_of(v, host.family);
    uint32_t node = rib_longest(v, r, &host);
    if (node)
        a->len = rib_trie_at(&r->trie, node)->len;
}

static void answer_lengths(void *arg)
{
    struct lengths *l = arg;

    l->done(l->ctx);
    free(l);
}

static void find_lengths(void *arg)
{
    struct lengths *l = arg;

    for (unsigned i = 0; i < l->n; i++)
        find_length(&l->ask[i]);
    manager_reply(answer_lengths, l);
}

int rib_manager_lengths(struct rib_length *ask, unsigned n, void (*done)(void *ctx), void *ctx)
{
    struct lengths l = {ask, n, done, ctx};

    return manager_ask(ROLE_RIB_MANAGER, find_lengths, &l, sizeof l);
}
