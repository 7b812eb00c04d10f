// SPDX-License-Identifier: BSD-3-Clause
// program_check.c - see program_check.h
#include "program_check.h"

#include <string.h>

#include "base/log.h"
#include "program_generate.h"
#include "program_interpret.h"

static uint64_t answer(void *host, uint64_t kind, uint64_t a, uint64_t b)
{
    uint64_t *calls = host, v = (a ^ b << 7 ^ kind << 60) * 0x9e3779b97f4a7c15u;

    *calls = (*calls + v) * 31;
    return v >> (v & 63);
}

static uint64_t get_answer(void *host, uint32_t table, uint64_t key)
{
    return answer(host, 1, table, key);
}

static int32_t put_answer(void *host, uint32_t table, uint64_t key, uint64_t value)
{
    return answer(host, 2, table ^ key, value) & 1 ? 0 : -1;
}

static void prefetch_answer(void *host, uint32_t table, uint64_t key)
{
    answer(host, 4, table, key);
}

static void log_answer(void *host, uint32_t number, uint64_t value)
{
    answer(host, 3, number, value);
}

struct program_host program_check_host(uint64_t *calls)
{
    static const uint64_t values[9] = {1, 0, 7, 1u << 20, UINT64_MAX, 3, 65536, 2, 255};

    return (struct program_host){.host = calls,
                                 .get = get_answer,
                                 .put = put_answer,
                                 .prefetch = prefetch_answer,
                                 .log = log_answer,
                                 .array[1] = {values, 9}};
}

void program_check_fill(struct kamuee_packet *p, uint64_t *random)
{
    for (size_t i = 0; i < sizeof *p; i += 8) {
        *random = *random * 6364136223846793005u + 1442695040888963407u;
        uint64_t v = *random >> 60 < 4 ? *random >> 33 & 1 : *random >> 8;
        memcpy((uint8_t *)p + i, &v, 8);
    }
}

static void interpret(const struct wasm_module *m, uint64_t seed, unsigned packets)
{
    static struct interpreter t;
    uint64_t calls = 0;
    struct program_host host = program_check_host(&calls);
    uint32_t verdict;

    bug_on(!interpret_begin(&t, m, &host, GENERATE_COUNTERS, GENERATE_TABLES));
    for (unsigned i = 0; i < packets; i++) {
        uint32_t p = PROGRAM_SLOTS_AT + i % PROGRAM_SLOTS * (uint32_t)sizeof(struct kamuee_packet);
        program_check_fill((struct kamuee_packet *)&t.memory[p], &seed);
        interpret_packet(&t, p, &verdict);
    }
    interpret_end(&t);
}

// Written and read again it is the same program.
static void check_again(const struct wasm_module *m)
{
    static struct wasm_module again;
    struct wasm_refusal why;
    struct text t = {0};

    wasm_write(m, false, &t);
    bug_on(wasm_read(&again, (const uint8_t *)t.s, t.n, PROGRAM_SLOTS_AT, &why));
    bug_on(wasm_check(&again, &why));
    bug_on(again.n_ops != m->n_ops || again.n_functions != m->n_functions ||
           again.packet != m->packet || again.prepare != m->prepare ||
           again.n_targets != m->n_targets || again.n_segments != m->n_segments ||
           again.n_globals != m->n_globals);
    for (unsigned i = 0; i < m->n_functions; i++)
        bug_on(again.function[i].cost != m->function[i].cost ||
               again.function[i].loops != m->function[i].loops);
    text_free(&t);
}

bool program_check(const uint8_t *bytes, size_t size, uint64_t seed, unsigned packets)
{
    static struct wasm_module m;
    struct wasm_refusal why = {{0}};

    if (wasm_read(&m, bytes, size, PROGRAM_SLOTS_AT, &why) || wasm_check(&m, &why)) {
        bug_on(!*why.text || !memchr(why.text, 0, sizeof why.text));
        return false;
    }
    bug_on(wasm_cost(&m) > WASM_COST_MAX);
    check_again(&m);
    interpret(&m, seed, packets);
    return true;
}
