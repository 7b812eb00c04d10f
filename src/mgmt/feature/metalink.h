// SPDX-License-Identifier: BSD-3-Clause
// metalink.h - configured metalinks; control role
#ifndef FEATURE_METALINK_H
#define FEATURE_METALINK_H

#include "base/vec.h"
#include "config/change.h"

struct model_metalink {
    char name[16];   // at most 13 characters
    char end[2][16]; // names of the interfaces
    char vr[2][16];  // their virtual routers
    uint16_t mtu;
    unsigned line;
};

struct model_metalinks {
    VEC(struct model_metalink) metalink; // in natural order of names
};
const struct model_metalinks *model_metalinks(const struct model *m);
// The metalink with the end `interface`, and which end it is; NULL if there is none.
const struct model_metalink *model_find_metalink(const struct model *m, const char *interface,
                                                 unsigned *end);

// Whether `interface` is an end of a metalink that exists unchanged before and after a change.
bool metalink_stays(const struct change *c, const char *interface);

#endif
