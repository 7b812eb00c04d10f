// SPDX-License-Identifier: BSD-3-Clause
// explain_at.c - the operation explain-at: how packets would have been forwarded at an earlier time
//
//     revision of that time --judge of a commit--> attributes (flow_trial.h) --explain--> path
//     journal --routes that the packet asked for (table/trial.h)---------------^
//
// Unknown parts of that time are named, and a packet that needs one has no path.
#include <errno.h>
#include <libyang/libyang.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "config/config.h"
#include "config/config_edit.h"
#include "config/config_running.h"
#include "config/revision.h"
#include "core/aside.h"
#include "core/rcu.h"
#include "feature/acl.h"
#include "feature/configuration.h"
#include "feature/explain.h"
#include "feature/flow_trial.h"
#include "http/refuse.h"
#include "packet/packet_trace_json.h"
#include "restconf/operation.h"
#include "rib/journal.h"
#include "table/iface.h"
#include "table/past.h"
#include "table/vr.h"

#define BYTES_ROOM 65536u

struct then { // an operation; one at a time, since it has a turn
    const struct lyd_node *op;
    struct http *http;
    const struct iface *iface; // input
    uint64_t wall_ns;
    struct trial_past past;
    struct flow_effect effect;
    struct packet_trace *p;
    uint8_t *frame;
    uint32_t n_frame;    // of the packet that the input describes; 0: the input has frames
    struct text unknown; // lines
    struct jwrite out;
    struct aside_wait wait;
    struct journal_answer answer; // without vectors
};
static struct then *waiting; // for the journal, or NULL

#define unknown(t, ...) text_printf(&(t)->unknown, __VA_ARGS__)

// --- routes --------------------------------------------------------------------------------------

static void take_route_then(void *ctx, struct journal_answer *a)
{
    if (!waiting) // kamueed is stopping
        return;
    waiting->answer = *a;
    aside_go_on(&waiting->wait);
}

static void ask_route_then(struct then *t, struct trial_route *r)
{
    struct journal_query q = {.vr = r->vr,
                              .family = r->dst.family,
                              .match = JOURNAL_COVERING,
                              .prefix.family = r->dst.family,
                              .from_ns = t->past.at_ns};

    q.prefix.len = (uint8_t)ip_bits(r->dst.family);
    memcpy(q.prefix.b, r->dst.b, sizeof q.prefix.b);
    t->answer = (struct journal_answer){0};
    t->wait = (struct aside_wait){0};
    waiting = t;
    r->known = !journal_at(&q, take_route_then, NULL) && aside_wait(&t->wait) && t->answer.reached;
    waiting = NULL;
    r->answered = true;
    r->leaf = t->answer.leaf;
    r->prefix = t->answer.prefix;
    r->protocol = t->answer.protocol;
    if (!r->known)
        unknown(t, "routes: the journal does not go back so far in vr %s\n", vr_get(r->vr)->name);
}

// --- a packet ------------------------------------------------------------------------------------

static void check_iface(struct then *t, uint16_t id, struct iface *was)
{
    const struct iface *is = iface_get(id);

    if (!iface_was(id, t->past.at_ns, was))
        unknown(t, "links: the history does not go back so far\n");
    else if (is->kind == IFACE_NONE || is->kind != was->kind || strcmp(is->name, was->name))
        unknown(t, "interfaces: %s was not there, or was made anew since\n",
                is->kind == IFACE_NONE ? was->name : is->name);
}

static void check_step(struct then *t, const struct packet_trace_step *s)
{
    const struct packet_trace_lookup *l = &s->lookup;
    const char *list = acl_table[s->acl.list].name;
    struct iface was;

    if (l->asked && l->iface)
        check_iface(t, l->iface, &was);
    if (s->iface != t->iface->id && s->of == TRACED_PACKET) {
        check_iface(t, s->iface, &was);
        if (iface_is_up(&was) != iface_is_up(iface_get(s->iface)))
            unknown(t, "links: that of %s has changed since\n", was.name);
    }
    if (l->asked && l->dst.b[0] >= (l->dst.family == IP4 ? 224 : 255))
        unknown(t, "multicast routes: their history is not kept\n");
    if (s->acl.list && !acl_manager_had(list, t->past.at_ns))
        unknown(t, "access lists: a client has changed rules of %s since, or a file has them\n",
                list);
}

static void run_packet(struct then *t, uint32_t n)
{
    static const char *const lost[] = {
        "next hops and neighbors: the history does not go back so far",
        "tunnels: the way of their outer packets is not kept", "labels: their history is not kept",
        "routes: the packet needs too many"}; // by bit of enum trial_lost
    bool again = true;

    t->past.n = t->past.lost = 0;
    while (again && !t->unknown.n) {
        again = false;
        packet_trace_init(t->p, BYTES_ROOM, BYTES_ROOM);
        rcu_online(); // control is offline while it waits in its loop
        int r = explain_dry_run()(t->iface->port, t->frame, n, &t->effect.trial, t->p);
        rcu_offline();
        if (r)
            unknown(t, "the packet: the stages could not be run: %s\n", strerror(-r));
        for (unsigned i = 0; i < t->past.n; i++)
            if (!t->past.route[i].answered) {
                ask_route_then(t, &t->past.route[i]);
                again = true;
            }
    }
    for (unsigned i = 0; i < sizeof lost / sizeof *lost; i++)
        if (t->past.lost & 1u << i)
            unknown(t, "%s\n", lost[i]);
    for (unsigned i = 0; i < t->p->n_steps; i++)
        check_step(t, &t->p->step[i]);
}

static void tell_packet(struct then *t, uint32_t n)
{
    const struct flow_effect_iface *e = &t->effect.iface[t->iface->id];
    struct iface was;

    check_iface(t, t->iface->id, &was);
    t->past.down = !iface_is_up(&was);
    if (e->goes)
        unknown(t, "interfaces: %s was not there, or was another one\n", t->iface->name);
    if (e->new_vr)
        unknown(t, "virtual routers: %s is gone, and its routes\n", e->new_vr);
    if (!t->unknown.n)
        run_packet(t, n);
    jwrite_begin(&t->out, NULL, '{');
    if (t->unknown.n)
        configuration_write_lines(&t->out, "unknown", &t->unknown);
    else
        packet_trace_json(t->p, &t->out, NULL, NULL);
    jwrite_end(&t->out, '}');
    text_free(&t->unknown);
}

// --- the configuration ---------------------------------------------------------------------------

static const struct lyd_node *first_frame(const struct lyd_node *n)
{
    while (n && strcmp(n->schema->name, "frame"))
        n = n->next;
    return n;
}

static int judge(void *ctx, const struct model *from, const struct model *to,
                 struct config_result *result, struct errors *e)
{
    struct then *t = ctx;

    flow_effect_of(&t->effect, from, to);
    t->effect.trial.past = &t->past;
    jwrite_begin(&t->out, "as-now", '[');
    vec_foreach (&t->effect.missing, m)
        jwrite_string(&t->out, NULL, *m);
    jwrite_end(&t->out, ']');
    jwrite_begin(&t->out, "packet", '[');
    if (t->n_frame)
        tell_packet(t, t->n_frame);
    for (const struct lyd_node *n = first_frame(lyd_child(t->op)); n; n = first_frame(n->next))
        tell_packet(t, explain_frame_of_hex(lyd_get_value(n), t->frame));
    jwrite_end(&t->out, ']');
    flow_effect_free(&t->effect);
    return 0;
}

// The revision that was in force, counted back; -1: it is not known.
static int revision_then(uint64_t wall_ns)
{
    const struct revision *r = NULL, *any;
    int back = 0;

    if (wall_ns >= (uint64_t)config_changed_at() * NS_PER_SECOND + NS_PER_SECOND)
        return 0;
    while ((r = config_revision((unsigned)back)) && r->time_ns > wall_ns)
        back++;
    for (unsigned i = 0; r && (any = revision_at(i)); i++)
        if (any->id > r->id && any->time_ns <= wall_ns) // undone; when is not kept
            return -1;
    return r ? back : -1;
}

static int try_revision(struct then *t, int back, struct errors *e)
{
    const struct commit how = {.by = "", .check_only = true, .judge = judge, .judge_ctx = t};
    struct config_result result = {0};
    struct lyd_node *tree;
    char number[16];

    snprintf(number, sizeof number, "%d", back);
    acl_prepare_aside(true);
    int r = config_edited(config_running(), &(struct config_edit){.revision = number}, &tree, e);
    if (!r)
        r = config_commit(tree, &how, &result, e);
    acl_prepare_aside(false);
    config_result_free(&result);
    return r;
}

static void answer_then(struct then *t)
{
    const int back = revision_then(t->wall_ns);
    struct errors e = {0};
    struct text text = {0};

    output_begin(&t->out, &text);
    jwrite_time(&t->out, "time", t->wall_ns);
    if (past_find(PAST_NEXTHOP, 0, t->past.at_ns, NULL, 0) < 0)
        unknown(t, "routes, next hops and neighbors: the journal does not go back so far\n");
    if (back < 0)
        unknown(t, "configuration: that of then is not kept\n");
    if (!t->unknown.n && try_revision(t, back, &e)) {
        operation_refuse(t->http, -EINVAL, &e);
        text_free(&text);
    } else {
        if (t->unknown.n)
            configuration_write_lines(&t->out, "unknown", &t->unknown);
        output_send(t->http, &t->out);
    }
    errors_free(&e);
}

void explain_at_run(struct http *h, const struct lyd_node *op)
{
    const uint64_t ago_ns = operation_input_number(op, "ago", 0) * NS_PER_MS;
    const char *name = operation_input(op, "interface");
    struct then t = {.op = op,
                     .http = h,
                     .iface = iface_find_name(name),
                     .wall_ns = clock_wall_ns() - ago_ns,
                     .past.at_ns = ago_ns < clock_now_ns() ? clock_now_ns() - ago_ns : 0};
    const bool given = first_frame(lyd_child(op));
    struct packet_spec spec;

    if (!t.iface || !explain_dry_run()) {
        http_refuse(h, 404, "invalid-value",
                    "there is no interface '%s'; 'show interface' lists them", name);
        return;
    }
    t.frame = malloc(EXPLAIN_FRAME_ROOM);
    t.p = calloc(1, sizeof *t.p + BYTES_ROOM);
    bug_on(!t.frame || !t.p);
    if (given || explain_read_packet(h, op, t.iface, &spec)) {
        t.n_frame = given ? 0 : explain_frame(&spec, t.frame);
        answer_then(&t);
    }
    text_free(&t.unknown);
    free(t.frame);
    free(t.p);
}
