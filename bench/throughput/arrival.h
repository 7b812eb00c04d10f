// SPDX-License-Identifier: BSD-3-Clause
// arrival.h - which of the numbered packets came, how often, and in which order
//
// One bit per packet in a window of the last 131,072 numbers. A number that
// leaves the window without its bit is lost, and is counted in the slice of the
// trial in which it was sent; a bit that is set already is a duplicate; a number
// below the highest seen so far is reordered (RFC 4737, 3: Type-P-Reordered). A packet so
// late that it is behind the window counts as lost and as `late`. Constant
// cost: the window moves by 64 numbers at a time. One thread.
#ifndef BENCH_THROUGHPUT_ARRIVAL_H
#define BENCH_THROUGHPUT_ARRIVAL_H

#include <stdbool.h>
#include <stdint.h>

#define ARRIVAL_WINDOW (1u << 17) // packets
#define ARRIVAL_WORDS (ARRIVAL_WINDOW / 64)

// Equal parts of a trial's time. The sender writes `first`, `refused` and `n`, arrival `lost`.
struct slices {
    uint64_t *first;   // number of the first packet sent in the slice
    uint64_t *refused; // packets the port did not take in it
    uint64_t *lost;    // packets sent in it that never came
    uint32_t n, cap; // begun, room for; what is sent later counts in the last one
    uint32_t at;     // of the number retired last
};

struct arrival {
    uint64_t next; // the highest number seen plus one
    uint64_t word; // the window's first number / 64
    uint64_t received, lost, duplicated, reordered, late;
    struct slices *slices;
    uint64_t bit[ARRIVAL_WORDS];
};

void arrival_begin(struct arrival *a, struct slices *slices);
// The full number of which a packet carries the low 32 bits.
static inline uint64_t arrival_number(const struct arrival *a, uint32_t low)
{
    return a->next + (uint64_t)(int64_t)(int32_t)(low - (uint32_t)a->next);
}
bool arrival_note(struct arrival *a,
                  uint64_t number); // is it the first of this number, and in time?
// Packets 0 to sent - 1 were sent, and no more come: what is missing in the window is lost.
void arrival_end(struct arrival *a, uint64_t sent);

#endif
