// SPDX-License-Identifier: BSD-3-Clause
// mailbox.h - what a forwarder and a device write to each other, in memory that both see
//
// A mailbox has GPU_SLOTS places for batches, used in turn. Batch number b (1, 2 ...) lies in place
// (b - 1) % GPU_SLOTS:
//
//     host    writes keys, which table, n, family, tables; then request = b
//     device  reads them; writes the values; then answer = b
//     host    reads the values; may use the place again
//
// Each side writes its number last and reads the other's first, so no lock is needed. A device
// serves all places in turn until `stop` (persistent), or one that a launch names.
//
// Compiled as C and as OpenCL C, as lookup.h.
#ifndef GPU_MAILBOX_H
#define GPU_MAILBOX_H

#include "gpu/lookup.h"

#define GPU_SLOTS 16u
#define GPU_BATCH_MAX 16384u
#define GPU_TABLES_MAX 1024u

struct gpu_slot {
    // the host's
    uint32_t request, n, family; // family 4 or 6
    uint32_t pad;
    uint64_t tables; // address of struct gpu_table[]: as of the request
    uint32_t host_pad[10];
    // the device's, in a cache line of its own
    uint32_t answer;
    uint32_t device_pad[15];
};

struct gpu_mailbox {
    uint32_t stop;  // the host's: a device that serves it ends
    uint32_t batch; // addresses that a place has room for
    uint32_t pad[14];
    struct gpu_slot slot[GPU_SLOTS];
    // Behind it for each place: keys (16 bytes each), which table (16 bits), values (16 bits).
};

#define GPU_KEY_BYTES 16u
#define GPU_PLACE_BYTES(batch) ((uint64_t)(batch) * (GPU_KEY_BYTES + 2 + 2))
#define GPU_MAILBOX_BYTES(batch) (sizeof(struct gpu_mailbox) + GPU_SLOTS * GPU_PLACE_BYTES(batch))

// IPv4 addresses are 4 bytes each, IPv6 ones 16, in network order.
static inline uint8_t *gpu_keys(struct gpu_mailbox *m, uint32_t place)
{
    return (uint8_t *)m + sizeof(*m) + place * GPU_PLACE_BYTES(m->batch);
}

static inline uint16_t *gpu_which(struct gpu_mailbox *m, uint32_t place)
{
    return (uint16_t *)(gpu_keys(m, place) + (uint64_t)m->batch * GPU_KEY_BYTES);
}

static inline uint16_t *gpu_values(struct gpu_mailbox *m, uint32_t place)
{
    return gpu_which(m, place) + m->batch;
}

// The device's work: address i of a batch.
static inline void gpu_serve_one(struct gpu_mailbox *m, uint32_t place, uint32_t i)
{
    const struct gpu_slot *s = &m->slot[place];
    const struct gpu_table *t = (const struct gpu_table *)s->tables + gpu_which(m, place)[i];
    const uint32_t *key = (const uint32_t *)gpu_keys(m, place);
    uint32_t value;

    if (s->family == 4) {
        value = gpu_find4(t, __builtin_bswap32(key[i]));
    } else {
        const uint64_t *halves = (const uint64_t *)key + 2 * i;
        value = gpu_find6(t, __builtin_bswap64(halves[0]), __builtin_bswap64(halves[1]));
    }
    gpu_values(m, place)[i] = (uint16_t)value;
}

#endif
