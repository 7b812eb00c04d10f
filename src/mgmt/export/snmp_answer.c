// SPDX-License-Identifier: BSD-3-Clause
// snmp_answer.c - see response.h; section numbers are those of RFC 2741
#include "export/snmp_answer.h"

#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "export/mib.h"
#include "table/vr.h"

#define VARIABLES_MAX 2000u // of one answer; who asks for more by GetBulk gets so many
#define BYTES_MAX 60000u    // likewise

struct range { // a search range (5.2); of a GetBulk it moves on
    struct oid from, to; // to.n == 0: no end
    bool include, ended;
};

struct snmp_counts snmp_counts;

static struct snmp_response {
    bool active, within; // within: answer_range() is at work
    struct agentx_header head;
    struct mib_question question;
    VEC(struct range) range;
    unsigned at, done, rounds, not_repeated; // of GetBulk: repetitions left, ranges asked once
    size_t begun;
    struct text *out;
    void (*ready)(void);
} response;

static void answer_range(void);

static void found_later(void *ctx)
{
    if (response.active && !response.within)
        answer_range();
}

static void finish_answer(void)
{
    agentx_end(response.out, response.begun);
    response.active = false;
    vec_clear(&response.range);
    response.ready();
}

static void begin_response(uint16_t error, uint16_t index)
{
    const struct agentx_header *h = &response.head;

    response.begun =
        agentx_begin(response.out, AGENTX_RESPONSE, 0, h->session, h->transaction, h->packet);
    agentx_write_u32(response.out, mib_uptime_ticks());
    agentx_write_u16(response.out, error);
    agentx_write_u16(response.out, index);
}

static void write_variable(const struct oid *name, const struct value *v)
{
    agentx_write_variable(response.out, name, v);
    response.done++;
    snmp_counts.variables++;
}

// 7.2.3.1: the variable of that name, or why there is none. False: later.
static bool get_value(struct range *r)
{
    struct oid name;
    struct value v;
    enum mib_found found = mib_next(&response.question, &r->from, true, &name, &v);

    if (found == MIB_LATER)
        return false;
    if (found == MIB_END || oid_compare(&name, &r->from))
        v.type = mib_has_object(&response.question, &r->from) ? VALUE_NO_INSTANCE : VALUE_NO_OBJECT;
    write_variable(&r->from, &v);
    return true;
}

// 7.2.3.2: the first variable of the range, which then begins behind it. False: later.
static bool get_next(struct range *r)
{
    struct oid name;
    struct value v = {.type = VALUE_END_OF_MIB};
    enum mib_found found =
        r->ended ? MIB_END : mib_next(&response.question, &r->from, r->include, &name, &v);

    if (found == MIB_LATER)
        return false;
    if (found == MIB_END || (r->to.n && oid_compare(&name, &r->to) >= 0)) {
        r->ended = true;
        write_variable(&r->from, &(struct value){.type = VALUE_END_OF_MIB});
        return true;
    }
    write_variable(&name, &v);
    r->from = name;
    r->include = false;
    return true;
}

// 7.2.3.3: `rounds` times over the ranges behind the first ones. False: nothing is left to be
// asked.
static bool next_round(void)
{
    bool all_ended = true;

    for (size_t i = response.not_repeated; i < response.range.n; i++)
        all_ended &= response.range.item[i].ended;
    if (response.head.type != AGENTX_GET_BULK || all_ended || response.rounds <= 1 ||
        response.done >= VARIABLES_MAX || response.out->n - response.begun > BYTES_MAX)
        return false;
    response.rounds--;
    response.at = response.not_repeated;
    return true;
}

static void answer_range(void)
{
    response.within = true;
    do {
        unsigned asked = response.head.type == AGENTX_GET_BULK && !response.rounds
                             ? response.not_repeated
                             : (unsigned)response.range.n;
        for (; response.at < asked; response.at++) {
            struct range *r = &response.range.item[response.at];
            if (!(response.head.type == AGENTX_GET ? get_value(r) : get_next(r))) {
                response.within = false;
                return;
            }
        }
    } while (next_round());
    response.within = false;
    finish_answer();
}

// --- the question -------------------------------------------------------------------------------

static bool read_ranges(struct agentx_reader *in)
{
    while (in->p < in->end && !in->failed && response.range.n < VARIABLES_MAX) {
        struct range *r = vec_push(&response.range);
        bool ignored;
        r->ended = false;
        agentx_read_oid(in, &r->from, &r->include);
        agentx_read_oid(in, &r->to, &ignored);
    }
    return !in->failed && in->p == in->end;
}

// The context is the name of a virtual router, "" that of `default` together with the interfaces.
static bool read_context(struct agentx_reader *in)
{
    char context[AGENTX_CONTEXT_MAX] = "";

    if (response.head.has_context)
        agentx_read_context(in, context);
    const struct vr *v = vr_find(context[0] ? context : "default");
    if (!v)
        return false;
    response.question =
        (struct mib_question){.vr = v->id, .interfaces = !context[0], .ready = found_later};
    return true;
}

static void refuse(uint16_t error)
{
    begin_response(error, error == AGENTX_NOT_WRITABLE);
    snmp_counts.errors += error != AGENTX_NO_ERROR;
    finish_answer();
}

void snmp_answer_begin(const struct agentx_header *h, const uint8_t *payload, struct text *out,
                       void (*ready)(void))
{
    struct agentx_reader in;

    response = (struct snmp_response){
        .active = true, .head = *h, .range = response.range, .out = out, .ready = ready};
    vec_clear(&response.range);
    agentx_reader_init(&in, h, payload);
    bool known = read_context(&in);
    snmp_counts.gets += h->type == AGENTX_GET;
    snmp_counts.get_nexts += h->type == AGENTX_GET_NEXT;
    snmp_counts.get_bulks += h->type == AGENTX_GET_BULK;
    snmp_counts.sets += h->type == AGENTX_TEST_SET;
    if (h->type == AGENTX_TEST_SET) {
        refuse(AGENTX_NOT_WRITABLE);
        return;
    }
    if (h->type == AGENTX_GET_BULK) {
        response.not_repeated = agentx_read_u16(&in);
        response.rounds = agentx_read_u16(&in);
    }
    if (!read_ranges(&in)) {
        refuse(AGENTX_PARSE_ERROR);
    } else if (!known) {
        refuse(AGENTX_PROCESSING_ERROR);
    } else {
        if (response.not_repeated > response.range.n)
            response.not_repeated = (unsigned)response.range.n;
        begin_response(AGENTX_NO_ERROR, 0);
        answer_range();
    }
}

bool snmp_answer_rests(void)
{
    return response.active;
}

void snmp_answer_forget(void)
{
    response.active = false;
    mib_route_forget();
    mib_ip_forget();
    vec_free(&response.range);
}
