// SPDX-License-Identifier: BSD-3-Clause
// vr_show.h - state with an entry for each virtual router that rib_manager has to be asked about
//
// `ask` asks about virtual router s->cursor, and when the answer has been written vr_show_next goes
// on. The key, if there is one, is the name. Control role.
#ifndef FEATURE_VR_SHOW_H
#define FEATURE_VR_SHOW_H

#include "restconf/state.h"

int vr_show_each(struct show *s, int (*ask)(struct show *s)); // SHOW_LATER
void vr_show_next(struct show *s);

#endif
