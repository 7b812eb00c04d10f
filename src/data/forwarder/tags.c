// SPDX-License-Identifier: BSD-3-Clause
// tags.c - reads a frame's VLAN tags and finds their interface (tags.h)
//
// Tags removed by the device come from the mbuf, first the outer one, then tags in the frame. The
// type of a removed tag is unknown and counts as right. A third tag that is no priority tag selects
// nothing. Each failure is a drop reason, which tells an unknown VLAN from a wrong tag type.
#include "forwarder/tags.h"

#include "forwarder/packet.h"
#include "table/iface.h"
#include "table/metalink.h"
#include "forwarder/forbidden.h"

#define TAGS_MAX 3 // in the frame: two plus a priority tag

static void tag_add(struct tags *t, uint16_t tci, uint16_t type_be)
{
    if (!(tci & 0xfff))
        return;
    if (t->n < 2) {
        t->vlan[t->n] = tci & 0xfff;
        t->type_be[t->n] = type_be;
    }
    t->n++;
}

const uint8_t *tags_read(const struct rte_mbuf *m, bool received, struct tags *t)
{
    const uint8_t *frame = rte_pktmbuf_mtod(m, const uint8_t *), *at = frame + 12;

    *t = (struct tags){0};
    if (received && m->ol_flags & RTE_MBUF_F_RX_QINQ_STRIPPED)
        tag_add(t, m->vlan_tci_outer, 0);
    if (received && m->ol_flags & RTE_MBUF_F_RX_VLAN_STRIPPED)
        tag_add(t, m->vlan_tci, 0);
    for (unsigned n = 0; n < TAGS_MAX && is_tag(load16(at)); n++, at += VLAN_HDR) {
        if (m->data_len < (uint32_t)(at - frame) + VLAN_HDR + 2)
            return NULL;
        tag_add(t, load16_host(at + 2), load16(at));
    }
    return at;
}

static bool type_is(uint16_t type_be, uint16_t expected_be)
{
    return type_be == expected_be || !type_be;
}

// The interface of a frame with two tags or more; or a drop reason.
static enum drop_reason pair_iface(const struct port *port, const struct tags *t, uint16_t *id)
{
    uint16_t found = port_iface(port, t->vlan[0], t->vlan[1]);

    if (!found || t->n > 2)
        return port->outer_row[t->vlan[0]] || port->vlan_iface[t->vlan[0]] ? DROP_VLAN_INNER_UNKNOWN
                                                                           : DROP_VLAN_UNKNOWN;
    if (!type_is(t->type_be[0], iface_get(found)->tpid_be) ||
        !type_is(t->type_be[1], ETHER_TYPE_VLAN))
        return DROP_VLAN_TPID;
    *id = found;
    return DROP_NONE;
}

enum drop_reason tags_iface(const struct port *port, const struct tags *t, uint16_t *id)
{
    if (t->vlan[0] == 0xfff || t->vlan[1] == 0xfff)
        return DROP_VLAN_RESERVED;
    if (t->n > 1)
        return pair_iface(port, t, id);
    uint16_t found = port_iface(port, 0, t->vlan[0]);
    if (!found)
        return t->n ? DROP_VLAN_UNKNOWN : DROP_IFACE_DOWN;
    if (t->n && !type_is(t->type_be[0], ETHER_TYPE_VLAN))
        return DROP_VLAN_TPID;
    *id = found;
    return DROP_NONE;
}

uint16_t iface_of_frame(const struct port *port, const struct rte_mbuf *m, bool received)
{
    struct tags t;
    uint16_t id = 0;

    if (m->data_len < ETHER_HDR || !tags_read(m, received, &t) || tags_iface(port, &t, &id))
        return 0;
    // By a metalink, tags lead to the other end.
    if (!received && port == port_get(PORT_METALINK))
        id = port_iface(port, 0, metalink_vlan_peer(t.vlan[0]));
    return id;
}

static void tag_write(uint8_t *at, uint16_t type_be, uint16_t vlan)
{
    store16(at, type_be);
    store16(at + 2, rte_cpu_to_be_16(vlan)); // priority 0
}

bool tags_put(struct rte_mbuf *m, const struct iface *iface)
{
    uint16_t room = iface->outer_vlan ? 2 * VLAN_HDR : iface->vlan ? VLAN_HDR : 0;

    if (!room)
        return true;
    uint8_t *frame = (uint8_t *)rte_pktmbuf_prepend(m, room);
    if (!frame)
        return false;
    memmove(frame, frame + room, 12);
    if (iface->outer_vlan)
        tag_write(frame + 12, iface->tpid_be, iface->outer_vlan);
    tag_write(frame + 8 + room, ETHER_TYPE_VLAN, iface->vlan);
    return true;
}

void ether_restore(struct rte_mbuf *m, uint16_t iface, uint8_t family)
{
    uint8_t *frame = (uint8_t *)rte_pktmbuf_prepend(m, ETHER_HDR);

    memcpy(frame, iface_get(iface)->mac, 6);
    memcpy(frame + 6, iface_get(iface)->mac, 6);
    store16(frame + 12, family == IP4 ? ETHER_TYPE_IP4 : ETHER_TYPE_IP6);
}
