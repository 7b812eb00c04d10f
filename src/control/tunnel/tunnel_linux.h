// SPDX-License-Identifier: BSD-3-Clause
// tunnel_linux.h - takes over tunnels made with `ip link add` where that is unambiguous
//
// rib_manager reports each such device. If a tunnel of ours can do the same, it is added with an
// interface that keeps the Linux device: forwarding uses the tunnel, Linux the device. Any other
// device is left to Linux, with a reason in words. The configuration comes first: it gets the name,
// the ends or the room of such a tunnel when it asks (control_event.h). Control role; changes run
// in turns of ASIDE_CHANGE.
#ifndef TUNNEL_TUNNEL_LINUX_H
#define TUNNEL_TUNNEL_LINUX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "netlink/netlink.h"
#include "table/tunnel.h"

struct event_base;

void tunnel_linux_init(void);                    // registers for reports and events
int tunnel_linux_start(struct event_base *loop); // and looks from time to time; 0 or -errno
void tunnel_linux_fini(void);

struct tunnel_left { // a device that is left to Linux
    const char *name, *kind, *vr, *reason;
};
void tunnel_linux_each_left(void (*fn)(void *ctx, const struct tunnel_left *t), void *ctx);

// tunnel_judge.c: decides whether a tunnel of ours can do the work of a Linux tunnel device.

// True for the device without ends that exists in every namespace.
bool tunnel_is_fallback(const struct netlink_link *l);
// Returns NULL if *s is complete except for the outer virtual router; otherwise the reason in words
// that follow "it". In any case *s has the ends and the key, as far as the device has them, for the
// comparison with other devices.
const char *tunnel_judge(const struct netlink_link *l, struct tunnel_settings *s);

// tunnel_ends.c: the interfaces of tunnels.
void tunnel_ends_init(void); // registers for reports and events

struct tunnel_settings;
// Adds the interface of a tunnel to virtual router `vr`; outer packets belong to `outer_vr`. mtu:
// upper limit, 0 = the MTU of the path to the remote end.
int iface_manager_add_tunnel(const char *name, const char *outer_vr,
                             const struct tunnel_settings *settings, uint16_t mtu, const char *vr,
                             char *err, size_t err_size);
int iface_manager_set_tunnel_mtu(const char *name, uint16_t mtu, char *err, size_t err_size);
struct tunnel_device { // Linux device that the tunnel has instead of a TAP
    int ifindex;
    uint8_t mac[6];
};
// Like iface_manager_add_tunnel, but with the outer virtual router in the settings; device: NULL =
// none.
int tunnel_end_add(const char *name, const struct tunnel_settings *s, uint16_t mtu, const char *vr,
                   const struct tunnel_device *device, char *err, size_t err_size);

#endif
