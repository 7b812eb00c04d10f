// SPDX-License-Identifier: BSD-3-Clause
// unwell.c - a fixed array of processes that do not work, by name (unwell.h)
#include "base/unwell.h"

#include <stdio.h>
#include <string.h>

#define PROCESSES_MAX 8

static struct unwell {
    char process[32]; // "": free
    char why[200];
} unwell[PROCESSES_MAX];

static struct unwell *place_of(const char *process)
{
    for (struct unwell *u = unwell; u < unwell + PROCESSES_MAX; u++)
        if (!strcmp(u->process, process))
            return u;
    return NULL;
}

void unwell_set(const char *process, const char *why)
{
    struct unwell *u = place_of(process);

    if (!u && why)
        u = place_of("");
    if (!u)
        return;
    snprintf(u->process, sizeof u->process, "%s", why ? process : "");
    snprintf(u->why, sizeof u->why, "%s", why ? why : "");
}

void unwell_each(void (*fn)(void *ctx, const char *process, const char *why), void *ctx)
{
    for (const struct unwell *u = unwell; u < unwell + PROCESSES_MAX; u++)
        if (u->process[0])
            fn(ctx, u->process, u->why);
}
