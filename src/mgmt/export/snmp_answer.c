// SPDX-License-Identifier: BSD-3-Clause
// snmp_answer.c - see snmp_answer.h; section numbers are those of RFC 2741
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

static struct answer {
    bool active, within; // within: answer_range() is at work
    struct agentx_header head;
    struct mib_question question;
    VEC(struct range) range;
    unsigned at, done, rounds, not_repeated; // of GetBulk: repetitions left, ranges asked once
    size_t begun;
    struct text *out;
    void (*ready)(void);
} answer;

static void answer_range(void);

static void found_later(void *ctx)
{
    if (answer.active && !answer.within)
        answer_range();
}

static void finish_answer(void)
{
    agentx_end(answer.out, answer.begun);
    answer.active = false;
    vec_clear(&answer.range);
    answer.ready();
}

static void begin_response(uint16_t error, uint16_t index)
{
    const struct agentx_header *h = &answer.head;

    answer.begun =
        agentx_begin(answer.out, AGENTX_RESPONSE, 0, h->session, h->transaction, h->packet);
    agentx_write_u32(answer.out, mib_uptime_ticks());
    agentx_write_u16(answer.out, error);
    agentx_write_u16(answer.out, index);
}

static void write_variable(const struct oid *name, const struct value *v)
{
    agentx_write_variable(answer.out, name, v);
    answer.done++;
    snmp_counts.variables++;
}

// 7.2.3.1: the variable of that name, or why there is none. False: later.
static bool get_value(struct range *r)
{
    struct oid name;
    struct value v;
    enum mib_found found = mib_next(&answer.question, &r->from, true, &name, &v);

    if (found == MIB_LATER)
        return false;
    if (found == MIB_END || oid_compare(&name, &r->from))
        v.type = mib_has_object(&answer.question, &r->from) ? VALUE_NO_INSTANCE : VALUE_NO_OBJECT;
    write_variable(&r->from, &v);
    return true;
}

// 7.2.3.2: the first variable of the range, which then begins behind it. False: later.
static bool get_next(struct range *r)
{
    struct oid name;
    struct value v = {.type = VALUE_END_OF_MIB};
    enum mib_found found =
        r->ended ? MIB_END : mib_next(&answer.question, &r->from, r->include, &name, &v);

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

    for (size_t i = answer.not_repeated; i < answer.range.n; i++)
        all_ended &= answer.range.item[i].ended;
    if (answer.head.type != AGENTX_GET_BULK || all_ended || answer.rounds <= 1 ||
        answer.done >= VARIABLES_MAX || answer.out->n - answer.begun > BYTES_MAX)
        return false;
    answer.rounds--;
    answer.at = answer.not_repeated;
    return true;
}

static void answer_range(void)
{
    answer.within = true;
    do {
        unsigned asked = answer.head.type == AGENTX_GET_BULK && !answer.rounds
                             ? answer.not_repeated
                             : (unsigned)answer.range.n;
        for (; answer.at < asked; answer.at++) {
            struct range *r = &answer.range.item[answer.at];
            if (!(answer.head.type == AGENTX_GET ? get_value(r) : get_next(r))) {
                answer.within = false;
                return;
            }
        }
    } while (next_round());
    answer.within = false;
    finish_answer();
}

// --- the question -------------------------------------------------------------------------------

static bool read_ranges(struct agentx_reader *in)
{
    while (in->p < in->end && !in->failed && answer.range.n < VARIABLES_MAX) {
        struct range *r = vec_push(&answer.range);
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

    if (answer.head.has_context)
        agentx_read_context(in, context);
    const struct vr *v = vr_find(context[0] ? context : "default");
    if (!v)
        return false;
    answer.question =
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

    answer = (struct answer){
        .active = true, .head = *h, .range = answer.range, .out = out, .ready = ready};
    vec_clear(&answer.range);
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
        answer.not_repeated = agentx_read_u16(&in);
        answer.rounds = agentx_read_u16(&in);
    }
    if (!read_ranges(&in)) {
        refuse(AGENTX_PARSE_ERROR);
    } else if (!known) {
        refuse(AGENTX_PROCESSING_ERROR);
    } else {
        answer.not_repeated =
            answer.not_repeated > answer.range.n ? (unsigned)answer.range.n : answer.not_repeated;
        begin_response(AGENTX_NO_ERROR, 0);
        answer_range();
    }
}

bool snmp_answer_rests(void)
{
    return answer.active;
}

void snmp_answer_forget(void)
{
    answer.active = false;
    mib_route_forget();
    mib_ip_forget();
    vec_free(&answer.range);
}
