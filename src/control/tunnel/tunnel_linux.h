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

struct event_base;

void tunnel_linux_init(void);                    // registers for reports and events
int tunnel_linux_start(struct event_base *loop); // and looks from time to time; 0 or -errno
void tunnel_linux_fini(void);

struct tunnel_left { // a device that is left to Linux
    const char *name, *kind, *vr, *reason;
};
void tunnel_linux_each_left(void (*fn)(void *ctx, const struct tunnel_left *t), void *ctx);

#endif
