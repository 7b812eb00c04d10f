// SPDX-License-Identifier: BSD-3-Clause
// acl_act.c - actions of access-list rules beyond a plain permit
//
// In this order: log, one packet in so many; mirror; deny, or reject, which tells the sender;
// police; redirect to another next hop; class for the output's queue; remark the DSCP. A rule may
// have several of these.
//
// Rejected TCP is reset (tcp_reset.c); everything else gets ICMP unreachable, administratively
// prohibited (RFC 1812 5.2.7.1, RFC 4443 3.1), within the limits of all ICMP errors.
//
// Neighbor discovery is to IPv6 what ARP, which no list sees, is to IPv4: solicitations and
// advertisements from the link (hop limit 255) pass every input list and are not counted.
//
// Redirect: the packet takes the route of its virtual router's FIB to the rule's address, if that
// ends at a resolved neighbor or a group; otherwise its own route. Packets for us are not
// redirected.
//
// For class and DSCP, the last list to decide wins, which is the output list.
#include "base/hash.h"
#include "forwarder/acl.h"
#include "forwarder/icmp.h"
#include "forwarder/lookup.h"
#include "forwarder/packet.h"
#include "forwarder/remark.h"
#include "forwarder/watch.h"
#include "table/acl_log.h"
#include "table/acl_meter.h"
#include "table/acl_target.h"
#include "table/packet_class.h"
#include "forwarder/forbidden.h"

enum {
    ICMP4_UNREACHABLE = 3,
    ICMP4_CODE_PROHIBITED = 13,
    ICMP6_UNREACHABLE = 1,
    ICMP6_CODE_PROHIBITED = 1
};
enum { ICMP6_NEIGH_SOLICIT = 135, ICMP6_NEIGH_ADVERT = 136 };

static const struct acl_key_l4 *l4_of(const struct burst *b, const void *key)
{
    return b->family == IP4 ? &((const struct acl_key4 *)key)->l4
                            : &((const struct acl_key6 *)key)->l4;
}

static struct acl_key6 wide_key(const struct burst *b, const struct acl_verdict *v)
{
    struct acl_key6 k = {0};

    if (v->key && b->family == IP6)
        return *(const struct acl_key6 *)v->key;
    if (v->key) {
        const struct acl_key4 *four = v->key;
        memcpy(k.src, &four->src_be, 4);
        memcpy(k.dst, &four->dst_be, 4);
        k.l4 = four->l4;
    }
    return k;
}

bool acl_is_neighbor_discovery(const struct burst *b, unsigned i)
{
    const uint8_t *ip = b->ip[i];
    bool readable =
        b->family == IP6 && RTE_MIN(packet_readable(b->pkt[i], ip), (uint32_t)b->len[i]) > IP6_HDR;

    return readable && ip[6] == PROTO_ICMP6 && ip[7] == 255 &&
           (ip[IP6_HDR] == ICMP6_NEIGH_SOLICIT || ip[IP6_HDR] == ICMP6_NEIGH_ADVERT);
}

static void uncount_hit(struct forwarder *f, const struct burst *b, unsigned i,
                    const struct acl_verdict *v)
{
    struct acl_hits *h = &v->c->hits[f->dry ? 0 : f->index][v->place];

    if (f->dry)
        return;
    h->packets--;
    h->bytes -= b->len[i];
}

// True for about one packet in `every`.
static bool is_logged_now(struct forwarder *f, uint16_t every)
{
    f->acl_random = hash_mix64(f->acl_random + 1);
    return every <= 1 || (f->acl_random >> 32) * every >> 32 == 0;
}

static void log_packet(struct forwarder *f, const struct burst *b, unsigned i,
                       const struct acl_verdict *v, const struct acl_action *a)
{
    if (f->dry || !is_logged_now(f, a->log_every))
        return;
    struct acl_log_entry e = {.tsc = f->now,
                              .rule = a->number,
                              .list = v->list,
                              .iface = v->iface,
                              .len = b->len[i],
                              .family = b->family,
                              .verb = a->verb,
                              .out = v->out,
                              .key = wide_key(b, v)};
    acl_log_put(&e);
}

static void reject_packet(struct forwarder *f, struct burst *b, unsigned i,
                          const struct acl_verdict *v)
{
    const struct acl_key_l4 *l4 = v->key ? l4_of(b, v->key) : NULL;

    if (b->kind == BURST_LOCAL) // to all hosts of the link, or with a link-local address
        return;
    if (l4 && l4->proto == PROTO_TCP && l4->part != ACL_LATER)
        tcp_reset(f, b, i);
    else if (b->family == IP4)
        icmp4_error(f, b, i, ICMP4_UNREACHABLE, ICMP4_CODE_PROHIBITED, 0);
    else
        icmp6_error(f, b, i, ICMP6_UNREACHABLE, ICMP6_CODE_PROHIBITED, 0);
}

// 0: currently unreachable.
static uint32_t nexthop_to(const struct forwarder *f, uint16_t redirect, uint16_t vr,
                           uint8_t family)
{
    const struct ip_addr *to = acl_redirect_to(redirect);

    return to->family == family ? fwd_nexthop_to(f, to, vr) : 0;
}

static void redirect_packet(struct forwarder *f, struct burst *b, unsigned i, uint16_t to)
{
    if (b->kind != BURST_TRANSIT)
        return;
    uint32_t nexthop = nexthop_to(f, to, b->vr[i], b->family);
    if (!nexthop) {
        if (!f->dry)
            acl_redirect_counted(to, f->index, false);
        return;
    }
    burst_redirect(b, i, to, nexthop);
}

enum drop_reason acl_act(struct forwarder *f, struct burst *b, unsigned i,
                         const struct acl_verdict *v)
{
    const struct acl_action *a = &v->c->action[v->place];

    if (a->verb != ACL_PERMIT && !v->out && acl_is_neighbor_discovery(b, i)) {
        uncount_hit(f, b, i, v);
        f->record.acl.spared = true;
        return DROP_NONE;
    }
    if (a->extra & ACL_LOG)
        log_packet(f, b, i, v, a);
    if (a->extra & ACL_MIRROR)
        watch_mirror(f, b, i, a->mirror);
    if (a->verb == ACL_REJECT)
        reject_packet(f, b, i, v);
    if (a->verb != ACL_PERMIT)
        return a->verb == ACL_DENY ? DROP_ACL_DENIED : DROP_ACL_REJECTED;
    if (a->extra & ACL_POLICE && !acl_meter_passes(a->meter, b->len[i], f->now, f->dry))
        return DROP_ACL_POLICED;
    if (a->extra & ACL_REDIRECT && !v->out)
        redirect_packet(f, b, i, a->redirect);
    if (a->extra & ACL_CLASS)
        packet_class_set(b->pkt[i], a->class);
    if (a->extra & ACL_REMARK)
        packet_remark(b, i, a->dscp);
    return DROP_NONE;
}

void acl_record(struct forwarder *f, const struct burst *b, const struct acl_verdict *v)
{
    const struct acl_action *a = &v->c->action[v->place];
    uint32_t nexthop = a->extra & ACL_REDIRECT && !v->out
                       ? nexthop_to(f, a->redirect, iface_get(v->iface)->vr, b->family)
                       : 0;

    f->record.acl = (struct packet_trace_acl){.list = v->list,
                                         .iface = iface_get(v->iface)->id, // also in a trial
                                         .out = v->out,
                                         .rules = v->c->rules != NULL,
                                         .rule = a->number,
                                         .verb = a->verb,
                                         .extra = a->extra,
                                         .class = a->class,
                                         .dscp = a->dscp,
                                         .nexthop = nexthop,
                                         .key = wide_key(b, v)};
}
