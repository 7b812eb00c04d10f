// SPDX-License-Identifier: BSD-3-Clause
// mib.h - MIB subtrees and their rows
//
//     mib_if.c     IF-MIB (RFC 2863): interfaces of kamueed and of Linux in our namespace
//     mib_ip.c     IP-MIB (RFC 4293): addresses, prefixes, neighbors of a virtual router
//     mib_route.c  IP-FORWARD-MIB (RFC 4292): routes in the FIB of a virtual router
//
// mib.c registers the trees with the library and answers its requests: it finds a row by its key,
// the numbers after the column. Each virtual router has the context of its name, `default` the
// default context; interfaces are only in the default context.
#ifndef SNMP_MIB_H
#define SNMP_MIB_H

#include <net-snmp/net-snmp-config.h> // before the other two
#include <net-snmp/net-snmp-includes.h>
#include <net-snmp/agent/net-snmp-agent-includes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/ip.h"

// --- keys and rows -------------------------------------------------------------------------------

#define KEY_MAX 46
struct key {
    unsigned n;
    uint32_t id[KEY_MAX];
};
int key_compare(const struct key *a, const struct key *b);
static inline void key_add(struct key *k, uint32_t id) // ignored if the key is full
{
    if (k->n < KEY_MAX)
        k->id[k->n++] = id;
}
// Adds InetAddressType, length, bytes; with a `zone` (0 = none) as ipv6z (RFC 4001), which ends
// with the zone.
void key_add_address(struct key *k, const struct ip_addr *a, uint32_t zone);

// `rows` are `n` sorted rows of `size` bytes that begin with their key. Returns the first row after
// `key`, or at `key` if `include`; NULL if there is none.
const struct key *rows_behind(const void *rows, size_t n, size_t size, const struct key *key,
                              bool include);
const struct key *row_at(const void *rows, size_t n, size_t size, const struct key *key); // or NULL
int scalar_find(const struct key *key, bool include, const struct key **row); // its only row is 0
void rows_sort(void *rows, size_t *n, size_t size); // removes duplicate keys

// --- freshness -----------------------------------------------------------------------------------

// A reading is used for a second, or ten times as long as it took: a manager that polls without a
// pause never takes more than a tenth of kamueed's time.
struct fresh {
    uint64_t until_ns; // 0 = not read yet
};
bool fresh_is(const struct fresh *f);
void fresh_end(struct fresh *f, uint64_t begun_ns); // the reading began then

// --- trees ---------------------------------------------------------------------------------------

enum who_has { DEFAULT_CONTEXT, EACH_VR, OTHER_VRS }; // OTHER_VRS: all except `default`

struct mib_tree {
    const char *name;
    oid root[12]; // MIB_ROOT: `n` numbers, rest zero
    unsigned n;
    uint32_t columns; // bit N: column N is readable; 0: a scalar, whose instance is 0
    enum who_has who; // DEFAULT_CONTEXT unless given
    // Finds the first row of the virtual router after `key`, or at `key` if `include`; NULL if
    // there is none. 0, or -errno: not known now. NULL: the tree is empty.
    int (*find)(const char *vr, const struct key *key, bool include, const struct key **row);
    void (*value)(netsnmp_variable_list *v, const struct key *row, unsigned column);
    unsigned to; // the last root number covers all up to this one; 0: only itself
};

#define MIB_ROOT(...) .root = {__VA_ARGS__}, .n = sizeof((oid[]){__VA_ARGS__}) / sizeof(oid)

extern const struct mib_tree mib_if_trees[], mib_ip_trees[], mib_route_trees[]; // ended by {0}

void mib_keep(const char *vr);  // registers all trees of the virtual router, once
void mib_drop_others(void);     // unregisters routers without mib_keep() since the last call

// --- values --------------------------------------------------------------------------------------

void value_integer(netsnmp_variable_list *v, long n);
void value_unsigned(netsnmp_variable_list *v, u_char type, uint64_t n); // also ASN_COUNTER64
void value_bytes(netsnmp_variable_list *v, const void *s, size_t n);
void value_text(netsnmp_variable_list *v, const char *s, size_t max); // DisplayString (RFC 2579)

#endif
