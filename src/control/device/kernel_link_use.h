// SPDX-License-Identifier: BSD-3-Clause
// kernel_link_use.h - how the host itself uses a kernel interface
//
// A port's kernel interface no longer answers ARP (kernel_link.h), so the host loses the addresses
// by which it is reached; and a bridge would get the same frames as the port. The commit's checks
// refuse such interfaces, and kernel_link.c warns of them. Control role.
#ifndef DEVICE_KERNEL_LINK_USE_H
#define DEVICE_KERNEL_LINK_USE_H

#include <stdbool.h>
#include <stddef.h>

struct kernel_link_use { // each "" = none
    char address[160];   // "192.0.2.1/24, 2001:db8::1/64"; without link-local ones
    char gateway[48];    // gateway of a default route through it
    char session[48];    // peer of a TCP connection to one of the addresses
    char server[80];     // "TCP port 22": a socket that is bound to one of the addresses
    char master[16];     // bridge, bond, team or VRF that it is a member of
    bool no_ethernet;    // its frames have no Ethernet header
    unsigned type;       // link-layer type in that case, as in /sys/class/net/NAME/type
};

// Examines interface `name` in network namespace `netns` ("" = ours). Returns 0; -ENODEV: `err`
// lists the existing interfaces; other -errno: the namespace cannot be entered.
int kernel_link_use_read(const char *name, const char *netns, struct kernel_link_use *u, char *err,
                         size_t err_size);
// Writes "There is no such interface here" and the interfaces of the current namespace. Returns
// -ENODEV.
int kernel_link_explain_missing(const char *name, const char *netns, char *err, size_t err_size);

#endif
