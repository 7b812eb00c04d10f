// SPDX-License-Identifier: BSD-3-Clause
// set.c - publishes sets, and serves the calls of running programs: tables and the log (set.h)
//
// A new set is published before the interfaces' bits that lead to it, and the old one is freed
// after a grace period. A program usually reads an entry and then writes it, so program_get()
// remembers the slot and program_put() skips the second probe. A dry run changes no table.
#include "program/set.h"

#include <errno.h>
#include <rte_cycles.h>
#include <stdlib.h>

#include "base/clock.h"
#include "core/mem.h"

#define SETS_BYTES (VR_MAX * sizeof(struct program_set *))

struct program_set **program_sets[PROGRAM_HOOKS];
uint64_t program_ns_per_cycle;
const char *const program_hook_name[PROGRAM_HOOKS] = {"ether-type", "ether", "input", "output"};
const char *const program_fault_name[PROGRAM_FAULTS] = {"none", "trap", "verdict", "change"};

int program_sets_init(void)
{
    program_ns_per_cycle = (NS_PER_SECOND << 32) / rte_get_tsc_hz();
    for (unsigned h = 0; h < PROGRAM_HOOKS; h++) {
        struct program_set **sets = mem_map("program sets", SETS_BYTES);
        if (!sets) {
            program_sets_fini();
            return -ENOMEM;
        }
        rcu_publish(&program_sets[h], sets);
    }
    return 0;
}

void program_sets_fini(void)
{
    for (unsigned h = 0; h < PROGRAM_HOOKS; h++) {
        for (unsigned vr = 0; program_sets[h] && vr < VR_MAX; vr++)
            free(program_sets[h][vr]);
        mem_unmap(program_sets[h], SETS_BYTES);
        program_sets[h] = NULL;
    }
}

int program_set_publish(uint16_t vr, enum program_hook hook, const struct program_set *set)
{
    struct program_set *new = set->n ? malloc(sizeof *new) : NULL, *old;

    thread_must_be(ROLE_CONTROL);
    if (set->n && !new)
        return -ENOMEM;
    if (new)
        *new = *set;
    old = program_sets[hook][vr];
    rcu_publish(&program_sets[hook][vr], new);
    // After the set: a forwarder that sees the bit finds the set in this burst or the next.
    iface_bind_program(vr, program_sets[PROGRAM_ETHER][vr] || program_sets[PROGRAM_INPUT][vr],
                       program_sets[PROGRAM_OUTPUT][vr]);
    rcu_synchronize();
    free(old);
    return 0;
}

uint64_t program_get(void *instance, uint32_t table, uint64_t key)
{
    struct program_instance *i = instance;
    const struct program_table *t = table < KAMUEE_TABLES ? i->program->table[table] : NULL;

    if (!t || t->array)
        return t ? program_table_get(t, key) : PROGRAM_NOT_THERE;
    struct program_slot *s = program_table_slot(t, key);
    i->found = s;
    i->found_table = table;
    i->found_key = key;
    return s ? program_slot_value(s) : PROGRAM_NOT_THERE;
}

static bool is_found(const struct program_instance *i, uint32_t table, uint64_t key)
{
    return i->found && i->found_key == key && i->found_table == table &&
           program_slot_is_of(i->found, key);
}

int32_t program_put(void *instance, uint32_t table, uint64_t key, uint64_t value)
{
    struct program_instance *i = instance;
    struct program_table *t = table < KAMUEE_TABLES ? i->program->table[table] : NULL;

    if (!t || i->program->read_only >> table & 1)
        return -1;
    if (unlikely(i == &i->program->instance[PROGRAM_DRY]))
        return 0;
    if (!is_found(i, table, key))
        return program_table_put(t, key, value);
    program_slot_set(i->found, value);
    return 0;
}

void program_prefetch(void *instance, uint32_t table, uint64_t key)
{
    const struct program_instance *i = instance;
    const struct program_table *t = table < KAMUEE_TABLES ? i->program->table[table] : NULL;

    if (t)
        program_table_prefetch(t, key);
}

// One line per second and forwarder.
void program_say(void *instance, uint32_t number, uint64_t value)
{
    struct program_instance *i = instance;

    if (i->now < i->log_after)
        return;
    i->log_after = i->now + rte_get_tsc_hz();
    i->log = (struct program_log){value, number, i->log.lines + 1};
}
