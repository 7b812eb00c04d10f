// SPDX-License-Identifier: BSD-3-Clause
// packet_fuzz.c - any bytes as bursts of frames, through the whole forwarder
//
// Input: 4 bytes that choose the state of the router's switches, then frames: 6 bytes before each
//     0    bits 0-1 port, 2 tag stripped by the port, 3 checksum found good, 4 given the router's
//          MAC, 5 given a right IPv4 checksum (chance would seldom find these), 6 the burst ends
//          here, 7 big segments
//     1    size of the segments / 8
//     2    tag
//     3    byte that follows the data
//     4-5  its length, high byte first
// A frame shorter than its length is taken as it is. After each burst the ledger must be at 0 with
// nothing inside the router and no buffer missing; sanitizers watch the rest, and mbufs are
// poisoned outside their data (harness.h). libFuzzer's own mutations alternate with mutations of
// mutate.h, which know the headers. packet_storm --seeds DIR writes the first inputs.
#include <stdlib.h>

#include "mutate.h"
#include "router.h"
#include "seeds.h"

#define HEAD 4u
#define BEFORE 6u
#define FRAMES_MAX 64u

const char *__asan_default_options(void);
const char *__ubsan_default_options(void);
int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned int seed);
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max);

// The tables hang on mapped memory, where the leak checker does not look; missing buffers are found
// below.
const char *__asan_default_options(void)
{
    return "detect_leaks=0";
}

const char *__ubsan_default_options(void)
{
    return "halt_on_error=1:print_stacktrace=1";
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    if (unit_begin(NULL) || rig_setup(NULL))
        abort();
    fuzz_router();
    (void)seeds_make();
    return 0;
}

// The length of the frame behind `at`, which is within the input.
static unsigned frame_bytes(const uint8_t *data, size_t size, size_t at)
{
    size_t wanted = (size_t)data[at + 4] << 8 | data[at + 5], there = size - at - BEFORE;

    wanted = RTE_MIN(wanted, there);
    return (unsigned)RTE_MIN(wanted, (size_t)MUTATED_MAX);
}

static void send_one(const uint8_t *head, const uint8_t *bytes, unsigned n)
{
    static struct frame f;
    uint8_t from = head[0] & 3;

    f.n = n;
    memcpy(f.b, bytes, n);
    if (head[0] & 16 && n >= 6)
        memcpy(f.b, iface_get(port_get(from)->untagged ? port_get(from)->untagged : 1)->mac, 6);
    if (head[0] & 32 && n >= 34)
        ip4_fix_checksum(&f);
    fuzz_send(
        &(struct fuzz_arrival){.port = from,
                               .stripped = head[0] & 4,
                               .sum_good = head[0] & 8,
                               .tag = head[2],
                               .segment = head[0] & 128 ? 2048 : (uint16_t)(head[1] * 8u + 14),
                               .behind = head[3]},
        &f);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint32_t state;

    if (size < HEAD + BEFORE + 1)
        return 0;
    memcpy(&state, data, HEAD);
    fuzz_switch(state);
    unsigned sent = 0;
    for (size_t at = HEAD; at + BEFORE < size && sent < FRAMES_MAX; sent++) {
        unsigned n = frame_bytes(data, size, at);
        if (n)
            send_one(data + at, data + at + BEFORE, n);
        if (data[at] & 64)
            fuzz_settle(state);
        at += BEFORE + n;
    }
    fuzz_settle(state);
    return 0;
}

// One of the input's frames, changed by mutate(); or a seed appended.
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned int seed)
{
    static struct frame f;
    struct random r = {.state = seed * 2654435761u + 1};
    size_t at = HEAD;

    if (size < HEAD + BEFORE + 1 || random_below(&r, 3) == 0)
        return LLVMFuzzerMutate(data, size, max);
    for (unsigned skip = random_below(&r, 8); skip; skip--) {
        size_t next = at + BEFORE + frame_bytes(data, size, at);
        if (next + BEFORE >= size)
            break;
        at = next;
    }
    unsigned n = frame_bytes(data, size, at);
    if (!n)
        return LLVMFuzzerMutate(data, size, max);
    f.n = n;
    memcpy(f.b, data + at + BEFORE, n);
    mutate(&r, &f, 1 + random_below(&r, 3));
    size_t rest = size - at - BEFORE - n;
    if (at + BEFORE + f.n + rest > max)
        return LLVMFuzzerMutate(data, size, max);
    memmove(data + at + BEFORE + f.n, data + at + BEFORE + n, rest);
    memcpy(data + at + BEFORE, f.b, f.n);
    data[at + 4] = (uint8_t)(f.n >> 8);
    data[at + 5] = (uint8_t)f.n;
    return at + BEFORE + f.n + rest;
}
