// SPDX-License-Identifier: BSD-3-Clause
// flows.c - the sample of the router's flows as clients see it: largest flows, numbers, metrics
#include "feature/flow_trial.h"

#include <string.h>

#include "base/ip_proto.h"
#include "mgmt/feature.h"
#include "restconf/column.h"
#include "restconf/metrics.h"
#include "restconf/operation.h"
#include "restconf/state.h"
#include "table/iface.h"
#include "table/vr.h"

static const struct column key_columns[] = {COLUMN(struct flow_key, src, "source"),
                                            COLUMN(struct flow_key, dst, "destination"),
                                            COLUMN(struct flow_key, proto, "protocol"),
                                            COLUMN(struct flow_key, tos, "tos"),
                                            {0}};
static const struct column total_columns[] = {COLUMN(struct flow_total, packets, "packets"),
                                              COLUMN(struct flow_total, bytes, "bytes"),
                                              COLUMN(struct flow_total, idle_s, "idle"),
                                              {0}};
static const struct column sample_columns[] = {
    GAUGE(struct flow_sample_state, sample_rate, "sample-rate", "packets",
          "One packet in so many is sampled now."),
    GAUGE(struct flow_sample_state, flows, "flows", "", "Flows in the sample.",
          .family = "flow_sample_flows"),
    COLUMN(struct flow_sample_state, flows_max, "flows-max"),
    COUNTER(struct flow_sample_state, samples, "samples", "packets", "Packets sampled."),
    COUNTER(struct flow_sample_state, samples_missed, "samples-missed", "packets",
            "Packets not sampled because all slots were full."),
    COUNTER(struct flow_sample_state, samples_no_ip, "samples-no-ip", "packets",
            "Sampled packets that are not IP and belong to no flow."),
    COUNTER(struct flow_sample_state, flows_no_room, "flows-no-room", "",
            "Flows that ended early to make room.", .family = "flow_sample_no_room"),
    {0}};

void flows_write(struct jwrite *j, const struct flow_total *t)
{
    const struct flow_key *k = &t->key;
    const bool icmp = k->proto == PROTO_ICMP || k->proto == PROTO_ICMP6;

    jwrite_string(j, "interface", iface_get((uint16_t)k->in)->name);
    jwrite_string(j, "vr", vr_get(k->vr)->name);
    columns_write(j, key_columns, k);
    jwrite_int(j, icmp ? "icmp-type" : "source-port", icmp ? k->dport >> 8 : k->sport);
    jwrite_int(j, icmp ? "icmp-code" : "destination-port", icmp ? k->dport & 0xff : k->dport);
    columns_write(j, total_columns, t);
}

static bool is_wanted(const struct lyd_node *op, const char *leaf, const char *is)
{
    const char *wanted = operation_input(op, leaf);

    return !*wanted || !strcmp(wanted, is);
}

static void run_flows(struct http *h, const struct lyd_node *op)
{
    uint64_t left = operation_input_number(op, "limit", 20), bytes = 0;
    uint32_t flows = 0;
    struct flow_totals t;
    struct jwrite j;

    flow_sample_read(&t);
    output_begin(&j, &(struct text){0});
    jwrite_begin(&j, "flow", '[');
    vec_foreach (&t.flow, f) {
        if (!is_wanted(op, "interface", iface_get((uint16_t)f->key.in)->name) ||
            !is_wanted(op, "vr", vr_get(f->key.vr)->name))
            continue;
        flows++;
        bytes += f->bytes;
        if (!left)
            continue;
        left--;
        jwrite_begin(&j, NULL, '{');
        flows_write(&j, f);
        jwrite_end(&j, '}');
    }
    jwrite_end(&j, ']');
    jwrite_int(&j, "flows", flows);
    jwrite_u64(&j, "bytes", bytes);
    output_send(h, &j);
    vec_free(&t.flow);
}

static void write_sample(struct jwrite *j)
{
    struct flow_sample_state s;

    flow_sample_state(&s);
    columns_write(j, sample_columns, &s);
}

static void write_sample_metrics(struct metrics *m, const void *kept)
{
    struct flow_sample_state s;

    flow_sample_state(&s);
    for (const struct column *c = sample_columns; (c = column_family(m, "flow_sample", c)); c++)
        column_metric(m, c, &s, NULL);
}

const struct feature flows_feature = {
    "flows",
    .state = (const struct feature_state[]){{"flow-sample", .object = write_sample}, {0}},
    .operations = (const struct feature_operation[]){{"flows", .run = run_flows}, {0}},
    .metrics = &(const struct feature_metrics){.write = write_sample_metrics},
    .start = flow_sample_start,
    .stop = flow_sample_stop,
};
