// SPDX-License-Identifier: BSD-3-Clause
// listener.h - listeners on loopback of a configuration: of metrics and of the web page
#ifndef FEATURE_LISTENER_H
#define FEATURE_LISTENER_H

#include <libyang/libyang.h>

#include "base/vec.h"
#include "config/change.h"
#include "http/listen.h"

struct model_listener {
    struct listen listen;
    unsigned line;
};
struct model_listeners { // a feature's part; of one kind
    VEC(struct model_listener) listener;
};

void listener_read(struct model_listeners *all, const struct lyd_node *entry,
                   enum listen_what what);
// All that go, of every kind, go before any comes: one may take the other's port.
void listener_plan_remove(struct change *c, enum feature_id feature);
void listener_plan_add(struct change *c, enum feature_id feature);

#endif
