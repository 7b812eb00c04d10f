// SPDX-License-Identifier: BSD-3-Clause
// native.c - see native.h
#include "native.h"

static native_code *code;

static int start(void *memory, const struct program_host *host)
{
    ((struct native_instance *)memory)->host = *host;
    return 0;
}

static void stop(void *memory) {}

static struct kamuee_packet *slots(void *memory)
{
    return ((struct native_instance *)memory)->slot;
}

static uint64_t *counters(void *memory)
{
    return ((struct native_instance *)memory)->counter;
}

static unsigned run(void *memory, unsigned n, uint32_t *verdict)
{
    native_running = memory;
    for (unsigned i = 0; i < n; i++) {
        uint64_t v = code(&native_running->slot[i]);
        if (v == NATIVE_TRAPS)
            return i;
        verdict[i] = (uint32_t)v;
    }
    return n;
}

extern struct program_object kamuee_program;
struct program_object kamuee_program = {.abi = KAMUEE_PROGRAM_ABI,
                                        .instance_bytes = sizeof(struct native_instance),
                                        .start = start,
                                        .stop = stop,
                                        .slots = slots,
                                        .counters = counters,
                                        .run = run};

__attribute__((constructor)) static void take_next(void)
{
    kamuee_program.declared = native_next.declared;
    code = native_next.code;
}
