// SPDX-License-Identifier: BSD-3-Clause
// mailbox.h - requests of a forwarder and answers of a device, in memory that both can access
//
// A mailbox has GPU_SLOTS places for batches, used in turn. Batch number b (1, 2 ...) uses place
// (b - 1) % GPU_SLOTS:
//
//     host    writes keys, table numbers, n, kind, at; then request = b
//     device  reads them; writes the answers; then answer = b
//     host    reads the answers; may reuse the place
//
// Each side writes its number last and reads the other's first, so no lock is needed. A device
// serves all places in turn until `stop`.
//
// Compiled as C and as OpenCL C, as lookup.h.
#ifndef GPU_MAILBOX_H
#define GPU_MAILBOX_H

#include "gpu/lookup.h"

#define GPU_SLOTS 16u
#define GPU_BATCH_MAX 16384u
#define GPU_TABLES_MAX 1024u

enum gpu_kind { GPU_FIND4, GPU_FIND6 };

struct gpu_slot {
    // written by the host
    uint32_t request, n, kind; // enum gpu_kind
    uint32_t pad;
    uint64_t at; // of struct gpu_table[], at the time of the request
    uint32_t host_pad[10];
    // written by the device, in a cache line of its own
    uint32_t answer;
    uint32_t device_pad[15];
};

struct gpu_mailbox {
    uint32_t stop;  // written by the host: ends a device that serves it
    uint32_t batch; // capacity of a place, in addresses
    uint32_t pad[14];
    struct gpu_slot slot[GPU_SLOTS];
    // Followed, for each place, by keys, values (16 bits each), table numbers (16 bits).
};

#define GPU_KEY_BYTES 16u // the longest
#define GPU_PLACE_BYTES(batch) (((uint64_t)(batch) * (GPU_KEY_BYTES + 2 + 2) + 63) / 64 * 64)
#define GPU_MAILBOX_BYTES(batch) (sizeof(struct gpu_mailbox) + GPU_SLOTS * GPU_PLACE_BYTES(batch))

// Keys are an array: addresses in network order.
static inline uint32_t gpu_key_bytes(uint32_t kind)
{
    return kind == GPU_FIND4 ? 4 : 16;
}

static inline uint8_t *gpu_keys(struct gpu_mailbox *m, uint32_t place)
{
    return (uint8_t *)m + sizeof(*m) + place * GPU_PLACE_BYTES(m->batch);
}

static inline uint16_t *gpu_values(struct gpu_mailbox *m, uint32_t place)
{
    return (uint16_t *)(gpu_keys(m, place) + (uint64_t)m->batch * GPU_KEY_BYTES);
}

static inline uint16_t *gpu_which(struct gpu_mailbox *m, uint32_t place)
{
    return gpu_values(m, place) + m->batch;
}

static inline uint32_t gpu_find_one(const struct gpu_table *t, const uint8_t *key, bool six)
{
    const uint64_t *halves = (const uint64_t *)key;

    return six ? gpu_find6(t, __builtin_bswap64(halves[0]), __builtin_bswap64(halves[1]))
               : gpu_find4(t, __builtin_bswap32(*(const uint32_t *)key));
}

// Work of the device: serves key i of a batch.
static inline void gpu_serve_one(struct gpu_mailbox *m, uint32_t place, uint32_t i)
{
    const struct gpu_slot *s = &m->slot[place];
    const uint8_t *key = gpu_keys(m, place) + (uint64_t)i * gpu_key_bytes(s->kind);
    const struct gpu_table *tables = (const struct gpu_table *)s->at;

    gpu_values(m, place)[i] =
        (uint16_t)gpu_find_one(&tables[gpu_which(m, place)[i]], key, s->kind == GPU_FIND6);
}

#endif
