// SPDX-License-Identifier: BSD-3-Clause
// kernel_link.h - the kernel interface behind a net_af_packet or net_af_xdp port
//
// The kernel also sees every frame of the interface. While a port uses it, the kernel must neither
// answer nor forward on it, which is up to the TAP, nor merge frames: it drops them, if it can.
// kernel_link_release() restores the original settings. Used by port_device.c; control role.
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
    int drop;      // kernel_link_drop()'s
    int ifindex;
    int saved[3]; // original sysctls, -1 = leave alone
    bool gone; // deleted, or moved to another namespace
    bool carrier; // when it was last read
    bool was_up;
    int was_mtu;
};

// Takes an interface of the current namespace, which must be the device's. Returns 0, or -errno
// with a message in `err`, for example -ENODEV.
int kernel_link_take(struct kernel_link *n, const char *name, const char *netns_name, char *err,
                     size_t err_size);
void kernel_link_release(struct kernel_link *n, int netns);         // enters the namespace itself
int kernel_link_set_mtu(const struct kernel_link *n, uint16_t mtu); // 0 or -errno
int kernel_link_mac(const struct kernel_link *n, uint8_t mac[6]);   // 0 or -errno
int kernel_link_set_mac(const struct kernel_link *n, const uint8_t mac[6]);
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
bool kernel_link_has_carrier(struct kernel_link *n); // and it is up

// kernel_link_drop.c: Linux drops all frames that it receives on an interface of the current
// namespace, until the returned socket closes; packet sockets and XDP get them before. Or -errno.
int kernel_link_drop(const char *interface);

// kernel_link_found.c: the original settings of kernel interfaces, kept over a crash. A port
// changes settings of its kernel interface and restores them when it goes. After a
// crash, the next kamueed would take these changes for the original settings. So a file keeps the
// original ones, by namespace (its cookie) and index, until they are restored. It is valid for one
// boot.
void kernel_link_found_init(const char *path); // reads the file; before the first port
// If a former kamueed had the interface, adopts the original settings from the file. Records the
// interface for the next kamueed.
void kernel_link_found_take(struct kernel_link *n, uint64_t netns);
void kernel_link_found_release(const struct kernel_link *n, uint64_t netns);
void kernel_link_found_fini(void);

// kernel_link_use.c: how the host itself uses a kernel interface. A port's kernel interface no
// longer answers ARP, so the host loses the addresses by which it is reached; and
// a bridge would get the same frames as the port. The commit's checks refuse such interfaces, and
// kernel_link.c warns of them.
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
