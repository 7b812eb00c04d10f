// SPDX-License-Identifier: BSD-3-Clause
// arrival.h - arrival of numbered packets: losses, duplicates and order
//
// One bit per packet in a window of the last 131,072 numbers. A number that leaves the window
// without its bit is lost, and counted in the slice of the trial in which it was sent; a bit that
// is already set is a duplicate; a number below the highest seen so far is reordered (RFC 4737, 3:
// Type-P-Reordered). A packet that arrives after its number has left the window counts as lost and
// as `late`. Constant cost: the window moves by 64 numbers at a time. One thread.
#ifndef BENCH_THROUGHPUT_ARRIVAL_H
#define BENCH_THROUGHPUT_ARRIVAL_H

#include <stdbool.h>
#include <stdint.h>

#define ARRIVAL_WINDOW (1u << 17) // packets
#define ARRIVAL_WORDS (ARRIVAL_WINDOW / 64)

// Equal parts of a trial's time. The sender writes `first`, `refused` and `n`, arrival `lost`.
struct slices {
    uint64_t *first;   // number of the first packet sent in the slice
    uint64_t *refused; // packets that the port refused in it
    uint64_t *lost;    // packets sent in it that never arrived
    uint32_t n, cap; // used, allocated; later packets count in the last slice
    uint32_t at;     // of the last number that left the window
};

struct arrival {
    uint64_t next; // highest number seen plus one
    uint64_t word; // first number of the window / 64
    uint64_t received, lost, duplicated, reordered, late;
    struct slices *slices;
    uint64_t bit[ARRIVAL_WORDS];
};

void arrival_begin(struct arrival *a, struct slices *slices);
// Full number of a packet, from its low 32 bits.
static inline uint64_t arrival_number(const struct arrival *a, uint32_t low)
{
    return a->next + (uint64_t)(int64_t)(int32_t)(low - (uint32_t)a->next);
}
bool arrival_note(struct arrival *a,
                  uint64_t number); // first arrival of this number, and in time
// Packets 0 to sent - 1 were sent and no more arrive: missing packets in the window are lost.
void arrival_end(struct arrival *a, uint64_t sent);

#endif
