// SPDX-License-Identifier: BSD-3-Clause
// event_features.c - features that make events, while somebody listens
#include <event2/event.h>

#include "base/log.h"
#include "event/event.h"
#include "http/http.h"
#include "mgmt/feature.h"

#define LOOK_US 200000

static struct event *timer;

static void look_at_features(evutil_socket_t fd, short what, void *arg)
{
    for (unsigned f = 0; f < FEATURE_N; f++)
        if (features[f]->events && features[f]->events->look)
            features[f]->events->look();
}

static void start_features(void)
{
    const struct timeval every = {.tv_usec = LOOK_US};

    timer = event_new(http_loop(), -1, EV_PERSIST, look_at_features, NULL);
    bug_on(!timer || event_add(timer, &every));
    for (unsigned f = 0; f < FEATURE_N; f++)
        if (features[f]->events && features[f]->events->start)
            features[f]->events->start();
    look_at_features(-1, 0, NULL);
}

static void stop_features(void)
{
    for (unsigned f = 0; f < FEATURE_N; f++)
        if (features[f]->events && features[f]->events->stop)
            features[f]->events->stop();
    event_free(timer);
    timer = NULL;
}

const struct event_sources event_features = {start_features, stop_features};
