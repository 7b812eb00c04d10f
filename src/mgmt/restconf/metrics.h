// SPDX-License-Identifier: BSD-3-Clause
// metrics.h - GET /metrics: what a Prometheus collects; control role
#ifndef METRICS_METRICS_H
#define METRICS_METRICS_H

#include <stdbool.h>

#include "acl_manager/acl_ask.h"
#include "rib/rib_manager.h"

struct http;
struct metrics;

// Answers a GET or HEAD of /metrics, perhaps later.
void metrics_get(struct http *h);
void metrics_answer(struct http *h); // any request of a listener for metrics (listen.h)
bool metrics_prefers_openmetrics(const char *accept); // an Accept header, NULL = none

// --- who writes which families ---
struct metrics_vr { // what rib_manager said of one virtual router
    char name[16];
    struct rib_stats stats;
};
void metrics_system(struct metrics *m);
void metrics_port(struct metrics *m);
void metrics_lag(struct metrics *m);
void metrics_interface(struct metrics *m);
void metrics_thread(struct metrics *m);
void metrics_packet(struct metrics *m); // drops, punt classes, ICMP, the ledger
void metrics_alarm(struct metrics *m);
void metrics_acl(struct metrics *m,
                 const struct acl_answer *a); // of acl_ask_counters; NULL: not known now
void metrics_mirror(struct metrics *m);
void metrics_latency(struct metrics *m);
void metrics_nexthop(struct metrics *m, const struct nexthop_row *row,
                     unsigned n); // none: next hops are not counted
void metrics_counted(struct metrics *m, const struct counted_row *row,
                     unsigned n); // none: no prefix is counted
void metrics_rib(struct metrics *m, const struct metrics_vr *vr, unsigned n);

#endif
