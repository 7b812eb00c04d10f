// SPDX-License-Identifier: BSD-3-Clause
// vr_import.c - routes that a virtual router imports from another one
//
// rib_manager does the work (control/rib/store/rib_import.c); a configuration line is one rule.
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/vec.h"
#include "config/feature_config.h"
#include "config/leaf.h"
#include "mgmt/feature.h"
#include "model/model.h"
#include "rib/rib_manager.h"
#include "yang/config_tree.h"
#include "yang/yang.h"

struct model_import {
    char vr[16];
    struct rib_import_rule rule;
    unsigned line;
};

struct model_imports {
    VEC(struct model_import) import; // in configuration order
};

// --- reading -------------------------------------------------------------------------------------

static void read_prefix(struct model *m, const char *vr, const char *source,
                        const struct lyd_node *entry)
{
    struct model_imports *all = m->part[FEATURE_vr_import];
    struct model_import *i = vec_push(&all->import);
    const struct lyd_node *first = lyd_child(entry);

    memset(i, 0, sizeof *i);
    i->line = leaf_line(entry, NULL);
    snprintf(i->vr, sizeof i->vr, "%s", vr);
    snprintf(i->rule.source, sizeof i->rule.source, "%s", source);
    bug_on(prefix_parse(config_value(first, "prefix"), &i->rule.prefix,
                        false)); // libyang zeroes the host bits
    unsigned ge = (unsigned)leaf_number(first, "ge", 0), le = (unsigned)leaf_number(first, "le", 0);
    i->rule.ge = (uint8_t)(ge ? ge : i->rule.prefix.len);
    i->rule.le = (uint8_t)(le ? le : ge ? ip_bits(i->rule.prefix.family) : i->rule.prefix.len);
}

static void read_sources(struct model *m, const char *vr, const struct lyd_node *first,
                         const struct lysc_node *parent)
{
    leaf_foreach (first, parent, "import", source)
        leaf_foreach (lyd_child(source), source->schema, "prefix", prefix)
            read_prefix(m, vr, config_value(lyd_child(source), "vr"), prefix);
}

// Few virtual routers have imports, and there may be thousands of virtual routers.
static void read_vr(struct model *m, const struct lyd_node *entry)
{
    const struct lyd_node *first = lyd_child(entry), *c = first;

    while (c && strcmp(c->schema->name, "import"))
        c = c->next;
    if (c)
        read_sources(m, config_value(first, "name"), first, entry->schema);
}

static void read_imports(struct model *m, const struct lyd_node *tree, const struct model *known,
                         struct errors *e)
{
    read_sources(m, VR_DEFAULT_NAME, leaf_inside(tree, NULL, "forwarding"),
                 yang_child(NULL, "forwarding", true));
    leaf_foreach (tree, NULL, "vr", entry)
        read_vr(m, entry);
}

// --- rules ---------------------------------------------------------------------------------------

static void check_import(const struct model *m, const void *row, struct errors *e)
{
    const struct model_import *i = row;
    const struct rib_import_rule *r = &i->rule;
    char prefix[PREFIX_TEXT_MAX];

    prefix_format(&r->prefix, prefix);
    if (!strcmp(i->vr, r->source))
        errors_add(e, i->line, "vr %s: import '%s': expected another virtual router", i->vr,
                   r->source);
    if (r->ge < r->prefix.len || r->le < r->ge || r->le > ip_bits(r->prefix.family))
        errors_add(e, i->line,
                   "vr %s: import '%s' prefix '%s': lengths are %u (ge) to %u (le), expected %u <= "
                   "ge <= le <= %u",
                   i->vr, r->source, prefix, r->ge, r->le, r->prefix.len,
                   ip_bits(r->prefix.family));
}

// --- steps ---------------------------------------------------------------------------------------

static int run_import(const struct step *s, const void *from, const void *to, char *err, size_t n)
{
    const struct model_import *i = to ? to : from;
    int r = rib_manager_import(i->vr, &i->rule, to);

    if (r)
        snprintf(err, n, "cannot import from %s: %s", i->rule.source, strerror(-r));
    return r;
}

static bool import_stays(const struct change *c, const char *row)
{
    const struct model_import *i = (const void *)row;

    return vr_stays(c, i->vr) && vr_stays(c, i->rule.source);
}

static const struct feature_config import_config = {
    .part_size = sizeof(struct model_imports),
    .lists =
        (const struct feature_list[]){
            {.node = "import",
             LIST_ROWS(struct model_imports, import),
             .check = check_import,
             LIST_STEP(struct model_import, "import of vr", run_import),
             .remove = PHASE_REMOVE_USERS,
             .add = PHASE_ADD_USERS,
             .stays = import_stays,
             .key_size = offsetof(struct model_import, line)},
            {0}},
    .read = read_imports,
};

const struct feature vr_import_feature = {.name = "vr import", .config = &import_config};
