// SPDX-License-Identifier: BSD-3-Clause
// carrier.h - reports changes of the kernel interface behind a port at once
//
// Reports the carrier and the settings that kernel_link.c maintains. Polling finds a lost carrier
// within a poll interval; a kernel announcement arrives within a millisecond. Linux limits most
// interfaces to one announcement a second, so polling stays. Control role.
#ifndef NETLINK_CARRIER_H
#define NETLINK_CARRIER_H

struct event_base;
struct carrier;

// Must be called in the namespace of the interface. Calls `fn(ctx)` on `loop` after a kernel
// announcement about the interface. Returns NULL with errno on failure; then only polling is left.
struct carrier *carrier_listen(struct event_base *loop, int ifindex, void (*fn)(void *ctx),
                               void *ctx);
void carrier_end(struct carrier *w); // NULL is fine

#endif
