// SPDX-License-Identifier: BSD-3-Clause
// forwarding_config.c - what a configuration says of forwarders and of all interfaces at once
#include "feature/forwarding.h"

#include "config/feature_config.h"
#include "config/leaf.h"
#include "port/thread_manager.h"
#include "table/plan.h"
#include "yang/yang.h"

struct model_forwarding {
    enum idle_mode idle;
    uint8_t ip4_options; // enum ip4_options
    struct acl_binding acls;
};

static const struct model_forwarding *forwarding_of(const struct model *m)
{
    return m->part[FEATURE_forwarding];
}

const struct acl_binding *model_default_acls(const struct model *m)
{
    return &forwarding_of(m)->acls;
}

static void read_forwarding(struct model *m, const struct lyd_node *tree,
                            const struct model *known, struct errors *e)
{
    static const char *const idles[] = {"performance", "balanced", "powersave"};
    static const char *const options[] = {"drop", "ignore", "process"};
    const struct lyd_node *first = leaf_inside(tree, NULL, "forwarding");
    struct model_forwarding *f = m->part[FEATURE_forwarding];
    int idle = leaf_word(first, "idle", idles, 3);
    int option = leaf_word(first, "ipv4-options", options, 3);

    f->idle = idle < 0 ? IDLE_BALANCED : (enum idle_mode)idle;
    f->ip4_options = option < 0 ? IP4_OPTIONS_DROP : (uint8_t)option;
    f->acls = acl_binding_read(first, yang_child(NULL, "forwarding", true));
}

static int set_idle(const struct step *s, const void *from, const void *to, char *err, size_t n)
{
    thread_manager_set_idle(*(const enum idle_mode *)to);
    return 0;
}

static int set_ip4_options(const struct step *s, const void *from, const void *to, char *err,
                           size_t n)
{
    __atomic_store_n(&plan_ip4_options, *(const uint8_t *)to, __ATOMIC_RELAXED);
    return 0;
}

static void plan_forwarding(struct change *c)
{
    static const struct step_kind idle = {"", set_idle}, ip4_options = {"", set_ip4_options};
    const struct model_forwarding *a = forwarding_of(c->from), *b = forwarding_of(c->to);

    step_add_value(c, &idle, &a->idle, &b->idle, sizeof a->idle);
    step_add_value(c, &ip4_options, &a->ip4_options, &b->ip4_options, sizeof a->ip4_options);
}

static void begin_forwarding(const struct model *empty)
{
    thread_manager_set_idle(forwarding_of(empty)->idle);
}

const struct feature_config forwarding_config = {
    .part_size = sizeof(struct model_forwarding),
    .read = read_forwarding,
    .begin = begin_forwarding,
    .phases = (const struct feature_phase[]){{PHASE_SETTINGS, plan_forwarding}, {0}},
};
