// SPDX-License-Identifier: BSD-3-Clause
// capture.c - captures: streams the frames of a watch to the client that asked for them
//
//     begin_capture -> filter compiled -> watch added -> stream started -> tick, tick … -> client
//     gone, or `count` reached
//
// Every TICK_MS control takes the frames that forwarders have copied and writes them to the
// connection as pcapng. While the client is behind by http.c's limit, slots stay full and
// forwarders count missed frames, so a slow reader costs neither memory nor time. The next tick
// notices that a client has left: the watch ends with the connection.
#include <errno.h>
#include <rte_cycles.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#undef NS_PER_SECOND // DPDK's and base/clock.h's are the same number
#include "base/clock.h"
#include "base/log.h"
#include "base/version.h"
#include "core/thread.h"
#include "feature/capture.h"
#include "http/refuse.h"
#include "mgmt/feature.h"
#include "model/vr_budget.h"
#include "packet/pcapng.h"
#include "restconf/column.h"
#include "restconf/operation.h"
#include "restconf/state.h"
#include "table/counter.h"
#include "table/iface.h"
#include "table/port.h"
#include "table/vr.h"
#include "thread/watch_manager.h"

#define CAPTURE_MAX 8

struct capture {
    unsigned id; // 1, 2, … since kamueed started
    struct watch_spec spec;
    char filter[WATCH_FILTER_MAX + 1]; // as given
    uint64_t count;                    // frames wanted, 0 = no limit
    uint64_t sent;                     // frames sent to the client
    uint64_t began_ns;                 // clock_now_ns
    char peer[24];
    int watch; // index, -1 while the filter is compiled
    struct http *http;
};

#define TICK_MS 5
#define BATCH 64
#define BLOCK_BYTES (48u << 10)
#define TICK_BYTES                                                                                 \
    (2u << 20) // for one capture, so that other captures and control get their turn
#define SLOTS_BYTES (16u << 20)

struct session {
    struct capture c;
    struct text block;
    bool full;                                         // wait for the client to read
    uint64_t missed;                                   // missed frames reported to the client
    uint32_t n_interfaces;                             // interfaces in the file
    uint32_t interface[PORT_MAX + 1]
                      [WATCH_POINT_N]; // number in the file + 1; port PORT_MAX = unknown
};

static struct session *session[CAPTURE_MAX];
static unsigned last_id;
static bool ticking;

static void session_free(void *ctx)
{
    struct session *s = ctx;

    for (unsigned i = 0; i < CAPTURE_MAX; i++)
        if (session[i] == s)
            session[i] = NULL;
    if (s->c.watch >= 0) {
        struct watch_count n = watch_sum((unsigned)s->c.watch);
        log_notice("capture: ended: id=%u sent=%lu missed=%lu", s->c.id, s->c.sent, n.missed);
        watch_manager_del((unsigned)s->c.watch);
    }
    text_free(&s->block);
    free(s);
}

// --- frames -------------------------------------------------------------------------------------

// Frame times are computed back from now: frames are milliseconds old, so the error of the TSC rate
// is negligible.
struct now {
    uint64_t tsc, real_ns;
    double ns_per_tick;
};

static struct now now_take(void)
{
    return (struct now){rte_rdtsc(), clock_wall_ns(), 1e9 / (double)rte_get_tsc_hz()};
}

static uint64_t time_of(const struct now *now, uint64_t tsc)
{
    return now->real_ns - (uint64_t)((double)(int64_t)(now->tsc - tsc) * now->ns_per_tick);
}

// Number in the file of the interface for a port and a point.
static uint32_t interface_of(struct session *s, const struct watch_slot *slot)
{
    static const char *const meaning[] = {
        "received", "sent", "dropped; see the comment for the reason", "for the kernel"};
    bool known = slot->tag.port < PORT_MAX && port_get(slot->tag.port)->used;
    uint32_t *number = &s->interface[known ? slot->tag.port : PORT_MAX][slot->point];
    char name[64], description[96];

    if (*number)
        return *number - 1;
    const char *port = known ? port_get(slot->tag.port)->name : "";
    if (*http_vr(s->c.http)) // a bound client must not learn the port or its owner
        port = s->c.spec.interface;
    snprintf(name, sizeof name, "%s%s%s", port, known ? "-" : "", watch_point_name[slot->point]);
    snprintf(description, sizeof description, "%s%s: %s",
             *http_vr(s->c.http) ? "" : known ? "port " : "no port", port,
             meaning[slot->point]);
    pcapng_interface(&s->block, name, description, s->c.filter, s->c.spec.snap);
    *number = ++s->n_interfaces;
    return *number - 1;
}

static const char *comment_of(const struct watch_slot *slot, char *buf, size_t n)
{
    if (slot->point == WATCH_DROP && slot->tag.why < DROP_N) {
        const struct drop_info *d = &drop_info[slot->tag.why];
        snprintf(buf, n, "drop %s: %s%s%s", d->name, d->sentence, *d->source ? "; " : "",
                 d->source);
    } else if (slot->point == WATCH_PUNT && slot->tag.why < PUNT_CLASS_N) {
        snprintf(buf, n, "punt class %s", punt_class_name[slot->tag.why]);
    } else {
        return NULL;
    }
    return buf;
}

static void write_frame(struct session *s, const struct watch_slot *slot, const struct now *now)
{
    static const enum pcapng_direction direction[] = {PCAPNG_IN, PCAPNG_OUT, PCAPNG_UNKNOWN,
                                                      PCAPNG_IN};
    uint64_t missed = watch_sum((unsigned)s->c.watch).missed;
    char comment[320];

    struct pcapng_packet p = {
        .interface = interface_of(s, slot),
        .time_ns = time_of(now, slot->tsc),
        .data = slot->data,
        .kept = slot->kept,
        .len = slot->len,
        .direction = direction[slot->point],
        .missed = missed - s->missed,
        .comment = comment_of(slot, comment, sizeof comment),
    };
    pcapng_packet(&s->block, &p);
    s->missed = missed;
    s->c.sent++;
}

static bool is_done(const struct session *s)
{
    return s->c.count && s->c.sent == s->c.count;
}

static void send_block(struct session *s)
{
    if (s->block.n)
        s->full = !http_stream_write(s->c.http, &s->block);
}

// Sends frames from the slots to the client, as far as it reads.
static void send_frames(struct session *s)
{
    struct watch_slot *slot[BATCH];
    struct now now = now_take();
    size_t written = 0;
    unsigned n = 1;

    while (!s->full && !is_done(s) && written < TICK_BYTES && n) {
        n = watch_take((unsigned)s->c.watch, slot, BATCH);
        for (unsigned i = 0; i < n && !is_done(s); i++)
            write_frame(s, slot[i], &now);
        watch_give_back((unsigned)s->c.watch, slot, n);
        if (s->block.n >= BLOCK_BYTES) {
            written += s->block.n;
            send_block(s);
        }
    }
    send_block(s);
}

static void on_tick(void);

static void tick_later(void)
{
    if (!ticking)
        http_after(TICK_MS, on_tick);
    ticking = true;
}

static void on_tick(void)
{
    unsigned n = 0;

    ticking = false;
    for (unsigned i = 0; i < CAPTURE_MAX; i++) {
        struct session *s = session[i];
        if (!s || s->c.watch < 0)
            continue;
        send_frames(s);
        if (http_left(s->c.http)) {
            http_stream_cut(s->c.http); // calls session_free
        } else if (is_done(s)) {
            http_stream_end(s->c.http);
            session_free(s);
        }
        n += session[i] != NULL;
    }
    if (n)
        tick_later();
}

// --- beginning ----------------------------------------------------------------------------------

static void on_room(void *ctx)
{
    ((struct session *)ctx)->full = false;
}

static void refuse_capture(struct session *s, int r, const char *why)
{
    bool absent = r == -ENOENT;

    http_refuse(s->c.http, absent ? 404 : 409, absent ? "invalid-value" : "resource-denied", "%s",
                why);
    session_free(s);
}

static void stream_begin(struct session *s)
{
    char application[64], id[12];

    log_notice("capture: started: id=%u by=%s snaplen=%u filter=%s", s->c.id, LOG_VALUE(s->c.peer),
               s->c.spec.snap, LOG_VALUE(s->c.filter));
    snprintf(id, sizeof id, "%u", *http_vr(s->c.http) ? 1 : s->c.id); // hide the number of others
    http_set_header(s->c.http, "Capture", id);
    http_for_anyone(s->c.http); // only frames of its own interface
    http_stream_begin(s->c.http, "application/x-pcapng", on_room, session_free, s);
    snprintf(application, sizeof application, "kamueed %s", kamuee_version);
    pcapng_begin(&s->block, application);
    send_block(s);
    tick_later();
}

static void filter_ready(void *ctx, struct watch_filter *f, const char *why)
{
    struct session *s = ctx;
    char err[200];

    if (http_gone(s->c.http) || http_left(s->c.http)) {
        http_reply(s->c.http, 200, NULL, NULL);
        watch_filter_free(f);
        session_free(s);
        return;
    }
    if (s->c.filter[0] && !f) {
        http_refuse(s->c.http, 400, "invalid-value", "filter '%s': %s; see pcap-filter(7)",
                    s->c.filter, why);
        session_free(s);
        return;
    }
    int r = watch_manager_add(&s->c.spec, f, err, sizeof err);
    if (r < 0) {
        watch_filter_free(f);
        refuse_capture(s, r, err);
        return;
    }
    s->c.watch = r;
    s->c.began_ns = clock_now_ns();
    stream_begin(s);
}

// Most slots that fit into SLOTS_BYTES.
static unsigned slots_for(uint32_t snap)
{
    unsigned n = WATCH_SLOTS_MAX;

    while (n * (size_t)(snap + 64) > SLOTS_BYTES)
        n /= 2;
    return n;
}

// Virtual router whose budget is charged.
static uint16_t vr_of(const struct capture *c)
{
    const struct iface *i = c->spec.interface[0] ? iface_find_name(c->spec.interface) : NULL;
    const struct vr *v = c->spec.vr[0] ? vr_find(c->spec.vr) : NULL;

    return v ? v->id : i ? i->vr : VR_DEFAULT;
}

// Captures of a virtual router or its interfaces. A capture that is limited to neither counts for
// `default`.
static unsigned count_captures(uint16_t vr)
{
    unsigned n = 0;

    for (unsigned i = 0; i < CAPTURE_MAX; i++)
        n += session[i] && vr_of(&session[i]->c) == vr;
    return n;
}

bool capture_is_over_budget(struct http *h, uint16_t vr)
{
    const char *name = vr_get(vr)->name;

    if (vr_budget_has_room(vr, VR_BUDGET_CAPTURES, vr_budget_captures(vr)))
        return false;
    http_refuse(h, 409, "resource-denied",
                "vr %s: its budget 'captures' is %lu, and as many captures and traces are running: "
                "stop one (show capture), or raise the budget: set %s%s budget captures %lu",
                name, vr_budget_limit(vr, VR_BUDGET_CAPTURES), vr ? "vr " : "forwarding",
                vr ? name : "", vr_budget_limit(vr, VR_BUDGET_CAPTURES) + 1);
    return true;
}

static void begin_capture(struct http *h, const struct capture *wish)
{
    unsigned i = 0;

    thread_must_be(ROLE_CONTROL);
    while (i < CAPTURE_MAX && session[i])
        i++;
    if (i == CAPTURE_MAX && *http_vr(h)) {
        http_refuse(h, 409, "resource-denied", "too many captures; try again later");
        return;
    }
    if (i == CAPTURE_MAX) {
        http_refuse(h, 409, "resource-denied",
                    "too many captures: at most %d; stop one (show capture)", CAPTURE_MAX);
        return;
    }
    if (capture_is_over_budget(h, vr_of(wish)))
        return;
    struct session *s = calloc(1, sizeof *s);
    bug_on(!s);
    s->c = *wish;
    s->c.id = ++last_id;
    s->c.watch = -1;
    s->c.http = h;
    s->c.spec.to = WATCH_TO_SLOTS;
    s->c.spec.n_slots = slots_for(s->c.spec.snap);
    snprintf(s->c.peer, sizeof s->c.peer, "%s", http_peer(h));
    session[i] = s;
    if (!s->c.filter[0])
        filter_ready(s, NULL, "");
    else if (watch_filter_compile(s->c.filter, filter_ready, s))
        refuse_capture(s, -ENOMEM, "no memory to compile the filter");
}

// --- state and operation -------------------------------------------------------------------------

static const struct column wish_columns[] = {
    COLUMN(struct capture, spec.port, "port", .any = true),
    COLUMN(struct capture, spec.interface, "interface", .any = true),
    COLUMN(struct capture, spec.vr, "vr", .any = true),
    COLUMN(struct capture, filter, "filter", .any = true),
    COLUMN(struct capture, spec.snap, "snaplen"),
    {0}};

static void write_capture_state(struct jwrite *j, const struct capture *c)
{
    struct watch_count n = watch_sum((unsigned)c->watch);

    jwrite_begin(j, NULL, '{');
    jwrite_int(j, "id", c->id);
    jwrite_string(j, "client", c->peer);
    jwrite_begin(j, "point", '[');
    for (unsigned p = 0; p < WATCH_POINT_N; p++)
        if (c->spec.points >> p & 1)
            jwrite_string(j, NULL, watch_point_name[p]);
    jwrite_end(j, ']');
    columns_write(j, wish_columns, c);
    jwrite_u64(j, "seconds", (clock_now_ns() - c->began_ns) / NS_PER_SECOND);
    jwrite_u64(j, "sent", c->sent);
    jwrite_u64(j, "taken", n.taken);
    jwrite_u64(j, "bytes", n.bytes);
    jwrite_u64(j, "missed", n.missed);
    jwrite_end(j, '}');
}

static void list_captures(struct show *s)
{
    char id[12];

    for (unsigned i = 0; i < CAPTURE_MAX; i++) {
        const struct capture *c = session[i] && session[i]->c.watch >= 0 ? &session[i]->c : NULL;
        snprintf(id, sizeof id, "%u", c ? c->id : 0);
        if (c && show_wants(s, id))
            write_capture_state(&s->out, c);
    }
}

static unsigned points_of(const struct lyd_node *op)
{
    unsigned points = 0;

    for (const struct lyd_node *n = lyd_child(op); n; n = n->next)
        for (unsigned p = 0; p < WATCH_POINT_N; p++)
            if (!strcmp(n->schema->name, "point") && !strcmp(lyd_get_value(n), watch_point_name[p]))
                points |= 1u << p;
    return points ? points : (1u << WATCH_POINT_N) - 1;
}

static void run_capture(struct http *h, const struct lyd_node *op)
{
    struct capture wish = {.spec = {.points = points_of(op)},
                           .count = operation_input_number(op, "count", 0)};

    columns_read(lyd_child(op), wish_columns, &wish);
    begin_capture(h, &wish);
}

const struct feature capture_feature = {
    "capture",
    .state = (const struct feature_state[]){{"capture", .list = list_captures}, {0}},
    .operations = (const struct feature_operation[]){{"capture", .run = run_capture}, {0}},
    .captures = count_captures,
};
