// SPDX-License-Identifier: BSD-3-Clause
// tap_link_local.c - suppresses a new TAP's link-local address, and gives it one later
//
// addr_gen_mode `none` suppresses the address while the TAP comes up. A TAP with neighbors gets its
// former mode back at once and the kernel makes the address; one without gets the address that the
// kernel would make, without detection of duplicates, and its mode when there is time. The
// operator's change of the mode in between stays.
#include "tap/tap.h"

#include <linux/if.h>
#include <linux/if_addr.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>

#include "netlink/netns.h"
#include "netlink/rtnetlink.h"

#define MODE "ipv6/conf/%s/addr_gen_mode"

int tap_link_local_hold(const struct tap *t)
{
    int mode = netns_sysctl_get(MODE, "default"); // its own may be left from a killed start

    if (mode >= 0)
        netns_sysctl_set(MODE, t->name, IN6_ADDR_GEN_MODE_NONE);
    return mode;
}

// Makes the address from the MAC: modified EUI-64 (RFC 4291 appendix A). False: no MAC.
static bool address_of(const struct tap *t, struct ifreq *r, uint8_t address[16])
{
    const uint8_t *mac = (const uint8_t *)r->ifr_hwaddr.sa_data;

    snprintf(r->ifr_name, sizeof r->ifr_name, "%s", t->name);
    if (ioctl(t->sock, SIOCGIFHWADDR, r))
        return false;
    memcpy(address, (uint8_t[16]){0xfe, 0x80, [11] = 0xff, [12] = 0xfe}, 16);
    memcpy(address + 8, mac, 3);
    memcpy(address + 13, mac + 3, 3);
    address[8] ^= 2;
    return true;
}

// If the kernel refuses the address, as without IPv6, tap_link_local_finish leaves it to the
// kernel.
static void address_add(const struct tap *t)
{
    char buf[256] __attribute__((aligned(8)));
    struct nlmsghdr *h = rtnetlink_address(buf, RTM_NEWADDR,
                                           &(struct ifaddrmsg){.ifa_family = AF_INET6,
                                                               .ifa_prefixlen = 64,
                                                               .ifa_scope = RT_SCOPE_LINK,
                                                               .ifa_index = (uint32_t)t->ifindex});
    struct ifreq r = {0};
    uint8_t address[16];

    if (!address_of(t, &r, address))
        return;
    mnl_attr_put(h, IFA_LOCAL, sizeof address, address);
    mnl_attr_put_u32(h, IFA_FLAGS, IFA_F_NODAD);
    mnl_attr_put_u8(h, IFA_PROTO, RTNETLINK_KERNEL_LL);
    rtnetlink_request_once(rtnetlink_open(NETNS_OWN), h, NULL, NULL); // of the current namespace
}

static bool has_no_neighbors(const struct tap *t)
{
    int flags = link_flags(t->sock, t->name);

    return flags >= 0 && flags & IFF_NOARP;
}

void tap_link_local_start(struct tap *t, int mode)
{
    if (mode < 0)
        return;
    t->unfinished = mode == IN6_ADDR_GEN_MODE_EUI64 && has_no_neighbors(t);
    if (t->unfinished)
        address_add(t);
    else
        netns_sysctl_set(MODE, t->name, mode);
}

void tap_link_local_finish(const struct tap *t)
{
    // Otherwise the operator has changed it meanwhile.
    if (netns_sysctl_get(MODE, t->name) == IN6_ADDR_GEN_MODE_NONE)
        netns_sysctl_set(MODE, t->name, IN6_ADDR_GEN_MODE_EUI64);
}
