// SPDX-License-Identifier: BSD-3-Clause
// native.c - an example program as plain C without a sandbox, for comparison
//
// `kamuee bench program` builds it with -DEXAMPLE=…, the program's source. The declarations that
// kamuee/program.h has for WebAssembly only are here.
#include <stddef.h>
#include <stdint.h>

#pragma GCC visibility push(hidden) // so that calls may be inlined
#include "program/object.h"

struct instance {
    struct kamuee_packet slot[PROGRAM_SLOTS];
    uint64_t counter[KAMUEE_COUNTERS];
    struct program_host host;
};

static struct instance *now;

static void kamuee_count(uint32_t counter, uint64_t add)
{
    now->counter[counter] += add;
}

static uint64_t kamuee_get(uint32_t table, uint64_t key)
{
    const struct program_array *a = &now->host.array[table];

    if (a->value)
        return key < a->entries ? a->value[key] : UINT64_MAX;
    return now->host.get(now->host.host, table, key);
}

static int32_t kamuee_put(uint32_t table, uint64_t key, uint64_t value)
{
    return now->host.put(now->host.host, table, key, value);
}

static void kamuee_prefetch(uint32_t table, uint64_t key)
{
    now->host.prefetch(now->host.host, table, key);
}

#pragma weak prepare
void prepare(const struct kamuee_packet *p);

#define KAMUEE_DECLARE(text) static const char declared[] = text
#include EXAMPLE

static int start(void *memory, const struct program_host *host)
{
    ((struct instance *)memory)->host = *host;
    return 0;
}

static void stop(void *memory)
{
}

static struct kamuee_packet *slots(void *memory)
{
    return ((struct instance *)memory)->slot;
}

static uint64_t *counters(void *memory)
{
    return ((struct instance *)memory)->counter;
}

static unsigned run(void *memory, unsigned n, uint32_t *verdict)
{
    now = memory;
    for (unsigned i = 0; prepare && i < n; i++)
        prepare(&now->slot[i]);
    for (unsigned i = 0; i < n; i++)
        verdict[i] = packet(&now->slot[i]);
    return n;
}

#pragma GCC visibility pop

const struct program_object kamuee_program = {.abi = KAMUEE_PROGRAM_ABI,
                                              .instance_bytes = sizeof(struct instance),
                                              .declared = declared,
                                              .start = start,
                                              .stop = stop,
                                              .slots = slots,
                                              .counters = counters,
                                              .run = run};
