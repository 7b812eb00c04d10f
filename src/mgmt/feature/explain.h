// SPDX-License-Identifier: BSD-3-Clause
// explain.h - hook for the dry run of a packet through the forwarder's stages, which management
// does not know
#ifndef FEATURE_EXPLAIN_H
#define FEATURE_EXPLAIN_H

#include "table/packet_trace.h"

void explain_set_dry_run(packet_trace_explain *fn); // before management starts

#endif
