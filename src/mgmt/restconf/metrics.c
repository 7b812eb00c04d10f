// SPDX-License-Identifier: BSD-3-Clause
// metrics.c - GET /metrics: what a Prometheus collects
//
// Most of it control knows, or reads from counters. What rib_manager knows is asked for first: one
// question for each virtual router, the next when the answer has come; then acl_manager, but not
// while it builds, which takes up to minutes; then everything is written at once, so that one
// scrape shows one moment. The client may have left meanwhile, and the server may have stopped: the
// scrape lives until then.
//
// Which format is the client's choice (RFC 9110, 12.5.1): OpenMetrics where its Accept header
// prefers it to text/plain.
#include "restconf/metrics.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "acl_manager/acl_manager.h"
#include "base/log.h"
#include "base/vec.h"
#include "http/http.h"
#include "http/listen.h"
#include "http/refuse.h"
#include "restconf/metric.h"
#include "table/limits.h"
#include "table/nexthop_count.h"
#include "table/vr.h"

#define OPENMETRICS "application/openmetrics-text"
#define OPENMETRICS_TYPE OPENMETRICS "; version=1.0.0; charset=utf-8"
#define TEXT_TYPE "text/plain; version=0.0.4; charset=utf-8"

struct scrape {
    struct http *http;
    bool openmetrics;
    unsigned vr; // to be asked about next
    VEC(struct metrics_vr) row;
    VEC(struct nexthop_row) nexthop; // that were sent anything, while that is counted
    VEC(struct counted_row) counted; // prefixes
};

// --- which format -------------------------------------------------------------------------------

// The media range at `p`, up to the comma: how much it is wanted, 0..1.
static double quality(const char *p, size_t n)
{
    for (const char *end = p + n; p < end && (p = memchr(p, ';', (size_t)(end - p)));) {
        p += 1 + strspn(p + 1, " \t");
        if (p + 1 < end && (*p == 'q' || *p == 'Q') && p[1] == '=')
            return strtod(p + 2, NULL);
    }
    return 1;
}

static bool is_range(const char *p, size_t n, const char *type)
{
    size_t bare = strcspn(p, ";,");

    while (bare && (p[bare - 1] == ' ' || p[bare - 1] == '\t'))
        bare--;
    return bare <= n && bare == strlen(type) && !strncasecmp(p, type, bare);
}

bool metrics_prefers_openmetrics(const char *accept)
{
    double open = 0, plain = 0;

    for (const char *p = accept ? accept : ""; *p;) {
        p += strspn(p, " \t,");
        size_t n = strcspn(p, ",");
        double q = quality(p, n);

        if (is_range(p, n, OPENMETRICS) && q > open)
            open = q;
        else if ((is_range(p, n, "text/plain") || is_range(p, n, "text/*") ||
                  is_range(p, n, "*/*")) &&
                 q > plain)
            plain = q;
        p += n;
    }
    return open > 0 && open >= plain;
}

// --- the answer ---------------------------------------------------------------------------------

static void scrape_free(struct scrape *s)
{
    vec_free(&s->row);
    vec_free(&s->nexthop);
    vec_free(&s->counted);
    free(s);
}

static void answer(struct scrape *s, const struct acl_answer *acl)
{
    struct metrics m = {.openmetrics = s->openmetrics};

    metrics_system(&m);
    metrics_port(&m);
    metrics_lag(&m);
    metrics_interface(&m);
    metrics_thread(&m);
    metrics_packet(&m);
    metrics_latency(&m);
    metrics_acl(&m, acl);
    metrics_mirror(&m);
    metrics_alarm(&m);
    metrics_rib(&m, s->row.item, (unsigned)s->row.n);
    metrics_nexthop(&m, s->nexthop.item, (unsigned)s->nexthop.n);
    metrics_counted(&m, s->counted.item, (unsigned)s->counted.n);
    metric_end(&m);
    http_set_header(s->http, "Vary", "Accept");
    http_reply(s->http, 200, s->openmetrics ? OPENMETRICS_TYPE : TEXT_TYPE, &m.text);
    scrape_free(s);
}

static void ask(struct scrape *s);

// Nobody waits for the answer any more.
static bool given_up(struct scrape *s)
{
    if (!http_gone(s->http))
        return false;
    http_reply(s->http, 200, NULL, NULL);
    scrape_free(s);
    return true;
}

static void put_off(struct scrape *s, const char *manager, int error)
{
    http_refuse_busy(s->http, manager, error);
    scrape_free(s);
}

static void acl_is_known(void *ctx, const struct acl_answer *a)
{
    struct scrape *s = ctx;

    if (!given_up(s))
        answer(s, a);
}

static void ask_acl(struct scrape *s)
{
    int r = 0;

    if (acl_manager_is_building())
        answer(s, NULL);
    else
        r = acl_ask_counters(acl_is_known, s);
    if (r)
        put_off(s, "acl_manager", r);
}

static void counted_answered(void *ctx, const struct counted_row *row, unsigned n)
{
    struct scrape *s = ctx;

    if (given_up(s))
        return;
    for (unsigned i = 0; i < n; i++)
        *vec_push(&s->counted) = row[i];
    ask_acl(s);
}

static void ask_counted(struct scrape *s)
{
    int r = rib_manager_counted(counted_answered, s);

    if (r)
        put_off(s, "rib_manager", r);
}

static void nexthops_answered(void *ctx, const struct nexthop_row *row, unsigned n,
                              const struct nexthop_leg *leg)
{
    struct scrape *s = ctx;

    if (given_up(s))
        return;
    for (unsigned i = 0; i < n; i++)
        if (row[i].sent_packets)
            *vec_push(&s->nexthop) = row[i];
    ask_counted(s);
}

static void answered(void *ctx, const struct rib_stats *r)
{
    struct scrape *s = ctx;
    const struct vr *v = vr_get((uint16_t)s->vr++);

    if (given_up(s))
        return;
    if (v->used && r) { // it may have been deleted meanwhile
        struct metrics_vr *row = vec_push(&s->row);
        *row = (struct metrics_vr){.stats = *r};
        memcpy(row->name, v->name, sizeof row->name);
    }
    ask(s);
}

static void ask(struct scrape *s)
{
    while (s->vr < VR_MAX && !vr_get((uint16_t)s->vr)->used)
        s->vr++;
    if (s->vr == VR_MAX && !nexthop_count_is_on()) {
        ask_counted(s);
        return;
    }
    int r = s->vr == VR_MAX ? rib_manager_nexthops(nexthops_answered, s)
                            : rib_manager_stats((uint16_t)s->vr, answered, s);
    if (r)
        put_off(s, "rib_manager", r);
}

void metrics_get(struct http *h)
{
    struct scrape *s = calloc(1, sizeof *s);

    bug_on(!s);
    s->http = h;
    s->openmetrics = metrics_prefers_openmetrics(http_header(h, "Accept"));
    ask(s);
}

void metrics_answer(struct http *h)
{
    if (listen_refused(h))
        return;
    if (strcmp(http_path(h), "/metrics"))
        http_refuse(h, 404, "invalid-value", "there is no '%s'; this listener serves only /metrics",
                    http_path(h));
    else if (strcmp(http_method(h), "GET") && strcmp(http_method(h), "HEAD"))
        http_refuse_method(h, "GET, HEAD");
    else
        metrics_get(h);
}
