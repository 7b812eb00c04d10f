// SPDX-License-Identifier: BSD-3-Clause
// vr.h - virtual routers in requests: the router that an operation names, and state with an
// entry per virtual router; control role
#ifndef FEATURE_VR_H
#define FEATURE_VR_H

#include "restconf/state.h"

// The virtual router in the leaf `vr` of an operation's input. NULL: it does not exist, and the
// request has been refused.
struct http;
struct lyd_node;
struct vr;
const struct vr *vr_of_input(struct http *h, const struct lyd_node *op);
// The same for an optional leaf: without it *v is NULL. False: the request has been refused.
bool vr_of_input_or_all(struct http *h, const struct lyd_node *op, const struct vr **v);

// State that needs an answer from rib_manager: `ask` asks about virtual router s->cursor;
// vr_show_next continues after the answer has been written. The optional key is the name.
int vr_show_each(struct show *s, int (*ask)(struct show *s)); // 0
void vr_show_next(struct show *s);

#endif
