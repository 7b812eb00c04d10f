// SPDX-License-Identifier: BSD-3-Clause
// complete_source.c - live names for completion (extension k:complete)
#include "config/complete_source.h"

#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "acl_manager/acl_word.h"
#include "config/config.h"
#include "core/thread.h"

typedef void (*word_fn)(void *ctx, const char *word, const char *help);

#define CORES_LOOKED_AT 1024

static void each_port(word_fn fn, void *ctx)
{
    vec_foreach (&config_model()->port, p)
        fn(ctx, p->config.name, p->config.devargs);
}

static void each_interface(word_fn fn, void *ctx)
{
    char help[64];

    each_port(fn, ctx);
    vec_foreach (&config_model()->vport, v) {
        if (v->tags.outer)
            snprintf(help, sizeof help, "VLANs %u.%u of %s", v->tags.outer, v->tags.vlan, v->port);
        else
            snprintf(help, sizeof help, "VLAN %u of %s", v->tags.vlan, v->port);
        fn(ctx, v->name, help);
    }
}

static void each_vr(word_fn fn, void *ctx)
{
    char help[96];

    fn(ctx, VR_DEFAULT_NAME, "kamueed's own namespace, main table");
    vec_foreach (&config_model()->vr, v) {
        snprintf(help, sizeof help, "%s%s%stable %u", v->netns[0] ? "namespace " : "", v->netns,
                 v->netns[0] ? ", " : "", v->table);
        fn(ctx, v->name, help);
    }
}

static void each_entry(const char *dir, word_fn fn, void *ctx)
{
    DIR *d = opendir(dir);

    for (struct dirent *e; d && (e = readdir(d));)
        if (e->d_name[0] != '.')
            fn(ctx, e->d_name, "");
    if (d)
        closedir(d);
}

static void each_core(word_fn fn, void *ctx)
{
    char word[12];

    for (int c = 0; c < CORES_LOOKED_AT; c++) {
        if (!thread_core_exists(c))
            continue;
        snprintf(word, sizeof word, "%d", c);
        fn(ctx, word, "");
    }
}

struct netdev {
    word_fn fn;
    void *ctx;
    unsigned number;
};

// A kernel interface as a DPDK device; our own TAPs and the loopback are none.
static void offer_netdev(void *ctx, const char *word, const char *help)
{
    const struct netdev *n = ctx;
    char devargs[96];

    if (!strcmp(word, "lo") || strlen(word) > 15 || model_find_port(config_model(), word) ||
        model_find_vport(config_model(), word))
        return;
    snprintf(devargs, sizeof devargs, "net_af_packet%u,iface=%s", n->number, word);
    n->fn(n->ctx, devargs, "kernel interface in kamueed's namespace");
}

// DPDK wants each virtual device to have a number of its own.
static unsigned free_number(void)
{
    unsigned next = 0, used;

    vec_foreach (&config_model()->port, p)
        if (sscanf(p->config.devargs, "net_af_packet%u", &used) == 1 && used >= next)
            next = used + 1;
    return next;
}

static void offer_kernel_interface(void *ctx, const char *word, const char *help)
{
    const struct netdev *n = ctx;

    if (strcmp(word, "lo") && strlen(word) <= 15 && !model_find_port(config_model(), word) &&
        !model_find_vport(config_model(), word))
        n->fn(n->ctx, word, "");
}

static void each_kernel_interface(word_fn fn, void *ctx)
{
    struct netdev n = {fn, ctx, 0};

    each_entry("/sys/class/net", offer_kernel_interface, &n);
}

static void each_netdev(word_fn fn, void *ctx)
{
    struct netdev n = {fn, ctx, free_number()};

    each_entry("/sys/class/net", offer_netdev, &n);
}

static void each_netns(word_fn fn, void *ctx)
{
    each_entry("/run/netns", fn, ctx);
}

static void each_acl_word(const struct acl_word *w, word_fn fn, void *ctx)
{
    char help[24];

    for (; w->name; w++) {
        snprintf(help, sizeof help, "%u", w->number);
        fn(ctx, w->name, help);
    }
}

static void each_service(word_fn fn, void *ctx)
{
    each_acl_word(acl_ports, fn, ctx);
}

static void each_protocol(word_fn fn, void *ctx)
{
    fn(ctx, "ip", "all protocols of both families");
    fn(ctx, "ipv4", "all protocols of IPv4");
    fn(ctx, "ipv6", "all protocols of IPv6");
    each_acl_word(acl_protocols, fn, ctx);
}

static void each_icmp_type(word_fn fn, void *ctx)
{
    each_acl_word(acl_icmp_types, fn, ctx);
    each_acl_word(acl_icmp6_types, fn, ctx);
}

static void each_dscp(word_fn fn, void *ctx)
{
    each_acl_word(acl_dscps, fn, ctx);
}

void complete_source(const char *source, word_fn fn, void *ctx)
{
    static const struct {
        const char *name;
        void (*each)(word_fn fn, void *ctx);
    } sources[] = {{"port", each_port},
                   {"interface", each_interface},
                   {"vr", each_vr},
                   {"netns", each_netns},
                   {"core", each_core},
                   {"netdev", each_netdev},
                   {"kernel-interface", each_kernel_interface},
                   {"service", each_service},
                   {"protocol", each_protocol},
                   {"icmp-type", each_icmp_type},
                   {"dscp", each_dscp}};

    for (size_t i = 0; i < sizeof sources / sizeof *sources; i++)
        if (!strcmp(source, sources[i].name))
            sources[i].each(fn, ctx);
}
