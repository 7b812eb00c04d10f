// SPDX-License-Identifier: BSD-3-Clause
// tunnel_ends.h - what iface_manager.c does differently for the interface of a tunnel; control role
#ifndef PORT_TUNNEL_ENDS_H
#define PORT_TUNNEL_ENDS_H

#include "table/iface.h"

struct tap;

void tunnel_ends_init(void);

struct tunnel_settings;
struct tunnel_device { // of Linux, that is the tunnel's instead of a TAP
    int ifindex;
    uint8_t mac[6];
};
// As iface_manager_add_tunnel, with the outer virtual router in the settings; device: NULL = none.
int tunnel_end_add(const char *name, const struct tunnel_settings *s, uint16_t mtu, const char *vr,
                   const struct tunnel_device *device, char *err, size_t err_size);
// Its TAP is there: without ARP if the tunnel carries IP. 0 or -errno.
int tunnel_end_prepare(const struct iface *i, const struct tap *tap);
void tunnel_end_set_mtu(const struct iface *i); // if it is one: as the path takes
void tunnel_end_hide(const struct iface *i); // packets from outside find it no longer
void tunnel_end_free(const struct iface *i); // the interface is taken apart
// After all changes of a commit: packets find what has come.
void tunnel_ends_end_change(void);

#endif
