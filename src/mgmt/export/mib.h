// SPDX-License-Identifier: BSD-3-Clause
// mib.h - what SNMP can ask: subtrees of objects, each with the variable at or behind a name
//
//     mib_if.c     IF-MIB (RFC 2863): all interfaces; ifIndex is the id in `show interface`
//     mib_ip.c     IP-MIB (RFC 4293): addresses, prefixes, neighbors of a virtual router
//     mib_route.c  IP-FORWARD-MIB (RFC 4292): routes in the FIB of a virtual router
//
// Interfaces are in the default context. Each virtual router's addresses, neighbors and routes are
// in the context of its name; those of `default` are in the default context.
// Control role.
#ifndef EXPORT_MIB_H
#define EXPORT_MIB_H

#include <stdbool.h>
#include <stdint.h>

#include "export/agentx.h"
#include "export/oid.h"

enum mib_found {
    MIB_FOUND,
    MIB_END,  // nothing there
    MIB_LATER // rib_manager has been asked: ask again when `ready` has been called
};

struct mib_question {
    uint16_t vr;
    bool interfaces; // the context has them
    void (*ready)(void *ctx);
    void *ctx;
};

struct mib {
    struct oid tree;
    bool per_vr; // in every context, not the default one alone
    // The first variable of the tree behind `from`, or at it when `include`.
    enum mib_found (*next)(const struct mib_question *q, const struct oid *from, bool include,
                           struct oid *name, struct value *v);
};

extern const struct mib mib_table[]; // in order of their names
extern const unsigned mib_n;

// Over all trees of the question's context.
enum mib_found mib_next(const struct mib_question *q, const struct oid *from, bool include,
                        struct oid *name, struct value *v);
bool mib_has_object(const struct mib_question *q, const struct oid *name); // is it in a tree?

// --- mib_if.c ---
enum mib_found mib_if_number(const struct mib_question *q, const struct oid *from, bool include,
                             struct oid *name, struct value *v);
enum mib_found mib_if_table(const struct mib_question *q, const struct oid *from, bool include,
                            struct oid *name, struct value *v);
enum mib_found mib_ifx_table(const struct mib_question *q, const struct oid *from, bool include,
                             struct oid *name, struct value *v);
enum mib_found mib_stack_table(const struct mib_question *q, const struct oid *from, bool include,
                               struct oid *name, struct value *v);
enum mib_found mib_if_changed(const struct mib_question *q, const struct oid *from, bool include,
                              struct oid *name, struct value *v);
// Looks at all interfaces; `told(ctx, id, up)` of each whose operational status is another one than
// the last time. `told` may be NULL.
void mib_if_look(void (*told)(void *ctx, uint16_t id, bool up), void *ctx);
uint32_t
mib_uptime_ticks(void); // hundredths of a second since kamueed began to serve SNMP, modulo 2^32
struct value mib_if_status(uint16_t id, bool admin); // ifAdminStatus, ifOperStatus

// --- mib_ip.c ---
enum mib_found mib_prefix_table(const struct mib_question *q, const struct oid *from, bool include,
                                struct oid *name, struct value *v);
enum mib_found mib_address_table(const struct mib_question *q, const struct oid *from, bool include,
                                 struct oid *name, struct value *v);
enum mib_found mib_neighbor_table(const struct mib_question *q, const struct oid *from,
                                  bool include, struct oid *name, struct value *v);
void mib_ip_forget(void); // no `ready` comes afterwards

// --- mib_route.c ---
enum mib_found mib_route_number(const struct mib_question *q, const struct oid *from, bool include,
                                struct oid *name, struct value *v);
enum mib_found mib_route_table(const struct mib_question *q, const struct oid *from, bool include,
                               struct oid *name, struct value *v);
void mib_route_forget(void); // cancels what rib_manager was asked; no `ready` comes afterwards

// --- for trees ---
struct value value_integer(int32_t n);
struct value value_unsigned(enum value_type type, uint64_t n);
struct value value_string(const void *s, unsigned n);
// Where `from` is in a table whose rows are named TREE.1.column.key…, of which columns from `first`
// on can be read. False: behind all of it.
struct mib_place {
    uint32_t column;
    const uint32_t *key; // of n numbers, in `from`
    unsigned n;
};
bool mib_place_of(const struct oid *tree, const struct oid *from, uint32_t first,
                  struct mib_place *p);
void mib_place_name(const struct oid *tree, uint32_t column, const uint32_t *key, unsigned n,
                    struct oid *name);
// A scalar: its one instance is tree.0.
enum mib_found mib_scalar(const struct oid *tree, const struct oid *from, bool include,
                          struct oid *name);

#endif
