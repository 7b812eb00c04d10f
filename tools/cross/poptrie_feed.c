// SPDX-License-Identifier: BSD-3-Clause
// poptrie_feed.c - the fuzzer's harness without a fuzzer: random bytes, on whatever CPU this was
// compiled for
//
// src/data/poptrie/poptrie_fuzz.c turns bytes into additions, withdrawals, loads and
// lookups, compares every answer with the naive model, and aborts where they
// differ. cmocka does not exist for a foreign CPU without a foreign system; this
// needs the C library alone.
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/hash.h"
#include "poptrie/poptrie.h"

#define BYTES 4096

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int main(int argc, char **argv)
{
    unsigned runs = argc > 1 ? (unsigned)atoi(argv[1]) : 100;
    static uint64_t data[BYTES / 8];
    uint64_t number = 0;

    for (unsigned bits = 32; bits <= 128;
         bits += 96) { // the harness takes "no memory" for an answer; here it is none
        struct poptrie *t =
            poptrie_new(&(struct poptrie_config){.key_bits = bits, .max_bytes = 1 << 20});
        if (!t) {
            perror("poptrie_feed: no table");
            return 1;
        }
        poptrie_free(t);
    }
    for (unsigned i = 0; i < runs; i++) {
        for (unsigned k = 0; k < BYTES / 8; k++)
            data[k] = hash_mix64(++number);
        LLVMFuzzerTestOneInput((const uint8_t *)data, BYTES - i % 64);
    }
    printf("poptrie_feed: %u runs equal the model, kernel %s\n", runs, poptrie_kernel_name());
    return 0;
}
