// SPDX-License-Identifier: BSD-3-Clause
// interfaces.c - merges kamueed's and Linux's interfaces into one table (interfaces.h)
//
// TAPs are left out of Linux's interfaces, because kamueed has rows for those. While kamueed does
// not answer, requests fail; after GONE_S seconds the table consists of Linux's interfaces alone.
// Times are converted to the agent's uptime once, when they are new, so a set clock does not move
// them.
#include "snmp/interfaces.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/vec.h"
#include "snmp/api.h"

enum { IF_ETHERNET = 6, IF_VIRTUAL = 53, IF_TUNNEL = 131, IF_VLAN = 135 }; // IANAifType
enum { UP = 1, DOWN = 2 };

static struct interfaces now;
static struct fresh fresh;
static uint64_t answered_ns;      // time of kamueed's last answer
static uint32_t changed, epoch = 1;
static bool numbers_known; // of the previous rows, for ifTableLastChange

struct named {
    char name[16];
    uint32_t number;
};
static VEC(struct named) names; // kamueed's interfaces in its last answer; sorted by name

// --- times ---------------------------------------------------------------------------------------

// Age in hundredths of a second; 0: not a time, or in the future.
static uint64_t age_of(const char *text)
{
    struct tm tm = {0};
    struct timespec clock;
    const char *end = strptime(text, "%Y-%m-%dT%H:%M:%S", &tm);

    if (!end)
        return 0;
    clock_gettime(CLOCK_REALTIME, &clock);
    double fraction = *end == '.' ? atof(end) : 0;
    double age = (double)(clock.tv_sec - timegm(&tm)) + (double)clock.tv_nsec / 1e9 - fraction;
    return age > 0 ? (uint64_t)(age * 100) : 0;
}

// Converted once, when the time is new: the wall clock may be set later.
static struct since since_of(const char *text, const struct since *before)
{
    struct since s = {.epoch = epoch};
    uint64_t uptime = netsnmp_get_agent_uptime(), age = text ? age_of(text) : 0;

    snprintf(s.text, sizeof s.text, "%s", text ? text : "");
    if (before && before->epoch == epoch && !strcmp(before->text, s.text))
        return *before;
    s.ticks = text && age < uptime ? (uint32_t)(uptime - age) : 0;
    return s;
}

void interfaces_new_epoch(void)
{
    epoch++;
    fresh.until_ns = 0;
    numbers_known = false;
}

// --- from JSON -----------------------------------------------------------------------------------

static uint32_t type_of(const char *kind)
{
    return !strcmp(kind, "port")       ? IF_ETHERNET
           : !strcmp(kind, "metalink") ? IF_VIRTUAL
           : !strcmp(kind, "tunnel")   ? IF_TUNNEL
                                       : IF_VLAN;
}

static void take_counters(struct interface *i, const json_t *s)
{
    i->rx_bytes = api_number(s, "rx-bytes");
    i->rx_packets = api_number(s, "rx-packets");
    i->tx_bytes = api_number(s, "tx-bytes");
    i->tx_packets = api_number(s, "tx-packets");
    i->rx_drops = api_number(s, "drop-packets");
    i->tx_drops = api_number(s, "queue-drop-packets");
}

static void take_port(struct interface *i, const json_t *ports)
{
    const json_t *p;
    size_t at;

    json_array_foreach(ports, at, p)
    {
        if (strcmp(api_text(p, "name"), i->port))
            continue;
        i->speed_mbps = (uint32_t)api_number(p, "speed");
        i->promiscuous = json_is_true(json_object_get(p, "promiscuous"));
        return;
    }
}

static struct interface interface_of(const json_t *o, const json_t *ports)
{
    const json_t *statistics = json_object_get(o, "statistics");
    const char *status = api_text(o, "status");
    uint32_t number = (uint32_t)api_number(o, "if-index");
    struct key key = {1, {number}};
    const struct interface *before =
        (const void *)row_at(now.row.item, now.row.n, sizeof *now.row.item, &key);
    struct interface i = {.key = key,
                          .ours = true,
                          .type = type_of(api_text(o, "kind")),
                          .mtu = (uint32_t)api_number(o, "mtu"),
                          .n_mac = 6,
                          .admin = strcmp(status, "admin-down") ? UP : DOWN,
                          .oper = strcmp(status, "up") ? DOWN : UP};

    before = before && !strcmp(before->name, api_text(o, "name")) ? before : NULL;
    snprintf(i.name, sizeof i.name, "%s", api_text(o, "name"));
    snprintf(i.vr, sizeof i.vr, "%s", api_text(o, "vr"));
    snprintf(i.port, sizeof i.port, "%s", api_text(o, "port"));
    snprintf(i.kind, sizeof i.kind, "%s", api_text(o, "kind"));
    snprintf(i.alias, sizeof i.alias, "%s", api_text(o, "description"));
    api_mac(o, "mac", i.mac);
    i.changed = since_of(api_text(o, "last-change"), before ? &before->changed : NULL);
    i.began = since_of(api_text(statistics, "since"), before ? &before->began : NULL);
    take_counters(&i, statistics);
    take_port(&i, ports);
    return i;
}

static void take_addresses(struct interfaces *all, const json_t *o, const struct interface *i)
{
    const json_t *a;
    size_t at;

    json_array_foreach(json_object_get(o, "address"), at, a)
    {
        struct interface_address row = {.ifindex = i->key.id[0],
                              .len = (uint8_t)api_number(a, "prefix-length"),
                              .usable = strcmp(api_text(a, "status"), "tentative")};
        memcpy(row.vr, i->vr, sizeof row.vr);
        if (!ip_parse(api_text(a, "ip"), &row.ip))
            *vec_push(&all->address) = row;
    }
}

static void take_answer(const json_t *list, const json_t *ports, struct interfaces *all)
{
    const json_t *o;
    size_t at;

    json_array_foreach(list, at, o)
    {
        struct interface i = interface_of(o, ports);
        if (!i.key.id[0]) // it has no device yet
            continue;
        *vec_push(&all->row) = i;
        take_addresses(all, o, &i);
    }
}

// --- merging both --------------------------------------------------------------------------------

static int by_number(const void *a, const void *b)
{
    const struct interface *x = a, *y = b;
    int d = key_compare(&x->key, &y->key);

    return d ? d : y->ours - x->ours; // kamueed's first
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct named *)a)->name, ((const struct named *)b)->name);
}

static void note_names(const struct interfaces *all)
{
    vec_clear(&names);
    vec_foreach (&all->row, i) {
        struct named *n = vec_push(&names);
        memcpy(n->name, i->name, sizeof n->name);
        n->number = i->key.id[0];
    }
    if (names.n)
        qsort(names.item, names.n, sizeof *names.item, by_name);
}

// Adds Linux's interfaces without the TAPs: kamueed has rows for those, or does not run.
static void add_links(struct interfaces *all)
{
    size_t ours = all->row.n, n = ours, kept = 0;
    struct interface *i;

    links_read(all);
    i = all->row.item;
    for (size_t k = ours; k < all->row.n; k++)
        if (interfaces_number(i[k].name) != i[k].key.id[0])
            i[n++] = i[k];
    // A Linux interface and a foreign device of another namespace may share a number: keep one row.
    if (n)
        qsort(i, n, sizeof *i, by_number);
    for (size_t k = 0; k < n; k++)
        if (!kept || i[kept - 1].key.id[0] != i[k].key.id[0])
            i[kept++] = i[k];
    all->row.n = kept;
}

static void note_table_change(const struct interfaces *all)
{
    bool same = numbers_known && now.row.n == all->row.n;

    for (size_t i = 0; same && i < all->row.n; i++)
        same = now.row.item[i].key.id[0] == all->row.item[i].key.id[0];
    numbers_known = true;
    if (!same)
        changed = (uint32_t)netsnmp_get_agent_uptime();
}

static void replace(struct interfaces *all)
{
    note_table_change(all);
    all->version = now.version + 1;
    vec_free(&now.row);
    vec_free(&now.address);
    now = *all;
}

int interfaces_read_again(const struct interfaces **all)
{
    json_t *list = NULL, *ports = NULL;
    uint64_t begun = clock_now_ns();
    struct interfaces read = {0};
    int r = api_get("kamuee:state/interface", &list);

    if (!r || r == -ENOENT) // there are no interfaces
        r = api_get("kamuee:state/port?fields=name;speed;promiscuous", &ports);
    r = r == -ENOENT ? 0 : r;
    *all = &now;
    if (!r)
        answered_ns = clock_now_ns();
    else if (clock_now_ns() - answered_ns < GONE_S * NS_PER_SECOND)
        return r;
    take_answer(list, ports, &read);
    if (!r)
        note_names(&read);
    json_decref(list);
    json_decref(ports);
    add_links(&read);
    replace(&read);
    fresh_end(&fresh, begun);
    return 0;
}

int interfaces_read(const struct interfaces **all)
{
    *all = &now;
    return fresh_is(&fresh) ? 0 : interfaces_read_again(all);
}

uint32_t interfaces_number(const char *name)
{
    struct named key = {0};

    snprintf(key.name, sizeof key.name, "%s", name);
    const struct named *n =
        names.n ? bsearch(&key, names.item, names.n, sizeof key, by_name) : NULL;
    return n ? n->number : 0;
}

uint32_t interfaces_changed_ticks(void)
{
    return changed;
}
