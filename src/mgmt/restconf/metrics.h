// SPDX-License-Identifier: BSD-3-Clause
// metrics.h - GET /metrics: the metrics for Prometheus, and the features' functions that write them
//
// All features first collect data from other threads, one after the other; then all write at once,
// so that a scrape shows one moment. Control role.
#ifndef RESTCONF_METRICS_H
#define RESTCONF_METRICS_H

#include <stdbool.h>

#include "mgmt/feature.h"
#include "restconf/metric.h"

struct http;

// Lives until the last answer has come, even if the client has left or the server has stopped
// meanwhile.
struct scrape {
    struct http *http;
    bool openmetrics;
    unsigned at;           // enum feature_id: collecting now
    void *kept[FEATURE_N]; // collected data of each feature, from malloc(); NULL: none
};

struct feature_metrics {
    // Fills s->kept[FEATURE_word], then calls one of the functions below, perhaps later. NULL: no
    // data from other threads.
    void (*collect)(struct scrape *s);
    void (*write)(struct metrics *m, const void *kept);
};
// Each must be the last use of a scrape.
void scrape_collected(struct scrape *s);
void scrape_keep(struct scrape *s, const void *row, size_t n, size_t size); // struct scrape_rows
void scrape_asked(struct scrape *s, const char *manager, int error); // 0: an answer will come

struct scrape_rows {
    size_t n;
    _Alignas(16) char row[];
};

// Answers a GET or HEAD of /metrics, perhaps later.
void metrics_get(struct http *h);
void metrics_answer(struct http *h); // any request by VIA_METRICS
bool metrics_prefers_openmetrics(const char *accept); // an Accept header, NULL = none

#endif
