// SPDX-License-Identifier: BSD-3-Clause
// bpf.c - see bpf.h
//
// A BPF function gets no context from its caller, so a thread-local variable holds the running
// instance.
#include "program/bpf.h"

#include <rte_bpf.h>

#include "program/set.h"

static _Thread_local struct program_bpf *running;

static void prepare(struct program_bpf *b, unsigned n)
{
    for (unsigned k = 0; k < n; k++)
        b->prepare_code ? b->prepare_code(&b->slot[k]) : rte_bpf_exec(b->prepare, &b->slot[k]);
}

static unsigned interpret(struct program_bpf *b, unsigned n, uint32_t *verdict)
{
    for (unsigned k = 0; k < n; k++)
        verdict[k] = (uint32_t)rte_bpf_exec(b->packet, &b->slot[k]);
    return n;
}

unsigned program_bpf_run(void *memory, unsigned n, uint32_t *verdict)
{
    struct program_bpf *b = memory;
    uint64_t (*const packet)(void *) = b->packet_code;

    running = b;
    if (b->prepare)
        prepare(b, n);
    if (!packet)
        return interpret(b, n, verdict);
    for (unsigned k = 0; k < n; k++)
        verdict[k] = (uint32_t)packet(&b->slot[k]);
    return n;
}

uint64_t program_bpf_count(uint64_t counter, uint64_t add, uint64_t c, uint64_t d, uint64_t e)
{
    if (counter < KAMUEE_COUNTERS)
        running->counter[counter] += add;
    return 0;
}

uint64_t program_bpf_get(uint64_t table, uint64_t key, uint64_t c, uint64_t d, uint64_t e)
{
    const struct program_array *a = table < KAMUEE_TABLES ? &running->array[table] : NULL;

    if (!a || !a->value)
        return program_get(running->instance, (uint32_t)table, key);
    return key < a->entries ? __atomic_load_n(&a->value[key], __ATOMIC_RELAXED) : PROGRAM_NOT_THERE;
}

uint64_t program_bpf_put(uint64_t table, uint64_t key, uint64_t value, uint64_t d, uint64_t e)
{
    return (uint64_t)program_put(running->instance, (uint32_t)table, key, value);
}

uint64_t program_bpf_prefetch(uint64_t table, uint64_t key, uint64_t c, uint64_t d, uint64_t e)
{
    program_prefetch(running->instance, (uint32_t)table, key);
    return 0;
}

uint64_t program_bpf_log(uint64_t number, uint64_t value, uint64_t c, uint64_t d, uint64_t e)
{
    program_say(running->instance, (uint32_t)number, value);
    return 0;
}
