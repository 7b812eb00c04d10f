// SPDX-License-Identifier: BSD-3-Clause
// lanes_set.h - the functions of a set (lanes.h), built from its append_plain(), append_below()
// and apply_nexthops_of()
//
// Each set's file includes this at its end: the compiler makes loops with constant family, tag and
// TTL decrement.
#ifndef FORWARDER_LANES_SET_H
#define FORWARDER_LANES_SET_H

#include "forwarder/lanes_priv.h"

// Provided by the set, see lanes.h.
static inline uint64_t append_plain(const struct arrivals *a, const struct port *port, enum tag tag,
                             struct burst *b, uint8_t family);
static inline uint64_t append_below(const struct burst *from, uint64_t of, struct burst *to,
                                    uint8_t family);
static inline uint64_t apply_nexthops_of(struct burst *b, bool lower, uint8_t family);

static inline __attribute__((always_inline)) uint64_t append_plain_of(const struct arrivals *a,
                                                                   const struct port *port,
                                                                   enum tag tag, struct burst *b,
                                                                   uint8_t family)
{
    return tag == UNTAGGED   ? append_plain(a, port, UNTAGGED, b, family)
           : tag == TAGGED   ? append_plain(a, port, TAGGED, b, family)
           : tag == STRIPPED ? append_plain(a, port, STRIPPED, b, family)
           : tag == DOUBLE   ? append_plain(a, port, DOUBLE, b, family)
                             : append_plain(a, port, DOUBLE_STRIPPED, b, family);
}

static uint64_t append_plain4(const struct arrivals *a, const struct port *port, enum tag tag,
                       struct burst *b)
{
    return append_plain_of(a, port, tag, b, IP4);
}

static uint64_t append_plain6(const struct arrivals *a, const struct port *port, enum tag tag,
                       struct burst *b)
{
    return append_plain_of(a, port, tag, b, IP6);
}

static uint64_t append_labels(const struct arrivals *a, const struct port *port, struct burst *b)
{
    return append_plain(a, port, UNTAGGED, b, LABELS);
}

static uint64_t append_below4(const struct burst *from, uint64_t of, struct burst *to)
{
    return append_below(from, of, to, IP4);
}

static uint64_t append_below6(const struct burst *from, uint64_t of, struct burst *to)
{
    return append_below(from, of, to, IP6);
}

static uint64_t apply_nexthops(struct burst *b, bool lower)
{
    if (b->family == IP4)
        return lower ? apply_nexthops_of(b, true, IP4) : apply_nexthops_of(b, false, IP4);
    return lower ? apply_nexthops_of(b, true, IP6) : apply_nexthops_of(b, false, IP6);
}

// Initializes the functions above in a struct lanes.
#define LANES_SET                                                                                  \
    .append_plain4 = append_plain4, .append_plain6 = append_plain6,                                \
    .append_labels = append_labels, .append_below4 = append_below4,                                \
    .append_below6 = append_below6, .apply_nexthops = apply_nexthops

#endif
