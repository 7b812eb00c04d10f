// SPDX-License-Identifier: BSD-3-Clause
// flow_sample.h - the sample of the router's flows: always on, for `show flows` and for trying a
// commit
//
// One packet in N of every interface is sampled, at the same place as for IPFIX (table/watch.h). N
// follows the traffic, so that the whole router takes about FLOW_SAMPLE_PER_S samples a second at
// most. A flow's packets and bytes are counted from samples, times N, over the last five to ten
// minutes. Memory is fixed: FLOW_SAMPLE_MAX flows, then the flow idle for longest ends. Control
// role.
#ifndef EXPORT_FLOW_SAMPLE_H
#define EXPORT_FLOW_SAMPLE_H

#include <stdbool.h>

#include "base/vec.h"
#include "export/flow_cache.h"

#define FLOW_SAMPLE_MAX 50000u
#define FLOW_SAMPLE_PER_S 2000u

struct event_base;

void flow_sample_start(struct event_base *loop);
void flow_sample_stop(void);

struct flow_sample_state {
    uint32_t sample_rate;             // N
    uint64_t samples, samples_missed; // packets
    uint64_t samples_no_ip;
    uint64_t flows_no_room;    // flows that ended early to make room
    uint32_t flows, flows_max; // now, at most
};
void flow_sample_state(struct flow_sample_state *s);

struct flow_total {
    struct flow_key key; // `in`: id of the interface; no `out`
    uint8_t tcp_flags;
    uint64_t packets, bytes; // estimated; bytes of layer 3
    uint32_t idle_s;
};
struct flow_totals {
    VEC(struct flow_total) flow; // by bytes, most first
    uint64_t bytes;
};
void flow_sample_read(struct flow_totals *t);
// Instead of the sample, from a cache of the caller: adds a frame that came in by interface `in`
// and stands for so many packets; false: it is not IP, or has labels.
bool flow_totals_count(struct flow_cache *c, uint16_t in, const uint8_t *frame, uint32_t n,
                       uint32_t packets);
void flow_totals_of(const struct flow_cache *c, struct flow_totals *t);

#endif
