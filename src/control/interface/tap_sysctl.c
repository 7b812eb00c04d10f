// SPDX-License-Identifier: BSD-3-Clause
// tap_sysctl.c - makes the kernel behind a TAP behave as a router
// Without `forwarding`, an interface is a host's: the kernel accepts router advertisements and
// redirects, tells its neighbors that it is no router (so that they drop their default route), and
// joins neither the all-routers group nor the subnet-router anycast address. With `forwarding`, the
// kernel still forwards nothing, because forwarders send only packets for the router itself up a
// TAP (fwd_exit.c, ip4_in.c, ip6_in.c).
//
// KEPT settings make a router, or keep the kernel from forwarding packets that it gets; they are
// restored. START settings only make a new TAP independent of the namespace's `default`; afterwards
// they belong to the operator or to keepalived. All others belong to the operator alone; `all` and
// `default` are never written. docs/features/tap.md has the same table; tests/e2e/test_router.py
// compares the two.
//
// A tunnel made by Linux (tunnel_linux.h) has no IPv4 `forwarding`, so that the kernel cannot
// forward packets that kamueed leaves to it past access lists. For IPv6, `forwarding` of a device
// only tells neighbors "a router"; the kernel forwards according to `all`.
//
// A device stacked on a TAP, such as the macvlan of keepalived and vrrpd for VRRP's MAC, receives
// the packets of the TAP: KEPT settings hold there, too.
//
// The kernel announces changes of forwarding and rp_filter (rib_manager.h), of one interface or of
// all in a namespace; a timer checks the other settings. Each turn checks LOOK_AT interfaces,
// because clients wait meanwhile.
#include "interface/iface_tap.h"

#include <errno.h>
#include <event2/event.h>
#include <linux/if_link.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/rtnetlink.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/vec.h"
#include "core/manager.h"
#include "core/thread.h"
#include "interface/vr_manager.h"
#include "netlink/netns.h"
#include "netlink/rtnetlink.h"
#include "table/iface.h"
#include "table/tunnel.h"

#define LOOK_S 5
#define LOOK_AT 32
#define LOOSE_ENOUGH -1 // of rp_filter: see below
#define OF_A_TAP -2     // 1; for a Linux device 0

#define UNTOLD -1
#define VALUES 128 // more than Linux has

enum kind { KEPT, START };

static const struct setting {
    const char *path;
    int value;
    enum kind kind;
    int index; // in RTM_NEWLINK's IFLA_INET_CONF or IFLA_INET6_CONF; UNTOLD: not contained
} settings[] = {
    {"ipv4/conf/%s/forwarding", OF_A_TAP, KEPT, IPV4_DEVCONF_FORWARDING},
    // With forwarding, "all" alone cannot allow redirects.
    {"ipv4/conf/%s/accept_redirects", 0, KEPT, IPV4_DEVCONF_ACCEPT_REDIRECTS},
    {"ipv4/conf/%s/send_redirects", 0, KEPT, IPV4_DEVCONF_SEND_REDIRECTS},
    {"ipv4/conf/%s/rp_filter", LOOSE_ENOUGH, KEPT, IPV4_DEVCONF_RP_FILTER},
    {"ipv4/conf/%s/accept_source_route", 0, KEPT, IPV4_DEVCONF_ACCEPT_SOURCE_ROUTE},
    {"ipv4/conf/%s/bc_forwarding", 0, KEPT, IPV4_DEVCONF_BC_FORWARDING},
    {"ipv6/conf/%s/forwarding", 1, KEPT, DEVCONF_FORWARDING},
    {"ipv6/conf/%s/accept_ra", 0, KEPT, DEVCONF_ACCEPT_RA},
    {"ipv6/conf/%s/autoconf", 0, KEPT, DEVCONF_AUTOCONF},
    {"ipv6/conf/%s/accept_redirects", 0, KEPT, DEVCONF_ACCEPT_REDIRECTS},
    {"ipv6/conf/%s/force_forwarding", 0, KEPT, UNTOLD}, // Linux 6.17
    {"ipv6/conf/%s/seg6_enabled", 0, KEPT, DEVCONF_SEG6_ENABLED},
    {"ipv6/conf/%s/rpl_seg_enabled", 0, KEPT, DEVCONF_RPL_SEG_ENABLED},
    {"ipv6/conf/%s/suppress_frag_ndisc", 1, KEPT, DEVCONF_SUPPRESS_FRAG_NDISC}, // RFC 6980
    {"ipv4/conf/%s/arp_accept", 0, START, IPV4_DEVCONF_ARP_ACCEPT},
    {"ipv4/conf/%s/arp_announce", 0, START, IPV4_DEVCONF_ARP_ANNOUNCE},
    {"ipv4/conf/%s/arp_filter", 0, START, IPV4_DEVCONF_ARPFILTER},
    {"ipv4/conf/%s/arp_ignore", 0, START, IPV4_DEVCONF_ARP_IGNORE},
    {"ipv4/conf/%s/drop_gratuitous_arp", 0, START, IPV4_DEVCONF_DROP_GRATUITOUS_ARP},
    {"ipv4/conf/%s/proxy_arp", 0, START, IPV4_DEVCONF_PROXY_ARP},
    {"ipv4/conf/%s/proxy_arp_pvlan", 0, START, IPV4_DEVCONF_PROXY_ARP_PVLAN},
    {"ipv4/conf/%s/accept_local", 0, START, IPV4_DEVCONF_ACCEPT_LOCAL},
    {"ipv4/conf/%s/route_localnet", 0, START, IPV4_DEVCONF_ROUTE_LOCALNET},
    {"ipv6/conf/%s/accept_dad", 1, START, DEVCONF_ACCEPT_DAD},
    {"ipv6/conf/%s/dad_transmits", 1, START, DEVCONF_DAD_TRANSMITS},
    {"ipv6/conf/%s/accept_untracked_na", 0, START, DEVCONF_ACCEPT_UNTRACKED_NA},
    {"ipv6/conf/%s/drop_unsolicited_na", 0, START, DEVCONF_DROP_UNSOLICITED_NA},
    {"ipv6/conf/%s/proxy_ndp", 0, START, DEVCONF_PROXY_NDP},
};
#define N_SETTINGS (sizeof settings / sizeof *settings)

static struct event *timer, *turn; // `turn`: checks announced interfaces
static bool announced[IFACE_MAX];
static uint16_t next_id = 1; // the next interface that the timer checks
static VEC(struct upper {
    uint16_t vr;
    int lower; // ifindex of the TAP
    char name[16];
}) uppers; // devices stacked on TAPs

// The kernel might route the source of a punted packet another way, so the reverse-path filter must
// not be strict. The kernel uses the larger value of "all" and the device: with a filter in "all",
// 2 (loose) is the weakest.
static int loosest_rp_filter(void)
{
    return netns_sysctl_get("ipv4/conf/%s/rp_filter", "all") > 0 ? 2 : 0;
}

static int setting_value(const struct setting *s, bool foreign)
{
    return s->value == LOOSE_ENOUGH ? loosest_rp_filter()
           : s->value == OF_A_TAP   ? !foreign
                                    : s->value;
}

// Values of an interface, all reported in one message; most of a new interface's are right already.
struct values {
    int n4, n6; // number reported, 0 = none
    int32_t v4[VALUES], v6[VALUES];
};

static int values_take(const struct nlattr *a, int32_t v[VALUES])
{
    size_t size = mnl_attr_get_payload_len(a);

    if (size > VALUES * sizeof *v)
        size = VALUES * sizeof *v;
    memcpy(v, mnl_attr_get_payload(a), size);
    return (int)(size / sizeof *v);
}

static int values_of_family(const struct nlattr *family, void *arg)
{
    struct values *v = arg;
    const struct nlattr *a;

    mnl_attr_for_each_nested (a, family)
        if (mnl_attr_get_type(family) == AF_INET && mnl_attr_get_type(a) == IFLA_INET_CONF)
            v->n4 = values_take(a, v->v4);
        else if (mnl_attr_get_type(family) == AF_INET6 && mnl_attr_get_type(a) == IFLA_INET6_CONF)
            v->n6 = values_take(a, v->v6);
    return MNL_CB_OK;
}

static int values_of_link(const struct nlmsghdr *h, void *values)
{
    const struct nlattr *a;

    mnl_attr_for_each (a, h, sizeof(struct ifinfomsg))
        if (mnl_attr_get_type(a) == IFLA_AF_SPEC)
            mnl_attr_parse_nested(a, values_of_family, values);
    return MNL_CB_OK;
}

// Reads the values in the current namespace; reports none on failure.
static void values_read(const struct tap *t, struct values *v)
{
    char buf[256] __attribute__((aligned(8)));
    struct nlmsghdr *h = rtnetlink_link(buf, RTM_GETLINK, t->ifindex);

    v->n4 = v->n6 = 0;
    mnl_attr_put_u32(h, IFLA_EXT_MASK, RTEXT_FILTER_SKIP_STATS);
    rtnetlink_request_once(rtnetlink_open(NETNS_OWN), h, values_of_link, v);
}

// IFLA_INET_CONF begins with the value of index 1, IFLA_INET6_CONF with that of index 0.
static bool is_as_told(const struct setting *s, bool foreign, const struct values *v)
{
    bool four = !strncmp(s->path, "ipv4", 4);
    int at = s->index - four;

    return s->index != UNTOLD && at < (four ? v->n4 : v->n6) &&
           (four ? v->v4 : v->v6)[at] == setting_value(s, foreign);
}

void tap_sysctl_set(const struct tap *t, int netns)
{
    int back = netns_enter(netns);
    struct values now;

    thread_must_be(ROLE_CONTROL);
    if (back >= 0)
        values_read(t, &now);
    for (unsigned k = 0; back >= 0 && k < N_SETTINGS; k++) {
        const struct setting *s = &settings[k];
        char path[80];
        if (s->kind == START && t->found) // the operator may have changed it since
            continue;
        if (is_as_told(s, t->foreign, &now))
            continue;
        int r = netns_sysctl_set(s->path, t->name, setting_value(s, t->foreign));
        if (!r || r == -ENOENT)
            continue;
        snprintf(path, sizeof path, s->path, t->name);
        log_warning("tap_sysctl: not set, so the kernel does not act as a router on this "
                    "interface (is /proc/sys read-only?): "
                    "interface=%s sysctl=net/%s error=%s",
                    t->name, path, LOG_VALUE(strerror(-r)));
    }
    netns_leave(back);
}

void tap_sysctl_give_back(const struct tap *t, int netns)
{
    int back = netns_enter(netns);
    int all = back < 0 ? -1 : netns_sysctl_get(settings[0].path, "all");

    if (all >= 0)
        netns_sysctl_set(settings[0].path, t->name, all); // the device may be gone
    netns_leave(back);
}

// Restores the KEPT settings of an interface of the current namespace.
static void restore_settings(const char *name, bool foreign)
{
    for (unsigned k = 0; k < N_SETTINGS && settings[k].kind == KEPT; k++) {
        const char *format = settings[k].path;
        int is = netns_sysctl_get(format, name), wanted = setting_value(&settings[k], foreign);
        char path[80];
        if (is < 0 || is == wanted || netns_sysctl_set(format, name, wanted))
            continue; // absent, or tap_sysctl_set has logged that it cannot be set
        snprintf(path, sizeof path, format, name);
        log_notice("tap_sysctl: changed by another program, restored: interface=%s sysctl=%s "
                   "was=%d value=%d",
                   LOG_VALUE(name), LOG_VALUE(path), is, wanted);
    }
}

static void restore_settings_in_vr(uint16_t vr, const char *name, bool foreign)
{
    int back = netns_enter(vr_manager_netns(vr));

    if (back < 0)
        return;
    restore_settings(name, foreign);
    netns_leave(back);
}

static bool has_tap(const struct iface *i)
{
    return i->kind != IFACE_NONE && i->ifindex > 0;
}

static bool upper_exists(const struct upper *u)
{
    int back = netns_enter(vr_manager_netns(u->vr)),
        is = back < 0 ? -1 : netns_sysctl_get(settings[0].path, u->name);

    netns_leave(back);
    return is >= 0 && iface_find_ifindex(u->vr, u->lower);
}

static void upper_changed(uint16_t vr, int lower, const char *name)
{
    bool known = false;

    vec_foreach (&uppers, u)
        known |= u->vr == vr && u->lower == lower && !strcmp(u->name, name);
    if (!known) {
        struct upper *u = vec_push(&uppers);
        *u = (struct upper){.vr = vr, .lower = lower};
        snprintf(u->name, sizeof u->name, "%s", name);
    }
    restore_settings_in_vr(vr, name, false);
}

static void restore_uppers(void)
{
    for (size_t k = uppers.n; k--;) {
        if (upper_exists(&uppers.item[k]))
            restore_settings_in_vr(uppers.item[k].vr, uppers.item[k].name, false);
        else
            uppers.item[k] = uppers.item[--uppers.n];
    }
}

// Uses the timer, not event_active(), so that the loop looks at its sockets first.
static void next_turn(void)
{
    if (turn)
        event_add(turn, &(struct timeval){0});
}

void tap_sysctl_changed(uint16_t vr, int ifindex, const struct iface *of, const char *upper)
{
    thread_must_be(ROLE_CONTROL);
    if (upper[0]) {
        upper_changed(vr, ifindex, upper);
        return;
    }
    if (of)
        announced[of->id] = true;
    for (uint16_t id = 1; ifindex <= 0 && id < iface_id_end(); id++)
        if (has_tap(iface_get(id)) && iface_get(id)->vr == vr)
            announced[id] = true;
    next_turn();
}

static void on_turn(evutil_socket_t fd, short what, void *arg)
{
    unsigned n = 0;

    for (uint16_t id = 1; id < iface_id_end(); id++) {
        const struct iface *i = iface_get(id);
        if (!announced[id])
            continue;
        if (n++ == LOOK_AT) {
            next_turn();
            return;
        }
        announced[id] = false;
        if (has_tap(i))
            restore_settings_in_vr(i->vr, i->name, tunnel_is_by_linux(i));
    }
}

static void on_sysctl_timer(evutil_socket_t fd, short what, void *arg)
{
    unsigned n = 0;

    restore_uppers();
    for (unsigned seen = 1; seen < iface_id_end() && n < LOOK_AT; seen++) {
        const struct iface *i = iface_get(next_id);
        next_id = next_id + 1u < iface_id_end() ? next_id + 1 : 1;
        if (!has_tap(i))
            continue;
        restore_settings_in_vr(i->vr, i->name, tunnel_is_by_linux(i));
        n++;
    }
}

int tap_sysctl_init(struct event_base *loop)
{
    const struct timeval pause = {.tv_sec = LOOK_S};

    thread_must_be(ROLE_CONTROL);
    timer = event_new(loop, -1, EV_PERSIST, on_sysctl_timer, NULL);
    turn = event_new(loop, -1, 0, on_turn, NULL);
    return !timer || !turn || event_add(timer, &pause) ? -ENOMEM : 0;
}

void tap_sysctl_fini(void)
{
    drop_event(&timer);
    drop_event(&turn);
    vec_free(&uppers);
}
