// SPDX-License-Identifier: BSD-3-Clause
// program.c - packet programs of a virtual router (program/set.h, program/object.h)
//
//   in     packets of a burst; at hook output with the next hop that takes them
//   out    packets that continue, in the same order, perhaps with another class or other headers
//   exits  PROGRAM_DROP, PROGRAM_FAULT, PROGRAM_NO_WAY; punt; frames out of an interface
//
// A program sees copies: window and metadata of up to PROGRAM_SLOTS packets are written into its
// slots, it is called once for all of them, and then each verdict is applied. Nothing that it
// returns is trusted. It may write any byte of its slots at any time, so filled-in data is not read
// back (`readable` is kept here), and its changes are validated. Bytes of a slot after the packet's
// end are zero: no program sees another's packets.
//
// A verdict or change out of range, a trap, or too many instructions switch the program off on this
// forwarder from this packet on; its packets are then dropped or pass as configured. Harm that a
// program could do to others, whatever its packets look like:
//   - the EtherType of a VLAN tag would leave in another virtual router's network, one of flow
//     control or a slow protocol would stop the link: refused (frame_type_is_refused)
//   - a raised TTL would let a packet live forever: refused
//   - unwritten bytes in front of the packet would be another packet's: refused
// The IPv4 header checksum is recomputed here; addresses are checked like received ones.
//
// Packets of several virtual routers are processed by virtual router. One burst in PROGRAM_TIMED is
// timed.
#include "forwarder/program.h"

#include <rte_cycles.h>

#include "base/checksum.h"
#include "forwarder/checks.h"
#include "forwarder/drop.h"
#include "forwarder/exits.h"
#include "forwarder/packet.h"
#include "forwarder/watch.h"
#include "table/acl_target.h"
#include "table/packet_class.h"
#include "forwarder/forbidden.h"

#define INLINE static inline __attribute__((always_inline))

// --- applying verdicts --------------------------------------------------------------------------

static bool ip4_unicast(uint32_t host)
{
    return host >> 24 && host >> 24 != 127 && host < 0xe0000000u;
}

static bool ip6_unicast(const uint8_t *a)
{
    return a[0] != 0xff && (load64(a) || (load32(a + 8) || load32(a + 12) > RTE_BE32(1)));
}

// Are the bytes of the IP header unchanged that determine the packet's shape? With other values the
// earlier checks would no longer hold.
static bool ip_shape_is_kept(const uint8_t *was, const uint8_t *is, uint8_t family)
{
    if (family == IP4)
        return was[0] == is[0] && load16(was + 2) == load16(is + 2) && is[8] <= was[8] &&
               load16(was + 6) == load16(is + 6);
    return was[0] >> 4 == is[0] >> 4 && load16(was + 4) == load16(is + 4) && is[7] <= was[7];
}

static bool addresses_are_unicast(const uint8_t *ip, uint8_t family)
{
    return family == IP4 ? ip4_unicast(rte_be_to_cpu_32(load32(ip + 12))) &&
                               ip4_unicast(rte_be_to_cpu_32(load32(ip + 16)))
                         : ip6_unicast(ip + 8) && ip6_unicast(ip + 24);
}

// Reloads the burst's copies of header fields.
static void burst_reload(struct burst *b, unsigned i, bool out)
{
    uint8_t header[IP4_HDR];
    uint8_t *ip = b->ip[i];

    memcpy(&b->hop[i], ip + burst_hop_at(b), 4);
    memcpy(header, ip, sizeof header);
    if (!burst_ttl_is_final(b))
        ttl_lower(header, b->family);
    memcpy(&b->hop_out[i], header + burst_hop_at(b), 4);
    if (out)
        return;
    if (b->family == IP4)
        b->dst4[i] = load32(ip + 16);
    else
        memcpy(b->dst6[i], ip + 24, 16);
    b->decided.looked_up = false; // an access list may have looked up its old destination
}

// Replaces the first `changed` bytes of an IP packet by the program's.
static enum program_fault write_ip(struct burst *b, const struct passage *g, unsigned k,
                                   unsigned changed)
{
    const unsigned i = g->at[k], header = b->family == IP4 ? (b->ip[i][0] & 15) * 4u : IP6_HDR;
    const uint8_t *from = g->in->slot[k].data;
    uint8_t *ip = b->ip[i], is[KAMUEE_WINDOW];
    const bool addressed = changed > (b->family == IP4 ? 12 : 8) && b->kind != BURST_LOCAL;

    if (changed > g->readable[k])
        return PROGRAM_CHANGE;
    memcpy(is, ip, IP6_HDR <= g->readable[k] ? IP6_HDR : g->readable[k]);
    memcpy(is, from, changed);
    if (!ip_shape_is_kept(ip, is, b->family))
        return PROGRAM_CHANGE;
    if (addressed && !g->alone && !addresses_are_unicast(is, b->family))
        return PROGRAM_CHANGE;
    memcpy(ip, is, changed);
    if (b->family == IP4) {
        store16(ip + 10, 0);
        store16(ip + 10, checksum_finish(checksum_add(0, ip, header)));
    }
    burst_reload(b, i, g->p->hook == PROGRAM_OUTPUT);
    return PROGRAM_SOUND;
}

struct packet_change { // changes requested by a program
    uint16_t changed, type;
    int16_t adjust;
};

INLINE struct packet_change change_of(const struct kamuee_packet *s)
{
    return (struct packet_change){s->changed, s->ether_type, s->adjust};
}

static bool is_ip_type(uint16_t type)
{
    return type == 0x0800 || type == 0x86dd;
}

// Like write_ip, if the front moves or the EtherType changes: the frame gets an Ethernet header of
// 14 bytes.
static enum program_fault write_front(struct burst *b, const struct passage *g, unsigned k,
                                      const struct packet_change *c)
{
    const int room = RTE_MIN((int)g->readable[k] - c->adjust, (int)g->p->window);

    if (c->adjust < -64 || c->adjust > 64 || c->adjust > g->readable[k] || c->changed > room ||
        c->changed < -c->adjust || frame_type_is_refused(c->type))
        return PROGRAM_CHANGE;
    if (!frame_move(b, g->at[k], c->adjust, c->type))
        return PROGRAM_CHANGE;
    memcpy(b->ip[g->at[k]], g->in->slot[k].data, c->changed);
    return PROGRAM_SOUND;
}

// `leaves`: as a frame, by the verdict. *framed: the packet is a separate frame now.
static enum program_fault take_change(struct burst *b, const struct passage *g, unsigned k,
                                      bool leaves, bool *framed)
{
    const struct packet_change c = change_of(&g->in->slot[k]);
    const bool typed = !b->family, same = c.type == (b->family == IP4 ? 0x0800 : 0x86dd);

    *framed = typed || (leaves && (c.adjust || !same));
    if (*framed && !typed && is_ip_type(c.type))
        return PROGRAM_CHANGE;
    if (*framed)
        return write_front(b, g, k, &c);
    if (c.adjust || !same)
        return PROGRAM_CHANGE;
    return c.changed ? write_ip(b, g, k, c.changed) : PROGRAM_SOUND;
}

static void punt_packet(struct forwarder *f, struct burst *b, unsigned i)
{
    if (b->family)
        punt_ip(f, b->pkt[i], b->ip[i], b->iface[i], b->family);
    else
        punt(f, b->pkt[i], b->iface[i], PUNT_OTHER);
}

// Sends it to the next hop or interface. Returns false if it has stayed in the burst, and leaves
// later.
static bool send_packet(struct forwarder *f, struct burst *b, struct passage *g, unsigned k,
                        uint32_t verdict, bool framed)
{
    const unsigned i = g->at[k];
    const uint32_t argument = verdict >> 8;
    bool sent;

    if ((verdict & 0xff) == KAMUEE_REDIRECT)
        sent = frame_send_out(f, b, i, g->in, argument);
    else if (framed)
        sent = frame_send_to(f, b, i, g->p->next_hop[argument]);
    else if (!g->alone && b->kind == BURST_TRANSIT &&
             packet_redirect(f, b, i, g->p->next_hop[argument]))
        return false;
    else
        sent = false;
    if (!sent) {
        g->in->count.no_way++;
        packet_drop_of(f, b, i, DROP_PROGRAM_NO_WAY);
    }
    return true;
}

// Applies the verdict on packet k. Returns true if it has ended or left.
static bool do_verdict(struct forwarder *f, struct burst *b, struct passage *g, unsigned k,
                       bool framed, enum drop_reason *why)
{
    const uint32_t verdict = g->verdict[k], argument = verdict >> 8;
    const unsigned i = g->at[k];

    switch (verdict & 0xff) {
    case KAMUEE_CLASS:
        packet_class_set(b->pkt[i], argument);
        return false;
    case KAMUEE_MIRROR:
        watch_mirror(f, b, i, g->p->mirror);
        return false;
    case KAMUEE_DROP:
        g->in->count.reason[argument]++;
        if (why)
            *why = DROP_PROGRAM_DROP;
        else
            packet_drop_of(f, b, i, DROP_PROGRAM_DROP);
        return true;
    case KAMUEE_PUNT:
        punt_packet(f, b, i);
        return true;
    case KAMUEE_NEXT_HOP:
    case KAMUEE_REDIRECT:
        return send_packet(f, b, g, k, verdict, framed);
    default:
        return false;
    }
}

static void note_verdict(struct forwarder *f, const struct passage *g, uint32_t verdict,
                         enum program_fault fault)
{
    struct packet_trace_program *r = &f->record.program;

    if (likely(!f->record.on))
        return;
    memcpy(r->name, g->p->name, sizeof r->name);
    r->hook = g->p->hook;
    r->fault = (uint8_t)fault;
    r->action = (uint8_t)verdict;
    r->argument = verdict >> 8;
}

// Validates and applies the verdict on packet k. *gone: it has ended or left.
INLINE enum program_fault take_verdict(struct forwarder *f, struct burst *b, struct passage *g,
                                       unsigned k, bool *gone, enum drop_reason *why)
{
    const uint32_t verdict = g->verdict[k], action = verdict & 0xff;
    bool framed = false;

    *gone = false;
    if (unlikely(action >= KAMUEE_ACTIONS || verdict >> 8 >= g->p->arguments[action]))
        return PROGRAM_VERDICT;
    if (unlikely(action == KAMUEE_NEXT_HOP && !g->p->next_hop[verdict >> 8]))
        return PROGRAM_VERDICT;
    const bool leaves = action == KAMUEE_NEXT_HOP || action == KAMUEE_REDIRECT;
    const struct packet_change c = change_of(&g->in->slot[k]);
    if (c.changed || c.adjust || leaves || !b->family) {
        enum program_fault fault = take_change(b, g, k, leaves, &framed);
        if (unlikely(fault != PROGRAM_SOUND))
            return fault;
    }
    *gone = do_verdict(f, b, g, k, framed, why);
    return PROGRAM_SOUND;
}

// The program is off for packets from k on. Returns the mask of dropped packets.
static __rte_noinline uint64_t pass_off(struct forwarder *f, struct burst *b, struct passage *g,
                                        unsigned k, enum drop_reason *why)
{
    uint64_t gone = 0;

    g->in->count.fault_packets += g->n - k;
    note_verdict(f, g, 0, g->in->off);
    for (; k < g->n && g->p->fault_drops; k++) {
        gone |= 1ull << g->at[k];
        if (why)
            *why = DROP_PROGRAM_FAULT;
        else
            packet_drop_of(f, b, g->at[k], DROP_PROGRAM_FAULT);
    }
    return gone;
}

static __rte_noinline void switch_off(struct program_instance *in, enum program_fault fault)
{
    in->off = (uint8_t)fault;
    in->count.faults++;
}

_Static_assert(offsetof(struct kamuee_packet, adjust) ==
                   offsetof(struct kamuee_packet, changed) + 2,
               "verdicts_of");

// The usual case: no packet changes, and all have the same action.
struct verdicts {
    uint32_t changed;  // of any packet
    uint32_t any, all; // OR, AND of all
};

static struct verdicts verdicts_of(const struct passage *g, unsigned n)
{
    const struct kamuee_packet *s = g->in->slot;
    struct verdicts v = {0, 0, UINT32_MAX};

    for (unsigned k = 0; k < n; k++) {
        v.changed |= load32(&s[k].changed); // and adjust
        v.any |= g->verdict[k];
        v.all &= g->verdict[k];
    }
    return v;
}

// Handles the whole passage at once if all packets continue, or get a class, and none changes.
static bool take_alike(struct forwarder *f, const struct burst *b, const struct passage *g,
                       unsigned n)
{
    const struct verdicts v = verdicts_of(g, n);
    const unsigned first = g->at[0];

    if (v.changed || !b->family || !n)
        return false;
    if (!v.any) {
        g->in->count.verdict[KAMUEE_CONTINUE] += n;
    } else if (g->row && (v.any & 0xff) == KAMUEE_CLASS && (v.all & 0xff) == KAMUEE_CLASS &&
               v.any >> 8 < PACKET_CLASS_N) { // so each is below it
        for (unsigned k = 0; k < n; k++)
            packet_class_set(b->pkt[first + k], g->verdict[k] >> 8);
        g->in->count.verdict[KAMUEE_CLASS] += n;
    } else {
        return false;
    }
    note_verdict(f, g, g->verdict[0], PROGRAM_SOUND);
    return true;
}

// *done: number of verdicts, less after a fault. Returns the mask of packets that have ended or
// left.
static uint64_t take_verdicts(struct forwarder *f, struct burst *b, struct passage *g,
                              unsigned *done, enum drop_reason *why)
{
    uint64_t *const count = g->in->count.verdict;
    uint64_t gone = 0;
    uint32_t action = KAMUEE_CONTINUE, alike = 0;

    if (take_alike(f, b, g, *done))
        return 0;
    for (unsigned k = 0; k < *done; k++) {
        bool left;
        enum program_fault fault = take_verdict(f, b, g, k, &left, why);
        if (unlikely(fault != PROGRAM_SOUND)) {
            switch_off(g->in, fault);
            *done = k;
            break;
        }
        note_verdict(f, g, g->verdict[k], PROGRAM_SOUND);
        gone |= (uint64_t)left << g->at[k];
        if ((g->verdict[k] & 0xff) != action) { // a single addition for equal actions
            count[action] += alike;
            action = g->verdict[k] & 0xff;
            alike = 0;
        }
        alike++;
    }
    count[action] += alike;
    return gone;
}

static unsigned run_timed(struct program_instance *in, struct passage *g)
{
    uint64_t begun = rte_rdtsc();
    unsigned done = in->run(in->memory, g->n, g->verdict);

    in->count.timed_cycles += rte_rdtsc() - begun;
    in->count.timed_packets += g->n;
    in->until_timed = PROGRAM_TIMED - 1;
    return done;
}

// Passes g->n packets through g->p. Returns the mask of packets that have ended or left.
static uint64_t pass(struct forwarder *f, struct burst *b, struct passage *g, enum drop_reason *why)
{
    struct program_instance *in = g->in = &g->p->instance[f->index];
    unsigned done = 0;
    uint64_t gone = 0;

    in->count.packets += g->n;
    if (likely(!in->off)) {
        in->now = f->now;
        program_fill(f, b, g);
        if (unlikely(!in->until_timed))
            done = run_timed(in, g);
        else
            in->until_timed--, done = in->run(in->memory, g->n, g->verdict);
        if (unlikely(done < g->n))
            switch_off(in, PROGRAM_TRAP);
        gone = take_verdicts(f, b, g, &done, why);
    }
    return likely(done == g->n) ? gone : gone | pass_off(f, b, g, done, why);
}

// --- selecting packets and programs -------------------------------------------------------------

static const uint8_t places[BURST_MAX] = {
    0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21,
    22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43,
    44, 45, 46, 47, 48, 49, 50, 51, 52, 53, 54, 55, 56, 57, 58, 59, 60, 61, 62, 63};

static uint64_t first_packets(unsigned n)
{
    return n < 64 ? (1ull << n) - 1 : UINT64_MAX;
}

// Moves packets that the program sees, at most PROGRAM_SLOTS, from `left` to g.
static void gather(const struct burst *b, struct passage *g, uint64_t *left)
{
    const unsigned first = (unsigned)__builtin_ctzll(*left),
                   n = RTE_MIN((unsigned)__builtin_popcountll(*left), (unsigned)PROGRAM_SLOTS);

    if (likely(b->family && (*left >> first & first_packets(n)) == first_packets(n))) { // adjacent
        g->n = n;
        g->row = true;
        memcpy(g->at, places + RTE_MIN(first, (unsigned)(BURST_MAX - PROGRAM_SLOTS)),
               PROGRAM_SLOTS);
        for (unsigned k = 0; unlikely(first > BURST_MAX - PROGRAM_SLOTS) && k < n; k++)
            g->at[k] = (uint8_t)(first + k);
        *left &= ~(first_packets(n) << first);
        return;
    }
    g->row = false;
    for (g->n = 0; *left && g->n < PROGRAM_SLOTS; *left &= *left - 1) {
        unsigned i = (unsigned)__builtin_ctzll(*left);
        g->at[g->n] = (uint8_t)i;
        g->n += b->family || g->p->ether_type == load16_host(b->ip[i] - 2);
    }
}

// Mask of the packets redirected to a next hop after the first `before`.
static uint64_t redirected_since(const struct burst *b, unsigned before)
{
    uint64_t mask = 0;

    for (; before < b->decided.n_redirected; before++)
        mask |= 1ull << b->redirected[before].at;
    return mask;
}

// Passes the packets of mask `which`, all of the set's virtual router, through its programs in
// order. Returns the mask of packets that have ended or left.
static uint64_t run_set(struct forwarder *f, struct burst *b, const struct program_set *set,
                        uint64_t which, bool alone, enum drop_reason *why)
{
    struct passage g; // not cleared: its arrays are large
    uint64_t ended = 0;

    g.alone = alone;
    for (unsigned p = 0; p < set->n && which; p++) {
        uint64_t left = which, gone = 0;
        unsigned before = b->decided.n_redirected;

        g.p = set->program[p];
        while (left) {
            gather(b, &g, &left);
            if (g.n)
                gone |= pass(f, b, &g, why);
        }
        ended |= gone;
        which &= ~(gone | redirected_since(b, before));
    }
    return ended;
}

static uint16_t vr_of(const struct burst *b, unsigned i, bool out)
{
    return out ? iface_get(nexthop_word_iface(b->word[i]))->vr : b->vr[i];
}

// Runs the hook's programs of each packet's virtual router. Returns the mask of packets that have
// ended or left.
static uint64_t run_hook(struct forwarder *f, struct burst *b, enum program_hook hook)
{
    uint64_t left = UINT64_MAX >> (BURST_MAX - b->n), gone = 0;

    while (left) {
        const uint16_t vr = vr_of(b, (unsigned)__builtin_ctzll(left), hook == PROGRAM_OUTPUT);
        const struct program_set *set = program_set_of(vr, hook);
        uint64_t its = 0;
        if (likely(!b->mixed && hook != PROGRAM_OUTPUT))
            its = left;
        for (uint64_t rest = its ? 0 : left; rest; rest &= rest - 1) {
            unsigned i = (unsigned)__builtin_ctzll(rest);
            its |= (uint64_t)(vr_of(b, i, hook == PROGRAM_OUTPUT) == vr) << i;
        }
        left &= ~its;
        if (set)
            gone |= run_set(f, b, set, its, false, NULL);
    }
    return gone;
}

void program_run(struct forwarder *f, struct burst *b, enum program_hook hook)
{
    uint64_t gone = run_hook(f, b, hook);

    if (gone)
        burst_remove(b, gone);
}

bool program_in_one(struct forwarder *f, struct burst *b, unsigned i)
{
    for (enum program_hook hook = PROGRAM_ETHER; hook <= PROGRAM_INPUT; hook++) {
        const struct program_set *set = program_set_of(b->vr[i], hook);
        if (set && run_set(f, b, set, 1ull << i, true, NULL))
            return false;
    }
    return true;
}

enum drop_reason program_out_one(struct forwarder *f, struct burst *b, unsigned i, uint16_t iface)
{
    const struct program_set *set = program_set_of(iface_get(iface)->vr, PROGRAM_OUTPUT);
    enum drop_reason why = DROP_NONE;

    if (set)
        run_set(f, b, set, 1ull << i, true, &why);
    return why;
}

// --- frames of other EtherTypes ------------------------------------------------------------------

bool program_type_take(struct forwarder *f, struct rte_mbuf *m, uint16_t iface, uint8_t *type_at)
{
    const struct program_set *set = program_set_of(iface_get(iface)->vr, PROGRAM_ETHER_TYPE);

    for (unsigned p = 0; set && p < set->n; p++) {
        if (set->program[p]->ether_type != load16_host(type_at))
            continue;
        unsigned i = burst_add(&f->typed, m, type_at + 2, iface);
        f->typed.len[i] = (uint16_t)(m->pkt_len - packet_l2_len(m, type_at + 2));
        return true;
    }
    return false;
}
