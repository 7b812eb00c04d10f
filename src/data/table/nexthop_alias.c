// SPDX-License-Identifier: BSD-3-Clause
// nexthop_alias.c - attributes of a prefix beside its next hop: MTU, counter, uRPF data
//
// Prefixes share next hops, so a next hop cannot hold attributes of one prefix. The few prefixes
// whose route has an MTU, that need more data for uRPF, or that are counted, name an alias, which
// holds these attributes and names the shared next hop. The forwarding path follows it like a
// group.
#include <errno.h>
#include <stdio.h>

#include "base/log.h"
#include "core/thread.h"
#include "table/nexthop_group.h"
#include "table/prefix_count.h"

static bool is_plain(uint32_t id)
{
    return nexthop_is_live(id) && nexthop_word_kind(nexthop_table[id].word) != NEXTHOP_ALIAS;
}

uint32_t nexthop_alias_new(const struct nexthop_alias *a)
{
    thread_must_be(ROLE_RIB_MANAGER);
    bug_on(!is_plain(a->target) || a->n > NEXTHOP_ALIAS_MAX || a->counter >= PREFIX_COUNT_MAX);
    uint32_t id = nexthop_id_new(NEXTHOP_ALIAS, 0);
    if (id)
        nexthop_table[id].alias = *a; // no FIB names it yet
    return id;
}

int nexthop_alias_check(uint32_t id, char *why, unsigned n)
{
    const struct nexthop *nh = &nexthop_table[id];
    bool sound = is_plain(nh->alias.target) && nh->alias.n <= NEXTHOP_ALIAS_MAX;

    for (unsigned i = 0; sound && i < nh->alias.n; i++)
        sound = is_plain(nh->alias.other[i]);
    if (!sound)
        snprintf(why, n, "N1: alias %u of %u names a dead next hop or an alias", id,
                 nh->alias.target);
    return sound ? 0 : -EINVAL;
}

static bool group_leads_out(const struct nexthop *nh, uint16_t iface)
{
    if (__atomic_load_n(&nh->group.iface[0], __ATOMIC_ACQUIRE) == NEXTHOP_IFACES_MANY) {
        uint64_t word = __atomic_load_n(&nh->group.word, __ATOMIC_ACQUIRE);
        for (uint32_t i = 0; i <= word >> 32; i++) {
            uint32_t member =
                __atomic_load_n(&nexthop_bucket[(uint32_t)word + i], __ATOMIC_RELAXED);
            if (member && nexthop_word_iface(nexthop_word(nexthop_get(member))) == iface)
                return true;
        }
        return false;
    }
    bool found = false;
    for (unsigned i = 0; i < NEXTHOP_GROUP_IFACES; i++)
        found |= __atomic_load_n(&nh->group.iface[i], __ATOMIC_RELAXED) == iface;
    return found;
}

bool nexthop_leads_out(uint32_t id, uint16_t iface)
{
    const struct nexthop *nh = nexthop_get(id);
    uint64_t word = nexthop_word(nh);

    if (nexthop_word_kind(word) == NEXTHOP_GROUP)
        return group_leads_out(nh, iface);
    return nexthop_word_iface(word) == iface;
}
