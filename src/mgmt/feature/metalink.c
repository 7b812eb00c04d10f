// SPDX-License-Identifier: BSD-3-Clause
// metalink.c - metalinks: pairs of interfaces that join virtual routers inside the forwarder
//
// An end is an ordinary interface, except that the metalink decides its virtual router. If the
// virtual routers of a metalink change, it is deleted and created again.
#include <stdio.h>
#include <string.h>

#include "config/config_running.h"
#include "config/feature_config.h"
#include "config/leaf.h"
#include "interface/iface_manager.h"
#include "mgmt/feature.h"
#include "model/model.h"

// --- reading -------------------------------------------------------------------------------------

static void read_metalink(struct model *m, void *row, const struct lyd_node *entry)
{
    struct model_metalink *l = row;
    const struct lyd_node *first = lyd_child(entry);

    leaf_copy(l->name, sizeof l->name, first, "name", "");
    leaf_copy(l->vr[0], sizeof l->vr[0], first, "a", VR_DEFAULT_NAME);
    leaf_copy(l->vr[1], sizeof l->vr[1], first, "b", VR_DEFAULT_NAME);
    snprintf(l->end[0], sizeof l->end[0], "%.13s-a", l->name);
    snprintf(l->end[1], sizeof l->end[1], "%.13s-b", l->name);
    l->mtu = (uint16_t)leaf_number(first, "mtu", 1500);
}

// --- rules ---------------------------------------------------------------------------------------

static void check_metalink(const struct model *m, const void *row, struct errors *e)
{
    const struct model_metalink *l = row;

    if (!strcmp(l->vr[0], l->vr[1]))
        errors_add(e, l->line,
                   "metalink %s: both ends are in virtual router '%s', expected two different ones",
                   l->name, l->vr[0]);
    for (unsigned k = 0; k < 2; k++) {
        bool port = model_find_port(m, l->end[k]);

        if (port || model_find_vport(m, l->end[k]))
            errors_add(e, l->line,
                       "metalink %s: its end %s has the name of a %s, expected another name",
                       l->name, l->end[k], port ? "port" : "vport");
    }
}

// --- steps ---------------------------------------------------------------------------------------

static int run_metalink(const struct step *s, const void *from, const void *to, char *err, size_t n)
{
    const struct model_metalink *l = to;

    if (from && to)
        return iface_manager_set_metalink_mtu(s->name, l->mtu, err, n);
    if (from)
        return iface_manager_del_metalink(s->name, err, n);
    return iface_manager_add_metalink(s->name, l->vr[0], l->vr[1], l->mtu, err, n);
}

// --- completion ----------------------------------------------------------------------------------

static void each_metalink(name_fn *fn, void *ctx)
{
    char help[64];

    vec_foreach (&model_metalinks(config_model())->metalink, l) {
        snprintf(help, sizeof help, "%s to %s", l->vr[0], l->vr[1]);
        fn(ctx, l->name, help);
    }
}

static const struct feature_config metalink_config = {
    .part_size = sizeof(struct model_metalinks),
    .lists =
        (const struct feature_list[]){
            {.node = "metalink",
             LIST_ROWS(struct model_metalinks, metalink),
             .read = read_metalink,
             .check = check_metalink,
             LIST_STEP(struct model_metalink, "metalink", run_metalink),
             .remove = PHASE_REMOVE_VPORTS,
             .add = PHASE_ADD_VPORTS,
             .stays = metalink_stays,
             LIST_VALUE(struct model_metalink, mtu)},
            {0}},
    .names = (const struct feature_names[]){{"metalink", each_metalink}, {0}},
};

const struct feature metalink_feature = {.name = "metalink", .config = &metalink_config};
