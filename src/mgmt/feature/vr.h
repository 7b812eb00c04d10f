// SPDX-License-Identifier: BSD-3-Clause
// vr.h - configured virtual routers; control role
#ifndef FEATURE_VR_H
#define FEATURE_VR_H

#include "base/vec.h"
#include "config/change.h"
#include "feature/acl_binding.h"
#include "table/vr.h"
#include "table/vr_budget.h"

#define VR_DEFAULT_NAME "default"

enum vr_daemon { VR_DAEMON_NONE, VR_DAEMON_FRR, VR_DAEMON_BIRD, VR_DAEMONS };
extern const char *const vr_daemon_names[VR_DAEMONS];

struct model_vr {
    char name[16];
    char description[256];
    char netns[64]; // "" = kamueed's own
    bool own_netns; // kamueed creates the namespace, named after the virtual router
    bool enabled;
    uint8_t daemon; // enum vr_daemon
    uint32_t table;
    uint8_t engine;             // enum fib_engine; the default one's unless configured
    struct flow_hash flow_hash; // likewise; its seed follows from the default one's and the name
    uint8_t cpu_weight;
    struct vr_limits budget;
    struct acl_binding acls;
    unsigned line, engine_line;
};

struct model_vrs {
    uint8_t engine, cpu_weight; // of "default"
    struct flow_hash flow_hash;
    struct vr_limits budget;
    VEC(struct model_vr) vr; // in natural order of names
};
const struct model_vrs *model_vrs(const struct model *m);
const struct model_vr *model_find_vr(const struct model *m, const char *name);

// Whether the virtual router of that name, before or after a change, exists on both sides with the
// same kernel table, perhaps under another name.
bool vr_stays(const struct change *c, const char *name);
// Whether `from` before and `to` after the change are the same virtual router.
bool vr_is_same(const struct change *c, const char *from, const char *to);
bool vr_is_renamed(const struct change *c, const char *name); // before or after

// Begins a change in which the name is replaced by `to` but the virtual router is kept; otherwise
// it would be another virtual router.
void vr_rename_begin(const char *name, const char *to);
void vr_rename_end(void);
const char *vr_other_name(const char *name); // its name on the other side of the change

#endif
