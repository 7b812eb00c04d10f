// SPDX-License-Identifier: BSD-3-Clause
// vport.h - sub-interfaces of a configuration; control role
#ifndef FEATURE_VPORT_H
#define FEATURE_VPORT_H

#include "base/vec.h"
#include "config/change.h"
#include "port/iface_manager.h"

struct model_vport {
    char name[16], port[16];
    char vr[16]; // that it comes into
    struct vport_tags tags;
    uint16_t mtu; // the port's when none is configured
    bool has_tpid;
    unsigned line;
};

struct model_vports {
    VEC(struct model_vport) vport; // sorted by name, naturally
};
const struct model_vports *model_vports(const struct model *m);
const struct model_vport *model_find_vport(const struct model *m, const char *name);

// Whether the vport is there before and after a change and keeps its interface.
bool vport_stays(const struct change *c, const char *name);

#endif
