// SPDX-License-Identifier: BSD-3-Clause
// tunnel_ends.h - parts of iface_manager.c that are special to tunnels; control role
#ifndef PORT_TUNNEL_ENDS_H
#define PORT_TUNNEL_ENDS_H

#include "table/iface.h"

struct tap;

void tunnel_ends_init(void);

struct tunnel_settings;
struct tunnel_device { // Linux device that the tunnel has instead of a TAP
    int ifindex;
    uint8_t mac[6];
};
// Like iface_manager_add_tunnel, but with the outer virtual router in the settings; device: NULL =
// none.
int tunnel_end_add(const char *name, const struct tunnel_settings *s, uint16_t mtu, const char *vr,
                   const struct tunnel_device *device, char *err, size_t err_size);
// Prepares its TAP: no ARP if the tunnel carries IP. Returns 0 or -errno.
int tunnel_end_prepare(const struct iface *i, const struct tap *tap);
void tunnel_end_set_mtu(const struct iface *i); // if it is a tunnel: sets the MTU of the path
void tunnel_end_hide(const struct iface *i); // packets from outside no longer find it
void tunnel_end_free(const struct iface *i); // the interface is being deleted
// Called after all changes of a commit: packets from outside find the new tunnels.
void tunnel_ends_end_change(void);

#endif
