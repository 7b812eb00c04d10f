// SPDX-License-Identifier: BSD-3-Clause
// carrier.h - tells at once when the kernel interface behind a port changes
//
// Its carrier, and settings that kernel_link.c keeps. Polling finds a lost carrier within a poll
// interval, the kernel's announcement comes within a millisecond. But Linux gives most interfaces
// one announcement a second, so the poll stays. Control role.
#ifndef NETLINK_CARRIER_H
#define NETLINK_CARRIER_H

struct event_base;
struct carrier;

// The current namespace is the interface's. `fn(ctx)` is called on `loop` when the kernel has
// announced something about it. NULL with errno: there is only the poll then.
struct carrier *carrier_listen(struct event_base *loop, int ifindex, void (*fn)(void *ctx),
                               void *ctx);
void carrier_end(struct carrier *w); // NULL is fine

#endif
