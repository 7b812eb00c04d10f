// SPDX-License-Identifier: BSD-3-Clause
// tables.h - tables of a program that runs off the router, with the same results as there
//
// A hash table has no key or value ~0 (putting ~0 removes the entry); array entries start with 0.
// Used by offline.c.
#ifndef COMPILER_TABLES_H
#define COMPILER_TABLES_H

#include <stdbool.h>
#include <stdint.h>

#include "program/declared.h"

#define TABLE_NOT_THERE (~UINT64_C(0))

struct table_entry {
    uint64_t key, value; // value TABLE_NOT_THERE: unused or removed
};

struct tables {
    const struct program_declared *declared;
    struct table_entry *entry[KAMUEE_TABLES]; // n_slots for a hash table, `entries` for an array
    uint32_t n_slots[KAMUEE_TABLES], used[KAMUEE_TABLES];
};

bool tables_make(struct tables *t, const struct program_declared *d);
void tables_free(struct tables *t);
uint64_t tables_get(const struct tables *t, uint32_t table, uint64_t key);
// Put by the program or by the operator; only the operator may fill read-only tables.
int32_t tables_put(struct tables *t, uint32_t table, uint64_t key, uint64_t value, bool operator);

#endif
