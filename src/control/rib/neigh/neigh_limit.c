// SPDX-License-Identifier: BSD-3-Clause
// neigh_limit.c - capacity of the kernel's neighbor tables (neigh.h)
//
// Every few seconds rib_manager asks the kernel for both tables (RTM_GETNEIGHTBL) on a socket of
// its own and takes the answer at a later tick, so it never waits. Growing counters of refusals or
// forced evictions lead to at most one warning a minute, with the command that enlarges the table.
// Only half of a table's limit may be used by resolutions that kamueed has begun.
#include "rib/neigh.h"

#include <errno.h>
#include <libmnl/libmnl.h>
#include <linux/neighbour.h>
#include <linux/rtnetlink.h>
#include <string.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "base/ip.h"
#include "base/log.h"
#include "netlink/netlink.h"
#include "netlink/netlink_attr.h"

#define ASK_INTERVAL_NS (5 * NS_PER_SECOND)
#define TELL_INTERVAL_NS (60 * NS_PER_SECOND)
#define ENLARGE                                                                                    \
    "sysctl -w net.%s.neigh.default.gc_thresh2=%u net.%s.neigh.default.gc_thresh3=%u"
#define LIMIT_DEFAULT 1024u // the kernel's gc_thresh3 unless changed

static struct netlink socket_of = {.fd = -1};
static struct table {
    struct neigh_table now;
    uint64_t told_ns, told_refused, told_evictions;
} tables[2];
static uint64_t asked_ns, tick_ns;

static struct table *table_of(uint8_t family)
{
    return &tables[family == IP6];
}

int neigh_limit_init(void)
{
    memset(tables, 0, sizeof tables);
    asked_ns = 0;
    return netlink_open(&socket_of, -1, 0, false);
}

void neigh_limit_fini(void)
{
    netlink_close(&socket_of);
}

const struct neigh_table *neigh_limit_table(uint8_t family)
{
    return &table_of(family)->now;
}

unsigned neigh_limit_pending(uint8_t family)
{
    uint32_t limit = table_of(family)->now.limit, half = (limit ? limit : LIMIT_DEFAULT) / 2;

    return half < 2 ? 2 : half < NEIGH_PENDING_MAX ? half : NEIGH_PENDING_MAX;
}

static bool has_room(const struct nlattr *a, size_t n)
{
    return attr_len(a) >= n;
}

static void parse_attr(const struct nlattr *a, struct neigh_table *t, bool *parms)
{
    struct ndt_config config;
    struct ndt_stats stats = {0};
    size_t n = attr_len(a);

    switch (attr_type(a)) {
    case NDTA_THRESH2:
        if (has_room(a, 4))
            t->full = mnl_attr_get_u32(a);
        break;
    case NDTA_THRESH3:
        if (has_room(a, 4))
            t->limit = mnl_attr_get_u32(a);
        break;
    case NDTA_CONFIG:
        if (!has_room(a, sizeof config))
            break;
        memcpy(&config, attr_payload(a), sizeof config);
        t->entries = config.ndtc_entries;
        *parms = false;
        break;
    case NDTA_STATS: // kernels before 4.3 have no ndts_table_fulls
        memcpy(&stats, attr_payload(a), n < sizeof stats ? n : sizeof stats);
        t->refused = stats.ndts_table_fulls;
        t->evictions = stats.ndts_forced_gc_runs;
        break;
    }
}

uint8_t neigh_limit_parse(const struct nlmsghdr *h, struct neigh_table *t)
{
    const struct ndtmsg *m = mnl_nlmsg_get_payload(h);
    const struct nlattr *a;
    bool parms = true,
         bad = false; // parameters of a single device; an attribute that exceeds the message

    *t = (struct neigh_table){0};
    if (h->nlmsg_type != RTM_NEWNEIGHTBL || h->nlmsg_len < NLMSG_LENGTH(sizeof *m))
        return 0;
    attr_each(a, m + 1, message_end(h))
        parse_attr(a, t, &parms);
    if (bad || parms || !t->limit)
        return 0;
    return m->ndtm_family == AF_INET ? IP4 : m->ndtm_family == AF_INET6 ? IP6 : 0;
}

static void warn_tight(uint8_t family, struct table *t)
{
    const char *words = family == IP4 ? "ipv4" : "ipv6";
    bool refuses = t->now.refused > t->told_refused, evicts = t->now.evictions > t->told_evictions;

    if ((!refuses && !evicts) || (t->told_ns && tick_ns - t->told_ns < TELL_INTERVAL_NS))
        return;
    if (refuses)
        log_warning("neigh: the kernel's neighbor table is full: family=%s limit=%u refused=%lu: "
                    "enlarge it: " ENLARGE,
                    words, t->now.limit, t->now.refused - t->told_refused, words, t->now.limit * 2,
                    words, t->now.limit * 4);
    else
        log_warning("neigh: the kernel's neighbor table is nearly full, and entries are evicted: "
                    "family=%s limit=%u evicts-from=%u: enlarge it: " ENLARGE,
                    words, t->now.limit, t->now.full, words, t->now.limit * 2, words,
                    t->now.limit * 4);
    t->told_ns = tick_ns;
    t->told_refused = t->now.refused;
    t->told_evictions = t->now.evictions;
}

static void take_answer(void *ctx, const struct nlmsghdr *h)
{
    struct neigh_table now;
    uint8_t family = neigh_limit_parse(h, &now);

    if (!family)
        return;
    struct table *t = table_of(family);
    if (!t->now.limit) { // events before our start are not reported
        t->told_refused = now.refused;
        t->told_evictions = now.evictions;
    }
    t->now = now;
    warn_tight(family, t);
}

void neigh_limit_tick(uint64_t now_ns)
{
    tick_ns = now_ns;
    if (socket_of.fd < 0)
        return;
    while (netlink_receive(&socket_of, take_answer, NULL) > 0)
        ;
    if (asked_ns && now_ns - asked_ns < ASK_INTERVAL_NS)
        return;
    asked_ns = now_ns;
    netlink_dump(&socket_of, RTM_GETNEIGHTBL, AF_UNSPEC);
}

void neigh_limit_refused(void)
{
    asked_ns = 0; // its counter shows which table was full
}
