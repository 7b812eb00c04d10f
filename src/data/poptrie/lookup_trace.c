// SPDX-License-Identifier: BSD-3-Clause
// lookup_trace.c - the nodes on the path of a lookup (poptrie_lookup_trace), for explain
//
// Walks like a lookup (walk.h) and records each block. The tests compare its answer with every
// kernel's. Reads only the memory of readers: the table may be a copy.
#include "poptrie/walk.h"

struct lookup_trace {
    const uint8_t *arena;
    struct poptrie_node *node;
    unsigned max, n;
    unsigned end;  // bits of an address, or of half of one
    unsigned base; // bits of the address before the current half
    int last;      // depth of the previous block in its half; -1 = none
};

// Appends a node that examines `bits` bits from `depth` on.
static void trace_node(struct lookup_trace *p, enum poptrie_node_kind kind, unsigned depth,
                       unsigned bits)
{
    if (p->n < p->max)
        p->node[p->n] =
            (struct poptrie_node){.kind = kind, .depth = (uint8_t)depth, .bits = (uint8_t)bits};
    p->n++;
}

static void trace_block(void *ctx, uint32_t w, unsigned depth)
{
    struct lookup_trace *p = ctx;
    const struct skip *s = (const void *)block_at(p->arena, w);
    uint32_t code = word_code(w);

    if ((int)depth <= p->last)
        p->base = 64; // the second half
    p->last = (int)depth;
    if (code == CODE_SKIP)
        trace_node(p, POPTRIE_NODE_SKIP, p->base + depth, s->bits - depth);
    else if (code == CODE_WIDE)
        trace_node(p, POPTRIE_NODE_WIDE, p->base + depth, 8);
    else // resolves fewer bits at the end of the address, or of a half
        trace_node(p,
                   code == CODE_BRANCH ? POPTRIE_NODE_BRANCH
                   : code > CODE_MIXED ? POPTRIE_NODE_MIXED
                                       : POPTRIE_NODE_LEAF,
                   p->base + depth, p->end - depth < 6 ? p->end - depth : 6);
}

unsigned poptrie_lookup_trace(const struct poptrie *t, unsigned key_bits, const uint8_t *dst,
                              struct poptrie_node *node, unsigned max, uint32_t *value)
{
    struct lookup_trace p = {
        .arena = t->arena, .node = node, .max = max, .end = key_bits == 32 ? 32 : 64, .last = -1};
    uint8_t key[16] = {0};
    unsigned depth = DIR4_BITS;
    uint64_t hi;
    uint32_t w;

    memcpy(key, dst, key_bits / 8);
    hi = load_be64(key);
    if (key_bits == 32)
        w = word_load(&t->dir[hi >> (64 - DIR4_BITS)]);
    else
        w = start6(t, hi, &depth);
    trace_node(&p, depth ? POPTRIE_NODE_DIRECTORY : POPTRIE_NODE_OUTSIDE, 0, depth);
    w = walk_visit(t->arena, w, hi, load_be64(key + 8), depth, trace_block, &p);
    if (!w)
        trace_node(&p, POPTRIE_NODE_FLOOR, 0, FLOOR_BITS);
    *value = leaf_answer(t, w, (uint32_t)(hi >> (64 - FLOOR_BITS)));
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
