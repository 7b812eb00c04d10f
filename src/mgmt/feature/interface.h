// SPDX-License-Identifier: BSD-3-Clause
// interface.h - configured interfaces: of ports outside LAGs, vports, ends of metalinks, and
// tunnels; control role
#ifndef FEATURE_INTERFACE_H
#define FEATURE_INTERFACE_H

#include "config/model.h"
#include "feature/acl_binding.h"
#include "table/iface.h"

struct model_interface {
    char name[16], vr[16];
    char description[256];
    struct iface_policy policy;
    struct acl_binding acls; // its own, its virtual router's or the global ones
    bool has_vr;
    unsigned vr_line, line;
};

// NULL if there is no such interface. Needs a resolved model.
const struct model_interface *model_find_interface(const struct model *m, const char *name);
// Calls fn for each interface of a virtual router.
void model_each_interface_of(const struct model *m, const char *vr,
                             void (*fn)(void *ctx, const struct model *m,
                                        const struct model_interface *i),
                             void *ctx);
// Virtual router configured for an interface; after all features have read.
const char *model_vr_of(const struct model *m, const char *interface);

// Appends lines that delete the configuration of a port's interfaces.
struct text;
void interface_print_without_port(const struct model *m, const char *port, struct text *t);

#endif
