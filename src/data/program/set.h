// SPDX-License-Identifier: BSD-3-Clause
// set.h - the packet programs of a virtual router, as forwarders use them
//
// A set has the programs of one hook of one virtual router, in order. Control (program_manager) is
// the writer: it makes a new set, publishes it by one pointer, and frees the old one after a grace
// period, so replacing programs loses no packet. Forwarders load a set once a burst. A virtual
// router without programs at a hook has no set there.
//
// Each forwarder has its own instance: the sandbox's memory, packet slots, counters. The last
// instance is for dry runs (explain). Only its forwarder writes to an instance; others read its
// counters. A program that is off on one forwarder after a fault may run on the others.
#ifndef PROGRAM_SET_H
#define PROGRAM_SET_H

#include <stdbool.h>
#include <stdint.h>

#include "core/rcu.h"
#include "core/thread.h"
#include "program/declared.h"
#include "program/object.h"
#include "program/table.h"
#include "table/iface.h"
#include "table/limits.h"

#define PROGRAM_NAME_SIZE 32
#define PROGRAM_SET_MAX 8 // programs at one hook of a virtual router
#define PROGRAM_DRY FORWARDER_MAX
#define PROGRAM_INSTANCES (FORWARDER_MAX + 1)

enum program_hook {
    PROGRAM_ETHER_TYPE, // frames of an EtherType that is neither IPv4 nor IPv6
    PROGRAM_ETHER,      // IP packets behind ether_in
    PROGRAM_INPUT,      // the same, after all input checks
    PROGRAM_OUTPUT,     // forwarded packets, with their next hop
    PROGRAM_HOOKS
};
extern const char *const program_hook_name[PROGRAM_HOOKS]; // "ether-type"

enum program_fault { // of an instance
    PROGRAM_SOUND,
    PROGRAM_TRAP,    // it trapped, or took more instructions than allowed
    PROGRAM_VERDICT, // a verdict, or its argument, is out of range
    PROGRAM_CHANGE,  // a packet was changed where it must not be
    PROGRAM_FAULTS
};
extern const char *const program_fault_name[PROGRAM_FAULTS]; // "trap"

struct program_count {
    uint64_t packets;
    uint64_t timed_packets, timed_cycles; // of one burst in PROGRAM_TIMED
    uint64_t verdict[KAMUEE_ACTIONS];
    uint64_t reason[KAMUEE_REASONS]; // of verdict drop
    uint64_t faults, fault_packets;  // packets that met it switched off
    uint64_t no_way;                 // packets for a next hop or interface that could not take them
    uint64_t counter[KAMUEE_COUNTERS];
};
#define PROGRAM_TIMED 8

struct program_log { // last log message of a program
    uint64_t value;
    uint32_t number;
    uint32_t lines; // number of lines
};

struct program;

struct program_instance {                                         // of one forwarder
    unsigned (*run)(void *memory, unsigned n, uint32_t *verdict); // see struct program_object
    void *memory;
    struct kamuee_packet *slot; // [PROGRAM_SLOTS]
    const struct program *program;
    uint8_t off; // enum program_fault
    uint8_t until_timed;
    uint16_t iface;             // of the last redirect,
    uint32_t ifindex;           // to this index
    uint64_t now;               // TSC of the burst
    struct program_slot *found; // of the last `get` from a hash, with its table and key:
    uint32_t found_table;       // the same key is often put next
    uint64_t found_key;
    uint64_t log_after;
    struct program_log log;
    struct program_count count;
    const uint64_t *counters; // the program's own, [KAMUEE_COUNTERS]
} __attribute__((aligned(64)));

struct program {
    // constant while it is published
    char name[PROGRAM_NAME_SIZE];
    uint16_t vr;
    uint8_t hook; // enum program_hook
    bool fault_drops;
    uint16_t ether_type; // hook ether-type
    uint16_t window;
    uint8_t read_only;                   // bit t: only the operator fills table t
    bool hashed;                         // uses the packets' flow hash
    uint16_t mirror;                     // id of table/acl_target.h, 0 = none
    uint16_t next_hop[KAMUEE_NEXT_HOPS]; // the same ids for redirects, 0 = number not assigned
    uint32_t arguments[KAMUEE_ACTIONS];  // for each verdict: largest argument + 1
    struct program_table *table[KAMUEE_TABLES];
    struct program_instance *instance; // [PROGRAM_INSTANCES]
};

struct program_set {
    unsigned n;
    const struct program *program[PROGRAM_SET_MAX];
};

extern struct program_set **program_sets[PROGRAM_HOOKS]; // [VR_MAX]; see program_sets_init

extern uint64_t program_ns_per_cycle; // times 2^32; constant after program_sets_init

// --- control ---
int program_sets_init(void); // 0 or -ENOMEM
void program_sets_fini(void);
// Publishes a copy of `set` (n = 0: none). After its return nobody reads the old set. 0 or -ENOMEM.
int program_set_publish(uint16_t vr, enum program_hook hook, const struct program_set *set);

// --- functions that an instance may call, inside a run ---
// As in struct program_host, whose `host` is the instance.
uint64_t program_get(void *instance, uint32_t table, uint64_t key);
int32_t program_put(void *instance, uint32_t table, uint64_t key, uint64_t value);
void program_prefetch(void *instance, uint32_t table, uint64_t key);
void program_say(void *instance, uint32_t number, uint64_t value);

// --- reader: forwarder, inside a burst ---
static inline const struct program_set *program_set_of(uint16_t vr, enum program_hook hook)
{
    return program_sets[hook] ? rcu_load(&program_sets[hook][vr]) : NULL;
}

#endif
