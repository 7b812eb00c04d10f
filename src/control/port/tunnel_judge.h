// SPDX-License-Identifier: BSD-3-Clause
// tunnel_judge.h - whether a tunnel of ours can do what a tunnel device of Linux does
#ifndef PORT_TUNNEL_JUDGE_H
#define PORT_TUNNEL_JUDGE_H

#include <stdbool.h>

#include "netlink/netlink.h"
#include "table/tunnel.h"

// The device that every namespace has, which has no ends.
bool tunnel_is_fallback(const struct netlink_link *l);
// NULL: *s is complete but for the outer virtual router; or why not, in words that follow "it".
// The ends and the key in *s, as far as the device has them, tell what it shares with others.
const char *tunnel_judge(const struct netlink_link *l, struct tunnel_settings *s);

#endif
