// SPDX-License-Identifier: BSD-3-Clause
// journal_config.c - the memory of the journal of routes, by the configuration
#include <errno.h>
#include <stdio.h>

#include "base/log.h"
#include "config/feature_config.h"
#include "config/host.h"
#include "config/leaf.h"
#include "rib/rib_manager.h"

static uint32_t size_mib(const struct model *m) // 0 = there is no journal
{
    return *(const uint32_t *)m->part[FEATURE_journal];
}

static void read_size(struct model *m, const struct lyd_node *tree, const struct model *known,
                      struct errors *e)
{
    uint32_t *mib = m->part[FEATURE_journal];

    *mib = (uint32_t)leaf_number(leaf_inside(tree, NULL, "journal"), "size", 64);
}

static void check_size(const struct model *from, const struct model *to, struct errors *e)
{
    unsigned long free = host_memory_mib("MemAvailable:");
    uint32_t old = size_mib(from), new = size_mib(to);

    if (free && new > old && new - old > free)
        errors_add(e, 0,
                   "journal: 'size' is '%u', expected at most %lu (MiB), the host's available "
                   "memory",
                   new, old + free);
}

static int set_size(const struct step *s, const void *from, const void *to, char *err, size_t n)
{
    uint32_t mib = *(const uint32_t *)to;

    if (!rib_manager_set_journal(mib))
        return 0;
    snprintf(err, n, "journal: no memory for %u MiB: set a smaller journal size", mib);
    return -ENOMEM;
}

static void plan_size(struct change *c)
{
    static const struct step_kind size = {"", set_size};

    step_add_value(c, &size, c->from->part[FEATURE_journal], c->to->part[FEATURE_journal],
                   sizeof(uint32_t));
}

static void begin_journal(const struct model *empty)
{
    if (rib_manager_set_journal(size_mib(empty)))
        log_warning("mgmt: no memory for the journal of routes: mib=%u", size_mib(empty));
}

const struct feature_config journal_config = {
    .part_size = sizeof(uint32_t),
    .read = read_size,
    .check_host = check_size,
    .begin = begin_journal,
    .phases = (const struct feature_phase[]){{PHASE_SETTINGS, plan_size}, {0}},
};
