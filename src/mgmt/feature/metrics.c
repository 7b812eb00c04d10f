// SPDX-License-Identifier: BSD-3-Clause
// metrics.c - serves /metrics to clients of the proxy that do not identify themselves
#include "http/http.h"
#include "mgmt/feature.h"
#include "restconf/metrics.h"

static void start_metrics(struct event_base *loop)
{
    http_serve(VIA_METRICS, metrics_answer);
}

const struct feature metrics_feature = {"metrics", .start = start_metrics};
