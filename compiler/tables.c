// SPDX-License-Identifier: BSD-3-Clause
// tables.c - see tables.h: open addressing, with twice as many slots as entries; a removed entry
// keeps its key in its slot, so that later entries of the probe sequence are still found
#include "compiler/tables.h"

#include <stdlib.h>

static uint32_t slots_for(const struct declared_table *d)
{
    uint32_t n = 4;

    if (d->array)
        return d->entries;
    while (n < 2 * d->entries)
        n *= 2;
    return n;
}

bool tables_make(struct tables *t, const struct program_declared *d)
{
    *t = (struct tables){.declared = d};
    for (unsigned i = 0; i < d->n_tables; i++) {
        t->n_slots[i] = slots_for(&d->table[i]);
        t->entry[i] = calloc(t->n_slots[i], sizeof *t->entry[i]);
        if (!t->entry[i])
            return false;
        for (uint32_t s = 0; !d->table[i].array && s < t->n_slots[i]; s++)
            t->entry[i][s] = (struct table_entry){TABLE_NOT_THERE, TABLE_NOT_THERE};
    }
    return true;
}

void tables_free(struct tables *t)
{
    for (unsigned i = 0; i < KAMUEE_TABLES; i++)
        free(t->entry[i]);
}

// The key's slot, or the free slot for it; NULL if there is none.
static struct table_entry *find_slot(const struct tables *t, uint32_t table, uint64_t key)
{
    uint32_t mask = t->n_slots[table] - 1;
    uint32_t at = (uint32_t)(key * 0x9e3779b97f4a7c15u >> 32);

    for (uint32_t i = 0; i <= mask; i++) {
        struct table_entry *e = &t->entry[table][(at + i) & mask];
        if (e->key == key || e->key == TABLE_NOT_THERE)
            return e;
    }
    return NULL;
}

uint64_t tables_get(const struct tables *t, uint32_t table, uint64_t key)
{
    if (t->declared->table[table].array)
        return key < t->n_slots[table] ? t->entry[table][key].value : TABLE_NOT_THERE;
    const struct table_entry *e = key == TABLE_NOT_THERE ? NULL : find_slot(t, table, key);
    return e && e->key == key ? e->value : TABLE_NOT_THERE;
}

static int32_t put_hash(struct tables *t, uint32_t table, uint64_t key, uint64_t value)
{
    struct table_entry *e = key == TABLE_NOT_THERE ? NULL : find_slot(t, table, key);
    bool was = e && e->value != TABLE_NOT_THERE, will = value != TABLE_NOT_THERE;

    if (!e || (!was && will && t->used[table] == t->declared->table[table].entries))
        return -1;
    t->used[table] += (uint32_t)will - (uint32_t)was;
    if (was || will)
        *e = (struct table_entry){key, value};
    return 0;
}

int32_t tables_put(struct tables *t, uint32_t table, uint64_t key, uint64_t value, bool operator)
{
    if (t->declared->table[table].read_only && !operator)
        return -1;
    if (!t->declared->table[table].array)
        return put_hash(t, table, key, value);
    if (key >= t->n_slots[table])
        return -1;
    t->entry[table][key].value = value;
    return 0;
}
