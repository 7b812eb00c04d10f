// SPDX-License-Identifier: BSD-3-Clause
// kernel_link.c - see kernel_link.h
//
// Linux forgets IPv6 settings when the MTU falls below 1280, and `all` may change them. So they are
// checked and restored, as for a TAP (iface_tap.h).
//
//     disable_ipv6 1   no link-local address, no router solicitations
//     arp_ignore 8     no answer to ARP for the addresses of the TAP
//     rp_filter 1      no route leads out of it, so the kernel accepts nothing from it
//     drop             where nftables can, the kernel does not even look (kernel_link_drop.c)
//     GRO, LRO off     frames as on the wire; in a virtual machine also the host's (rx-gro-hw)
//     TSO on           of a veth, with all that it needs: super-packets leave it whole
#include "device/kernel_link.h"

#include <errno.h>
#include <linux/ethtool.h>
#include <linux/if.h>
#include <linux/if_arp.h>
#include <linux/sockios.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/capability.h"
#include "base/log.h"
#include "netlink/netns.h"

static const struct {
    const char *path;
    int value;
} quiet_sysctls[3] = {{"ipv6/conf/%s/disable_ipv6", 1},
                      {"ipv4/conf/%s/arp_ignore", 8},
                      {"ipv4/conf/%s/rp_filter", 1}};

// Returns 0 if there is no such interface. Avoids SIOCGIFINDEX: each ioctl on a missing name waits
// for modprobe, and a port whose card was removed is polled 40 times a second.
static int read_ifindex(const struct kernel_link *n)
{
    int index = 0;
    socklen_t size = sizeof index;

    if (setsockopt(n->sock, SOL_SOCKET, SO_BINDTODEVICE, n->name, (socklen_t)strlen(n->name)))
        return 0;
    return getsockopt(n->sock, SOL_SOCKET, SO_BINDTOIFINDEX, &index, &size) ? 0 : index;
}

static int run_ethtool(const struct kernel_link *n, void *command)
{
    return link_ethtool(n->sock, n->name, command);
}

#define FEATURES_MAX 256

static uint32_t count_features(const struct kernel_link *n)
{
    struct {
        struct ethtool_sset_info head;
        uint32_t n;
    } count = {.head = {.cmd = ETHTOOL_GSSET_INFO, .sset_mask = 1ull << ETH_SS_FEATURES}};

    return run_ethtool(n, &count) || count.n > FEATURES_MAX ? 0 : count.n;
}

// Index of a feature in the kernel's list, by its name in `ethtool -k`; -1: none.
static int find_feature(const struct kernel_link *n, uint32_t n_features, const char *name)
{
    struct {
        struct ethtool_gstrings head;
        char name[FEATURES_MAX][ETH_GSTRING_LEN];
    } *all = calloc(1, sizeof *all);
    int place = -1;

    if (!all || !n_features)
        goto done;
    all->head = (struct ethtool_gstrings){.cmd = ETHTOOL_GSTRINGS, .string_set = ETH_SS_FEATURES};
    if (!run_ethtool(n, all))
        for (uint32_t i = 0; i < n_features; i++)
            if (!strcmp(all->name[i], name))
                place = (int)i;
done:
    free(all);
    return place;
}

static void disable_feature(const struct kernel_link *n, const char *name)
{
    uint32_t n_features = count_features(n);
    int place = find_feature(n, n_features, name);
    struct {
        struct ethtool_sfeatures head;
        struct ethtool_set_features_block block[FEATURES_MAX / 32];
    } set = {.head = {.cmd = ETHTOOL_SFEATURES, .size = (n_features + 31) / 32}};

    if (place < 0)
        return;
    set.block[place / 32].valid = 1u << place % 32;
    if (run_ethtool(n, &set))
        log_debug("netdev: offload not switched off: netdev=%s feature=%s error=\"%m\"", n->name,
                  name);
}

static void disable_gro_lro(const struct kernel_link *n)
{
    struct ethtool_value gro = {.cmd = ETHTOOL_SGRO}, flags = {.cmd = ETHTOOL_GFLAGS};

    if (run_ethtool(n, &gro))
        log_debug("netdev: GRO not switched off: netdev=%s error=\"%m\"", n->name);
    disable_feature(n, "rx-gro-hw");
    if (run_ethtool(n, &flags) || !(flags.data & ETH_FLAG_LRO))
        return;
    flags.cmd = ETHTOOL_SFLAGS;
    flags.data &= ~(uint32_t)ETH_FLAG_LRO;
    if (run_ethtool(n, &flags))
        log_warning(
            "netdev: LRO not switched off, large packets will be dropped: netdev=%s error=\"%m\"",
            n->name);
}

// Lets super-packets leave a veth whole: the host behind it takes them, and no card could cut them.
static void send_whole(const struct kernel_link *n)
{
    static const uint32_t features[] = {ETHTOOL_STXCSUM, ETHTOOL_SSG, ETHTOOL_STSO, ETHTOOL_SGSO};
    struct ethtool_drvinfo driver = {.cmd = ETHTOOL_GDRVINFO};

    if (run_ethtool(n, &driver) || strcmp(driver.driver, "veth"))
        return;
    for (unsigned i = 0; i < sizeof features / sizeof *features; i++)
        if (run_ethtool(n, &(struct ethtool_value){.cmd = features[i], .data = 1}))
            log_debug("netdev: offload not switched on: netdev=%s command=%#x error=\"%m\"",
                      n->name, features[i]);
}

static struct kernel_link *used_links[PORT_MAX]; // used by control only

// Two ports on one interface would both get each frame. Comparing names is not enough: a namespace
// may have two names, and an interface may have altnames.
static bool is_used_by_port(const struct kernel_link *n)
{
    for (unsigned i = 0; i < PORT_MAX; i++)
        if (used_links[i] && used_links[i]->ifindex == n->ifindex &&
            netns_cookie(used_links[i]->sock) == netns_cookie(n->sock))
            return true;
    return false;
}

static void replace_used_link(const struct kernel_link *old, struct kernel_link *new)
{
    for (unsigned i = 0; i < PORT_MAX; i++)
        if (used_links[i] == old) {
            used_links[i] = new;
            return;
        }
}

static void close_ioctl_socket(struct kernel_link *n)
{
    close(n->sock);
    n->sock = -1;
    n->name[0] = 0;
}

// The commit has already refused or asked, but the host may have changed since.
static void warn_of_use(const char *name, const char *netns_name)
{
    struct kernel_link_use u;
    char err[400];

    if (kernel_link_use_read(name, netns_name, &u, err, sizeof err))
        return;
    if (u.address[0])
        log_warning("netdev: its addresses are no longer reachable, because a port uses the "
                    "interface now: netdev=%s addresses=%s",
                    name, LOG_VALUE(u.address));
    if (u.master[0])
        log_warning("netdev: its master gets the same frames as the port; run ip link set %s "
                    "nomaster: netdev=%s master=%s",
                    name, name, u.master);
    if (u.no_ethernet)
        log_error("netdev: it has no Ethernet headers, so the port cannot use it: netdev=%s "
                  "type=%u",
                  name, u.type);
}

// Reads the present settings, or those found by a kamueed that crashed.
static void read_settings(struct kernel_link *n, int flags)
{
    struct ifreq mtu = link_request(n->name);

    for (unsigned i = 0; i < 3; i++)
        n->saved[i] = netns_sysctl_get(quiet_sysctls[i].path, n->name);
    n->was_up = flags & IFF_UP;
    n->was_mtu = ioctl(n->sock, SIOCGIFMTU, &mtu) ? 0 : mtu.ifr_mtu;
    kernel_link_found_take(n, netns_cookie(n->sock));
}

int kernel_link_take(struct kernel_link *n, const char *name, const char *netns_name, char *err,
                     size_t err_size)
{
    *n = (struct kernel_link){.sock = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), .drop = -1};
    snprintf(n->name, sizeof n->name, "%s", name);
    snprintf(n->taken, sizeof n->taken, "%s", name);
    if (n->sock < 0) {
        snprintf(err, err_size, "no socket: %m");
        return -errno;
    }
    int flags = link_flags(n->sock, n->name);
    if (flags < 0) {
        close_ioctl_socket(n);
        return kernel_link_explain_missing(name, netns_name, err, err_size);
    }
    n->ifindex = read_ifindex(n);
    if (is_used_by_port(n)) {
        snprintf(err, err_size, "kernel interface %s already belongs to another port", name);
        close_ioctl_socket(n);
        return -EEXIST;
    }
    replace_used_link(NULL, n);
    warn_of_use(name, netns_name);
    read_settings(n, flags);
    for (unsigned i = 0; i < 3; i++) {
        char path[64];
        snprintf(path, sizeof path, quiet_sysctls[i].path, name);
        if (n->saved[i] >= 0 &&
            netns_sysctl_set(quiet_sysctls[i].path, name, quiet_sysctls[i].value))
            log_warning("netdev: sysctl not set, the kernel may answer by itself: sysctl=net/%s",
                        path);
    }
    n->drop = kernel_link_drop(name);
    if (n->drop < 0)
        log_debug("netdev: Linux goes on receiving: netdev=%s error=%s", name,
                  LOG_VALUE(strerror(-n->drop)));
    disable_gro_lro(n);
    send_whole(n);
    int r = link_change_flags(n->sock, name, IFF_UP, 0);
    if (r)
        log_warning("netdev: setup failed: netdev=%s error=%s", name, LOG_VALUE(strerror(-r)));
    return 0;
}

void kernel_link_release(struct kernel_link *n, int netns)
{
    if (!n->name[0])
        return;
    int back = netns_enter(netns);
    for (unsigned i = 0; back >= 0 && i < 3; i++)
        if (n->saved[i] >= 0) // the interface may be gone
            netns_sysctl_set(quiet_sysctls[i].path, n->name, n->saved[i]);
    netns_leave(back);
    bool there = read_ifindex(n) == n->ifindex;
    if (there && n->was_mtu)
        kernel_link_set_mtu(n, (uint16_t)n->was_mtu);
    if (there && !n->was_up)
        link_change_flags(n->sock, n->name, 0, IFF_UP);
    replace_used_link(n, NULL);
    kernel_link_found_release(n, netns_cookie(n->sock));
    if (n->drop >= 0)
        close(n->drop);
    close_ioctl_socket(n);
}

void kernel_link_keep(const struct kernel_link *n)
{
    for (unsigned i = 0; n->name[0] && i < 3; i++) {
        const char *format = quiet_sysctls[i].path;
        const int value = quiet_sysctls[i].value;
        char path[64];
        int is = netns_sysctl_get(format, n->name);
        if (is < 0 || is == value || netns_sysctl_set(format, n->name, value))
            continue; // absent, or kernel_link_take has logged that it cannot be set
        snprintf(path, sizeof path, format, n->name);
        log_notice("netdev: changed by another program or forgotten by Linux, restored: netdev=%s "
                   "sysctl=net/%s was=%d value=%d",
                   n->name, path, is, value);
    }
}

int kernel_link_set_mtu(const struct kernel_link *n, uint16_t mtu)
{
    struct ifreq r = link_request(n->name);

    r.ifr_mtu = mtu;
    return ioctl(n->sock, SIOCSIFMTU, &r) ? -errno : 0;
}

// Reads the present name by its index; false if it is no longer in the namespace.
static bool read_name(const struct kernel_link *n, char name[16])
{
    struct ifreq r = {.ifr_ifindex = n->ifindex};

    if (ioctl(n->sock, SIOCGIFNAME, &r))
        return false;
    snprintf(name, 16, "%s", r.ifr_name);
    return true;
}

// The interface may be renamed or deleted at any time.
static void follow_name(struct kernel_link *n)
{
    if (read_ifindex(n) == n->ifindex)
        return;
    n->gone = !read_name(n, n->name);
    if (n->gone) // keeps the name by which it may come back
        snprintf(n->name, sizeof n->name, "%s", n->taken);
}

bool kernel_link_was_replaced(struct kernel_link *n)
{
    follow_name(n);
    return n->gone && read_ifindex(n);
}

void kernel_link_explain(const struct kernel_link *n, const char *port, char *why, size_t size)
{
    *why = 0;
    if (n->gone)
        snprintf(why, size,
                 "its kernel interface %s is gone: it was deleted, or moved to another namespace; "
                 "the port uses it when it is there again",
                 n->taken);
    else if (strcmp(n->name, n->taken))
        snprintf(why, size,
                 "its kernel interface %s is called %s now, and the next start would not find it: "
                 "ip link set %s name %s, or set port %s kernel-interface %s",
                 n->taken, n->name, n->name, n->taken, port, n->name);
}

void kernel_link_explain_down(const struct kernel_link *n, const char *port, char *why, size_t size)
{
    int flags;

    kernel_link_explain(n, port, why, size);
    if (*why || !n->name[0] || (flags = link_flags(n->sock, n->name)) < 0)
        return;
    if (flags & IFF_UP)
        snprintf(why, size, "its kernel interface %s has no carrier", n->name);
    else
        snprintf(why, size, "its kernel interface %s is down: ip link set %s up", n->name, n->name);
}

int kernel_link_mac(const struct kernel_link *n, uint8_t mac[6])
{
    struct ifreq r = link_request(n->name);

    if (ioctl(n->sock, SIOCGIFHWADDR, &r))
        return -errno;
    memcpy(mac, r.ifr_hwaddr.sa_data, 6);
    return 0;
}

int kernel_link_set_mac(const struct kernel_link *n, const uint8_t mac[6])
{
    struct ifreq r = link_request(n->name);

    r.ifr_hwaddr.sa_family = ARPHRD_ETHER;
    memcpy(r.ifr_hwaddr.sa_data, mac, 6);
    return ioctl(n->sock, SIOCSIFHWADDR, &r) ? -errno : 0;
}

bool kernel_link_has_carrier(struct kernel_link *n)
{
    // Not IFF_RUNNING, which may be up to a second late.
    struct ethtool_value link = {.cmd = ETHTOOL_GLINK};

    follow_name(n);
    if (n->gone) // an ioctl on a missing name would wait for modprobe
        return n->carrier = false;
    int flags = link_flags(n->sock, n->name);
    int r = flags < 0 ? flags : run_ethtool(n, &link);
    if (r != -ENODEV) // a renamed interface has neither name for some milliseconds
        n->carrier = !r && flags & IFF_UP && link.data;
    return n->carrier;
}
