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

// Packets of each reason in a saved state; reasons without packets are left out.
void drop_save(json_t *o, const uint64_t n[DROP_N]);
bool drop_restore(const json_t *o, uint64_t n[DROP_N]);

#endif
