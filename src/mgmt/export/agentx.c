// SPDX-License-Identifier: BSD-3-Clause
// agentx.c - see agentx.h; section numbers are those of RFC 2741
#include "export/agentx.h"

#include <errno.h>
#include <string.h>

#define VERSION 1
#define FLAG_NETWORK_ORDER 0x10

static const uint32_t internet[4] = {1, 3, 6, 1}; // what a prefix stands behind (5.1)

static uint16_t get16(const uint8_t *p, bool network)
{
    return network ? (uint16_t)(p[0] << 8 | p[1]) : (uint16_t)(p[1] << 8 | p[0]);
}

static uint32_t get32(const uint8_t *p, bool network)
{
    uint32_t a = get16(p, network), b = get16(p + 2, network);

    return network ? a << 16 | b : b << 16 | a;
}

int agentx_read_header(const uint8_t *p, struct agentx_header *h)
{
    bool network = p[2] & FLAG_NETWORK_ORDER;

    *h = (struct agentx_header){.type = p[1],
                                .flags = p[2],
                                .network_order = network,
                                .has_context = p[2] & AGENTX_FLAG_CONTEXT,
                                .session = get32(p + 4, network),
                                .transaction = get32(p + 8, network),
                                .packet = get32(p + 12, network),
                                .payload = get32(p + 16, network)};
    return p[0] == VERSION && h->payload <= AGENTX_PDU_MAX && h->payload % 4 == 0 ? 0 : -EINVAL;
}

void agentx_reader_init(struct agentx_reader *r, const struct agentx_header *h,
                        const uint8_t *payload)
{
    *r = (struct agentx_reader){
        .p = payload, .end = payload + h->payload, .network_order = h->network_order};
}

// The next n bytes, or NULL.
static const uint8_t *take_bytes(struct agentx_reader *r, size_t n)
{
    const uint8_t *p = r->p;

    if (r->failed || (size_t)(r->end - r->p) < n) {
        r->failed = true;
        return NULL;
    }
    r->p += n;
    return p;
}

uint16_t agentx_read_u16(struct agentx_reader *r)
{
    const uint8_t *p = take_bytes(r, 2);

    return p ? get16(p, r->network_order) : 0;
}

uint32_t agentx_read_u32(struct agentx_reader *r)
{
    const uint8_t *p = take_bytes(r, 4);

    return p ? get32(p, r->network_order) : 0;
}

void agentx_read_oid(struct agentx_reader *r, struct oid *o, bool *include)
{
    const uint8_t *p = take_bytes(r, 4);

    o->n = 0;
    *include = p && p[2];
    if (!p)
        return;
    if (p[1]) {
        memcpy(o->id, internet, sizeof internet);
        o->id[4] = p[1];
        o->n = 5;
    }
    if (o->n + p[0] > OID_MAX) {
        r->failed = true;
        return;
    }
    for (unsigned i = 0; i < p[0]; i++)
        o->id[o->n++] = agentx_read_u32(r);
}

void agentx_read_context(struct agentx_reader *r, char context[AGENTX_CONTEXT_MAX])
{
    uint32_t n = agentx_read_u32(r);
    const uint8_t *p = n < AGENTX_CONTEXT_MAX ? take_bytes(r, (n + 3) & ~3u) : NULL;

    context[0] = '\0';
    if (!p) {
        r->failed = true;
        return;
    }
    memcpy(context, p, n);
    context[n] = '\0';
}

// --- writing ------------------------------------------------------------------------------------

void agentx_write_u8(struct text *t, uint8_t v)
{
    text_append(t, &v, 1);
}

void agentx_write_u16(struct text *t, uint16_t v)
{
    text_append(t, (uint8_t[]){(uint8_t)(v >> 8), (uint8_t)v}, 2);
}

void agentx_write_u32(struct text *t, uint32_t v)
{
    agentx_write_u16(t, (uint16_t)(v >> 16));
    agentx_write_u16(t, (uint16_t)v);
}

size_t agentx_begin(struct text *t, enum agentx_type type, uint8_t flags, uint32_t session,
                    uint32_t transaction, uint32_t packet)
{
    size_t begun = t->n;

    text_append(t, (uint8_t[]){VERSION, (uint8_t)type, (uint8_t)(flags | FLAG_NETWORK_ORDER), 0},
                4);
    agentx_write_u32(t, session);
    agentx_write_u32(t, transaction);
    agentx_write_u32(t, packet);
    agentx_write_u32(t, 0);
    return begun;
}

void agentx_end(struct text *t, size_t begun)
{
    uint32_t n = (uint32_t)(t->n - begun - AGENTX_HEADER);
    uint8_t be[4] = {(uint8_t)(n >> 24), (uint8_t)(n >> 16), (uint8_t)(n >> 8), (uint8_t)n};

    memcpy(t->s + begun + 16, be, sizeof be);
}

void agentx_write_oid(struct text *t, const struct oid *o, bool include)
{
    bool short_form =
        o->n >= 5 && !memcmp(o->id, internet, sizeof internet) && o->id[4] && o->id[4] < 256;
    unsigned from = short_form ? 5 : 0;

    text_append(
        t, (uint8_t[]){(uint8_t)(o->n - from), short_form ? (uint8_t)o->id[4] : 0, include, 0}, 4);
    for (unsigned i = from; i < o->n; i++)
        agentx_write_u32(t, o->id[i]);
}

void agentx_write_string(struct text *t, const void *s, uint32_t n)
{
    agentx_write_u32(t, n);
    text_append(t, s, n);
    text_append(t, "\0\0\0", -n & 3);
}

void agentx_write_variable(struct text *t, const struct oid *name, const struct value *v)
{
    agentx_write_u16(t, (uint16_t)v->type);
    agentx_write_u16(t, 0);
    agentx_write_oid(t, name, false);
    switch (v->type) {
    case VALUE_INTEGER:
    case VALUE_COUNTER32:
    case VALUE_GAUGE32:
    case VALUE_TIME_TICKS:
        agentx_write_u32(t, (uint32_t)v->number);
        break;
    case VALUE_COUNTER64:
        agentx_write_u32(t, (uint32_t)(v->number >> 32));
        agentx_write_u32(t, (uint32_t)v->number);
        break;
    case VALUE_STRING:
        agentx_write_string(t, v->string, v->n);
        break;
    case VALUE_OID:
        agentx_write_oid(t, &v->oid, false);
        break;
    case VALUE_NO_OBJECT:
    case VALUE_NO_INSTANCE:
    case VALUE_END_OF_MIB:
        break;
    }
}
