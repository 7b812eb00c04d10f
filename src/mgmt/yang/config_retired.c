// SPDX-License-Identifier: BSD-3-Clause
// config_retired.c - settings that only former versions have, and their replacements
//
// A file or revision of a former version may have them: kamueed ignores them with a warning
// (config_read_kept), because a router must start after its software has been replaced. A line or
// JSON that sets one is refused. All words behind it on its line belong to it, unless it is a leaf.
#include <libyang/libyang.h>
#include <stdio.h>
#include <string.h>

#include "yang/config_tree.h"
#include "yang/yang.h"

#define SNMP                                                                                       \
    "package kamuee-snmp has replaced it: 'systemctl enable --now kamuee-snmp'"
#define PROXY                                                                                      \
    "package kamuee-proxy has replaced it: write addresses and certificates into "                 \
    "/etc/kamuee-proxy/proxy.conf, then 'set api proxy kamuee-proxy'"

const struct config_retired config_retired[CONFIG_RETIRED] = {
    {.name = "snmp", .instead = SNMP},
    {.name = "metrics", .instead = PROXY},
    {.name = "web", .instead = PROXY},
    {.parent = "api", .name = "listen", .instead = PROXY},
    {.parent = "api", .name = "tls", .instead = PROXY},
    {.parent = "gpu",
     .name = "access-list",
     .instead = "the CPU matches access lists",
     .is_leaf = true},
    {.parent = "program",
     .name = "target",
     .instead = "build the program with 'kamuee program build' and leave 'target' out",
     .is_leaf = true,
     .drops = "operator"},
};

const struct config_retired *config_retired_find(const struct lysc_node *parent, const char *name)
{
    for (unsigned i = 0; i < CONFIG_RETIRED; i++) {
        const struct config_retired *r = &config_retired[i];
        bool is_here = r->parent ? parent && !parent->parent && !strcmp(parent->name, r->parent)
                                 : !parent;

        if (is_here && !strcmp(r->name, name))
            return r;
    }
    return NULL;
}

const char *config_retired_name(const struct config_retired *r, char name[CONFIG_RETIRED_NAME])
{
    snprintf(name, CONFIG_RETIRED_NAME, "%s%s%s", r->parent ? r->parent : "", r->parent ? " " : "",
             r->name);
    return name;
}

void config_retired_refuse(const struct config_retired *r, unsigned line, struct errors *e)
{
    char name[CONFIG_RETIRED_NAME];

    errors_add(e, line, "'%s' is no longer a setting: %s", config_retired_name(r, name),
               r->instead);
}
