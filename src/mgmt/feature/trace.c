// SPDX-License-Identifier: BSD-3-Clause
// trace.c - the operation trace: reports the path of real packets as they pass
//
//     filter compiled -> watch added, trace started -> stream started -> tick, tick … -> `count`
//     packets reported, time up, or client gone
//
// A tick reports the packets that forwarders have traced since the last one, one after the other
// (packet_trace_json.h), with rib_manager's knowledge; it pauses while the client has too much to
// read. `count` limits the traced packets from the start, so nothing grows and nothing is missed. A
// client bound to a virtual router gets only its own part of each packet's path.
#include <libyang/libyang.h>
#include <rte_cycles.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#undef NS_PER_SECOND // DPDK's and base/clock.h's are the same number
#include "base/clock.h"
#include "base/log.h"
#include "feature/capture.h"
#include "http/refuse.h"
#include "mgmt/feature.h"
#include "packet/packet_trace_json.h"
#include "restconf/bound.h"
#include "restconf/operation.h"
#include "table/iface.h"
#include "table/port.h"
#include "table/trace.h"
#include "thread/watch_manager.h"
#include "yang/yang.h"

#define TICK_MS 20
#define TRACES_MAX 4 // up to 30 MB each

struct session {
    struct http *http; // NULL = the client has left
    uint16_t vr;       // of its interface at the start; its budget is charged
    struct watch_spec spec;
    char filter[WATCH_FILTER_MAX + 1];
    int watch;          // -1 = none yet
    unsigned count, told;
    uint64_t seconds, until_ns;
    struct text block;
    struct jwrite out;
    struct text passage; // path being written
    struct jwrite passage_out;
    bool telling; // path number `told` is being written
    bool going;   // inside tell_passages()
    bool full;    // wait for the client to read
};

static struct session *session[TRACES_MAX];
static bool ticking;

static void session_free(struct session *s)
{
    for (unsigned i = 0; i < TRACES_MAX; i++)
        if (session[i] == s)
            session[i] = NULL;
    if (s->watch >= 0) {
        log_notice("trace: ended: interface=%s%s packets=%u", s->spec.port, s->spec.interface,
                   s->told);
        trace_end((unsigned)s->watch);
        watch_manager_del((unsigned)s->watch);
    }
    text_free(&s->block);
    text_free(&s->passage);
    free(s);
}

// --- telling ---

// The forwarder's clock as a date (RFC 3339), in microseconds.
static void write_time(struct jwrite *j, uint64_t tsc)
{
    struct tm date;
    char text[64];
    int64_t age_ns =
        (int64_t)((double)(int64_t)(rte_rdtsc() - tsc) * 1e9 / (double)rte_get_tsc_hz());

    uint64_t ns = clock_wall_ns() - (uint64_t)age_ns;
    time_t s = (time_t)(ns / NS_PER_SECOND);
    gmtime_r(&s, &date);
    size_t n = strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &date);
    snprintf(text + n, sizeof text - n, ".%06uZ", (unsigned)(ns % NS_PER_SECOND / NS_PER_US));
    jwrite_string(j, "time", text);
}

static const struct lysc_node *passage_schema(void)
{
    return yang_child(&((const struct lysc_node_action *)yang_rpc("trace"))->output.node,
                      "passage", false);
}

static void end_stream(struct session *s)
{
    jwrite_end(&s->out, ']');
    jwrite_end(&s->out, '}');
    jwrite_end(&s->out, '}');
    text_printf(&s->block, "\n");
    http_stream_write(s->http, &s->block);
    http_stream_end(s->http);
    session_free(s);
}

static void tell_passages(struct session *s);

static void passage_told(void *ctx)
{
    struct session *s = ctx;

    s->telling = false;
    if (!s->http) {
        session_free(s);
        return;
    }
    jwrite_end(&s->passage_out, '}');
    bound_keep_entry(s->http, passage_schema(), &s->passage);
    jwrite_raw(&s->out, NULL, text_str(&s->passage));
    text_clear(&s->passage);
    s->told++;
    s->full = !http_stream_write(s->http, &s->block);
    if (!s->going)
        tell_passages(s);
}

static bool trace_is_over(const struct session *s)
{
    return s->told == s->count || clock_now_ns() >= s->until_ns;
}

// Reports traced packets. May free `s`, so call it last.
static void tell_passages(struct session *s)
{
    const struct packet_trace *p;

    s->going = true;
    while (!s->telling && !s->full && s->told < s->count &&
           (p = trace_at((unsigned)s->watch, s->told))) {
        s->telling = true;
        s->passage_out = (struct jwrite){.t = &s->passage};
        jwrite_begin(&s->passage_out, NULL, '{');
        write_time(&s->passage_out, p->tsc);
        packet_trace_json(p, &s->passage_out, passage_told, s);
    }
    s->going = false;
    if (!s->telling && !s->full && trace_is_over(s))
        end_stream(s);
}

static void on_tick(void);

static void tick_later(void)
{
    if (!ticking)
        http_after(TICK_MS, on_tick);
    ticking = true;
}

static void tick(struct session *s)
{
    if (!s || s->watch < 0 || !s->http) // filter not compiled yet; or waiting for the last answer
        return;
    if (http_left(s->http))
        http_stream_cut(s->http); // calls on_gone
    else if (!s->telling)
        tell_passages(s);
}

static void on_tick(void)
{
    bool any = false;

    ticking = false;
    for (unsigned i = 0; i < TRACES_MAX; i++) {
        tick(session[i]);
        any |= session[i] != NULL;
    }
    if (any)
        tick_later();
}

static void on_room(void *ctx)
{
    ((struct session *)ctx)->full = false;
}

static void on_gone(void *ctx)
{
    struct session *s = ctx;

    s->http = NULL;
    if (!s->telling)
        session_free(s);
}

// --- beginning ---

static void refuse_trace(struct session *s, const char *why)
{
    http_refuse(s->http, 409, "resource-denied", "%s", why);
    session_free(s);
}

static void stream_begin(struct session *s)
{
    log_notice("trace: started: interface=%s%s count=%u filter=%s by=%s", s->spec.port,
               s->spec.interface, s->count, LOG_VALUE(s->filter), LOG_VALUE(http_peer(s->http)));
    s->until_ns = clock_now_ns() + s->seconds * NS_PER_SECOND;
    http_for_anyone(s->http); // each packet is filtered for a bound client
    http_stream_begin(s->http, HTTP_JSON, on_room, on_gone, s);
    output_begin(&s->out, &s->block);
    jwrite_begin(&s->out, "passage", '[');
    http_stream_write(s->http, &s->block);
    tick_later();
}

static void filter_ready(void *ctx, struct watch_filter *f, const char *why)
{
    struct session *s = ctx;
    char err[200];

    if (http_gone(s->http) || http_left(s->http)) {
        http_reply(s->http, 200, NULL, NULL);
        watch_filter_free(f);
        session_free(s);
        return;
    }
    if (s->filter[0] && !f) {
        http_refuse(s->http, 400, "invalid-value", "filter '%s': %s; see pcap-filter(7)", s->filter,
                    why);
        session_free(s);
        return;
    }
    int r = watch_manager_add(&s->spec, f, err, sizeof err);
    if (r < 0) {
        watch_filter_free(f);
        refuse_trace(s, err);
        return;
    }
    s->watch = r;
    if (trace_begin((unsigned)r, s->count))
        refuse_trace(s, "no memory for the trace: ask for fewer packets");
    else
        stream_begin(s);
}

// All frames of a port for its own interface, otherwise the frames of the interface. A bound client
// sees only frames of the interface, since the port may receive frames of others.
static void spec_set(struct watch_spec *s, const struct iface *i, bool bound)
{
    s->points = 1u << WATCH_RX;
    s->to = WATCH_TO_TRACE;
    if (i->kind == IFACE_PORT && !bound)
        snprintf(s->port, sizeof s->port, "%.15s", port_get(i->port)->name);
    else
        snprintf(s->interface, sizeof s->interface, "%.15s", i->name);
}

static unsigned count_traces(uint16_t vr)
{
    unsigned n = 0;

    for (unsigned i = 0; i < TRACES_MAX; i++)
        n += session[i] && session[i]->vr == vr;
    return n;
}

// NULL: the request has been refused.
static struct session *session_new(struct http *h, const struct iface *iface)
{
    unsigned i = 0;

    while (i < TRACES_MAX && session[i])
        i++;
    if (i == TRACES_MAX) {
        http_refuse(h, 409, "in-use", bound_is(h) ? "too many traces; try again later" :
                    "too many traces: %d are running; wait until one ends, or stop it", TRACES_MAX);
        return NULL;
    }
    if (capture_is_over_budget(h, iface->vr))
        return NULL;
    session[i] = calloc(1, sizeof *session[i]);
    bug_on(!session[i]);
    session[i]->vr = iface->vr;
    return session[i];
}

static void run_trace(struct http *h, const struct lyd_node *op)
{
    const char *name = operation_input(op, "interface");
    const struct iface *i = iface_find_name(name);

    if (!i) {
        http_refuse(h, 404, "invalid-value",
                    "there is no interface '%s'; 'show interface' lists them", name);
        return;
    }
    struct session *s = session_new(h, i);
    if (!s)
        return;
    s->http = h;
    s->watch = -1;
    s->count = (unsigned)operation_input_number(op, "count", 0);
    s->seconds = operation_input_number(op, "seconds", 0);
    snprintf(s->filter, sizeof s->filter, "%s", operation_input(op, "filter"));
    spec_set(&s->spec, i, bound_is(h));
    if (!s->filter[0])
        filter_ready(s, NULL, "");
    else if (watch_filter_compile(s->filter, filter_ready, s))
        refuse_trace(s, "no memory to compile the filter");
}

const struct feature trace_feature = {
    "trace",
    .operations = (const struct feature_operation[]){{"trace", .run = run_trace}, {0}},
    .captures = count_traces,
};
