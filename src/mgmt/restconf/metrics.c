// SPDX-License-Identifier: BSD-3-Clause
// metrics.c - GET /metrics: the metrics for Prometheus
//
// The client chooses the format (RFC 9110, 12.5.1): OpenMetrics if its Accept header prefers it to
// text/plain.
#include "restconf/metrics.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/log.h"
#include "http/http.h"
#include "http/refuse.h"

#define OPENMETRICS "application/openmetrics-text"
#define OPENMETRICS_TYPE OPENMETRICS "; version=1.0.0; charset=utf-8"
#define TEXT_TYPE "text/plain; version=0.0.4; charset=utf-8"

// --- choice of the format -----------------------------------------------------------------------

// Quality of the media range at `p`, up to the comma: 0..1.
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
    for (unsigned f = 0; f < FEATURE_N; f++)
        free(s->kept[f]);
    free(s);
}

static void write_scrape(struct scrape *s)
{
    const char *vr = http_vr(s->http);
    struct metrics m = {.openmetrics = s->openmetrics, .vr = *vr ? vr : NULL};

    for (unsigned f = 0; f < FEATURE_N; f++)
        if (features[f]->metrics)
            features[f]->metrics->write(&m, s->kept[f]);
    metric_end(&m);
    http_set_header(s->http, "Vary", "Accept");
    http_reply(s->http, 200, s->openmetrics ? OPENMETRICS_TYPE : TEXT_TYPE, &m.text);
    scrape_free(s);
}

// Starts with feature s->at.
static void scrape_collect(struct scrape *s)
{
    while (s->at < FEATURE_N && !(features[s->at]->metrics && features[s->at]->metrics->collect))
        s->at++;
    if (s->at < FEATURE_N)
        features[s->at]->metrics->collect(s);
    else
        write_scrape(s);
}

void scrape_collected(struct scrape *s)
{
    s->at++;
    if (!http_gone(s->http)) {
        scrape_collect(s);
        return;
    }
    http_reply(s->http, 200, NULL, NULL); // no reader is left
    scrape_free(s);
}

void scrape_keep(struct scrape *s, const void *row, size_t n, size_t size)
{
    struct scrape_rows *kept = malloc(sizeof *kept + n * size);

    bug_on(!kept);
    kept->n = n;
    if (n)
        memcpy(kept->row, row, n * size);
    s->kept[s->at] = kept;
    scrape_collected(s);
}

void scrape_asked(struct scrape *s, const char *manager, int error)
{
    if (!error)
        return;
    http_refuse_busy(s->http, manager, error);
    scrape_free(s);
}

void metrics_get(struct http *h)
{
    struct scrape *s = calloc(1, sizeof *s);

    bug_on(!s);
    s->http = h;
    http_for_anyone(h); // a bound client gets only its samples
    s->openmetrics = metrics_prefers_openmetrics(http_header(h, "Accept"));
    scrape_collect(s);
}

void metrics_answer(struct http *h)
{
    if (strcmp(http_path(h), "/metrics"))
        http_refuse(h, 404, "invalid-value", "there is no '%s'; this listener serves only /metrics",
                    http_path(h));
    else if (strcmp(http_method(h), "GET") && strcmp(http_method(h), "HEAD"))
        http_refuse_method(h, "GET, HEAD");
    else
        metrics_get(h);
}
