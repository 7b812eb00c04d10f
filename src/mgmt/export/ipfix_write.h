// SPDX-License-Identifier: BSD-3-Clause
// ipfix_write.h - writes messages of IPFIX (RFC 7011) with information elements of IANA's registry
// (RFC 7012)
//
// Call ipfix_begin, then write templates or flows, then ipfix_end, which fills in the lengths. No
// I/O, no state.
#ifndef EXPORT_IPFIX_WRITE_H
#define EXPORT_IPFIX_WRITE_H

#include "base/text.h"
#include "export/flow_cache.h"

#define IPFIX_MESSAGE_MAX 1400
#define IPFIX_RECORD_MAX 120 // bytes of a flow, with its set header

struct ipfix_message {
    struct text t;
    uint16_t set;  // template of the open data set, 0 = none
    size_t set_at; // offset of the set
    unsigned records;
};

void ipfix_begin(struct ipfix_message *m, uint32_t export_s, uint32_t sequence, uint32_t domain);
// Templates of IPv4 and IPv6 flows, without and with labels, and of the sampling options, and the
// options themselves (RFC 7011 3.4.2.2; samplingInterval, samplingAlgorithm).
void ipfix_templates(struct ipfix_message *m, uint32_t domain, uint32_t sample_rate);
// `wall_ms` is added to the flow's times to get milliseconds since 1970.
void ipfix_flow(struct ipfix_message *m, const struct flow *f, enum flow_end why, uint64_t wall_ms);
void ipfix_end(struct ipfix_message *m);

#endif
