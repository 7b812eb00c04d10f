// SPDX-License-Identifier: BSD-3-Clause
// agentx.h - PDUs of AgentX, between an SNMP agent (master) and its subagents (RFC 2741)
//
// Bytes in, structs out, and back; no sockets, no state. What is written is in network byte order;
// both orders are read.
#ifndef EXPORT_AGENTX_H
#define EXPORT_AGENTX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text.h"
#include "export/oid.h"

#define AGENTX_HEADER 20
#define AGENTX_PDU_MAX 65536 // the largest PDU that is taken from a master
#define AGENTX_CONTEXT_MAX 32

enum agentx_type {
    AGENTX_OPEN = 1,
    AGENTX_CLOSE,
    AGENTX_REGISTER,
    AGENTX_UNREGISTER,
    AGENTX_GET,
    AGENTX_GET_NEXT,
    AGENTX_GET_BULK,
    AGENTX_TEST_SET,
    AGENTX_COMMIT_SET,
    AGENTX_UNDO_SET,
    AGENTX_CLEANUP_SET,
    AGENTX_NOTIFY,
    AGENTX_PING,
    AGENTX_RESPONSE = 18
};

enum {
    AGENTX_NO_ERROR = 0,
    AGENTX_NOT_WRITABLE = 17,
    AGENTX_PARSE_ERROR = 266,
    AGENTX_PROCESSING_ERROR = 268
};
enum { AGENTX_REASON_SHUTDOWN = 5 };

enum value_type { // of a variable
    VALUE_INTEGER = 2,
    VALUE_STRING = 4,
    VALUE_OID = 6,
    VALUE_COUNTER32 = 65,
    VALUE_GAUGE32 = 66,
    VALUE_TIME_TICKS = 67,
    VALUE_COUNTER64 = 70,
    VALUE_NO_OBJECT = 128,
    VALUE_NO_INSTANCE = 129,
    VALUE_END_OF_MIB = 130
};

struct value {
    enum value_type type;
    uint64_t number; // an integer as its 32 bits
    uint8_t string[64];
    unsigned n; // bytes of string
    struct oid oid;
};

struct agentx_header {
    uint8_t type; // enum agentx_type
    uint8_t flags;
    bool network_order;
    bool has_context;
    uint32_t session, transaction, packet;
    uint32_t payload; // bytes behind the header
};

// --- reading ---
// `p`: AGENTX_HEADER bytes. 0, or -EINVAL: no AgentX, or larger than AGENTX_PDU_MAX.
int agentx_read_header(const uint8_t *p, struct agentx_header *h);

struct agentx_reader { // a payload; `failed` stays set once something did not fit
    const uint8_t *p, *end;
    bool network_order, failed;
};
void agentx_reader_init(struct agentx_reader *r, const struct agentx_header *h,
                        const uint8_t *payload);
uint16_t agentx_read_u16(struct agentx_reader *r);
uint32_t agentx_read_u32(struct agentx_reader *r);
void agentx_read_oid(struct agentx_reader *r, struct oid *o, bool *include);
void agentx_read_context(struct agentx_reader *r, char context[AGENTX_CONTEXT_MAX]);

// --- writing ---
// begin; contents; end, which fills in the length.
size_t agentx_begin(struct text *t, enum agentx_type type, uint8_t flags, uint32_t session,
                    uint32_t transaction, uint32_t packet);
void agentx_end(struct text *t, size_t begun);
#define AGENTX_FLAG_CONTEXT 0x08
void agentx_write_u8(struct text *t, uint8_t v);
void agentx_write_u16(struct text *t, uint16_t v);
void agentx_write_u32(struct text *t, uint32_t v);
void agentx_write_oid(struct text *t, const struct oid *o, bool include);
void agentx_write_string(struct text *t, const void *s, uint32_t n);
void agentx_write_variable(struct text *t, const struct oid *name, const struct value *v);

#endif
