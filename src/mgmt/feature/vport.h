// SPDX-License-Identifier: BSD-3-Clause
// vport.h - configured sub-interfaces; control role
#ifndef FEATURE_VPORT_H
#define FEATURE_VPORT_H

#include "base/vec.h"
#include "config/change.h"
#include "interface/iface_manager.h"

struct model_vport {
    char name[16], port[16];
    char vr[16]; // virtual router of its interface
    struct vport_tags tags;
    uint16_t mtu; // the port's if not configured
    bool has_tpid;
    unsigned line;
};

struct model_vports {
    VEC(struct model_vport) vport; // in natural order of names
};
const struct model_vports *model_vports(const struct model *m);
const struct model_vport *model_find_vport(const struct model *m, const char *name);

// Whether the vport exists before and after a change and keeps its interface.
bool vport_stays(const struct change *c, const char *name);

#endif
