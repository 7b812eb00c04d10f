// SPDX-License-Identifier: BSD-3-Clause
// sampling.h - state that sFlow and IPFIX share; control role
#ifndef FEATURE_SAMPLING_H
#define FEATURE_SAMPLING_H

#include "base/jwrite.h"
#include "export/export.h"

// Interfaces whose packets are sampled: IFACE_SAMPLE_…
void sampling_write_interfaces(struct jwrite *j, uint8_t sample);
void sampling_write_collectors(struct jwrite *j, const struct collector_state *c, unsigned n);

#endif
