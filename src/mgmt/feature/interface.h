// SPDX-License-Identifier: BSD-3-Clause
// interface.h - what a configuration says of interfaces: of ports that are no member of a LAG, of
// vports, of ends of metalinks, and of tunnels; control role
#ifndef FEATURE_INTERFACE_H
#define FEATURE_INTERFACE_H

#include "config/model.h"
#include "feature/acl_binding.h"
#include "table/iface.h"

struct model_interface {
    char name[16], vr[16];
    char description[256];
    struct iface_policy policy;
    struct acl_binding acls; // its own, its virtual router's or all interfaces'
    bool has_vr;
    unsigned vr_line, line;
};

// NULL: there is no interface of that name. Of a resolved model.
const struct model_interface *model_find_interface(const struct model *m, const char *name);
// All interfaces of a virtual router.
void model_each_interface_of(const struct model *m, const char *vr,
                             void (*fn)(void *ctx, const struct model *m,
                                        const struct model_interface *i),
                             void *ctx);
// The virtual router that is configured for a name; once all features have read.
const char *model_vr_of(const struct model *m, const char *interface);

// Appends the lines that delete what is said of a port's interfaces from the configuration.
struct text;
void interface_print_without_port(const struct model *m, const char *port, struct text *t);

#endif
