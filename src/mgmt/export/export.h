// SPDX-License-Identifier: BSD-3-Clause
// export.h - exporters to sFlow and IPFIX collectors
//
//     sflow.c   sampled packets and interface counters as sFlow version 5
//     ipfix.c   flows, built from sampled packets, as IPFIX
//
// Both run on control's event loop and never wait: their sockets do not block. A datagram that
// cannot be sent is counted as lost. Control role.
#ifndef EXPORT_EXPORT_H
#define EXPORT_EXPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/ip.h"

struct event_base;

// --- configuration ---

#define EXPORT_COLLECTORS 4

struct export_collector {
    struct ip_addr addr;
    uint16_t port;
};

// Compared with memcmp: zero the memory before you fill it.
struct sflow_config {
    struct export_collector collector[EXPORT_COLLECTORS];
    unsigned n_collectors;    // 0 = off
    uint32_t sample_rate;     // one in N packets
    uint16_t polling_s;       // seconds between counter samples of an interface, 0 = none
    uint16_t header_bytes;    // of a sampled packet, at most SFLOW_HEADER_MAX
    struct ip_addr agent;     // family 0 = the source address that the first collector sees
};

struct ipfix_config {
    struct export_collector collector[EXPORT_COLLECTORS];
    unsigned n_collectors; // 0 = off
    uint32_t sample_rate;  // one in N packets
    uint32_t active_s, inactive_s, template_s, flows_max, domain;
};

void sflow_start(struct event_base *loop); // exports nothing yet
void sflow_stop(void);
void ipfix_start(struct event_base *loop);
void ipfix_stop(void); // reports the flows in the cache
// Takes effect at once. 0, or -errno with a sentence and the old configuration in force.
int sflow_set(const struct sflow_config *c, char *err, size_t err_size);
int ipfix_set(const struct ipfix_config *c, char *err, size_t err_size);

// --- state ---

struct collector_state {
    struct export_collector to;
    char error[64];             // reason for the last loss
    uint64_t datagrams, bytes;  // sent
    uint64_t lost;              // datagrams
};

struct sflow_state {
    bool on;
    uint32_t sample_rate;
    struct ip_addr agent;
    uint64_t samples;         // packets
    uint64_t samples_missed;  // packets lost because all slots were full
    uint64_t counter_samples;
    unsigned n_collectors;
    struct collector_state collector[EXPORT_COLLECTORS];
};
void sflow_state(struct sflow_state *s);

struct ipfix_state {
    bool on;
    uint32_t sample_rate;
    uint64_t samples, samples_missed, samples_no_ip; // packets
    uint64_t flows;                                  // reported
    uint64_t flows_no_room; // of these, flows that ended to make room for a new flow
    uint32_t flows_now, flows_max;
    unsigned n_collectors;
    struct collector_state collector[EXPORT_COLLECTORS];
};
void ipfix_state(struct ipfix_state *s);

#endif
