// SPDX-License-Identifier: BSD-3-Clause
// limit.c - the tunnel encapsulation limit among the options of any IPv6 packet
#include "proof.h"

#include "forwarder/tunnel_limit.c"

static struct iface ifaces[IFACE_MAX];

struct iface *iface_table = ifaces;
struct tunnel *tunnel_table;

void icmp6_error(struct forwarder *f, struct burst *b, unsigned i, uint8_t type, uint8_t code,
                 uint32_t word)
{
}

void proof(void)
{
    unsigned n = any_length(IP6_HDR, BYTES);

    claim(tunnel_limit_at(any_bytes(n), n) < n);
}
