// SPDX-License-Identifier: BSD-3-Clause
// table.h - tables of packet programs: values of 64-bit keys, shared by all forwarders
//
// Programs read and write them inside a burst; control fills and shows them. No locks, no waiting.
// An array has its values in place. A hash uses open addressing, with at most PROBES_MAX slots for
// a key:
//
//     a free slot's key changes once, by compare-and-swap; the loser of a race checks again, so
//     that two writers of one new key use the same slot
//     a key, and so its value, stays in its slot as long as the table exists
//     a value is one word, stored and loaded atomically: the later of two writers wins
//
// Values are stored as their complement, so that zeroed memory reads as "not there" (~0). A reader
// sees an old value, a new one or none, never a mixture. Read-modify-write (counting up) is not
// atomic: two forwarders that count one key may lose counts. A removed key keeps its slot. The load
// is at most one half. A key without a free slot within PROBES_MAX, or beyond `entries`, is
// refused. Key ~0 is never there. A secret determines the slots, so senders of packets cannot
// choose keys that collide.
#ifndef PROGRAM_TABLE_H
#define PROGRAM_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PROGRAM_NOT_THERE UINT64_MAX

struct program_slot {
    uint64_t key;   // + 1; 0: free
    uint64_t value; // complement
};

struct program_table {
    uint64_t secret, mask; // of a hash: slots - 1
    union {
        struct program_slot *slot;
        uint64_t *value;
    };
    uint32_t entries; // at most
    bool array;
    uint32_t taken __attribute__((aligned(64))); // keys of a hash that have a slot
    size_t bytes;
};

// --- control ---
// An empty one, or NULL.
struct program_table *program_table_new(const char *name, bool array, uint32_t entries);
void program_table_free(struct program_table *t); // no reader is left; NULL is fine
// Finds the next existing entry from *at on, 0 = the first; false: there is none.
bool program_table_next(const struct program_table *t, uint64_t *at, uint64_t *key,
                        uint64_t *value);

// --- any thread ---
// The key's slot in a hash, or NULL.
struct program_slot *program_table_slot(const struct program_table *t, uint64_t key);
// Checks that the slot still belongs to the key.
static inline bool program_slot_is_of(const struct program_slot *s, uint64_t key)
{
    return __atomic_load_n(&s->key, __ATOMIC_RELAXED) == key + 1;
}
static inline uint64_t program_slot_value(const struct program_slot *s)
{
    return ~__atomic_load_n(&s->value, __ATOMIC_RELAXED);
}
static inline void program_slot_set(struct program_slot *s, uint64_t value)
{
    __atomic_store_n(&s->value, ~value, __ATOMIC_RELAXED);
}
void program_table_prefetch(const struct program_table *t, uint64_t key);
// The value, or PROGRAM_NOT_THERE.
static inline uint64_t program_table_get(const struct program_table *t, uint64_t key)
{
    if (!t->array) {
        const struct program_slot *s = program_table_slot(t, key);
        return s ? program_slot_value(s) : PROGRAM_NOT_THERE;
    }
    return key < t->entries ? __atomic_load_n(&t->value[key], __ATOMIC_RELAXED) : PROGRAM_NOT_THERE;
}
// Value PROGRAM_NOT_THERE removes the key. 0, or -1: no room, or the array has no such entry.
int program_table_put(struct program_table *t, uint64_t key, uint64_t value);

#endif
