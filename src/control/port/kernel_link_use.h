// SPDX-License-Identifier: BSD-3-Clause
// kernel_link_use.h - what this machine itself does with a kernel interface that is to be a port's
//
// A port's kernel interface answers no ARP any more (kernel_link.h): what the machine is reached by
// is lost with it. Control role.
#ifndef PORT_KERNEL_LINK_USE_H
#define PORT_KERNEL_LINK_USE_H

#include <stddef.h>

struct kernel_link_use { // each "" = none
    char address[160]; // "192.0.2.1/24, 2001:db8::1/64"; not link-local ones, which each interface
                       // has
    char gateway[48];  // of a default route by it
    char session[48];  // who has a TCP connection to one of the addresses
};

// Of interface `name` in network namespace `netns`, "" = ours. 0; -ENODEV: there is none, and `err`
// names those that are; other -errno: the namespace cannot be entered.
int kernel_link_use_read(const char *name, const char *netns, struct kernel_link_use *u, char *err,
                    size_t err_size);
// " (there is eth1, eth2)" of the current namespace; "" where there is none but `lo`.
void kernel_link_names(char *s, size_t size);

#endif
