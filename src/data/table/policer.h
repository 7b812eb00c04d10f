// SPDX-License-Identifier: BSD-3-Clause
// policer.h - input and output policers of interfaces: colors and actions
//
// A single-rate or two-rate three-color marker (srTCM, RFC 2697; trTCM, RFC 2698) colors each
// packet; a color passes, is dropped, or gets another DSCP. Each interface has one meter per
// direction, even if several share a policer. Control writes them, all forwarders share them.
//
// Both markers are two token buckets in GCRA form (token_bucket.h), without a lock and without a
// division; rte_meter has one owner and divides once or twice per packet:
//   trTCM  C fills at CIR, P at PIR, independently.
//   srTCM  tokens that find C full go to E. C does not depend on E, and neither does the sum S of
//          both: it fills at CIR up to CBS + EBS and pays for green and for yellow. So the buckets
//          are C and S, and E holds S - C.
// A forwarder that loses the race for tokens too often gets none: the packet gets the worse color.
#ifndef TABLE_POLICER_H
#define TABLE_POLICER_H

#include <stdbool.h>
#include <stdint.h>

#include "core/thread.h"
#include "table/iface.h"
#include "table/token_bucket.h"

#define POLICER_NAME_SIZE 32
#define POLICER_SHIFT 16

enum policer_kind { POLICER_NONE, POLICER_SRTCM, POLICER_TRTCM };
enum policer_color { POLICER_GREEN, POLICER_YELLOW, POLICER_RED, POLICER_COLORS };
extern const char *const policer_color_name[POLICER_COLORS]; // "green"
enum policer_action { POLICER_PASS, POLICER_DROP, POLICER_REMARK };
enum policer_direction { POLICER_IN, POLICER_OUT, POLICER_DIRECTIONS };

struct policer { // as configured; rates and bursts are of layer 3
    char name[POLICER_NAME_SIZE];
    uint64_t cir, pir; // bit/s; pir: trTCM only
    uint64_t cbs, ebs; // bytes; ebs: for trTCM the peak burst, PBS
    uint8_t kind;      // enum policer_kind
    bool color_aware;  // packets arrive colored, by the drop precedence of their DSCP
    uint8_t action[POLICER_COLORS]; // enum policer_action
    uint8_t dscp[POLICER_COLORS];   // for POLICER_REMARK
};

struct policer_bucket { // ticks of token_bucket.h
    uint64_t per_byte;  // per byte, times 2^POLICER_SHIFT
    uint64_t depth;     // in a full bucket
};

struct policer_meter {
    struct policer_bucket c; // committed
    struct policer_bucket s; // srTCM: committed and excess together; trTCM: peak
    uint8_t kind;            // enum policer_kind
    uint8_t color_aware;
    uint8_t action[POLICER_COLORS], dscp[POLICER_COLORS];
    // written by forwarders
    uint64_t c_full_at __attribute__((aligned(64)));
    uint64_t s_full_at;
} __attribute__((aligned(128)));

struct policer_count { // by enum policer_color; bytes of layer 3
    uint64_t packets[POLICER_COLORS], bytes[POLICER_COLORS];
} __attribute__((aligned(64)));

// NULL until the first policer is bound.
extern struct policer_meter (*policer_meters)[POLICER_DIRECTIONS];         // [IFACE_MAX]
extern struct policer_count (*policer_counts)[IFACE_MAX][POLICER_DIRECTIONS]; // [FORWARDER_MAX]

// --- control ---
// Binds a policer to an interface and direction, NULL = none; buckets start full, and counters
// start at 0 if the policer's name is new. 0 or -ENOMEM.
int policer_bind(uint16_t iface, enum policer_direction d, const struct policer *p);
// Only makes the meter: for an entry of trials (trial.h). 0 or -ENOMEM.
int policer_try(uint16_t iface, enum policer_direction d, const struct policer *p);
const struct policer *policer_of(uint16_t iface, enum policer_direction d); // NULL: none
struct policer_count policer_sum(uint16_t iface, enum policer_direction d);
void policer_fini(void);

// --- forwarder, inside a burst ---

static inline struct policer_meter *policer_meter_of(uint16_t iface, enum policer_direction d)
{
    return &policer_meters[iface][d];
}

// Control may change these words meanwhile; each decision loads a depth once.
static inline uint64_t policer_cost(const struct policer_bucket *b, uint32_t bytes)
{
    return __atomic_load_n(&b->per_byte, __ATOMIC_RELAXED) * bytes >> POLICER_SHIFT;
}

static inline uint64_t policer_depth(const struct policer_bucket *b)
{
    return __atomic_load_n(&b->depth, __ATOMIC_RELAXED);
}

static inline uint8_t policer_byte(const uint8_t *word)
{
    return __atomic_load_n(word, __ATOMIC_RELAXED);
}

// Takes `cost` if the bucket then lacks at most `depth` ticks.
static inline bool policer_take(uint64_t *full_at, uint64_t cost, uint64_t depth, uint64_t now,
                                bool dry)
{
    uint64_t until = now + depth - cost;

    if (cost > depth)
        return false;
    return dry ? __atomic_load_n(full_at, __ATOMIC_RELAXED) <= until
               : token_bucket_take_cost(full_at, cost, until, now);
}

static inline bool policer_take_committed(struct policer_meter *m, uint32_t bytes, uint64_t now,
                                          bool dry)
{
    return policer_take(&m->c_full_at, policer_cost(&m->c, bytes), policer_depth(&m->c), now, dry);
}

// RFC 2698 3; color-blind: `came` is green.
static inline enum policer_color policer_color2(struct policer_meter *m, uint32_t bytes,
                                                enum policer_color came, uint64_t now, bool dry)
{
    if (came == POLICER_RED || !policer_take(&m->s_full_at, policer_cost(&m->s, bytes),
                                             policer_depth(&m->s), now, dry))
        return POLICER_RED;
    return came == POLICER_GREEN && policer_take_committed(m, bytes, now, dry) ? POLICER_GREEN
                                                                               : POLICER_YELLOW;
}

// Returns the bucket's content in ticks.
static inline uint64_t policer_filled(const uint64_t *full_at, uint64_t depth, uint64_t now)
{
    uint64_t at = __atomic_load_n(full_at, __ATOMIC_RELAXED), lacks = at > now ? at - now : 0;

    return lacks < depth ? depth - lacks : 0;
}

// RFC 2697 3; color-blind: `came` is green. E's content is that of S minus that of C.
static inline enum policer_color policer_color1(struct policer_meter *m, uint32_t bytes,
                                                enum policer_color came, uint64_t now, bool dry)
{
    uint64_t cost = policer_cost(&m->s, bytes), c, s;

    if (came == POLICER_GREEN && policer_take_committed(m, bytes, now, dry)) {
        if (!dry)
            token_bucket_take_cost(&m->s_full_at, cost, UINT64_MAX, now);
        return POLICER_GREEN;
    }
    c = policer_filled(&m->c_full_at, policer_depth(&m->c), now);
    s = policer_depth(&m->s);
    return came != POLICER_RED && s > c && policer_take(&m->s_full_at, cost, s - c, now, dry)
               ? POLICER_YELLOW
               : POLICER_RED;
}

// Colors a packet of `bytes` that arrives as `came`, at TSC `now`. `dry`: takes no tokens.
static inline enum policer_color policer_color_of(struct policer_meter *m, uint32_t bytes,
                                                  enum policer_color came, uint64_t now, bool dry)
{
    now = token_bucket_ticks(now);
    return policer_byte(&m->kind) == POLICER_SRTCM ? policer_color1(m, bytes, came, now, dry)
                                    : policer_color2(m, bytes, came, now, dry);
}

// The input color of a codepoint: the drop precedence of assured forwarding, AFx1, AFx2, AFx3 (RFC
// 2597 6); all others are green.
static inline enum policer_color policer_color_of_dscp(uint8_t dscp)
{
    bool assured = dscp >= 10 && dscp <= 38 && !(dscp & 1) && dscp & 6;

    return assured ? (enum policer_color)((dscp >> 1 & 3) - 1) : POLICER_GREEN;
}

#endif
