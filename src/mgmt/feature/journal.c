// SPDX-License-Identifier: BSD-3-Clause
// journal.c - the journal of routes: changes, routes at an earlier time, and events
//
// rib_manager keeps the journal; this file configures its size and asks it. `route-changes` answers
// in pages, as a stream if there is more than one; `route-at` gives the route at an earlier time.
// Events are the end of the journal, read while there are listeners. The newest changes are kept
// over a planned stop.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/protocol.h"
#include "base/vec.h"
#include "config/feature_config.h"
#include "config/host.h"
#include "event/event.h"
#include "feature/vr.h"
#include "http/refuse.h"
#include "mgmt/feature.h"
#include "restconf/bound.h"
#include "restconf/column.h"
#include "restconf/operation.h"
#include "restconf/state.h"
#include "rib/journal.h"
#include "rib/rib_manager.h"
#include "saved/saved_state.h"
#include "table/nexthop.h"
#include "table/past.h"
#include "table/vr.h"

static uint32_t size_mib(const struct model *m) // 0 = no journal
{
    return *(const uint32_t *)m->part[FEATURE_journal];
}

static const struct column size_columns[] = {COLUMN_ITSELF(uint32_t, "size"), {0}};

static void check_size(const struct model *from, const struct model *to, struct errors *e)
{
    unsigned long free = host_memory_mib("MemAvailable:");
    uint32_t old = size_mib(from), new = size_mib(to);

    if (free && new > old && new - old > free)
        errors_add(e, 0,
                   "journal: 'size' is '%u', expected at most %lu (MiB), the host's available "
                   "memory",
                   new, old + free);
}

static int set_size(const struct step *s, const void *from, const void *to, char *err, size_t n)
{
    uint32_t mib = *(const uint32_t *)to;

    past_limit(PAST_IFACE, (size_t)mib << 12);
    if (!rib_manager_set_journal(mib))
        return 0;
    snprintf(err, n, "journal: no memory for %u MiB: set a smaller journal size", mib);
    return -ENOMEM;
}

static const struct feature_config journal_config = {
    .part_size = sizeof(uint32_t),
    .values =
        (const struct feature_value[]){{.phase = PHASE_SETTINGS, .step = {"", set_size},
                                        .size = sizeof(uint32_t), .begins = true,
                                        .read = columns_read, .inside = "journal",
                                        .columns = size_columns,
                                        .initial = &(const uint32_t){64}},
                                       {0}},
    .check_host = check_size,
};

// --- state ---------------------------------------------------------------------------------------

static const struct column hop_columns[] = {
    COLUMN(struct journal_leg, iface, "interface", .any = true),
    COLUMN(struct journal_leg, gateway, "gateway", .any = true),
    COLUMN(struct journal_leg, labels, "labels"),
    COLUMN(struct journal_leg, weight, "weight"),
    {0}};

// Writes the leaves of the grouping `way`; `way` as in struct journal_row.
static void write_nexthop_set(struct jwrite *j, const struct journal_answer *a, uint32_t way,
                              uint8_t protocol)
{
    const struct journal_nexthop *w = &a->nexthop.item[way - 1];
    char buf[PROTOCOL_NAME_SIZE];

    jwrite_string(j, "protocol", protocol_name(protocol, buf));
    jwrite_string(j, "kind", nexthop_kind_name(w->kind));
    jwrite_int(j, "nexthop", w->nexthop);
    columns_list(j, "hop", hop_columns, w->leg, w->n_legs, sizeof *w->leg);
    if (w->n_more)
        jwrite_int(j, "more-hops", w->n_more);
}

static void write_change(struct jwrite *j, const struct journal_answer *a,
                         const struct journal_row *r)
{
    jwrite_begin(j, NULL, '{');
    jwrite_time(j, "time", r->wall_ns);
    jwrite_string(j, "vr", vr_get(r->vr)->name);
    if (r->prefix.family)
        jwrite_prefix(j, "prefix", &r->prefix);
    jwrite_string(j, "cause", journal_cause_name(r->cause));
    if (r->was) {
        jwrite_begin(j, "from", '{');
        write_nexthop_set(j, a, r->was, r->was_protocol);
        jwrite_end(j, '}');
    }
    if (r->is) {
        jwrite_begin(j, "to", '{');
        write_nexthop_set(j, a, r->is, r->protocol);
        jwrite_end(j, '}');
    }
    jwrite_end(j, '}');
}

// Context of a pending question.
struct journal_question {
    struct http *http;
    uint64_t at_wall_ns;
};

// False: the request has been refused.
static bool has_answer(struct http *h, int result)
{
    if (result == -ENODATA)
        http_refuse(h, 409, "operation-failed",
                    "the journal is off (set journal size 64), or the kernel's table has not been "
                    "read yet");
    else if (result)
        http_refuse_busy(h, "rib_manager", result);
    else
        return true;
    return false;
}

// The moment that the input is about, by a clock; limited to the start of that clock.
static uint64_t moment_of(const struct lyd_node *op, uint64_t now_ns)
{
    uint64_t ago_ms = operation_input_number(op, "ago", 0);

    return ago_ms < now_ns / NS_PER_MS ? now_ns - ago_ms * NS_PER_MS : 0;
}

static bool read_vr(struct http *h, const struct lyd_node *op, struct journal_query *q)
{
    const struct vr *v;

    if (!vr_of_input_or_all(h, op, &v))
        return false;
    q->vr = v ? v->id : -1;
    return true;
}

// --- changes ------------------------------------------------------------------------------------

// Answers in pages, since there may be a million changes: the next page is asked for when the
// client has read the last one, and written in the client's turn.
#define CHANGES_A_PAGE 512

struct changes {
    struct http *http;
    struct journal_query query; // of the next page
    unsigned left;              // rows still allowed
    bool streams, gone;
    bool coming; // a page is on its way; false: the client has to read first
    struct journal_answer page;
    struct text text;
    struct jwrite out;
    struct http_turn turn;
};

static void free_answer(struct journal_answer *a)
{
    vec_free(&a->row);
    vec_free(&a->nexthop);
}

static void changes_free(struct changes *c)
{
    free_answer(&c->page);
    text_free(&c->text);
    free(c);
}

static void begin_changes(struct changes *c, const struct journal_answer *a)
{
    output_begin(&c->out, &c->text);
    jwrite_time(&c->out, "since", a->since_ns);
    jwrite_bool(&c->out, "complete", a->reached);
    if (!c->streams) // a stream does not know it yet
        jwrite_bool(&c->out, "cut", a->cut);
    jwrite_begin(&c->out, "change", '[');
}

static void end_changes(struct changes *c, bool cut)
{
    jwrite_end(&c->out, ']');
    if (!c->streams) {
        output_send(c->http, &c->out);
    } else {
        jwrite_bool(&c->out, "cut", cut);
        output_end(&c->out);
        http_stream_write(c->http, &c->text);
        http_stream_end(c->http);
    }
    changes_free(c);
}

static void take_page(void *ctx, struct journal_answer *a);

static void ask_page(struct changes *c)
{
    c->query.limit = c->left < CHANGES_A_PAGE ? c->left : CHANGES_A_PAGE;
    int r = journal_changes(&c->query, take_page, c);
    if (!r)
        return;
    if (c->streams)
        http_stream_cut(c->http); // malformed JSON tells the reader
    else
        http_refuse_busy(c->http, "rib_manager", r);
    changes_free(c);
}

static void changes_room(void *ctx)
{
    struct changes *c = ctx;

    if (c->coming)
        return;
    c->coming = true;
    ask_page(c);
}

static void changes_gone(void *ctx)
{
    struct changes *c = ctx;

    c->gone = true;
    if (!c->coming)
        changes_free(c);
}

static void write_rows(struct changes *c, const struct journal_answer *a)
{
    vec_foreach (&a->row, r) {
        struct text t = {0};

        write_change(&(struct jwrite){.t = &t}, a, r);
        if (c->streams)
            bound_keep_row(c->http, "route-changes", "change", &t);
        jwrite_raw(&c->out, NULL, text_str(&t));
        text_free(&t);
    }
    c->left -= (unsigned)a->row.n;
    c->query.before = a->next;
}

static void write_page(void *ctx)
{
    struct changes *c = ctx;
    const struct journal_answer *a = &c->page;
    bool first = !c->streams, last = !a->cut || c->left == a->row.n;

    if (c->gone || (first && http_left(c->http))) {
        if (!c->gone)
            http_reply(c->http, 503, NULL, NULL); // nobody reads it
        changes_free(c);
        return;
    }
    if (first && !has_answer(c->http, a->result)) {
        changes_free(c);
        return;
    }
    if (first && !last) {
        c->streams = true;
        http_for_anyone(c->http); // write_rows() filters for a bound client
        http_stream_begin(c->http, HTTP_JSON, changes_room, changes_gone, c);
    }
    if (first)
        begin_changes(c, a);
    write_rows(c, a);
    if (last || a->result) {
        end_changes(c, a->cut);
        return;
    }
    free_answer(&c->page);
    c->coming = false;
    if (http_stream_write(c->http, &c->text))
        changes_room(c);
}

static void take_page(void *ctx, struct journal_answer *a)
{
    struct changes *c = ctx;

    if (c->gone) {
        changes_free(c);
        return;
    }
    c->page = *a;
    *a = (struct journal_answer){0};
    http_turn(c->http, &c->turn, write_page, c);
}

static void run_route_changes(struct http *h, const struct lyd_node *op)
{
    const char *prefix = operation_input(op, "prefix");
    struct journal_query q = {.match = JOURNAL_ALL,
                              .limit = (unsigned)operation_input_number(op, "limit", 0)};
    struct changes *c;

    if (!read_vr(h, op, &q))
        return;
    if (*prefix) {
        bug_on(prefix_parse(prefix, &q.prefix, true)); // checked by libyang
        q.family = q.prefix.family;
        q.match = strcmp(operation_input(op, "longer"), "true") ? JOURNAL_EXACT : JOURNAL_LONGER;
    }
    c = calloc(1, sizeof *c);
    bug_on(!c);
    q.from_ns = moment_of(op, clock_now_ns());
    *c = (struct changes){.http = h, .query = q, .left = q.limit, .coming = true};
    ask_page(c);
}

// --- routes at an earlier time ------------------------------------------------------------------

static void send_route_at(void *ctx, struct journal_answer *a)
{
    struct journal_question *q = ctx;
    struct jwrite j;

    if (has_answer(q->http, a->result)) {
        output_begin(&j, &(struct text){0});
        jwrite_time(&j, "time", q->at_wall_ns);
        jwrite_time(&j, "since", a->since_ns);
        jwrite_bool(&j, "known", a->reached);
        if (a->found) {
            jwrite_prefix(&j, "prefix", &a->prefix);
            write_nexthop_set(&j, a, a->is, a->protocol);
        }
        output_send(q->http, &j);
    }
    free(q);
}

static void run_route_at(struct http *h, const struct lyd_node *op)
{
    const char *address = operation_input(op, "address"), *prefix = operation_input(op, "prefix");
    struct journal_query q = {.match = *prefix ? JOURNAL_EXACT : JOURNAL_COVERING};
    struct journal_question *a;

    if (!*address == !*prefix) {
        http_refuse(h, 400, "invalid-value", "expected either 'address' or 'prefix'");
        return;
    }
    if (prefix_parse(*prefix ? prefix : address, &q.prefix, true)) {
        http_refuse(h, 400, "invalid-value",
                    "'address' is '%s', expected an address without a zone", address);
        return;
    }
    q.family = q.prefix.family;
    if (!read_vr(h, op, &q))
        return;
    a = malloc(sizeof *a);
    bug_on(!a);
    *a = (struct journal_question){h, moment_of(op, clock_wall_ns())};
    q.from_ns = moment_of(op, clock_now_ns());
    int r = journal_at(&q, send_route_at, a);
    if (r) {
        http_refuse_busy(h, "rib_manager", r);
        free(a);
    }
}

// --- state --------------------------------------------------------------------------------------

static void write_journal_state(void *ctx, const struct journal_stats *s)
{
    struct show *show = ctx;
    struct jwrite *j = &show->out;

    jwrite_int(j, "size", s->mib);
    jwrite_u64(j, "room", s->room);
    jwrite_u64(j, "records", s->records);
    jwrite_u64(j, "changes", s->changes);
    if (s->records)
        jwrite_time(j, "since", s->since_ns);
    jwrite_u64(j, "ways", s->nexthops);
    jwrite_u64(j, "ways-cut", s->nexthops_refused);
    show->done(show, 0);
}

static int ask_journal(struct show *s)
{
    return journal_ask_stats(write_journal_state, s);
}

// --- events: the end of the journal --------------------------------------------------------------

#define CHANGES_A_LOOK 1024 // of a flood, the newest are sent and the others counted

static uint64_t next_record;
static bool tail_asked;     // an answer of the journal is pending
static unsigned generation; // an answer may arrive after a stop

static void publish_change(const struct journal_answer *a, const struct journal_row *r)
{
    struct text t = {0};
    struct jwrite j = {.t = &t};

    write_change(&j, a, r);
    json_t *body = json_loadb(t.s, t.n, 0, NULL);
    bug_on(!body);
    event_publish("route-change", body);
    text_free(&t);
}

static void publish_changes(void *ctx, struct journal_answer *a)
{
    if ((unsigned)(uintptr_t)ctx != generation)
        return;
    tail_asked = false;
    if (a->result) // no journal, so nothing to report now
        return;
    bool first = next_record == UINT64_MAX;
    next_record = a->next;
    if (first)
        return;
    event_publish_missed(a->lost);
    vec_foreach (&a->row, r)
        publish_change(a, r);
}

static void look_for_changes(void)
{
    const struct journal_query q = {
        .vr = -1, .match = JOURNAL_ALL, .limit = CHANGES_A_LOOK, .from = next_record};

    if (!tail_asked)
        tail_asked = !journal_tail(&q, publish_changes, (void *)(uintptr_t)generation);
}

static void want_changes(bool on)
{
    next_record = UINT64_MAX; // start at the present end of the journal
    tail_asked = false;
    generation++;
}

// --- state kept over a stop: the newest changes --------------------------------------------------

#define SAVED_MAX 10000

static const struct column nexthop_columns[] = {
    COLUMN(struct journal_nexthop, nexthop, "nexthop"),
    COLUMN(struct journal_nexthop, kind, "kind"),
    COLUMN(struct journal_nexthop, n_more, "more"),
    {0}};

struct saved_row {
    struct journal_row is;
    char vr[sizeof((struct vr *)0)->name];
};
static const struct column row_columns[] = {
    COLUMN(struct saved_row, is.wall_ns, "time"),
    COLUMN(struct saved_row, vr, "vr"),
    COLUMN(struct saved_row, is.prefix, "prefix"),
    COLUMN(struct saved_row, is.cause, "cause"),
    COLUMN(struct saved_row, is.was_protocol, "was-protocol"),
    COLUMN(struct saved_row, is.protocol, "protocol"),
    COLUMN(struct saved_row, is.was, "was"),
    COLUMN(struct saved_row, is.is, "is"),
    {0}};

static json_t *save_nexthop(const struct journal_nexthop *w)
{
    json_t *o = columns_save(nexthop_columns, w), *legs = json_array();
    char gateway[IP_TEXT_MAX];

    for (unsigned i = 0; i < w->n_legs; i++) {
        const struct journal_leg *l = &w->leg[i];
        json_t *labels = json_array();

        for (unsigned k = 0; k < l->labels.n; k++)
            json_array_append_new(labels, json_integer(l->labels.label[k]));
        json_array_append_new(legs, json_pack("[s, s, i, o]", l->iface,
                                              l->gateway.family ? ip_format(&l->gateway, gateway)
                                                                : "",
                                              (int)l->weight, labels));
    }
    json_object_set_new(o, "leg", legs);
    return o;
}

static json_t *save_row(const struct journal_row *r)
{
    struct saved_row s = {.is = *r};

    snprintf(s.vr, sizeof s.vr, "%s", vr_get(r->vr)->name);
    return columns_save(row_columns, &s);
}

static json_t *save_journal(void)
{
    json_t *nexthops = json_array(), *rows = json_array();
    struct journal_answer a;

    if (!journal_save(SAVED_MAX, &a)) {
        vec_foreach (&a.nexthop, w)
            json_array_append_new(nexthops, save_nexthop(w));
        vec_foreach (&a.row, r)
            json_array_append_new(rows, save_row(r));
        free_answer(&a);
    }
    return json_pack("{s:o, s:o}", "nexthop", nexthops, "change", rows);
}

static bool read_leg(const json_t *saved, struct journal_leg *l)
{
    const char *iface = json_string_value(json_array_get(saved, 0)),
               *gateway = json_string_value(json_array_get(saved, 1));
    json_int_t weight = json_integer_value(json_array_get(saved, 2));
    const json_t *labels = json_array_get(saved, 3); // an older version had none

    *l = (struct journal_leg){.weight = (uint16_t)weight};
    if (!iface || strlen(iface) >= sizeof l->iface || !gateway || weight < 0 ||
        weight > UINT16_MAX || json_array_size(labels) > LABEL_STACK_MAX)
        return false;
    l->labels.n = (uint8_t)json_array_size(labels);
    for (unsigned i = 0; i < l->labels.n; i++)
        l->labels.label[i] = (uint32_t)json_integer_value(json_array_get(labels, i)) & 0xfffff;
    snprintf(l->iface, sizeof l->iface, "%s", iface);
    return !*gateway || !ip_parse(gateway, &l->gateway);
}

static bool read_nexthop(const json_t *saved, struct journal_nexthop *w)
{
    const json_t *legs = json_object_get(saved, "leg");

    *w = (struct journal_nexthop){.n_legs = (uint8_t)json_array_size(legs)};
    if (!columns_restore(saved, nexthop_columns, w) || w->nexthop >= NEXTHOP_ALL_MAX ||
        w->kind >= NEXTHOP_KIND_N || !json_is_array(legs) || json_array_size(legs) > JOURNAL_LEGS)
        return false;
    for (unsigned i = 0; i < w->n_legs; i++)
        if (!read_leg(json_array_get(legs, i), &w->leg[i]))
            return false;
    return true;
}

static bool read_row(const json_t *saved, size_t n_nexthops, struct saved_row *r)
{
    return columns_restore(saved, row_columns, r) && r->is.cause < JOURNAL_CAUSES &&
           r->is.was <= n_nexthops && r->is.is <= n_nexthops;
}

// Skips rows of a virtual router that no longer exists.
static bool read_saved(const json_t *nexthops, const json_t *rows, struct journal_answer *a)
{
    for (size_t i = 0; i < json_array_size(nexthops); i++)
        if (!read_nexthop(json_array_get(nexthops, i), vec_push(&a->nexthop)))
            return false;
    for (size_t i = 0; i < json_array_size(rows); i++) {
        struct saved_row r = {0};

        if (!read_row(json_array_get(rows, i), a->nexthop.n, &r))
            return false;
        const struct vr *v = vr_find(r.vr);
        r.is.vr = v ? v->id : 0;
        if (v)
            *vec_push(&a->row) = r.is;
    }
    return true;
}

static const char *restore_journal(const json_t *part, bool apply)
{
    const json_t *nexthops = json_object_get(part, "nexthop"),
                 *rows = json_object_get(part, "change");
    struct journal_answer a = {0};

    bool good = json_is_array(nexthops) && json_is_array(rows) &&
                json_array_size(rows) <= SAVED_MAX &&
                json_array_size(nexthops) <= 2 * SAVED_MAX && read_saved(nexthops, rows, &a);
    if (good && apply && journal_restore(&a))
        log_warning("journal: route changes before the stop are lost: rib_manager does not "
                    "answer");
    free_answer(&a);
    return good ? NULL : "a change of routes is not one";
}

const struct feature journal_feature = {
    "journal",
    .config = &journal_config,
    .saved = &(const struct feature_saved){save_journal, restore_journal},
    .state = (const struct feature_state[]){{"journal", .ask = ask_journal}, {0}},
    .operations = (const struct feature_operation[]){{"route-changes", .run = run_route_changes},
                                                     {"route-at", .run = run_route_at},
                                                     {0}},
    .events = &(const struct feature_events){want_changes, look_for_changes},
};
