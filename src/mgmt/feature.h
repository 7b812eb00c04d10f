// SPDX-License-Identifier: BSD-3-Clause
// feature.h - a word of the router as management knows it: one table entry
//
// The engines under src/mgmt (yang, config, http, restconf, event) know no word of the router. What
// management knows about one - its part of the configuration and the steps of a change, its state,
// operations, metrics and events - is in src/mgmt/feature/WORD.c, which ends with its entry:
//
//     const struct feature mirror_feature = {"mirror", .config = &mirror_config, .state = …};
//
// and with one line in features.def. The engines walk the table. Constant; any thread.
#ifndef MGMT_FEATURE_H
#define MGMT_FEATURE_H

struct event_base;
struct feature_config;    // config/feature_config.h
struct feature_events;    // event/event.h
struct feature_metrics;   // restconf/metrics.h
struct feature_operation; // restconf/operation.h
struct feature_saved;     // feature/saved_state.h
struct feature_state;     // restconf/state.h
struct feature_view;      // restconf/view.h

enum feature_id { // also the place of its part in a model and in a scrape
#define FEATURE(word) FEATURE_##word,
#include "mgmt/features.def"
#undef FEATURE
    FEATURE_N
};

struct feature {
    const char *name;
    const struct feature_config *config;
    const struct feature_state *state;         // children of the schema's `state`; ended by {0}
    const struct feature_operation *operations; // the schema's RPCs; ended by {0}
    const struct feature_metrics *metrics;
    const struct feature_events *events; // what it does while somebody listens to events
    const struct feature_view *view;     // its state in other models than kamuee.yang
    const struct feature_saved *saved; // what of it outlives a planned stop
    // What it does by itself: from before the first configuration is applied until the listeners
    // have closed.
    void (*start)(struct event_base *loop), (*stop)(void);
};

extern const struct feature *const features[FEATURE_N];

#endif
