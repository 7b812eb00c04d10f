// SPDX-License-Identifier: BSD-3-Clause
// program_fixture.c - a packet program compiled from C, without the limits of a sandbox
//
// test_program.py builds it with -DBODY=…, the body of packet(), and -DDECLARED=….
#include <stddef.h>

#include "program/object.h"

#define TRAP UINT32_MAX

struct instance {
    struct kamuee_packet slot[PROGRAM_SLOTS];
    uint64_t counter[KAMUEE_COUNTERS];
    struct program_host host;
};

static struct instance *now;

__attribute__((unused)) static void count(unsigned counter, uint64_t add)
{
    now->counter[counter] += add;
}

__attribute__((unused)) static uint64_t get(unsigned table, uint64_t key)
{
    return now->host.get(now->host.host, table, key);
}

__attribute__((unused)) static int put(unsigned table, uint64_t key, uint64_t value)
{
    return now->host.put(now->host.host, table, key, value);
}

static uint32_t packet(struct kamuee_packet *p)
{
    BODY
}

static int start(void *memory, const struct program_host *host)
{
    ((struct instance *)memory)->host = *host;
    return 0;
}

static void stop(void *memory) {}

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
    now = memory; // one forwarder in these tests
    for (unsigned i = 0; i < n; i++)
        if ((verdict[i] = packet(&now->slot[i])) == TRAP)
            return i;
    return n;
}

#ifndef ABI
#define ABI KAMUEE_PROGRAM_ABI
#endif
const struct program_object kamuee_program = {.abi = ABI,
                                              .instance_bytes = sizeof(struct instance),
                                              .instructions = 1000,
                                              .declared = DECLARED,
                                              .source_hash = "0123",
                                              .start = start,
                                              .stop = stop,
                                              .slots = slots,
                                              .counters = counters,
                                              .run = run};
