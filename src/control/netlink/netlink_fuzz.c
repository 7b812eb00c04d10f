// SPDX-License-Identifier: BSD-3-Clause
// netlink_fuzz.c - feeds random bytes to the netlink parser as a datagram from the kernel
//
// The kernel is trusted, but its messages grow with every release, and only nonsense shows that the
// parser refuses nonsense. Reads every event to its last field, so that a sanitizer finds lengths
// that were not checked.
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/log.h"
#include "base/plain.h"
#include "netlink/netlink.h"
#include "rib/neigh.h"

static uint64_t sum;

static void read_hop(const struct netlink_hop *hop)
{
    for (unsigned i = 0; i < hop->labels.n; i++)
        if (hop->labels.n > LABEL_STACK_MAX || hop->labels.label[i] >> 20)
            abort();
    sum += hash_bytes(hop->gateway.b, hop->gateway.family ? 16 : 0,
                      (uint64_t)hop->ifindex + hop->weight);
}

static void read_route(const struct netlink_route *r)
{
    struct prefix p = r->prefix;

    prefix_canon(&p);
    if (!prefix_equal(&p, &r->prefix) || r->n_hops > NETLINK_HOPS)
        abort();
    for (unsigned i = 0; i < r->n_hops; i++)
        read_hop(&r->hop[i]);
    sum += hash_bytes(p.b, 16, r->metric + r->table + r->nhid);
}

static void read_nexthop(const struct netlink_nexthop *n)
{
    if (n->n_members > NETLINK_HOPS)
        abort();
    read_hop(&n->hop);
    for (unsigned i = 0; i < n->n_members; i++)
        sum += n->member[i].id + n->member[i].weight;
}

static void message(void *ctx, const struct nlmsghdr *h)
{
    static struct netlink_event e;
    struct neigh_table table;

    if (neigh_limit_parse(h, &table))
        sum += table.entries + table.refused;
    if (netlink_parse(h, &e) <= 0)
        return;
    switch (e.kind) {
    case NETLINK_EVENT_LABEL:
    case NETLINK_EVENT_ROUTE: read_route(&e.route); break;
    case NETLINK_EVENT_NEXTHOP: read_nexthop(&e.nexthop); break;
    case NETLINK_EVENT_LINK:
        bug_on(e.link.name[0] && e.link.name[0] != '#' && !plain_name(e.link.name));
        sum += strlen(e.link.name);
        break;
    case NETLINK_EVENT_ADDR: sum += hash_bytes(e.addr.addr.b, 16, e.addr.len); break;
    case NETLINK_EVENT_NEIGH: sum += hash_bytes(e.neigh.mac, 6, e.neigh.state); break;
    case NETLINK_EVENT_RULE: sum += e.rule.priority; break;
    case NETLINK_EVENT_NETCONF: sum += (uint64_t)e.netconf.ifindex; break;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    void *copy = malloc(size ? size : 1); // aligned like the receive buffer, and not a byte longer

    if (!copy)
        return 0;
    memcpy(copy, data, size);
    netlink_walk(copy, size, message, NULL);
    free(copy);
    return 0;
}
