// SPDX-License-Identifier: BSD-3-Clause
// lanes_set.h - the functions of a set of lanes (lanes.h), made of its own plain() and
// take_family()
//
// Each set's file includes this behind them: the compiler makes loops of their text in which kind,
// family and whether to lower are constant.
#ifndef FORWARDER_LANES_SET_H
#define FORWARDER_LANES_SET_H

#include "forwarder/lanes_priv.h"

// The set's own (lanes.h tells what they do, `family` and `tag` being constants).
static inline uint64_t plain(const struct arrivals *a, const struct port *port, enum tag tag,
                             struct burst *b, uint8_t family);
static inline uint64_t take_family(struct burst *b, bool lower, uint8_t family);

static inline __attribute__((always_inline)) uint64_t plain_tagged(const struct arrivals *a,
                                                                   const struct port *port,
                                                                   enum tag tag, struct burst *b,
                                                                   uint8_t family)
{
    return tag == UNTAGGED   ? plain(a, port, UNTAGGED, b, family)
           : tag == TAGGED   ? plain(a, port, TAGGED, b, family)
           : tag == STRIPPED ? plain(a, port, STRIPPED, b, family)
           : tag == DOUBLE   ? plain(a, port, DOUBLE, b, family)
                             : plain(a, port, DOUBLE_STRIPPED, b, family);
}

static uint64_t plain4(const struct arrivals *a, const struct port *port, enum tag tag,
                       struct burst *b)
{
    return plain_tagged(a, port, tag, b, IP4);
}

static uint64_t plain6(const struct arrivals *a, const struct port *port, enum tag tag,
                       struct burst *b)
{
    return plain_tagged(a, port, tag, b, IP6);
}

static uint64_t take(struct burst *b, bool lower)
{
    if (b->family == IP4)
        return lower ? take_family(b, true, IP4) : take_family(b, false, IP4);
    return lower ? take_family(b, true, IP6) : take_family(b, false, IP6);
}

#endif
