// SPDX-License-Identifier: BSD-3-Clause
// vr_show.h - state with an entry per virtual router that needs an answer from rib_manager
//
// `ask` asks about virtual router s->cursor; vr_show_next continues after the answer has been
// written. The optional key is the name. Control role.
#ifndef FEATURE_VR_SHOW_H
#define FEATURE_VR_SHOW_H

#include "restconf/state.h"

int vr_show_each(struct show *s, int (*ask)(struct show *s)); // SHOW_LATER
void vr_show_next(struct show *s);

#endif
