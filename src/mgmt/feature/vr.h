// SPDX-License-Identifier: BSD-3-Clause
// vr.h - virtual routers of a configuration; control role
#ifndef FEATURE_VR_H
#define FEATURE_VR_H

#include "base/vec.h"
#include "config/change.h"
#include "feature/acl_binding.h"
#include "table/vr.h"
#include "table/vr_budget.h"

#define VR_DEFAULT_NAME "default"

struct model_vr {
    char name[16];
    char netns[64]; // "" = kamueed's own
    uint32_t table;
    uint8_t engine;             // enum fib_engine; that of the default one when it has none
    struct flow_hash flow_hash; // likewise; its seed then follows from that one's and the name
    uint8_t cpu_weight;
    struct vr_limits budget;
    struct acl_binding acls;
    unsigned line, engine_line;
};

struct model_vrs {
    uint8_t engine, cpu_weight; // of "default"
    struct flow_hash flow_hash;
    struct vr_limits budget;
    VEC(struct model_vr) vr; // sorted by name, naturally
};
const struct model_vrs *model_vrs(const struct model *m);
const struct model_vr *model_find_vr(const struct model *m, const char *name);

// Whether the virtual router is there before and after a change, with the same kernel table.
bool vr_stays(const struct change *c, const char *name);

// The virtual router that the leaf `vr` of an operation's input names. NULL: there is none of that
// name, and an answer has been given.
struct http;
struct lyd_node;
const struct vr *vr_of_input(struct http *h, const struct lyd_node *op);
// The same where the leaf may be missing: then *v is NULL. False: an answer has been given.
bool vr_of_input_or_all(struct http *h, const struct lyd_node *op, const struct vr **v);

#endif
