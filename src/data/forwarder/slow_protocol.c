// SPDX-License-Identifier: BSD-3-Clause
// Exit slow_protocol: slow-protocol frames (IEEE 802.3 annex 57A) of a member of a LAG
//
//   in     a frame of EtherType 0x8809, whether or not the member and the LAG's interface are up
//   out    sound LACPDUs and markers are punted in class "routing", to control, not to a TAP
//   exits  SLOW_TAGGED, SLOW_DESTINATION, SLOW_TRUNCATED, SLOW_SUBTYPE, LACP_LENGTH, LACP_LOOPED,
//          LACP_NOT_CONFIGURED
//
// Checks lengths and the destination. Version, types and reserved fields must not be checked (IEEE
// 802.1AX-2014 6.4.12): later versions start like this one.
#include "forwarder/drop.h"
#include "forwarder/exits.h"
#include "forwarder/packet.h"
#include "table/port.h"
#include "forwarder/forbidden.h"

#define PDU 110u // bytes after the EtherType
enum { SUBTYPE_LACP = 1, SUBTYPE_MARKER = 2 };
enum {
    AT_ACTOR_LENGTH = 3,
    AT_ACTOR_SYSTEM = 6,
    AT_PARTNER_LENGTH = 23,
    AT_COLLECTOR_LENGTH = 43,
    AT_TERMINATOR_LENGTH = 59
};
enum { AT_MARKER_LENGTH = 3, AT_MARKER_TERMINATOR_LENGTH = 19 };

static const uint8_t group[6] = {0x01, 0x80, 0xc2, 0x00, 0x00, 0x02};

static enum drop_reason lacpdu_reason(const struct lag *lag, const uint8_t *pdu)
{
    if (!lag->lacp)
        return DROP_LACP_NOT_CONFIGURED;
    if (pdu[AT_ACTOR_LENGTH] != 20 || pdu[AT_PARTNER_LENGTH] != 20 ||
        pdu[AT_COLLECTOR_LENGTH] != 16 || pdu[AT_TERMINATOR_LENGTH])
        return DROP_LACP_LENGTH;
    return memcmp(pdu + AT_ACTOR_SYSTEM, lag->system, sizeof lag->system) ? DROP_NONE
                                                                          : DROP_LACP_LOOPED;
}

static enum drop_reason marker_reason(const uint8_t *pdu)
{
    return pdu[AT_MARKER_LENGTH] != 16 || pdu[AT_MARKER_TERMINATOR_LENGTH] ? DROP_LACP_LENGTH
                                                                           : DROP_NONE;
}

static enum drop_reason slow_reason(const struct lag *lag, const struct rte_mbuf *m,
                                    const uint8_t *pdu, unsigned tags)
{
    uint32_t readable = packet_readable(m, pdu);

    if (tags)
        return DROP_SLOW_TAGGED;
    if (memcmp(rte_pktmbuf_mtod(m, const uint8_t *), group, sizeof group))
        return DROP_SLOW_DESTINATION;
    if (!readable)
        return DROP_SLOW_TRUNCATED;
    if (pdu[0] != SUBTYPE_LACP && pdu[0] != SUBTYPE_MARKER)
        return DROP_SLOW_SUBTYPE;
    if (readable < PDU)
        return DROP_SLOW_TRUNCATED;
    return pdu[0] == SUBTYPE_LACP ? lacpdu_reason(lag, pdu) : marker_reason(pdu);
}

void slow_protocol(struct forwarder *f, struct rte_mbuf *m, uint16_t port, uint16_t lag,
          const uint8_t *type_at, unsigned tags)
{
    uint16_t iface = port_get(lag)->untagged;
    enum drop_reason why = slow_reason(lag_get(lag), m, type_at + 2, tags);

    f->counter->vr[iface_get(iface)->vr].no_iface++;
    if (why) {
        packet_drop(f, m, iface, why);
        return;
    }
    punt(f, m, iface, PUNT_ROUTING);
    packet_meta(m)->member = (uint16_t)(port + 1);
}
