// SPDX-License-Identifier: BSD-3-Clause
// program_fill.c - copies packets of a burst into the slots of a packet program (program.c)
//
// A slot has the packet's first bytes, followed by zeros, and its metadata. The program may write
// any byte of its slots at any time, so filled-in data is not read back.
//
// The vector code of lanes.h, if available, fills the usual bursts (begin_alike).
#include "forwarder/program.h"

#include "forwarder/checks.h"
#include "forwarder/lookup.h"
#include "table/packet_class.h"
#include "forwarder/forbidden.h"

#define INLINE static inline __attribute__((always_inline))

// --- the packets' bytes --------------------------------------------------------------------------

typedef uint8_t lane __attribute__((vector_size(16), aligned(1), may_alias));

static const uint8_t keep[2 * KAMUEE_WINDOW] = {[0 ... KAMUEE_WINDOW - 1] = 0xff};

// Copies the first `readable` bytes, followed by zeros. Reads up to `window` bytes of the buffer.
INLINE void copy_masked(uint8_t *to, const uint8_t *ip, unsigned readable, unsigned window)
{
    const uint8_t *mask = keep + KAMUEE_WINDOW - readable;

    __asm__("" : "+r"(mask)); // computed once, not for each lane
    for (unsigned at = 0; at < window; at += sizeof(lane))
        *(lane *)(to + at) = *(const lane *)(ip + at) & *(const lane *)(mask + at);
}

INLINE void copy_window(uint8_t *to, const struct rte_mbuf *m, const uint8_t *ip, unsigned readable,
                        unsigned window)
{
    if (readable == window) {
        memcpy(to, ip, window);
    } else if (likely(ip + window <= (const uint8_t *)m->buf_addr + m->buf_len)) {
        copy_masked(to, ip, readable, window);
    } else {
        memset(to, 0, window);
        memcpy(to, ip, readable);
    }
}

// --- metadata ------------------------------------------------------------------------------------

static uint32_t hash_of(const struct burst *b, unsigned i)
{
    return !b->family ? 0 : b->family == IP4 ? fwd_hash(b, i, IP4) : fwd_hash(b, i, IP6);
}

// The fields of a slot, 8 bytes at a time: a core commits about one store per cycle. Each word goes
// straight to the slot: if it were assembled on the stack and copied, a wider load would wait for
// narrower stores (14 cycles per packet).
typedef struct {
    uint64_t time, length_interface, hash_kind, readable;
} __attribute__((may_alias)) slot_words;
_Static_assert(offsetof(struct kamuee_packet, length) == 8 &&
                   offsetof(struct kamuee_packet, interface) == 12 &&
                   offsetof(struct kamuee_packet, hash) == 16 &&
                   offsetof(struct kamuee_packet, ether_type) == 20 &&
                   offsetof(struct kamuee_packet, family) == 22 &&
                   offsetof(struct kamuee_packet, class) == 23 &&
                   offsetof(struct kamuee_packet, readable) == 24 &&
                   offsetof(struct kamuee_packet, data) == sizeof(slot_words),
               "layout of slot_words");

static uint64_t kind_word(uint16_t type, unsigned family)
{
    return (uint64_t)type << 32 | (uint64_t)family << 48;
}

// Returns 0 for non-IP.
static uint64_t kind_of_family(uint8_t family)
{
    return family == IP4 ? kind_word(0x0800, 4) : family == IP6 ? kind_word(0x86dd, 6) : 0;
}

static uint64_t ifindex_word(uint16_t iface)
{
    return (uint64_t)(uint32_t)iface_get(iface)->ifindex << 32;
}

INLINE uint64_t class_word(const struct rte_mbuf *m)
{
    if (likely(!(m->ol_flags & packet_class_flag)))
        return 0;
    return (uint64_t)m->hash.sched.traffic_class << 56;
}

static uint64_t time_of(const struct forwarder *f)
{
    return (uint64_t)((unsigned __int128)f->now * program_ns_per_cycle >> 32);
}

// Constants: `window`; `typed`: frames without a family; `row`.
INLINE void fill_slots(const struct forwarder *f, const struct burst *b, struct passage *g,
                       unsigned window, bool typed, bool row)
{
    const bool out = g->p->hook == PROGRAM_OUTPUT, hashed = !typed && g->p->hashed;
    const bool whole = !b->chained && !out; // ether_in or ip4_in has compared length and frame
    const uint64_t time = time_of(f), kind = kind_of_family(b->family);
    const unsigned first = g->at[0], n = g->n;
    struct kamuee_packet *s = g->in->slot;
    unsigned iface = IFACE_MAX;
    uint64_t index = 0; // of `iface`

    for (unsigned k = 0; k < n; k++, s++) {
        const unsigned i = row ? first + k : g->at[k];
        const struct rte_mbuf *m = b->pkt[i];
        const uint8_t *ip = b->ip[i];
        const unsigned id = out ? nexthop_word_iface(b->word[i]) : b->iface[i];
        uint32_t readable = 0;

        if (unlikely(id != iface)) {
            iface = id;
            index = ifindex_word((uint16_t)id);
        }
        if (window) { // else g->readable is 0
            readable = b->len[i];
            if (unlikely(!whole))
                readable = RTE_MIN(readable, packet_readable(m, ip));
            readable = RTE_MIN(readable, window == KAMUEE_WINDOW ? g->p->window : window);
            copy_window(s->data, m, ip, readable, window);
            g->readable[k] = (uint16_t)readable;
        }
        slot_words *w = (slot_words *)s;
        w->time = time;
        w->length_interface = b->len[i] | index;
        w->hash_kind = (typed ? kind_word(load16_host(ip - 2), 0) : kind) | class_word(m) |
                       (hashed ? hash_of(b, i) : 0);
        w->readable = readable;
    }
}

// Adjacent, unchained packets with one input interface: all slots start alike.
static bool begin_alike(const struct burst *b, const struct passage *g)
{
    const uint16_t *iface = &b->iface[g->at[0]];
    unsigned differ = 0;

    if (!g->row || !b->family || b->chained || g->p->hook == PROGRAM_OUTPUT || g->p->hashed)
        return false;
    for (unsigned k = 0; k < g->n; k++)
        differ |= iface[k] ^ iface[0];
    return !differ;
}

static void fill_alike(const struct forwarder *f, const struct burst *b, struct passage *g)
{
    const unsigned first = g->at[0];
    const slot_words head = {time_of(f), ifindex_word(b->iface[first]), kind_of_family(b->family),
                             0};

    f->lanes->fill_slots(b, first, g->n, g->in->slot, &head, g->p->window ? g->readable : NULL);
}

void program_fill(const struct forwarder *f, const struct burst *b, struct passage *g)
{
    const unsigned window = g->p->window;

    if (!window)
        memset(g->readable, 0, sizeof g->readable);
    if (likely(f->lanes->fill_slots && window <= LANES_WINDOW && begin_alike(b, g)))
        fill_alike(f, b, g);
    else if (!b->family)
        fill_slots(f, b, g, KAMUEE_WINDOW, true, false);
    else if (!g->row || window > LANES_WINDOW)
        fill_slots(f, b, g, KAMUEE_WINDOW, false, false);
    else if (window)
        fill_slots(f, b, g, LANES_WINDOW, false, true);
    else
        fill_slots(f, b, g, 0, false, true);
}
