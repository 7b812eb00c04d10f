// SPDX-License-Identifier: BSD-3-Clause
// native.c - an example program as plain C without a sandbox, for comparison
//
// `kamuee bench program` builds it with -DEXAMPLE=…, the program's source, and -DDECLARED=…, its
// declaration. The program is included as for the operator's target.
#include <stddef.h>
#include <stdint.h>

#pragma GCC visibility push(hidden) // so that calls may be inlined

// Functions that the program calls.
#define kamuee_count native_count
#define kamuee_get native_get
#define kamuee_put native_put
#define kamuee_prefetch native_prefetch
#define kamuee_log native_log
#define __bpf__ 1
#include EXAMPLE
#undef __bpf__
#include "program/object.h"

struct instance {
    struct kamuee_packet slot[PROGRAM_SLOTS];
    uint64_t counter[KAMUEE_COUNTERS];
    struct program_host host;
};

#pragma weak prepare
static struct instance *now;

void native_count(uint32_t counter, uint64_t add)
{
    now->counter[counter] += add;
}

uint64_t native_get(uint32_t table, uint64_t key)
{
    const struct program_array *a = &now->host.array[table];

    if (a->value)
        return key < a->entries ? a->value[key] : UINT64_MAX;
    return now->host.get(now->host.host, table, key);
}

int32_t native_put(uint32_t table, uint64_t key, uint64_t value)
{
    return now->host.put(now->host.host, table, key, value);
}

void native_prefetch(uint32_t table, uint64_t key)
{
    now->host.prefetch(now->host.host, table, key);
}

void native_log(uint32_t number, uint64_t value)
{
}

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
                                              .declared = DECLARED,
                                              .start = start,
                                              .stop = stop,
                                              .slots = slots,
                                              .counters = counters,
                                              .run = run};
