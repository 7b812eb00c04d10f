// SPDX-License-Identifier: BSD-3-Clause
// seeds.h - one real frame of each kind that a router meets, made by code
//
// Inputs of mutation (mutate.h), and the corpus of the libFuzzer harness. Addresses belong to
// fuzz_router() (router.h). Made once, read only afterwards.
#ifndef FUZZ_SEEDS_H
#define FUZZ_SEEDS_H

#include "harness.h"

#define SEEDS_MAX 640u

struct seed {
    uint8_t port; // comes in by
    uint16_t n;
    const uint8_t *b;
};

// Makes them; the interfaces of fuzz_router() exist. How many.
unsigned seeds_make(void);
const struct seed *seed_get(unsigned i);

#endif
