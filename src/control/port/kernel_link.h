// SPDX-License-Identifier: BSD-3-Clause
// kernel_link.h - the kernel interface behind a net_af_packet or net_af_xdp port
//
// The kernel sees every frame of it too. While it is a port's, the kernel must
// neither answer nor forward on it (that is the TAP's part), nor merge frames.
// What is changed is restored by kernel_link_release(). Control role; port_device's helper.
#ifndef PORT_KERNEL_LINK_H
#define PORT_KERNEL_LINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "table/limits.h"

struct kernel_link {
    char name[16]; // "" = the port has none
    int sock;      // for ioctls in its namespace
    int ifindex;
    int xdp;       // our program on it (xdp_pass.h), -1 = none
    int saved[3];  // sysctls before, -1 = leave
    bool was_up;
    int was_mtu;
    uint64_t missed; // by packet sockets on it, so far
    int rx_fd[QUEUE_MAX]; // our packet sockets on it; found when first asked for
    unsigned n_rx_fd;
};

// Current namespace is the device's. `xdp`: the driver attaches an XDP program of its own. 0, or
// -ENODEV and others with a sentence.
int kernel_link_take(struct kernel_link *n, const char *name, const char *netns_name, bool xdp,
                     char *err, size_t err_size);
void kernel_link_release(struct kernel_link *n, int netns); // enters the namespace itself
int kernel_link_set_mtu(const struct kernel_link *n, uint16_t mtu); // 0 or -errno
bool kernel_link_was_replaced(
    const struct kernel_link *n); // another interface has its name now: sockets on it are deaf
// Frames that the rings of our packet sockets on it had no room for: DPDK's driver does not look.
uint64_t kernel_link_missed(struct kernel_link *n);
// Packet socket of the driver's receive queue: readable when a frame is in its ring. -1: the driver
// has none.
int kernel_link_rx_fd(struct kernel_link *n, uint16_t queue);
bool kernel_link_has_carrier(const struct kernel_link *n);  // up and running

#endif
