// SPDX-License-Identifier: BSD-3-Clause
// tunnel_judge.h - decides whether a tunnel of ours can do the work of a Linux tunnel device
#ifndef TUNNEL_TUNNEL_JUDGE_H
#define TUNNEL_TUNNEL_JUDGE_H

#include <stdbool.h>

#include "netlink/netlink.h"
#include "table/tunnel.h"

// True for the device without ends that exists in every namespace.
bool tunnel_is_fallback(const struct netlink_link *l);
// Returns NULL if *s is complete except for the outer virtual router; otherwise the reason in words
// that follow "it". In any case *s has the ends and the key, as far as the device has them, for the
// comparison with other devices.
const char *tunnel_judge(const struct netlink_link *l, struct tunnel_settings *s);

#endif
