// SPDX-License-Identifier: BSD-3-Clause
// snmp_pdu.c - what an AgentX session sends of its own
#include "export/snmp_pdu.h"

#include <stdio.h>
#include <string.h>

#include "base/version.h"
#include "export/mib.h"

#define TIMEOUT_S 5  // what the master waits for an answer
#define PRIORITY 100 // before that of the master's own modules, 127

void snmp_pdu_open(struct text *t, uint32_t packet)
{
    const struct oid nobody = {0};
    char description[64];
    int length = snprintf(description, sizeof description, "kamueed %s", kamuee_version);
    size_t begun = agentx_begin(t, AGENTX_OPEN, 0, 0, 0, packet);

    agentx_write_u8(t, TIMEOUT_S);
    text_append(t, "\0\0\0", 3);
    agentx_write_oid(t, &nobody, false);
    agentx_write_string(t, description, (size_t)length);
    agentx_end(t, begun);
}

void snmp_pdu_register(struct text *t, enum agentx_type type, uint32_t session, uint32_t packet,
                       const struct oid *tree, const char *context)
{
    size_t begun = agentx_begin(t, type, context[0] ? AGENTX_FLAG_CONTEXT : 0, session, 0, packet);

    if (context[0])
        agentx_write_string(t, context, (uint32_t)strlen(context));
    agentx_write_u8(t, type == AGENTX_REGISTER ? TIMEOUT_S : 0);
    agentx_write_u8(t, PRIORITY);
    text_append(t, "\0\0", 2); // no range
    agentx_write_oid(t, tree, false);
    agentx_end(t, begun);
}

static void write_status(struct text *t, const struct oid *column, uint16_t id,
                         const struct value *v)
{
    struct oid name = *column;

    oid_add(&name, id);
    agentx_write_variable(t, &name, v);
}

void snmp_pdu_link(struct text *t, uint32_t session, uint32_t packet, uint16_t iface, bool up)
{
    static const struct oid trap = {11, {1, 3, 6, 1, 6, 3, 1, 1, 4, 1, 0}},
                            index = {10, {1, 3, 6, 1, 2, 1, 2, 2, 1, 1}},
                            admin = {10, {1, 3, 6, 1, 2, 1, 2, 2, 1, 7}},
                            oper = {10, {1, 3, 6, 1, 2, 1, 2, 2, 1, 8}};
    struct value what = {.type = VALUE_OID, .oid = {10, {1, 3, 6, 1, 6, 3, 1, 1, 5, up ? 4 : 3}}},
                 number = value_integer(iface);
    struct value a = mib_if_status(iface, true), o = value_integer(up ? 1 : 2);
    size_t begun = agentx_begin(t, AGENTX_NOTIFY, 0, session, 0, packet);

    agentx_write_variable(t, &trap, &what);
    write_status(t, &index, iface, &number);
    write_status(t, &admin, iface, &a);
    write_status(t, &oper, iface, &o);
    agentx_end(t, begun);
}

void snmp_pdu_acknowledge(struct text *t, const struct agentx_header *h)
{
    size_t begun = agentx_begin(t, AGENTX_RESPONSE, 0, h->session, h->transaction, h->packet);

    agentx_write_u32(t, mib_uptime_ticks());
    agentx_write_u32(t, AGENTX_NO_ERROR);
    agentx_end(t, begun);
}

void snmp_pdu_close(struct text *t, uint32_t session, uint32_t packet)
{
    size_t begun = agentx_begin(t, AGENTX_CLOSE, 0, session, 0, packet);

    agentx_write_u32(t, AGENTX_REASON_SHUTDOWN << 24);
    agentx_end(t, begun);
}
