// SPDX-License-Identifier: BSD-3-Clause
// drop.h - dropped packets by reason; control role
#ifndef FEATURE_DROP_H
#define FEATURE_DROP_H

#include <stdint.h>

#include <jansson.h>

#include "base/jwrite.h"
#include "table/counter.h"

// Writes the list `drop` of a virtual router: reasons with packets since it was created.
void drop_write_vr(struct jwrite *j, uint16_t vr);

// Packets of each reason in a saved state, of a virtual router or of all (-1); reasons without
// packets are left out. Held packets are counted as dropped, since the ports stop.
void drop_save(json_t *o, int vr, uint64_t held);
bool drop_restore(const json_t *o, uint64_t n[DROP_N]);

#endif
