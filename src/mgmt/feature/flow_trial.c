// SPDX-License-Identifier: BSD-3-Clause
// flow_trial.c - tries a commit on flows before it happens (flow_trial.h)
//
//     flows of the sample or of the input --> packets --explain, twice--> outcomes --> effects
//
// A route may change between the two runs of a packet, so an effect counts only if two more runs
// have it, too. Flows with the same effect and reason are one row of the answer; the largest are
// its examples.
#include "feature/flow_trial.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "core/aside.h"
#include "core/rcu.h"
#include "export/flow_sample.h"
#include "export/sample_packet.h"
#include "feature/explain.h"
#include "http/refuse.h"
#include "model/model.h"
#include "restconf/column.h"
#include "table/iface.h"
#include "table/port.h"
#include "table/vr.h"

#define TRACE_ROOM 4096u
#define SLICE 128        // flows between two pauses
#define ROWS_MAX 200u    // of the answer
#define EXAMPLES_EACH 3u // of a row
#define EXAMPLES_MAX 50u
#define SAID 96

enum effect { SAME, GONE, DROPPED, PASSED, REASON, OUTPUT, VR, CLASS, DSCP, POLICER, EFFECTS };
static const char *const effect_name[EFFECTS] = {
    "same", "interface", "dropped", "passed", "reason", "output", "vr", "class", "dscp", "policer"};

struct outcome {
    uint8_t end;  // enum packet_trace_end
    uint8_t drop; // enum drop_reason
    uint8_t class, tos;
    uint16_t vr;
    uint16_t iface, copies; // output; 0 = it does not leave
    uint32_t nexthop;
    const char *list; // that dropped it, or NULL
    uint32_t rule;
};

struct row { // flows with the same effect for the same reason
    uint8_t effect;
    char by[SAID];
    uint32_t flows, examples;
    uint64_t bytes;
};

struct finding {
    struct flow_total flow;
    uint8_t effect;
    char before[SAID], after[SAID];
};

struct flow_trial {
    uint64_t limit; // more changed flows refuse the commit
    struct flow_totals totals;
    // results
    uint32_t left_out; // flows not tried
    uint32_t changed;
    uint64_t changed_bytes;
    VEC(struct row) row;
    VEC(struct finding) example;
    struct flow_effect effect;
    struct packet_trace *trace;
    uint8_t *frame;
};

static const struct trial in_force;

// --- a packet for a flow -------------------------------------------------------------------------

// A packet of average size. A TCP flow that has been acknowledged is in the middle of its
// connection.
static uint32_t make_frame(const struct flow_total *t, const struct iface *i, uint8_t *frame)
{
    struct packet_spec s = explain_default_packet(i);
    uint64_t size = t->packets ? t->bytes / t->packets : 0;

    s.src = t->key.src;
    s.dst = t->key.dst;
    s.proto = t->key.proto;
    s.tos = t->key.tos;
    s.sport = t->key.sport;
    s.dport = t->key.dport;
    s.icmp_type = (uint8_t)(t->key.dport >> 8);
    s.icmp_code = (uint8_t)t->key.dport;
    s.tcp_flags = t->tcp_flags & 0x10 /* ACK */;
    s.size = (uint16_t)(size < i->mtu ? size : i->mtu); // less than EXPLAIN_SIZE_MAX
    return explain_frame(&s, frame);
}

// --- its outcome ---------------------------------------------------------------------------------

static void read_step(const struct packet_trace_step *s, struct outcome *o)
{
    o->vr = s->vr;
    if (s->acl.list && s->acl.verb != ACL_PERMIT && !s->acl.spared) {
        o->list = acl_table[s->acl.list].name;
        o->rule = s->acl.rule;
    }
    if (s->lookup.asked) {
        o->nexthop = s->lookup.nexthop;
        o->iface = s->lookup.iface;
    }
}

static void read_sent(const struct packet_trace *p, const struct packet_trace_step *s,
                      struct outcome *o)
{
    const struct packet_trace_frame *f = &p->frame[s->frame];
    struct sample_packet sent;

    sample_packet_read(p->bytes + f->at, f->kept, &sent);
    o->tos = sent.tos;
    o->iface = f->iface;
    o->class = f->queue.has ? f->queue.class : 0;
    o->copies = s->n_frames;
}

static bool run_packet(const struct flow_trial *t, const struct iface *i, uint32_t n,
                       const struct trial *with, struct outcome *o)
{
    struct packet_trace *p = t->trace;
    const struct packet_trace_step *last;

    *o = (struct outcome){.vr = i->vr};
    packet_trace_init(p, TRACE_ROOM, 64);
    if (explain_dry_run()(i->port, t->frame, n, with, p) ||
        !(last = packet_trace_last(p, TRACED_PACKET)))
        return false;
    for (unsigned k = 0; k < p->n_steps; k++)
        if (p->step[k].of == TRACED_PACKET)
            read_step(&p->step[k], o);
    o->end = last->end;
    o->drop = last->end == TRACED_DROPPED ? (uint8_t)last->drop : DROP_NONE;
    if (last->end == TRACED_SENT && last->n_frames)
        read_sent(p, last, o);
    if (last->end != TRACED_SENT && last->end != TRACED_HELD)
        o->iface = 0, o->nexthop = 0;
    return true;
}

static const char *say(const struct outcome *o, char buf[SAID])
{
    const struct iface *out = iface_get(o->iface);

    if (o->end == TRACED_PUNTED)
        snprintf(buf, SAID, "for the router itself");
    else if (o->end == TRACED_HELD)
        snprintf(buf, SAID, "waits for its neighbor on %s", out->name);
    else if (o->end != TRACED_DROPPED)
        snprintf(buf, SAID, "sent by %s, class %u, tos %u", out->name, o->class, o->tos);
    else if (o->list && o->rule)
        snprintf(buf, SAID, "dropped by acl %s rule %u", o->list, o->rule);
    else if (o->list)
        snprintf(buf, SAID, "dropped by the default of acl %s", o->list);
    else
        snprintf(buf, SAID, "dropped: %s", drop_info[o->drop].name);
    return buf;
}

// --- comparing -----------------------------------------------------------------------------------

static enum effect compare_outcomes(const struct outcome *was, const struct outcome *is)
{
    bool dropped = was->end == TRACED_DROPPED;

    if (dropped != (is->end == TRACED_DROPPED))
        return dropped ? PASSED : DROPPED;
    if (dropped && was->drop != is->drop)
        return REASON;
    if (was->iface != is->iface || was->nexthop != is->nexthop || was->copies != is->copies)
        return OUTPUT;
    if (was->vr != is->vr)
        return VR;
    if (was->end != is->end || dropped)
        return SAME; // a neighbor was found meanwhile
    return was->class != is->class ? CLASS : was->tos != is->tos ? DSCP : SAME;
}

// Runs the flow with both; twice if they differ.
static enum effect try_both(struct flow_trial *t, const struct iface *i, uint32_t n,
                            struct outcome *was, struct outcome *is)
{
    enum effect effect = SAME, now;

    for (unsigned k = 0; k < 2; k++, effect = now) {
        if (!run_packet(t, i, n, &in_force, was) || !run_packet(t, i, n, &t->effect.trial, is))
            return SAME;
        now = compare_outcomes(was, is);
        if (now == SAME || (k && now != effect))
            return SAME;
    }
    return effect;
}

// --- the effect on a flow ------------------------------------------------------------------------

static void judge_flow(struct flow_trial *t, const struct iface *i, struct finding *d)
{
    const struct flow_effect_iface *in = &t->effect.iface[i->id];
    uint32_t n = make_frame(&d->flow, i, t->frame);
    struct outcome was = {0}, is = {0};

    d->effect = (uint8_t)try_both(t, i, n, &was, &is);
    say(&was, d->before);
    say(&is, d->after);
    const struct flow_effect_iface *out = &t->effect.iface[was.iface];
    if (in->goes) {
        d->effect = GONE;
        snprintf(d->after, SAID, "its input %s is removed, or made anew", i->name);
    } else if (in->moves && (in->new_vr || d->effect == SAME || d->effect == VR)) {
        d->effect = VR;
        snprintf(d->after, SAID, "vr %s", in->to->vr);
    } else if (d->effect != DROPPED && (out->goes || out->moves)) {
        d->effect = GONE;
        snprintf(d->after, SAID, "its output %s goes, or gets another vr",
                 iface_get(was.iface)->name);
    } else if (d->effect == SAME && (in->police[POLICER_IN] || out->police[POLICER_OUT])) {
        d->effect = POLICER;
        snprintf(d->after, SAID, "another policer");
    }
}

static struct row *row_of(struct flow_trial *t, uint8_t effect, const char *by)
{
    vec_foreach (&t->row, r)
        if (r->effect == effect && (!strcmp(r->by, by) || !strcmp(r->by, "others")))
            return r;
    struct row *r = vec_push(&t->row);
    *r = (struct row){.effect = effect};
    snprintf(r->by, SAID, "%s", t->row.n <= ROWS_MAX ? by : "others");
    return r;
}

static void try_flow(struct flow_trial *t, const struct flow_total *flow)
{
    const struct iface *i = iface_get((uint16_t)flow->key.in);
    struct finding d = {.flow = *flow};

    if (i->kind == IFACE_NONE || i->vr != flow->key.vr || // the interface has changed since
        flow->key.dst.b[0] >= (flow->key.dst.family == IP4 ? 224 : 255)) {
        t->left_out++;
        return;
    }
    judge_flow(t, i, &d);
    if (d.effect == SAME)
        return;
    struct row *r = row_of(t, d.effect, d.effect == PASSED ? d.before : d.after);
    t->changed++;
    t->changed_bytes += flow->bytes;
    r->flows++;
    r->bytes += flow->bytes;
    if (r->examples++ < EXAMPLES_EACH && t->example.n < EXAMPLES_MAX)
        *vec_push(&t->example) = d;
}

static void try_flows(struct flow_trial *t)
{
    rcu_online(); // control is offline while it waits in its loop
    for (size_t k = 0; t->effect.any && k < t->totals.flow.n && !aside_stopped(); k++) {
        if (k % SLICE == SLICE - 1) {
            rcu_offline();
            aside_pause();
            rcu_online();
        }
        try_flow(t, &t->totals.flow.item[k]);
    }
    rcu_offline();
}

// --- the answer ----------------------------------------------------------------------------------

static const struct column trial_columns[] = {
    COLUMN(struct flow_trial, totals.bytes, "bytes"),
    COLUMN(struct flow_trial, changed, "changed-flows"),
    COLUMN(struct flow_trial, changed_bytes, "changed-bytes"),
    COLUMN(struct flow_trial, left_out, "left-out-flows"),
    {0}};
static const struct column row_columns[] = {COLUMN_WORD(struct row, effect, "kind", effect_name),
                                            COLUMN(struct row, by, "by"),
                                            COLUMN(struct row, flows, "flows"),
                                            COLUMN(struct row, bytes, "bytes"),
                                            {0}};
static const struct column finding_columns[] = {
    COLUMN_WORD(struct finding, effect, "kind", effect_name),
    COLUMN(struct finding, before, "before"),
    COLUMN(struct finding, after, "after"),
    {0}};

static void write_answer(const struct flow_trial *t, struct text *out)
{
    struct jwrite j = {.t = out};

    jwrite_begin(&j, NULL, '{');
    jwrite_int(&j, "flows", (int64_t)t->totals.flow.n);
    columns_write(&j, trial_columns, t);
    columns_list(&j, "effect", row_columns, t->row.item, t->row.n, sizeof *t->row.item);
    jwrite_begin(&j, "example", '[');
    vec_foreach (&t->example, e) {
        jwrite_begin(&j, NULL, '{');
        flows_write(&j, &e->flow);
        columns_write(&j, finding_columns, e);
        jwrite_end(&j, '}');
    }
    jwrite_end(&j, ']');
    jwrite_begin(&j, "not-tried", '[');
    vec_foreach (&t->effect.missing, m)
        jwrite_string(&j, NULL, *m);
    jwrite_end(&j, ']');
    jwrite_end(&j, '}');
}

int flow_trial_judge(void *trial, const struct model *from, const struct model *to,
                     struct config_result *result, struct errors *e)
{
    struct flow_trial *t = trial;

    flow_effect_of(&t->effect, from, to);
    t->trace = calloc(1, sizeof *t->trace + TRACE_ROOM);
    t->frame = malloc(EXPLAIN_FRAME_ROOM);
    bug_on(!t->trace || !t->frame);
    try_flows(t);
    write_answer(t, &result->flows);
    if (t->changed <= t->limit)
        return 0;
    errors_add(e, 0,
               "nothing was committed: %u of %zu flows would change, more than the limit of %lu; "
               "'commit check flows' shows them, and 'force' commits in spite of them",
               t->changed, t->totals.flow.n, t->limit);
    return -EINVAL;
}

// --- the question --------------------------------------------------------------------------------

// Counts the input's frames as received by its interface.
static bool count_frames(struct http *h, const struct lyd_node *flows, struct flow_trial *t)
{
    const char *name = operation_input(flows, "interface");
    const struct iface *i = iface_find_name(name);
    uint8_t *frame = malloc(EXPLAIN_FRAME_ROOM);
    struct flow_cache *cache = flow_cache_new(FLOW_SAMPLE_MAX, NULL);

    bug_on(!frame || !cache);
    for (const struct lyd_node *n = i ? lyd_child(flows) : NULL; n; n = n->next)
        if (!strcmp(n->schema->name, "frame"))
            flow_totals_count(cache, i->id, frame, explain_frame_of_hex(lyd_get_value(n), frame),
                              1);
    if (i)
        flow_totals_of(cache, &t->totals);
    else
        http_refuse(h, 404, "invalid-value",
                    "there is no interface '%s'; 'show interface' lists them", name);
    flow_cache_free(cache);
    free(frame);
    return i;
}

bool flow_trial_ask(struct http *h, const struct lyd_node *op, struct flow_trial **trial)
{
    const struct lyd_node *flows = NULL;

    *trial = NULL;
    for (const struct lyd_node *n = lyd_child(op); n; n = n->next)
        if (!strcmp(n->schema->name, "flows"))
            flows = n;
    if (!flows)
        return true;
    if (!explain_dry_run()) {
        http_refuse(h, 409, "resource-denied", "this kamueed cannot explain packets");
        return false;
    }
    struct flow_trial *t = calloc(1, sizeof *t);
    bug_on(!t);
    t->limit = operation_input_is_true(flows, "force")
                   ? UINT64_MAX
                   : operation_input_number(flows, "limit", UINT64_MAX);
    *trial = t;
    if (!*operation_input(flows, "interface")) {
        flow_sample_read(&t->totals);
        return true;
    }
    if (count_frames(h, flows, t))
        return true;
    flow_trial_free(t);
    return false;
}

void flow_trial_free(struct flow_trial *t)
{
    if (!t)
        return;
    flow_effect_free(&t->effect);
    vec_free(&t->totals.flow);
    vec_free(&t->row);
    vec_free(&t->example);
    free(t->trace);
    free(t->frame);
    free(t);
}
