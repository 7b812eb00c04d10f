// SPDX-License-Identifier: BSD-3-Clause
// classify.h - finds the first rule that matches a packet, in an image of an access list
//
// One source for the tests on the host, the emulated device and a GPU, as lookup.h. list_image.c
// makes images, which never change; gpu_classify_test.c compares with acl_rule_matches4 and 6.
//
// An image is a tuple space (acl/classifier.h has another one, for CPUs). A tuple defines the bits
// of a packet that are hashed: a number of bits of the source and of the destination, and possibly
// protocol and ports. A rule is under one tuple and compares all of its bits. A packet is looked up
// in each tuple: the hash of its bits leads to a head, and that to a chain of rules, sorted by
// number, each of which is compared completely. So a hash only finds candidates, and a collision
// costs time, but never gives a wrong answer. Tuples are sorted by their lowest number: the search
// ends at the first tuple beyond the best rule found.
//
// All loads are aligned. All loops are bounded, whatever the memory contains.
#ifndef GPU_CLASSIFY_H
#define GPU_CLASSIFY_H

#ifndef __OPENCL_C_VERSION__
#include <stdbool.h>
#include <stdint.h>
#endif

#define GPU_MISS 0xffffffffu // no rule matches: ACL_MISS
#define GPU_TUPLES_MAX 64u
#define GPU_CHAIN_MAX 256u

// A head: 0, or a tag (10 bits) and the number of the chain's first rule, counted from 1. Tag 0:
// the chain has rules of several tags.
#define GPU_HEAD_RULE_BITS 22u
#define GPU_HEAD_RULE ((1u << GPU_HEAD_RULE_BITS) - 1)

enum gpu_tuple_field { GPU_BY_PROTO = 1, GPU_BY_SPORT = 2, GPU_BY_DPORT = 4 };

struct gpu_tuple {
    uint8_t len[2]; // of the prefixes: source, destination
    uint8_t fields; // enum gpu_tuple_field
    uint8_t pad;
    uint32_t least; // lowest number of its rules
};

// The rules of one family.
struct gpu_rules {
    uint32_t n_tuples, head_mask; // heads - 1
    uint64_t heads, rules;        // offsets in the image; rule 0 is none
    struct gpu_tuple tuple[GPU_TUPLES_MAX];
};

struct gpu_image {
    struct gpu_rules ip4, ip6;
};

enum gpu_rule_compares { // besides the three bits of acl_part
    GPU_RULE_PROTO = 8,
    GPU_RULE_DSCP = 16
};
#define GPU_RULE_LAST 0x80000000u // of its chain

struct gpu_rule_rest {
    uint16_t sport, sport_span, dport, dport_span; // start and size - 1 of each range
    uint32_t number;
    uint32_t slot; // and GPU_RULE_LAST
    uint8_t proto, dscp;
    uint8_t compares; // parts that match, and enum gpu_rule_compares
    uint8_t tcp_mask, tcp_value, tcp_any;
    uint8_t len[2];
};

struct gpu_rule4 { // 32 bytes: one memory transaction of a GPU
    uint32_t address[2];
    struct gpu_rule_rest rest;
};

struct gpu_rule6 {
    uint64_t address[2][2];
    struct gpu_rule_rest rest;
    uint64_t unused;
};

// A packet: a decoded struct acl_key4 or acl_key6.
struct gpu_flow {
    uint64_t address[2][2]; // host order, high half first; IPv4: the upper 32 bits of the first
    uint32_t sport, dport, proto, tcp_flags, dscp, part;
};

static inline uint64_t gpu_mask(uint32_t len) // of 0..64 bits
{
    return len >= 64 ? ~(uint64_t)0 : ~(~(uint64_t)0 >> len); // OpenCL: ull has 128 bits
}

static inline uint64_t gpu_cut(uint64_t bits, uint32_t len, bool second)
{
    return bits & gpu_mask(!second ? len : len > 64 ? len - 64 : 0);
}

static inline uint64_t gpu_mix(uint64_t h, uint64_t word)
{
    h = (h ^ word) * 0xd6e8feb86659fd93u;
    return h ^ h >> 32;
}

// Hash of the bits that a tuple uses. The writer also hashes rules, as packets.
static inline uint64_t gpu_hash(const struct gpu_flow *f, const struct gpu_tuple *t, bool six)
{
    uint64_t h = (uint64_t)t->fields << 56 | (uint64_t)t->len[0] << 48 | (uint64_t)t->len[1] << 40;

    h |= t->fields & GPU_BY_PROTO ? (uint64_t)f->proto << 32 : 0;
    h |= t->fields & GPU_BY_SPORT ? f->sport << 16 : 0;
    h |= t->fields & GPU_BY_DPORT ? f->dport : 0;
    h = gpu_mix(0, h);
    if (!six)
        h = gpu_mix(h, gpu_cut(f->address[0][0], t->len[0], false) |
                           gpu_cut(f->address[1][0], t->len[1], false) >> 32);
    for (uint32_t side = 0; six && side < 2; side++)
        for (uint32_t w = 0; w < 2; w++)
            h = gpu_mix(h, gpu_cut(f->address[side][w], t->len[side], w));
    return gpu_mix(h, 0);
}

static inline uint32_t gpu_tag(uint64_t hash)
{
    uint32_t tag = (uint32_t)(hash >> (32 + GPU_HEAD_RULE_BITS));

    return tag != 0 ? tag : 1;
}

static inline bool gpu_rest_matches(const struct gpu_rule_rest *r, const struct gpu_flow *f)
{
    return (r->compares & f->part) != 0 && // one of bits 0..2
           (!(r->compares & GPU_RULE_PROTO) || r->proto == f->proto) &&
           (!(r->compares & GPU_RULE_DSCP) || r->dscp == f->dscp) &&
           ((f->sport - r->sport) & 0xffff) <= r->sport_span &&
           ((f->dport - r->dport) & 0xffff) <= r->dport_span &&
           (f->tcp_flags & r->tcp_mask) == r->tcp_value &&
           (r->tcp_any == 0 || (f->tcp_flags & r->tcp_any) != 0);
}

static inline bool gpu_addresses4_match(const struct gpu_rule4 *r, const struct gpu_flow *f)
{
    uint64_t src = f->address[0][0] ^ (uint64_t)r->address[0] << 32;
    uint64_t dst = f->address[1][0] ^ (uint64_t)r->address[1] << 32;

    return gpu_cut(src, r->rest.len[0], false) == 0 && gpu_cut(dst, r->rest.len[1], false) == 0;
}

static inline bool gpu_addresses6_match(const struct gpu_rule6 *r, const struct gpu_flow *f)
{
    uint64_t differs = 0;

    for (uint32_t side = 0; side < 2; side++)
        for (uint32_t w = 0; w < 2; w++)
            differs |= gpu_cut(f->address[side][w] ^ r->address[side][w], r->rest.len[side],
                                w);
    return differs == 0;
}

// Finds the first rule of a chain that matches and has a number below *best; sets *slot and *best.
static inline void gpu_chain(const uint8_t *rules, uint32_t at, const struct gpu_flow *f, bool six,
                             uint32_t *best, uint32_t *slot)
{
    for (uint32_t left = GPU_CHAIN_MAX; left > 0; left--, at++) {
        const struct gpu_rule4 *r4 = (const struct gpu_rule4 *)rules + at;
        const struct gpu_rule6 *r6 = (const struct gpu_rule6 *)rules + at;
        const struct gpu_rule_rest *rest = six ? &r6->rest : &r4->rest;

        if (rest->number >= *best)
            return;
        if ((six ? gpu_addresses6_match(r6, f) : gpu_addresses4_match(r4, f)) &&
            gpu_rest_matches(rest, f)) {
            *best = rest->number;
            *slot = rest->slot & ~GPU_RULE_LAST;
            return;
        }
        if (rest->slot & GPU_RULE_LAST)
            return;
    }
}

// Returns the slot of the first rule that matches, or GPU_MISS.
static inline uint32_t gpu_classify(const struct gpu_image *image, const struct gpu_flow *f,
                                    bool six)
{
    const struct gpu_rules *r = six ? &image->ip6 : &image->ip4;
    const uint8_t *base = (const uint8_t *)image;
    const uint32_t *heads = (const uint32_t *)(base + r->heads);
    uint32_t best = 0xffffffffu, slot = GPU_MISS;

    for (uint32_t k = 0; k < r->n_tuples && k < GPU_TUPLES_MAX; k++) {
        const struct gpu_tuple *t = &r->tuple[k];
        uint32_t head, tag;
        uint64_t hash;

        if (t->least >= best)
            break;
        hash = gpu_hash(f, t, six);
        head = heads[hash & r->head_mask];
        tag = head >> GPU_HEAD_RULE_BITS;
        if (head != 0 && (tag == 0 || tag == gpu_tag(hash)))
            gpu_chain(base + r->rules, head & GPU_HEAD_RULE, f, six, &best, &slot);
    }
    return slot;
}

// Decodes the last 8 bytes of a key.
static inline void gpu_flow_rest(struct gpu_flow *f, const uint32_t *w)
{
    f->sport = w[0] & 0xffff;
    f->dport = w[0] >> 16;
    f->proto = w[1] & 0xff;
    f->tcp_flags = w[1] >> 8 & 0xff;
    f->dscp = w[1] >> 16 & 0xff;
    f->part = w[1] >> 24;
}

// key: struct acl_key4, 16 bytes.
static inline uint32_t gpu_classify4(const struct gpu_image *image, const uint32_t *key)
{
    struct gpu_flow f = {{{(uint64_t)__builtin_bswap32(key[0]) << 32, 0},
                          {(uint64_t)__builtin_bswap32(key[1]) << 32, 0}},
                         0, 0, 0, 0, 0, 0};

    gpu_flow_rest(&f, key + 2);
    return gpu_classify(image, &f, false);
}

// key: struct acl_key6, 40 bytes, aligned to 8 here.
static inline uint32_t gpu_classify6(const struct gpu_image *image, const uint32_t *key)
{
    const uint64_t *w = (const uint64_t *)key;
    struct gpu_flow f = {{{__builtin_bswap64(w[0]), __builtin_bswap64(w[1])},
                          {__builtin_bswap64(w[2]), __builtin_bswap64(w[3])}},
                         0, 0, 0, 0, 0, 0};

    gpu_flow_rest(&f, key + 8);
    return gpu_classify(image, &f, true);
}

#endif
