// SPDX-License-Identifier: BSD-3-Clause
// mutate.c - see mutate.h
#include "mutate.h"

#include "base/checksum.h"
#include "seeds.h"

static uint16_t get16(const uint8_t *p)
{
    return (uint16_t)(p[0] << 8 | p[1]);
}

static void put16(uint8_t *p, unsigned v)
{
    p[0] = (uint8_t)(v >> 8);
    p[1] = (uint8_t)v;
}

// Where the layer behind the tags begins, 0 = nowhere; its EtherType lies two bytes before.
static unsigned l3_at(const struct frame *f)
{
    unsigned at = 14;

    while (at <= 22 && f->n >= at + 4 &&
           (get16(f->b + at - 2) == 0x8100 || get16(f->b + at - 2) == 0x88a8))
        at += 4;
    return f->n >= at + 20 ? at : 0;
}

static bool is4(const struct frame *f, unsigned at)
{
    return at && f->b[at] >> 4 == 4;
}

static bool is6(const struct frame *f, unsigned at)
{
    return at && f->b[at] >> 4 == 6 && f->n >= at + 40;
}

static uint8_t odd_byte(struct random *r)
{
    static const uint8_t odd[] = {0,  1,   2,   3,   4,   7,   8,   15,  16, 40,
                                  64, 127, 128, 129, 224, 239, 240, 254, 255};

    return random_below(r, 3) ? odd[random_below(r, sizeof odd)] : (uint8_t)random_next(r);
}

// Opens a gap of n bytes at `at`, filled with `fill`.
static bool gap(struct frame *f, unsigned at, unsigned n, const uint8_t *fill)
{
    if (f->n + n > MUTATED_MAX || at > f->n)
        return false;
    memmove(f->b + at + n, f->b + at, f->n - at);
    memcpy(f->b + at, fill, n);
    f->n += n;
    return true;
}

static void cut(struct frame *f, unsigned at, unsigned n)
{
    memmove(f->b + at, f->b + at + n, f->n - at - n);
    f->n -= n;
}

// --- each of these changes one thing ---

static void bits(struct random *r, struct frame *f)
{
    unsigned reach = random_below(r, 4) ? RTE_MIN(f->n, 80u) : f->n;

    for (unsigned k = 1 + random_below(r, 4); k; k--)
        f->b[random_below(r, reach)] ^= (uint8_t)(1u << random_below(r, 8));
}

static void field(struct random *r, struct frame *f)
{
    static const uint8_t at4[] = {0,  1,  2,  3,  6,  7,  8,  9,  12, 13,
                                  15, 16, 17, 19, 20, 21, 22, 23, 28};
    static const uint8_t at6[] = {0, 1, 4, 5, 6, 7, 8, 9, 23, 24, 25, 38, 39, 40, 41, 42, 43, 48};
    unsigned at = l3_at(f);
    unsigned i = is6(f, at) ? at6[random_below(r, sizeof at6)] : at4[random_below(r, sizeof at4)];

    if (at && at + i < f->n)
        f->b[at + i] = odd_byte(r);
}

static void length(struct random *r, struct frame *f)
{
    unsigned at = l3_at(f), how = random_below(r, 6);
    unsigned near = random_below(r, 9); // a value near the present one

    if (how == 0) {
        f->n = 1 + random_below(r, f->n);
    } else if (how == 1) {
        unsigned n = random_below(r, 5) ? random_below(r, 64) : random_below(r, MUTATED_MAX);
        if (f->n + n > MUTATED_MAX)
            return;
        memset(f->b + f->n, 0, n);
        f->n += n;
    } else if (is4(f, at)) {
        put16(f->b + at + 2, how == 2   ? f->n - at
                             : how == 3 ? random_next(r)
                                        : f->n - at + near - 4);
    } else if (is6(f, at)) {
        put16(f->b + at + 4, how == 2   ? f->n - at - 40
                             : how == 3 ? random_next(r)
                                        : f->n - at - 44 + near);
    }
}

static void address(struct random *r, struct frame *f)
{
    static const uint8_t first[] = {0, 10, 10, 10, 127, 169, 192, 224, 239, 240, 255};
    unsigned at = l3_at(f), end = random_below(r, 2);
    const struct seed *from = seed_get(random_below(r, 64));

    if (is4(f, at)) {
        uint8_t *a = f->b + at + 12 + 4 * end;
        a[0] = first[random_below(r, sizeof first)];
        a[1] = a[0] == 10    ? (uint8_t)random_below(r, 20)
               : a[0] == 169 ? 254
                             : (uint8_t)random_below(r, 2);
        a[2] = (uint8_t)random_below(r, 2);
        a[3] = (uint8_t)random_next(r);
    } else if (is6(f, at) && random_below(r, 2)) {
        f->b[at + 8 + 16 * end + 5] =
            (uint8_t)random_below(r, 20); // another of the router's prefixes
    } else if (is6(f, at) && from->n >= 54) {
        memcpy(f->b + at + 8 + 16 * end, from->b + 38, 16);
    }
}

static void tags(struct random *r, struct frame *f)
{
    static const uint16_t type[] = {0x8100, 0x8100, 0x88a8, 0x9100},
                          id[] = {0, 10, 20, 30, 11, 4095};
    uint8_t tag[4];

    if (f->n < 18)
        return;
    if (random_below(r, 3) == 0 && f->b[12] == 0x81) {
        cut(f, 12, 4);
        return;
    }
    put16(tag, type[random_below(r, 4)]);
    put16(tag + 2, id[random_below(r, 6)] | random_below(r, 16) << 12);
    (void)gap(f, 12, 4, tag);
}

static void options4(struct random *r, struct frame *f)
{
    static const uint8_t type[] = {0, 1, 7, 68, 131, 137, 148, 94, 130, 134};
    unsigned at = l3_at(f), words = 1 + random_below(r, 10), hlen = (f->b[at] & 15) * 4u;
    uint8_t o[40];

    if (!is4(f, at) || hlen + 4 * words > 60 || at + hlen > f->n)
        return;
    for (unsigned k = 0; k < 4 * words; k++)
        o[k] = random_below(r, 3) ? 1 : (uint8_t)random_next(r);
    o[0] = type[random_below(r, sizeof type)];
    o[1] = (uint8_t)(random_below(r, 4) ? 4 * words : random_below(r, 44));
    o[2] = (uint8_t)(4 + random_below(r, 12));
    if (!gap(f, at + hlen, 4 * words, o))
        return;
    f->b[at] = (uint8_t)(f->b[at] + words);
    put16(f->b + at + 2, get16(f->b + at + 2) + 4 * words);
}

static void extension6(struct random *r, struct frame *f)
{
    static const uint8_t type[] = {0, 43, 44, 60, 60, 51, 135, 59, 58};
    unsigned at = l3_at(f), words = 1 + random_below(r, random_below(r, 8) ? 3 : 30);
    uint8_t h[240];

    if (!is6(f, at))
        return;
    for (unsigned k = 0; k < 8 * words; k++)
        h[k] = random_below(r, 2) ? 0 : (uint8_t)random_next(r);
    h[0] = f->b[at + 6];
    h[1] = (uint8_t)(random_below(r, 5) ? words - 1 : odd_byte(r));
    if (!gap(f, at + 40, 8 * words, h))
        return;
    f->b[at + 6] = type[random_below(r, sizeof type)];
    put16(f->b + at + 4, get16(f->b + at + 4) + 8 * words);
}

// The head of this frame, the rest of another.
static void splice(struct random *r, struct frame *f)
{
    const struct seed *s = seed_get(random_below(r, 200));
    unsigned at = random_below(r, RTE_MIN(f->n, 60u)),
             from = random_below(r, 2) ? at : random_below(r, 60);

    if (from >= s->n)
        return;
    f->n = at + s->n - from;
    memcpy(f->b + at, s->b + from, s->n - from);
}

static void ether_type(struct random *r, struct frame *f)
{
    static const uint16_t type[] = {0x0800, 0x86dd, 0x0806, 0x8100, 0x88a8,
                                    0x88cc, 0x8809, 0x8847, 0x0600, 100};
    unsigned at = l3_at(f);

    if (at)
        put16(f->b + at - 2, type[random_below(r, 10)]);
}

static void mac(struct random *r, struct frame *f)
{
    if (f->n < 14)
        return;
    if (random_below(r, 3))
        memcpy(f->b, iface_get((uint16_t)(1 + random_below(r, 6)))->mac, 6);
    else
        f->b[0] = odd_byte(r);
}

void mutate(struct random *r, struct frame *f, unsigned times)
{
    static void (*const change[])(struct random *, struct frame *) = {
        bits, field,    field,      field,      length, address,    address,
        tags, options4, extension6, extension6, splice, ether_type, mac};

    for (; times; times--)
        change[random_below(r, sizeof change / sizeof *change)](r, f);
    unsigned at = l3_at(f), hlen = (f->b[at] & 15) * 4u;
    if (is4(f, at) && random_below(r, 8) && hlen >= 20 && at + hlen <= f->n) {
        put16(f->b + at + 10, 0);
        uint16_t sum = checksum(f->b + at, hlen);
        memcpy(f->b + at + 10, &sum, 2);
    }
}
