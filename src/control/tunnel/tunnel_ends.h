// SPDX-License-Identifier: BSD-3-Clause
// tunnel_ends.h - the interfaces of tunnels; control role
#ifndef TUNNEL_TUNNEL_ENDS_H
#define TUNNEL_TUNNEL_ENDS_H

#include <stddef.h>
#include <stdint.h>

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
