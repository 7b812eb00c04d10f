// SPDX-License-Identifier: BSD-3-Clause
// metalink.h - metalinks of a configuration; control role
#ifndef FEATURE_METALINK_H
#define FEATURE_METALINK_H

#include "base/vec.h"
#include "config/change.h"

struct model_metalink {
    char name[16];   // of 13 characters at most
    char end[2][16]; // names of the interfaces
    char vr[2][16];  // where they are
    uint16_t mtu;
    unsigned line;
};

struct model_metalinks {
    VEC(struct model_metalink) metalink; // sorted by name, naturally
};
const struct model_metalinks *model_metalinks(const struct model *m);
// The metalink of which `interface` is an end, and which one; or NULL.
const struct model_metalink *model_find_metalink(const struct model *m, const char *interface,
                                                 unsigned *end);

// Whether `interface` is an end of a metalink before and after a change, and stays as it is.
bool metalink_stays(const struct change *c, const char *interface);

#endif
