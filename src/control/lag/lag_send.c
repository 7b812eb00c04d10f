// SPDX-License-Identifier: BSD-3-Clause
// lag_send.c - frames that control sends through a member of a LAG
//
// A LACPDU has the MAC of the member, as the standard demands, and a copy stays with tap_manager in
// case control is late. An announcement is a broadcast from each MAC of the LAG's interfaces, in
// their VLAN, from which switches learn the member.
#include "lag/lag_port.h"

#include <arpa/inet.h>
#include <string.h>

#include "base/clock.h"
#include "table/iface.h"
#include "table/port.h"
#include "tap/lag_frame.h"

_Static_assert(LAG_SLOW_FRAME == 14 + LACP_PDU, "an Ethernet header and a LACPDU");

static uint16_t lag_iface(const struct lag_port *l)
{
    return port_get(lag_port_id(l))->untagged;
}

static void build_slow_frame(const struct managed_port *p, const uint8_t pdu[LACP_PDU],
                             uint8_t frame[LAG_SLOW_FRAME])
{
    memcpy(frame, (const uint8_t[]){0x01, 0x80, 0xc2, 0x00, 0x00, 0x02}, 6);
    memcpy(frame + 6, p->device.config.mac, 6);
    memcpy(frame + 12, (const uint8_t[]){0x88, 0x09}, 2);
    memcpy(frame + 14, pdu, LACP_PDU);
}

void lag_send_slow(const struct lag_port *l, const struct managed_port *p,
                   const uint8_t pdu[LACP_PDU])
{
    uint8_t frame[LAG_SLOW_FRAME];

    build_slow_frame(p, pdu, frame);
    lag_frame_send(p->device.id, lag_iface(l), frame, sizeof frame);
}

void lag_send_lacpdu(const struct lag_port *l, struct managed_port *p, const uint8_t pdu[LACP_PDU])
{
    struct lacp_repeat keep = {
        .port = p->device.id, .iface = lag_iface(l), .every_ns = lacp_period_ns(&p->lag->lacp)};

    lag_send_slow(l, p, pdu);
    build_slow_frame(p, pdu, keep.frame);
    lacp_repeat_set(&keep);
    p->lag->kept = true;
}

void lag_send_stop(struct managed_port *p)
{
    if (p->lag->kept)
        lacp_repeat_set(&(struct lacp_repeat){.port = p->device.id});
    p->lag->kept = false;
}

// Sends a broadcast from the MAC, so that switches learn its new port: a RARP request, which hosts
// do not answer.
static void announce_mac(const struct lag_port *l, const struct managed_port *p,
                         const struct iface *i, const uint8_t mac[6])
{
    uint8_t frame[68] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, *at = frame + 12;
    static const uint8_t rarp[] = {0x80, 0x35, 0, 1, 8, 0, 6, 4, 0, 3};
    uint16_t tag_be;

    memcpy(frame + 6, mac, 6);
    if (i->outer_vlan) {
        tag_be = htons(i->outer_vlan);
        memcpy(at, &i->tpid_be, 2);
        memcpy(at + 2, &tag_be, 2);
        at += 4;
    }
    if (i->vlan) {
        tag_be = htons(i->vlan);
        memcpy(at, (uint8_t[]){0x81, 0}, 2);
        memcpy(at + 2, &tag_be, 2);
        at += 4;
    }
    memcpy(at, rarp, sizeof rarp);
    memcpy(at + 10, mac, 6);
    memcpy(at + 20, mac, 6);
    lag_frame_send(p->device.id, lag_iface(l), frame, (uint16_t)(at - frame + 48));
}

void lag_announce(struct lag_port *l, const struct managed_port *p)
{
    l->announcements--;
    l->announce_ns = clock_now_ns() + NS_PER_SECOND;
    for (uint16_t id = 1; id < IFACE_MAX; id++) {
        const struct iface *i = iface_get(id);
        uint64_t w;
        if (i->kind == IFACE_NONE || i->port != lag_port_id(l))
            continue;
        announce_mac(l, p, i, i->mac);
        for (unsigned k = 0; k < IFACE_MACS && (w = iface_macs[id][k]); k++)
            announce_mac(l, p, i, (const uint8_t *)&w);
    }
}
