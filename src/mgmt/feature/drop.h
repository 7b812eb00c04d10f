// SPDX-License-Identifier: BSD-3-Clause
// drop.h - dropped packets by reason; control role
#ifndef FEATURE_DROP_H
#define FEATURE_DROP_H

#include <stdint.h>

#include "base/jwrite.h"

// Writes the list `drop` of a virtual router: reasons with packets since it was created.
void drop_write_vr(struct jwrite *j, uint16_t vr);

#endif
