// SPDX-License-Identifier: BSD-3-Clause
// tunnel.h - configured tunnels; control role
#ifndef FEATURE_TUNNEL_H
#define FEATURE_TUNNEL_H

#include "base/vec.h"
#include "config/change.h"
#include "table/tunnel.h"

struct model_tunnel {
    char name[16];
    char outer_vr[16];
    char vr[16]; // of its interface
    struct tunnel_settings settings; // without the id of the outer virtual router
    uint16_t mtu; // 0 = what the path allows
    bool two_families, has_key, has_vni; // two_families: of its ends
    unsigned line;
};

struct model_tunnels {
    VEC(struct model_tunnel) tunnel; // in natural order of names
};
const struct model_tunnels *model_tunnels(const struct model *m);
const struct model_tunnel *model_find_tunnel(const struct model *m, const char *name);

// Whether the tunnel exists unchanged before and after a change.
bool tunnel_stays(const struct change *c, const char *name);

#endif
