// SPDX-License-Identifier: BSD-3-Clause
// tunnel_linux.h - takes over tunnels made with `ip link add` where that is unambiguous
//
// rib_manager reports each such device. If a tunnel of ours can do the same, it is added with an
// interface that keeps the Linux device: forwarding uses the tunnel, Linux the device. Any other
// device is left to Linux, with a reason in words. Control role; changes run in turns of
// ASIDE_CHANGE.
#ifndef PORT_TUNNEL_LINUX_H
#define PORT_TUNNEL_LINUX_H

#include <stdbool.h>
#include <stdint.h>

struct event_base;
struct iface;

void tunnel_linux_init(void); // call before rib_manager runs
int tunnel_linux_start(struct event_base *loop); // 0 or -errno
void tunnel_linux_fini(void);

void tunnel_linux_look_again(void); // runs soon, after a change of something that matters
// Takes devices over and gives them back, according to Linux and to the configuration; call within
// a turn.
void tunnel_linux_settle(void);
// Gives back the tunnel of this interface, because the configuration needs its name or its ends.
// Returns false if it is no Linux tunnel.
bool tunnel_linux_yield(const struct iface *i);
// The table of tunnels or interfaces is full: gives one back, of the virtual router with the most.
// Returns false if there is none.
bool tunnel_linux_make_room(void);
void tunnel_linux_leave(uint16_t vr); // gives back all of a virtual router that is being deleted

struct tunnel_left { // a device that is left to Linux
    const char *name, *kind, *vr, *reason;
};
void tunnel_linux_each_left(void (*fn)(void *ctx, const struct tunnel_left *t), void *ctx);

#endif
