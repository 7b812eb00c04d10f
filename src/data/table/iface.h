// SPDX-License-Identifier: BSD-3-Clause
// iface.h - interfaces: of a port, a sub-interface with one or two VLAN tags (vport), an end of a
// metalink, or a tunnel
//
// An interface has a TAP, a virtual router and addresses. Written by control (iface_manager),
// except `mpls`, and `addr4`, `addr6` and `addr6_ll`, the sources of ICMP errors, which rib_manager
// writes; read by every forwarder. Ids start at 1 and are reused after a grace period.
#ifndef TABLE_IFACE_H
#define TABLE_IFACE_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/ip.h"
#include "table/counter.h"
#include "table/limits.h"

enum iface_kind { IFACE_NONE, IFACE_PORT, IFACE_VPORT, IFACE_METALINK, IFACE_TUNNEL };

// Admin up (the kernel's IFF_UP on the TAP) and carrier of the port; and a bit for each input check
// of the interface (forwarder/checks.c), for some checks one per family. All interfaces have
// IFACE_ACL_OUT while some interface has an output list or an output policer, because its packets
// may come in anywhere; also while some virtual router has programs at hook output. IFACE_POLICE:
// an input policer, or classes by priority. IFACE_PROGRAM: its virtual router has programs at hook
// ether or input. IFACE_OFFLOAD is struct port.offload of the interface's port.
//
// The first five are in `flags`, which every packet checks. The others are in `checks`, shifted,
// and are read only if IFACE_CHECKS is set, which means that the interface has one of them.
enum iface_flag {
    IFACE_UP = 1,
    IFACE_ACL_IN = 2,
    IFACE_ACL_OUT = 4,
    IFACE_OFFLOAD = 8,
    IFACE_CHECKS = 16,
    IFACE_URPF4 = 0x100,
    IFACE_URPF6 = 0x200,
    IFACE_REDIRECT = 0x400,
    IFACE_POLICE = 0x800,
    IFACE_PROGRAM = 0x1000
};
#define IFACE_FLAGS_BITS 5
#define IFACE_CHECKS_SHIFT 8
#define IFACE_FEATURES (IFACE_ACL_IN | IFACE_ACL_OUT | IFACE_OFFLOAD | IFACE_CHECKS)

// Accepted sources (RFC 3704): loose, any source with a route; strict, its best route leaves by the
// interface; feasible, any candidate route does.
enum iface_urpf {
    URPF_OFF,
    URPF_LOOSE,
    URPF_STRICT,
    URPF_FEASIBLE,
    URPF_MODE = 3,
    URPF_ALLOW_DEFAULT = 4
};

enum iface_police { // bits of iface.police; meters: table/policer.h
    IFACE_POLICE_IN = 1,
    IFACE_POLICE_OUT = 2,
    IFACE_PCP_CLASS = 4 // not a policer, but checked in the same place
};

enum iface_sample {
    IFACE_SAMPLE_SFLOW = 1,
    IFACE_SAMPLE_IPFIX = 2
}; // exporters that sample received packets

struct iface_policy {        // as configured; all zero = no policy
    uint8_t urpf[2];         // IPv4, IPv6: enum iface_urpf, with URPF_ALLOW_DEFAULT
    bool redirect;           // ICMP redirects to hosts that could send directly to the next hop
    bool directed_broadcast; // packets to the subnet's broadcast address leave as broadcast
    uint8_t sample;          // bits of enum iface_sample
    bool fast_reroute; // without carrier, packets to its gateways follow the default route
    // Class of received packets by the 802.1p priority of their VLAN tag: priority p has four bits
    // from bit 4 p on, IFACE_PCP_GIVEN and the class. 0: no classes.
    uint32_t pcp_class;
};
#define IFACE_PCP_GIVEN 8u

#define IFACE_TRIAL (IFACE_MAX - 2) // two entries, for trials (trial.h)
#define IFACE_MACS 32 // for macvlans on a TAP, per interface

struct iface {
    // reader: forwarder; for most packets only the first word (forwarder/lanes_priv.h)
    union {
        struct {
            uint16_t flags : IFACE_FLAGS_BITS; // enum iface_flag
            uint16_t vr : 16 - IFACE_FLAGS_BITS;
        };
        uint16_t flags_vr; // both, as stored
    };
    uint8_t mac[6];
    uint8_t kind;            // enum iface_kind
    uint8_t police;          // enum iface_police
    uint16_t id, port, vlan; // of the only or inner tag, 0 = untagged
    uint16_t mtu;            // bytes of layer 3
    uint8_t checks;          // enum iface_flag from IFACE_CHECKS_SHIFT on
    bool mpls;               // accepts packets with labels; rib_manager writes it
    struct iface_policy policy;
    uint16_t outer_vlan;      // of the outer tag, 0 = none
    uint16_t tpid_be;         // EtherType of the outer tag; with one tag 0x8100, untagged 0
    uint16_t acl_in, acl_out; // lists of table/acl.h, 0 = none
    // writer: rib_manager; network order, 0 = none; single words, or read only for ICMP errors
    ip4_t addr4;
    uint8_t addr6[16];    // a global address
    uint8_t addr6_ll[16]; // the link-local address
    // writer only: control
    char name[16];
    int ifindex; // of the TAP in the vr's namespace, 0 = no TAP yet
    bool admin_up;
    bool carrier; // of the port; rib_manager reads it
} __attribute__((aligned(64)));

_Static_assert(VR_MAX <= 1 << (16 - IFACE_FLAGS_BITS), "iface.vr");

int iface_table_init(void);
void iface_table_fini(void);
extern struct iface *iface_table; // [IFACE_MAX]
// The output list that all interfaces share, or 0 if they differ. If set, forwarders do not look at
// each packet's next hop.
extern uint16_t iface_acl_out_of_all;
extern bool iface_police_out;  // some interface has an output policer
extern bool iface_program_out; // some virtual router has a program at hook output

static inline struct iface *iface_get(uint16_t id)
{
    return &iface_table[id];
}

// Packs a MAC into one nonzero word.
static inline uint64_t iface_mac_word(const uint8_t mac[6])
{
    uint64_t w = 0;

    memcpy(&w, mac, 6);
    return w | 1ull << 63;
}

// Additional MACs of the interface, for macvlans on its TAP (VRRP's virtual router); checked only
// for frames to another MAC than its own. On plain pages, of which few are touched.
extern uint64_t (*iface_macs)[IFACE_MACS]; // [IFACE_MAX]; a 0 ends a row

static inline bool iface_has_mac(const struct iface *i, const uint8_t mac[6])
{
    uint64_t want = iface_mac_word(mac), w;

    for (unsigned k = 0;
         k < IFACE_MACS && (w = __atomic_load_n(&iface_macs[i->id][k], __ATOMIC_RELAXED)); k++)
        if (w == want)
            return true;
    return false;
}

// Counts a drop of a packet that came in by, or was to leave by, interface `id`. Id 0 counts for
// virtual router `default`.
static inline void iface_count_drop(struct counter_block *c, uint16_t id, enum drop_reason reason)
{
    c->drop[reason]++;
    c->iface[id].drop_packets++;
    c->vr_drop[iface_get(id)->vr][reason]++;
}

static inline const char *iface_kind_name(uint8_t kind)
{
    static const char *const name[] = {"none", "port", "vport", "metalink", "tunnel"};

    return name[kind];
}

static inline bool iface_is_up(const struct iface *i)
{
    return i->flags & IFACE_UP;
}

// All its flags; includes `checks` whether or not IFACE_CHECKS is set.
static inline unsigned iface_flags(const struct iface *i)
{
    return i->flags | (unsigned)__atomic_load_n(&i->checks, __ATOMIC_RELAXED) << IFACE_CHECKS_SHIFT;
}

// Sets the flags of `mask`. For the table's writer; in a running router use iface_set_flags.
static inline void iface_put_flags(struct iface *i, unsigned mask, unsigned flags)
{
    const unsigned first = (1u << IFACE_FLAGS_BITS) - 1;
    unsigned all = (iface_flags(i) & ~mask) | (flags & mask),
             checks = all >> IFACE_CHECKS_SHIFT & UINT8_MAX;

    all = (all & first & ~(unsigned)IFACE_CHECKS) | (checks ? IFACE_CHECKS : 0);
    __atomic_store_n(&i->checks, (uint8_t)checks, __ATOMIC_RELAXED);
    // Stored after the list, and after `checks`.
    __atomic_store_n(&i->flags_vr, (uint16_t)(all | (unsigned)i->vr << IFACE_FLAGS_BITS),
                     __ATOMIC_RELEASE);
}

// --- control ---
unsigned iface_id_end(void); // greater than all ids ever used, also of removed interfaces
// Iterates over existing interfaces; a following `else` would bind to it.
#define iface_each(i)                                                                              \
    for (struct iface *i = iface_get(1); i < iface_get(0) + iface_id_end(); i++)                   \
        if (i->kind != IFACE_NONE)
// NULL if absent; any manager may call it between mailbox calls.
struct iface *iface_find_name(const char *name);
struct iface *
iface_new(const char *name);      // free id with the name set, kind still NONE; NULL when full
void iface_free(struct iface *i); // the id becomes free after a grace period
uint32_t iface_changes(void);     // additions, removals, and moves to another virtual router
void iface_set_flags(struct iface *i, unsigned mask,
                     unsigned flags); // flags of `mask`; store their prerequisites first
void iface_set_vr(struct iface *i, uint16_t vr);
// At most IFACE_MACS; returns true if they changed.
bool iface_set_macs(struct iface *i, const uint64_t *mac, unsigned n);
// Input and output lists, 0 = none. A list may be freed a grace period after its last interface is
// unbound.
void iface_bind_acl(struct iface *i, uint16_t in, uint16_t out);

// The interface as it was (past.h): its name, kind, whether it was up. False: not known.
bool iface_was(uint16_t id, uint64_t at_ns, struct iface *was);

// Its policers, bits of enum iface_police; their meters must be ready.
void iface_bind_police(struct iface *i, uint8_t police);

// Has the virtual router programs at hooks ether or input, and at hook output? Applies to its
// present and future interfaces.
void iface_bind_program(uint16_t vr, bool in, bool out);

// --- rib_manager ---
void iface_set_mpls(uint16_t iface, bool on); // accepts packets with labels

// --- any manager ---
struct iface *iface_find_ifindex(uint16_t vr, int ifindex);

#endif
