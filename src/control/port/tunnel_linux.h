// SPDX-License-Identifier: BSD-3-Clause
// tunnel_linux.h - tunnels that somebody made with `ip link add`, taken over where that is
// unambiguous
//
// rib_manager tells of each such device. If a tunnel of ours can do the same, it gets one, with an
// interface whose device it stays: forwarding uses the tunnel, Linux the device. Any other is left
// to Linux, with a reason in words. Control role; changes run in turns of ASIDE_CHANGE.
#ifndef PORT_TUNNEL_LINUX_H
#define PORT_TUNNEL_LINUX_H

#include <stdbool.h>
#include <stdint.h>

struct event_base;
struct iface;

void tunnel_linux_init(void); // before rib_manager runs
int tunnel_linux_start(struct event_base *loop); // 0 or -errno
void tunnel_linux_fini(void);

void tunnel_linux_look_again(void); // soon: what it depends on has changed
// Takes over and gives back, by what Linux has told and what the configuration has; within a turn.
void tunnel_linux_settle(void);
// Gives this interface's tunnel back, because the configuration wants its name or its ends. False:
// it is no tunnel of Linux.
bool tunnel_linux_yield(const struct iface *i);
// The table of tunnels or interfaces is full: gives one back, of the virtual router with most.
// False: there is none.
bool tunnel_linux_make_room(void);
void tunnel_linux_leave(uint16_t vr); // all of the virtual router, which goes

struct tunnel_left { // to Linux
    const char *name, *kind, *vr, *reason;
};
void tunnel_linux_each_left(void (*fn)(void *ctx, const struct tunnel_left *t), void *ctx);

#endif
