// SPDX-License-Identifier: BSD-3-Clause
// feature.h - table entry of a feature: one word of the router as management knows it
//
// The engines under src/mgmt (yang, config, model, http, restconf, event, saved, packet, alarm)
// know no feature. Everything that management knows about a feature - its part of the configuration
// and the steps of a change, its state, operations, metrics and events - is in
// src/mgmt/feature/WORD.c, which ends with its entry:
//
//     const struct feature mirror_feature = {"mirror", .config = &mirror_config, .state = …};
//
// and in one line in features.def. The engines walk the table. Constant; any thread.
#ifndef MGMT_FEATURE_H
#define MGMT_FEATURE_H

#include <stdint.h>

struct event_base;
struct feature_config;    // config/feature_config.h
struct feature_events;    // event/event.h
struct feature_metrics;   // restconf/metrics.h
struct feature_operation; // restconf/operation.h
struct feature_saved;     // saved/saved_state.h
struct feature_state;     // restconf/state.h
struct feature_view;      // restconf/restconf.h
struct jwrite;

enum feature_id { // also the index of the feature's part in a model and in a scrape
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
    const struct feature_events *events; // while there are event listeners
    const struct feature_view *view;     // its state in models other than kamuee.yang
    const struct feature_saved *saved; // state that is kept over a planned stop
    void (*observe)(void);             // once a second: its alarms (alarm/alarm.h)
    unsigned (*captures)(uint16_t vr); // running ones, which count for the budget `captures`
    // For a traced packet: leaves of its lookup in that virtual router.
    void (*write_lookup)(struct jwrite *j, uint16_t vr);
    // Own activity, started before the first configuration is applied, and stopped after the
    // listeners have closed.
    void (*start)(struct event_base *loop), (*stop)(void);
};

extern const struct feature *const features[FEATURE_N];

#endif
