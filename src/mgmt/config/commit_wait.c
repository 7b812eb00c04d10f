// SPDX-License-Identifier: BSD-3-Clause
// commit_wait.c - lets a commit wait until slow preparations are done
#include "config/commit_wait.h"

#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "config/feature_config.h"

static VEC(struct waiting {
    void (*fn)(void *ctx);
    void *ctx;
}) waiting;
static void (*when_empty)(void);

int commit_prepare(const struct model *from, const struct model *to, struct errors *e)
{
    int r = 0;

    for (unsigned i = 0; i < FEATURE_N && !r; i++)
        if (features[i]->config && features[i]->config->prepare)
            r = features[i]->config->prepare(from, to, e);
    return r;
}

void commit_abandon(void)
{
    for (unsigned i = 0; i < FEATURE_N; i++)
        if (features[i]->config && features[i]->config->abandon)
            features[i]->config->abandon();
}

void commit_wait_when_empty(void (*fn)(void))
{
    when_empty = fn;
}

void commit_wait(void (*fn)(void *ctx), void *ctx)
{
    *vec_push(&waiting) = (struct waiting){fn, ctx};
}

// In the order in which they came; each may wait again.
void commit_wait_end(void)
{
    size_t n = waiting.n;
    struct waiting *now = waiting.item;

    memset(&waiting, 0, sizeof waiting);
    for (size_t i = 0; i < n; i++)
        now[i].fn(now[i].ctx);
    free(now);
    if (!waiting.n && when_empty)
        when_empty();
}
