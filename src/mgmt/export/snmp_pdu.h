// SPDX-License-Identifier: BSD-3-Clause
// snmp_pdu.h - what an AgentX session sends of its own: appended to a text; control role
#ifndef EXPORT_SNMP_PDU_H
#define EXPORT_SNMP_PDU_H

#include <stdbool.h>

#include "export/agentx.h"

void snmp_pdu_open(struct text *t, uint32_t packet);
// AGENTX_REGISTER or AGENTX_UNREGISTER of a tree; `context`: name of a virtual router, "" = the
// default one.
void snmp_pdu_register(struct text *t, enum agentx_type type, uint32_t session, uint32_t packet,
                       const struct oid *tree, const char *context);
void snmp_pdu_link(struct text *t, uint32_t session, uint32_t packet, uint16_t iface,
                   bool up); // linkUp, linkDown (RFC 2863)
void snmp_pdu_acknowledge(struct text *t, const struct agentx_header *h); // of the master's PDU h
void snmp_pdu_close(struct text *t, uint32_t session, uint32_t packet);

#endif
