// SPDX-License-Identifier: BSD-3-Clause
// kernel_link_use.h - what the host itself uses a kernel interface for
//
// A port's kernel interface no longer answers ARP (kernel_link.h), so the host loses what it is
// reached by; and a bridge would get the same frames as the port. The commit's checks refuse that,
// and kernel_link.c warns of it. Control role.
#ifndef PORT_KERNEL_LINK_USE_H
#define PORT_KERNEL_LINK_USE_H

#include <stdbool.h>
#include <stddef.h>

struct kernel_link_use { // each "" = none
    char address[160];   // "192.0.2.1/24, 2001:db8::1/64"; without link-local ones
    char gateway[48];    // of a default route by it
    char session[48];    // peer of a TCP connection to one of the addresses
    char server[80];     // "TCP port 22": a socket that is bound to one of the addresses
    char master[16];     // bridge, bond, team or VRF that it is a member of
    bool no_ethernet;    // its frames have no Ethernet header
    unsigned type;       // then: of its link layer, as in /sys/class/net/NAME/type
};

// Of interface `name` in network namespace `netns`, "" = ours. 0; -ENODEV: `err` names those that
// exist; other -errno: the namespace cannot be entered.
int kernel_link_use_read(const char *name, const char *netns, struct kernel_link_use *u, char *err,
                         size_t err_size);
// "There is no such interface here", with the names of those of the current namespace. -ENODEV.
int kernel_link_explain_missing(const char *name, const char *netns, char *err, size_t err_size);

#endif
