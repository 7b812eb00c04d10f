// SPDX-License-Identifier: BSD-3-Clause
// program_send.c - sends packets for packet programs: to next hops, and as frames of any EtherType
//
// A next hop is an address that the configuration gives to the program, looked up in the FIB of the
// packet's virtual router for each packet, like redirects of access lists (acl_act.c); so it cannot
// lead anywhere else. rib_manager keeps its neighbor resolved.
//
// Non-IP frames leave by ether_out, which writes the header of their adjacency, and get their
// EtherType afterwards. They leave only by interfaces of devices: metalinks and tunnels carry IP.
#include "forwarder/program.h"

#include "forwarder/cross.h"
#include "forwarder/lookup.h"
#include "forwarder/packet.h"
#include "forwarder/stages.h"
#include "forwarder/tags.h"
#include "forwarder/tx.h"
#include "table/acl_target.h"
#include "forwarder/forbidden.h"

#define ETHER_TYPE_MIN 0x600 // smaller values are lengths

bool frame_type_is_refused(uint16_t type)
{
    return type < ETHER_TYPE_MIN || is_tag(rte_cpu_to_be_16(type)) || type == 0x8809 ||
           type == 0x8808;
}

bool frame_move(struct burst *b, unsigned i, int adjust, uint16_t type)
{
    struct rte_mbuf *m = b->pkt[i];
    uint8_t *was = rte_pktmbuf_mtod(m, uint8_t *), *ip = b->ip[i] + adjust, *is = ip - ETHER_HDR;
    const int moved = (int)(is - was);

    // ether_out and tags_put may prepend this many more bytes.
    if (is - 2 * VLAN_HDR < (uint8_t *)m->buf_addr || moved > (int)m->data_len)
        return false;
    memmove(is, was, 12);
    store16(ip - 2, rte_cpu_to_be_16(type));
    m->data_off = (uint16_t)(m->data_off + moved);
    m->data_len = (uint16_t)(m->data_len - moved);
    m->pkt_len = (uint32_t)((int)m->pkt_len - moved);
    b->ip[i] = ip;
    b->len[i] = (uint16_t)(b->len[i] - adjust);
    b->size[i] = 0;
    b->l2 = 0;
    return true;
}

bool packet_redirect(struct forwarder *f, struct burst *b, unsigned i, uint16_t next_hop)
{
    const struct ip_addr *to = acl_redirect_to(next_hop);
    uint32_t nexthop = to->family == b->family ? fwd_nexthop_to(f, to, b->vr[i]) : 0;

    if (!nexthop)
        return false;
    burst_redirect(b, i, next_hop, nexthop);
    return true;
}

bool frame_send_to(struct forwarder *f, struct burst *b, unsigned i, uint16_t next_hop)
{
    uint32_t nh = fwd_nexthop_to(f, acl_redirect_to(next_hop), b->vr[i]);
    struct burst *one = &f->fragment;
    uint8_t *ip = b->ip[i];
    const uint16_t type = load16(ip - 2);

    if (nexthop_word_kind(nexthop_word(nexthop_get(nh))) == NEXTHOP_GROUP)
        nh = nexthop_member(nexthop_get(nh), 0);
    if (nexthop_word_kind(nexthop_word(nexthop_get(nh))) != NEXTHOP_ADJACENCY ||
        nexthop_word_port(nexthop_word(nexthop_get(nh))) >= PORT_TUNNEL)
        return false;
    burst_reset(one);
    unsigned at = burst_add(one, b->pkt[i], ip, b->iface[i]);
    one->len[at] = b->len[i];
    one->size[at] = 0;
    one->nh[at] = nh;
    if (f->lanes->apply_nexthops(one, false)) // too large, or the next hop has changed
        return false;
    one->in_place = one->same = false;
    memcpy(&one->hop_out[at], ip + burst_hop_at(one), 4); // ether_out writes it there
    burst_cross(f, one);
    ether_out(f, one);
    store16(ip - 2, type);
    if (!f->dry)
        acl_redirect_counted(next_hop, f->index, true);
    return true;
}

static uint16_t iface_of_index(struct program_instance *in, uint16_t vr, uint32_t ifindex)
{
    const struct iface *i;

    if (in->iface && in->ifindex == ifindex && iface_get(in->iface)->vr == vr &&
        (uint32_t)iface_get(in->iface)->ifindex == ifindex)
        return in->iface;
    i = iface_find_ifindex(vr, (int)ifindex);
    if (!i)
        return 0;
    in->iface = i->id;
    in->ifindex = ifindex;
    return i->id;
}

bool frame_send_out(struct forwarder *f, struct burst *b, unsigned i, struct program_instance *in,
                    uint32_t ifindex)
{
    const struct iface *out = iface_get(iface_of_index(in, b->vr[i], ifindex));

    if ((out->kind != IFACE_PORT && out->kind != IFACE_VPORT) || !iface_is_up(out) ||
        b->len[i] > out->mtu)
        return false;
    if (b->ip[i] - ETHER_HDR != rte_pktmbuf_mtod(b->pkt[i], uint8_t *) && // with tags
        !frame_move(b, i, 0, load16_host(b->ip[i] - 2)))
        return false;
    uint8_t *frame = rte_pktmbuf_mtod(b->pkt[i], uint8_t *);
    b->pkt[i]->ol_flags &= ~(uint64_t)(RTE_MBUF_F_RX_VLAN | RTE_MBUF_F_RX_VLAN_STRIPPED);
    memset(frame, 0xff, 6);
    memcpy(frame + 6, out->mac, 6);
    packet_cross(f, b->iface[i], out->id);
    tx_frame(f, b->pkt[i], out->id, DROP_PROGRAM_NO_WAY);
    return true;
}
