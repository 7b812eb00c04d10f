// SPDX-License-Identifier: BSD-3-Clause
// lookup_trace.c - the nodes on the path of a lookup (poptrie_lookup_trace), for explain
//
// Walks like walk.h, one block at a time, and records each. The tests compare its answer with every
// kernel's. Reads only the memory of readers: the table may be a copy.
#include "poptrie/walk.h"

struct lookup_trace {
    struct poptrie_node *node;
    unsigned max, n;
    unsigned end;   // bits of an address, or of half of one
    unsigned base;  // bits of the address before the half in `hi`
    unsigned depth; // in this half
    uint64_t hi, lo;
};

// Appends a node that examines `bits` bits from the current depth.
static void trace_node(struct lookup_trace *p, enum poptrie_node_kind kind, unsigned bits)
{
    if (p->n < p->max)
        p->node[p->n] = (struct poptrie_node){
            .kind = kind, .depth = (uint8_t)(p->base + p->depth), .bits = (uint8_t)bits};
    p->n++;
}

static void trace_advance(struct lookup_trace *p, unsigned depth)
{
    p->depth = depth;
    if (p->depth < 64)
        return;
    p->hi = p->lo;
    p->base = 64;
    p->depth = 0;
}

// Bits that a block at this depth resolves: fewer at the end of the address, or of a half.
static unsigned block_bits(const struct lookup_trace *p)
{
    return p->end - p->depth < 6 ? p->end - p->depth : 6;
}

// Moves *w to the next word or leaf; false: it is a leaf, the end.
static bool trace_step(const struct poptrie *t, struct lookup_trace *p, uint32_t *w)
{
    unsigned c = p->hi << p->depth >> 58;
    uint32_t *slot, code = word_code(*w);

    if (code == CODE_SKIP) {
        const struct skip *s = (const void *)block_at(t->arena, *w);
        bool in = !((p->hi ^ s->key) >> (64 - s->bits));

        trace_node(p, POPTRIE_NODE_SKIP, s->bits - p->depth);
        *w = in ? s->in : s->out;
        trace_advance(p, s->bits);
        return in && word_is_ref(*w);
    }
    if (code == CODE_WIDE) {
        trace_node(p, POPTRIE_NODE_WIDE, 8);
        *w = wide_leaf(t->arena, *w, p->hi << WIDE_DEPTH >> 56);
        return false;
    }
    trace_node(p,
               code == CODE_BRANCH ? POPTRIE_NODE_BRANCH
               : code > CODE_MIXED ? POPTRIE_NODE_MIXED
                                   : POPTRIE_NODE_LEAF,
               block_bits(p));
    slot = block_slot(t->arena, *w, c);
    *w = slot ? word_load(slot) : block_leaf(t->arena, *w, c); // partner: word_publish
    trace_advance(p, p->depth + 6);
    return slot && word_is_ref(*w);
}

unsigned poptrie_lookup_trace(const struct poptrie *t, unsigned key_bits, const uint8_t *dst,
                              struct poptrie_node *node, unsigned max, uint32_t *value)
{
    struct lookup_trace p = {.node = node, .max = max, .end = key_bits == 32 ? 32 : 64};
    uint8_t key[16] = {0};
    uint32_t w, floor;
    unsigned depth = DIR4_BITS;

    memcpy(key, dst, key_bits / 8);
    uint64_t first = p.hi = load_be64(key);
    p.lo = load_be64(key + 8);
    if (key_bits == 32)
        w = word_load(&t->dir[p.hi >> (64 - DIR4_BITS)]);
    else
        w = start6(t, p.hi, &depth);
    trace_node(&p, depth ? POPTRIE_NODE_DIRECTORY : POPTRIE_NODE_OUTSIDE, depth);
    p.depth = depth;
    while (word_is_ref(w) && trace_step(t, &p, &w))
        ;
    floor = leaf_answer(t, 0, (uint32_t)(first >> (64 - FLOOR_BITS)));
    if (!w) {
        p.base = p.depth = 0;
        trace_node(&p, POPTRIE_NODE_FLOOR, FLOOR_BITS);
    }
    *value = w ? w : floor;
    return p.n;
}

const char *poptrie_node_name(enum poptrie_node_kind kind)
{
    static const char *const name[] = {
        [POPTRIE_NODE_DIRECTORY] = "directory", [POPTRIE_NODE_OUTSIDE] = "outside",
        [POPTRIE_NODE_LEAF] = "leaf",           [POPTRIE_NODE_MIXED] = "mixed",
        [POPTRIE_NODE_BRANCH] = "branch",       [POPTRIE_NODE_WIDE] = "wide",
        [POPTRIE_NODE_SKIP] = "skip",           [POPTRIE_NODE_FLOOR] = "floor",
    };

    return name[kind];
}
