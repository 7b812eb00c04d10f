// SPDX-License-Identifier: BSD-3-Clause
// kamuee/program.h - the interface of packet programs of a virtual router
//
// A program is one function, packet(). It is called for each packet at the program's hook, with the
// packet's first bytes and metadata, and returns a verdict. Its source is compiled to WebAssembly
// (clang --target=wasm32). docs/features/program.md describes the hooks and the limits. Installed;
// also included by kamueed and kamuee-program.
#ifndef KAMUEE_PROGRAM_H
#define KAMUEE_PROGRAM_H

#include <stdint.h>

#define KAMUEE_PROGRAM_ABI 1
#define KAMUEE_WINDOW 128 // bytes of data[]; a program that declares less is cheaper
#define KAMUEE_COUNTERS 32
#define KAMUEE_TABLES 8
#define KAMUEE_REASONS 16
#define KAMUEE_NEXT_HOPS 256

// A packet. The host fills it in; a program may change the fields marked (*).
struct kamuee_packet {
    uint64_t time;       // nanoseconds, monotonic; of the burst
    uint32_t length;     // bytes, from data[0] to the packet's end
    uint32_t interface;  // kernel's index of its TAP: receiving, or (hook output) sending interface
    uint32_t hash;       // flow hash, if `hash` is declared; hook ether-type: 0
    uint16_t ether_type; // (*) host order
    uint8_t family;      // 4, 6, or 0: neither
    uint8_t class;       // of the queue, 0 to 7
    uint16_t readable;   // valid bytes of data[]: min(length, the window)
    uint16_t changed;    // (*) data[0] to data[changed - 1] are written back; at most `readable`
    int16_t adjust;      // (*) bytes removed from the front first, at most 64; negative: added
    uint16_t reserved;
    uint8_t data[KAMUEE_WINDOW]; // (*) from the IP header on; hook ether-type: behind the EtherType
};

// Verdicts: the action in the low byte, its argument above. Any other word, or an argument out of
// range, is a fault of the program.
enum kamuee_action {
    KAMUEE_CONTINUE, // the next program, then normal forwarding
    KAMUEE_DROP,     // argument: a reason that the program declares
    KAMUEE_CLASS,    // argument: class 0 to 7; then as CONTINUE
    KAMUEE_NEXT_HOP, // argument: number of a next hop that the configuration assigns to the program
    KAMUEE_REDIRECT, // argument: kernel's index of an interface of its own virtual router
    KAMUEE_PUNT,     // to the control plane of its virtual router
    KAMUEE_MIRROR,   // also sends a copy to the configured mirror session; then as CONTINUE
    KAMUEE_ACTIONS
};
#define KAMUEE_VERDICT(action, argument) ((uint32_t)(action) | (uint32_t)(argument) << 8)

// --- for the program's source ---
#ifdef __wasm__

#define KAMUEE_IMPORT(name) __attribute__((import_module("kamuee"), import_name(#name))) extern

// Adds to counter number `counter` of the declared ones.
KAMUEE_IMPORT(count) void kamuee_count(uint32_t counter, uint64_t add);
// The value of `key` in table number `table`, or ~0 if there is none.
KAMUEE_IMPORT(get) uint64_t kamuee_get(uint32_t table, uint64_t key);
// Sets it. 0, or -1: the table is full, or only the operator may write it.
KAMUEE_IMPORT(put) int32_t kamuee_put(uint32_t table, uint64_t key, uint64_t value);
// Prefetches memory for kamuee_get and kamuee_put of that key; for prepare().
KAMUEE_IMPORT(prefetch) void kamuee_prefetch(uint32_t table, uint64_t key);
// Writes a line to the program's log: a number that its documentation explains. One line a second.
KAMUEE_IMPORT(log) void kamuee_log(uint32_t number, uint64_t value);

// Declarations, in the order of their numbers, as text that the build reads:
//     KAMUEE_DECLARE("window 64; counter seen; counter dropped; reason flood; "
//                    "table hash syn 1000000")
// `table hash NAME ENTRIES` or `table array NAME ENTRIES`, followed by `read-only` if only the
// operator fills it; `window BYTES`: 0, 64 or 128; `hash`: the program reads the field hash.
#define KAMUEE_DECLARE(text) __asm__(".section .custom_section.kamuee,\"\",@\n.ascii " #text "\n")

// Returns the verdict of a packet.
uint32_t packet(struct kamuee_packet *p);
// Optional: called for up to 32 packets of a burst before packet() is called for the first of them,
// so that their entries of a large table are fetched together. Without loops.
void prepare(const struct kamuee_packet *p);

#define KAMUEE_SWAP16(x) ((uint16_t)((uint16_t)(x) << 8 | (uint16_t)(x) >> 8))
#endif
#endif
