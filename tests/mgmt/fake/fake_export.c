// SPDX-License-Identifier: BSD-3-Clause
// fake_export.c - exporters that only record their settings, for unit tests of mgmt
#include "fake/fake_call.h"
#include "export/export.h"
#include "export/flow_sample.h"

static struct sflow_config sflow;
static struct ipfix_config ipfix;

int sflow_set(const struct sflow_config *c, char *err, size_t err_size)
{
    int r = fake_called(err, err_size, "sflow", c->n_collectors ? "on" : "off");

    if (!r)
        sflow = *c;
    return r;
}

void sflow_state(struct sflow_state *s)
{
    *s = (struct sflow_state){.on = sflow.n_collectors,
                              .sample_rate = sflow.sample_rate,
                              .samples = 5,
                              .agent = {.family = IP4, .b = {127, 0, 0, 1}},
                              .counter_samples = 3};
    s->n_collectors = sflow.n_collectors;
    for (unsigned i = 0; i < s->n_collectors; i++)
        s->collector[i] = (struct collector_state){
            .to = sflow.collector[i], .datagrams = 2, .error = "Network is unreachable", .lost = 1};
}

int ipfix_set(const struct ipfix_config *c, char *err, size_t err_size)
{
    int r = fake_called(err, err_size, "ipfix", c->n_collectors ? "on" : "off");

    if (!r)
        ipfix = *c;
    return r;
}

void ipfix_state(struct ipfix_state *s)
{
    *s = (struct ipfix_state){.on = ipfix.n_collectors,
                              .sample_rate = ipfix.sample_rate,
                              .samples = 5,
                              .flows = 4,
                              .flows_now = 2,
                              .flows_max = ipfix.flows_max};
    s->n_collectors = ipfix.n_collectors;
    for (unsigned i = 0; i < s->n_collectors; i++)
        s->collector[i] = (struct collector_state){
            .to = ipfix.collector[i], .datagrams = 2, .error = "Network is unreachable", .lost = 1};
}

void sflow_start(struct event_base *loop)
{
}

void sflow_stop(void)
{
}

void ipfix_start(struct event_base *loop)
{
}

void ipfix_stop(void)
{
}

// --- flow_sample ---

void flow_sample_start(struct event_base *loop)
{
}

void flow_sample_stop(void)
{
}

void flow_sample_state(struct flow_sample_state *s)
{
    *s = (struct flow_sample_state){
        .sample_rate = 16, .samples = 5, .flows = 1, .flows_max = FLOW_SAMPLE_MAX};
}

// One flow, by the first interface.
void flow_sample_read(struct flow_totals *t)
{
    *t = (struct flow_totals){.bytes = 6400};
    struct flow_total *f = vec_push(&t->flow);

    *f = (struct flow_total){.key = {.src = {.family = IP4, .b = {192, 0, 2, 1}},
                                     .dst = {.family = IP4, .b = {198, 51, 100, 1}},
                                     .sport = 1000,
                                     .dport = 443,
                                     .proto = 6,
                                     .in = 1},
                             .packets = 64,
                             .bytes = 6400};
}

bool flow_totals_count(struct flow_cache *c, uint16_t in, const uint8_t *frame, uint32_t n,
                       uint32_t packets)
{
    return false;
}

void flow_totals_of(const struct flow_cache *c, struct flow_totals *t)
{
    *t = (struct flow_totals){0};
}
