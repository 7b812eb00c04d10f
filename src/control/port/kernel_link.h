// SPDX-License-Identifier: BSD-3-Clause
// kernel_link.h - the kernel interface behind a net_af_packet or net_af_xdp port
//
// The kernel sees every frame of it too. While a port uses it, the kernel must neither answer nor
// forward on it (that is the TAP's part), nor merge frames. kernel_link_release() restores what was
// changed. port_device.c's helper; control role.
#ifndef PORT_KERNEL_LINK_H
#define PORT_KERNEL_LINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "table/limits.h"

struct kernel_link {
    char name[16]; // now; "" = the port has none
    char taken[16]; // when the port took it, as configured
    int sock;      // for ioctls in its namespace
    int ifindex;
    int xdp;      // our program on it (xdp_pass.h), -1 = none
    int saved[3]; // sysctls before, -1 = leave
    bool gone; // deleted, or moved to another namespace
    bool was_up;
    int was_mtu;
    uint64_t missed;      // by packet sockets on it, so far
    int rx_fd[QUEUE_MAX]; // the driver's packet sockets on it; found when first needed
    unsigned n_rx_fd;
};

// In the device's namespace, which must be the current one. `xdp`: the driver attaches an XDP
// program of its own. 0, or -ENODEV and others with a sentence.
int kernel_link_take(struct kernel_link *n, const char *name, const char *netns_name, bool xdp,
                     char *err, size_t err_size);
void kernel_link_release(struct kernel_link *n, int netns);         // enters the namespace itself
int kernel_link_set_mtu(const struct kernel_link *n, uint16_t mtu); // 0 or -errno
void kernel_link_keep(const struct kernel_link *n); // restores what take has set; in its namespace
// Notes another name. True: another interface has its name now, or it was gone and is back: the
// driver's sockets receive nothing.
bool kernel_link_was_replaced(struct kernel_link *n);
// What is wrong with it, and the remedy; "": it was neither renamed nor deleted.
void kernel_link_explain(const struct kernel_link *n, const char *port, char *why, size_t size);
// The same, or why it has no carrier.
void kernel_link_explain_down(const struct kernel_link *n, const char *port, char *why,
                              size_t size);
// Frames that did not fit the rings of the driver's packet sockets; DPDK does not count them.
uint64_t kernel_link_missed(struct kernel_link *n);
// Packet socket of a receive queue, readable when a frame is in its ring; -1: none.
int kernel_link_rx_fd(struct kernel_link *n, uint16_t queue);
bool kernel_link_has_carrier(const struct kernel_link *n); // and is up

#endif
