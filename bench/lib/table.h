// SPDX-License-Identifier: BSD-3-Clause
// table.h - route tables, and addresses to look up in them
#ifndef BENCH_LIB_TABLE_H
#define BENCH_LIB_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/bench.h"
#include "poptrie/poptrie.h"

#define N_ADDRESSES (1u << 22) // pre-generated, read in order

enum pattern { UNIFORM, PREFIX, ZIPF, SEQUENTIAL, N_PATTERNS };
extern const char *const pattern_name[N_PATTERNS];

struct table {
    const char *name;
    unsigned family;
    size_t n;
    struct poptrie_route *route; // room for 1 << 22
};

struct traffic {
    uint32_t *host;     // IPv4, in rte_fib's form
    uint32_t *net;      // the same in network byte order
    uint8_t (*ip6)[16]; // IPv6
    bool made;
};

// name: full (the file, or a generated table), ntt (full and 16,140 routes longer than /24), hosts
// (100,000 host routes), or a number of generated routes. -1 if unknown.
int table_make(struct table *t, const char *name, unsigned family, const char *path);
void table_add_longer(struct table *t, size_t n); // 25 .. 32 bits, inside /24s of an IPv4 table
void table_add(struct table *t, const uint8_t *key, unsigned len, uint32_t value);
void table_next_hops(struct table *t, unsigned n); // values 1..n
void traffic_make(const struct table *t, enum pattern p, struct traffic *a);
struct traffic traffic_new(void); // room for all addresses, allocated when touched

// Ranks 0..n-1, drawn by popularity 1 / (rank + 1).
struct zipf {
    unsigned n, *guide;
    double *sum;
};
struct zipf zipf_make(unsigned n);
unsigned zipf_rank(const struct zipf *z);
void zipf_free(struct zipf *z);

#endif
