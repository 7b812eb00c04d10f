// SPDX-License-Identifier: BSD-3-Clause
// option.c - the devargs of net_replay; their meaning is in net_replay.c
#include <errno.h>
#include <rte_common.h>
#include <rte_kvargs.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "replay.h"

#define ENTRIES_MAX (1u << 24)

struct number {
    const char *key;
    size_t offset;
    bool is_64;
    uint64_t low, high;
};

#define SMALL(key, low, high) {#key, offsetof(struct option, key), false, low, high}
#define LARGE(key, low, high) {#key, offsetof(struct option, key), true, low, high}

static const struct number number[] = {
    LARGE(entries, 1, ENTRIES_MAX), LARGE(seed, 0, UINT64_MAX), LARGE(rate, 0, 1000000000),
    SMALL(size, 64, 1518),          SMALL(hops, 1, 32768),      SMALL(ports, 1, 256),
    SMALL(index, 0, 255),           SMALL(ring, 0, 1),          SMALL(verify, 0, 2),
    SMALL(checksum_good, 0, 1),     SMALL(fast_free, 0, 1),     SMALL(held, 0, 1),
};

static int value_refuse(const char *key, const char *value, const char *expected)
{
    SAY("%s=%s: expected %s\n", key, value, expected);
    return -EINVAL;
}

static int parse_number(const struct number *n, const char *value, struct option *o)
{
    char *end, expected[64];
    uint64_t v = strtoull(value, &end, 0);

    snprintf(expected, sizeof expected, "a number from %lu to %lu", n->low, n->high);
    if (end == value || *end || *value == '-' || v < n->low || v > n->high)
        return value_refuse(n->key, value, expected);
    if (n->is_64)
        *(uint64_t *)((char *)o + n->offset) = v;
    else
        *(unsigned *)((char *)o + n->offset) = (unsigned)v;
    return 0;
}

// Index of a word in the list, or -1.
static int word_find(const char *value, const char *const *words)
{
    for (int i = 0; words[i]; i++)
        if (!strcmp(value, words[i]))
            return i;
    return -1;
}

static int parse_vlan(const char *value, struct option *o)
{
    unsigned low, high;
    char rest;
    int n = sscanf(value, "%u-%u%c", &low, &high, &rest);

    if (n == 1 && !strchr(value, '-'))
        high = low;
    else if (n != 2)
        return value_refuse("vlan", value, "VLAN or LOW-HIGH");
    if (low < 1 || high < low || high > 4094 || high - low > 255)
        return value_refuse("vlan", value, "VLANs from 1 to 4094, at most 256 of them");
    o->vlan_low = low;
    o->vlan_high = high;
    return 0;
}

static int parse_text(const char *key, const char *value, char *room, size_t size)
{
    return (size_t)snprintf(room, size, "%s", value) < size
               ? 0
               : value_refuse(key, value, "a shorter path");
}

static int parse_one(const char *key, const char *value, void *context)
{
    static const char *const patterns[] = {"uniform", "prefix", "flow", NULL};
    static const char *const families[] = {"4", "6", "46", NULL};
    struct option *o = context;
    int i;

    if (!value)
        return value_refuse(key, "", "a value");
    for (unsigned n = 0; n < RTE_DIM(number); n++)
        if (!strcmp(key, number[n].key))
            return parse_number(&number[n], value, o);
    if (!strcmp(key, "vlan"))
        return parse_vlan(value, o);
    if (!strcmp(key, "routes"))
        return parse_text(key, value, o->routes, sizeof o->routes);
    if (!strcmp(key, "page"))
        return parse_text(key, value, o->page, sizeof o->page);
    if (!strcmp(key, "mac"))
        return rte_ether_unformat_addr(value, &o->mac) ? value_refuse(key, value, "a MAC address")
                                                       : 0;
    if (!strcmp(key, "family")) {
        i = word_find(value, families);
        o->families = i < 0 ? 0 : (unsigned)atoi(families[i]);
        return i < 0 ? value_refuse(key, value, "4, 6 or 46") : 0;
    }
    i = word_find(value, patterns);
    o->pattern = (unsigned)i;
    return i < 0 ? value_refuse(key, value, "uniform, prefix or flow") : 0;
}

// Options that are valid singly may not fit together.
static int options_check(const struct option *o)
{
    if (o->index >= o->ports)
        SAY("index=%u: expected less than ports=%u\n", o->index, o->ports);
    else if (o->pattern == PATTERN_PREFIX && !o->routes[0])
        SAY("dst=prefix needs routes=FILE\n");
    else if (o->verify == 2 && !o->routes[0])
        SAY("verify=2 needs routes=FILE, to know the next hops\n");
    else
        return 0;
    return -EINVAL;
}

int option_parse(struct option *o, const char *devargs)
{
    static const char *const keys[] = {"entries", "seed",          "rate",      "size",   "hops",
                                       "ports",   "index",         "ring",      "verify", "vlan",
                                       "routes",  "checksum_good", "fast_free", "held",   "page",
                                       "mac",     "family",        "dst",       NULL};
    struct rte_kvargs *given = rte_kvargs_parse(devargs, keys);
    int r = given ? 0 : -EINVAL;

    *o = (struct option){.entries = 1u << 19, .seed = 1, .size = 64, .families = 4, .hops = 64,
                         .ports = 1, .checksum_good = 1, .fast_free = 1, .mac = o->mac};
    if (!given)
        SAY("'%s': unknown option, or no list of option=value\n", devargs);
    else
        r = rte_kvargs_process(given, NULL, parse_one, o);
    rte_kvargs_free(given);
    if (!r)
        r = options_check(o);
    o->entries = rte_align64pow2(o->entries);
    return r ? -EINVAL : 0;
}
