// SPDX-License-Identifier: BSD-3-Clause
// Exit broadcast: packets from elsewhere to the broadcast address of one of our subnets
//
// If the interface of the subnet has `directed-broadcast` (off unless configured: RFC 2644), the
// packet is broadcast on the link; otherwise it is dropped with its own reason. It causes no error
// (RFC 1812 4.3.2.7), and is not fragmented.
#include "forwarder/checks.h"
#include "forwarder/exits.h"
#include "forwarder/forbidden.h"

static enum drop_reason why_not(const struct burst *b, unsigned i, bool expired)
{
    uint64_t word = b->word[i];

    if (!iface_get(nexthop_word_iface(word))->policy.directed_broadcast)
        return DROP_DIRECTED_BROADCAST;
    if (burst_is_own(b)) // our error: its cause had a source that is not a host
        return DROP_IP4_MARTIAN_SRC;
    if (expired)
        return DROP_IP4_TTL;
    return nexthop_word_mtu(word) && b->len[i] > nexthop_word_mtu(word) ? DROP_IP4_TOO_BIG
                                                                        : DROP_NONE;
}

enum drop_reason broadcast(struct forwarder *f, struct burst *b, unsigned i, bool expired)
{
    enum drop_reason why = why_not(b, i, expired);

    if (why == DROP_NONE && b->features & IFACE_ACL_OUT)
        why = checks_out_copy(f, b, i, nexthop_word_iface(b->word[i]));
    if (why != DROP_NONE)
        return why;
    exit_send(f, b, i);
    return DROP_NONE;
}
