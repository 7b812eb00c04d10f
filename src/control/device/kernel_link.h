// SPDX-License-Identifier: BSD-3-Clause
// kernel_link.h - the kernel interface behind a net_af_packet or net_af_xdp port
//
// The kernel also sees every frame of the interface. While a port uses it, the kernel must neither
// answer nor forward on it, which is up to the TAP, nor merge frames. kernel_link_release()
// restores the original settings. Used by port_device.c; control role.
#ifndef DEVICE_KERNEL_LINK_H
#define DEVICE_KERNEL_LINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "table/limits.h"

struct kernel_link {
    char name[16]; // current name; "" = the port has none
    char taken[16]; // name when the port took it, as configured
    int sock;      // for ioctls in its namespace
    int ifindex;
    int xdp;      // our program on it (xdp_pass.h), -1 = none
    int saved[3]; // original sysctls, -1 = leave alone
    bool gone; // deleted, or moved to another namespace
    bool carrier; // when it was last read
    bool was_up;
    int was_mtu;
    uint64_t missed;      // frames missed by its packet sockets so far
    int rx_fd[QUEUE_MAX]; // the driver's packet sockets on it; found when first needed
    unsigned n_rx_fd;
};

// Takes an interface of the current namespace, which must be the device's. `xdp`: the driver
// attaches its own XDP program. Returns 0, or -errno with a message in `err`, for example -ENODEV.
int kernel_link_take(struct kernel_link *n, const char *name, const char *netns_name, bool xdp,
                     char *err, size_t err_size);
void kernel_link_release(struct kernel_link *n, int netns);         // enters the namespace itself
int kernel_link_set_mtu(const struct kernel_link *n, uint16_t mtu); // 0 or -errno
void kernel_link_keep(const struct kernel_link *n); // restores kernel_link_take's settings; in its
                                                    // namespace
// Records a new name. Returns true if another interface now has its name, or if it was gone and is
// back: the driver's sockets receive nothing.
bool kernel_link_was_replaced(struct kernel_link *n);
// Writes the problem and the remedy; "" if the interface was neither renamed nor deleted.
void kernel_link_explain(const struct kernel_link *n, const char *port, char *why, size_t size);
// Like kernel_link_explain, or the reason why it has no carrier.
void kernel_link_explain_down(const struct kernel_link *n, const char *port, char *why,
                              size_t size);
// Frames that did not fit the rings of the driver's packet sockets; DPDK does not count them.
uint64_t kernel_link_missed(struct kernel_link *n);
// Packet socket of a receive queue, readable when a frame is in its ring; -1: none.
int kernel_link_rx_fd(struct kernel_link *n, uint16_t queue);
bool kernel_link_has_carrier(struct kernel_link *n); // and it is up

#endif
