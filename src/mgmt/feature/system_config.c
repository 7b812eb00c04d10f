// SPDX-License-Identifier: BSD-3-Clause
// system_config.c - memory, huge pages, log level and netlink's buffer of a configuration
#include "feature/system.h"

#include <string.h>

#include "base/log.h"
#include "config/feature_config.h"
#include "config/host.h"
#include "config/leaf.h"
#include "rib/rib_manager.h"
#include "yang/config_tree.h"

const struct model_system *model_system(const struct model *m)
{
    return m->part[FEATURE_system];
}

static void read_system(struct model *m, const struct lyd_node *tree, const struct model *known,
                        struct errors *e)
{
    static const char *const levels[] = {"error", "warning", "notice", "info", "debug"};
    struct model_system *s = m->part[FEATURE_system];
    const char *pages = config_value(tree, "huge-pages");
    int level = leaf_word(tree, "log-level", levels, 5);

    s->memory_mib = (unsigned)leaf_number(tree, "memory", 0);
    s->no_huge = pages && !strcmp(pages, "never");
    s->log_level = level < 0 ? LOG_LEVEL_INFO : LOG_LEVEL_ERROR + level;
    s->receive_buffer = (uint32_t)leaf_number(leaf_inside(tree, NULL, "netlink"), "receive-buffer",
                                              268435456);
}

static void check_memory(const struct model *from, const struct model *to, struct errors *e)
{
    unsigned long all = host_memory_mib("MemTotal:");
    unsigned wanted = model_system(to)->memory_mib;

    if (all && wanted > all && wanted != model_system(from)->memory_mib)
        errors_add(e, 0, "'memory' is '%u', expected at most %lu (MiB), the host's memory", wanted,
                   all);
}

static int set_log_level(const struct step *s, const void *from, const void *to, char *err,
                         size_t n)
{
    log_set_level(*(const int *)to);
    return 0;
}

static int set_receive_buffer(const struct step *s, const void *from, const void *to, char *err,
                              size_t n)
{
    rib_manager_set_receive_buffer(*(const uint32_t *)to);
    return 0;
}

static void plan_system(struct change *c)
{
    static const struct step_kind log_level = {"", set_log_level},
                                  receive_buffer = {"", set_receive_buffer};
    const struct model_system *a = model_system(c->from), *b = model_system(c->to);

    step_add_value(c, &log_level, &a->log_level, &b->log_level, sizeof a->log_level);
    step_add_value(c, &receive_buffer, &a->receive_buffer, &b->receive_buffer,
                   sizeof a->receive_buffer);
}

static void begin_system(const struct model *empty)
{
    rib_manager_set_receive_buffer(model_system(empty)->receive_buffer);
}

const struct feature_config system_config = {
    .part_size = sizeof(struct model_system),
    .read = read_system,
    .check_host = check_memory,
    .begin = begin_system,
    .phases = (const struct feature_phase[]){{PHASE_SETTINGS, plan_system}, {0}},
};
