// SPDX-License-Identifier: BSD-3-Clause
// port.c - ports: device, link, queues, statistics, and the counter history of the last hour
//
// port_config.c has the configuration, port_operation.c the operations. A row of counter_columns is
// a leaf, a metric and a saved number. LAGs have metric families of their own, because a packet of
// a LAG is also one of a member and a sum over ports must count it once. The history is restored in
// ascending order, and no point of it from the future.
#include <rte_ethdev.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/log.h"
#include "event/event.h"
#include "mgmt/feature.h"
#include "port/port_manager.h"
#include "restconf/column.h"
#include "restconf/metrics.h"
#include "restconf/operation.h"
#include "restconf/state.h"
#include "saved/saved_state.h"
#include "table/limits.h"
#include "table/plan.h"
#include "table/port.h"

extern const struct feature_config port_config;          // port_config.c
extern const struct column port_size_columns[];          // of struct port_config
extern const struct feature_operation port_operations[]; // port_operation.c

static const struct {
    uint64_t bit;
    const char *name;
} rss_names[] = {
    {RTE_ETH_RSS_IPV4, "ipv4"},
    {RTE_ETH_RSS_FRAG_IPV4, "ipv4-frag"},
    {RTE_ETH_RSS_NONFRAG_IPV4_TCP, "ipv4-tcp"},
    {RTE_ETH_RSS_NONFRAG_IPV4_UDP, "ipv4-udp"},
    {RTE_ETH_RSS_NONFRAG_IPV4_SCTP, "ipv4-sctp"},
    {RTE_ETH_RSS_NONFRAG_IPV4_OTHER, "ipv4-other"},
    {RTE_ETH_RSS_IPV6, "ipv6"},
    {RTE_ETH_RSS_FRAG_IPV6, "ipv6-frag"},
    {RTE_ETH_RSS_NONFRAG_IPV6_TCP, "ipv6-tcp"},
    {RTE_ETH_RSS_NONFRAG_IPV6_UDP, "ipv6-udp"},
    {RTE_ETH_RSS_NONFRAG_IPV6_SCTP, "ipv6-sctp"},
    {RTE_ETH_RSS_NONFRAG_IPV6_OTHER, "ipv6-other"},
    {RTE_ETH_RSS_L2_PAYLOAD, "l2-payload"},
    {RTE_ETH_RSS_IPV6_EX, "ipv6-ex"},
    {RTE_ETH_RSS_IPV6_TCP_EX, "ipv6-tcp-ex"},
    {RTE_ETH_RSS_IPV6_UDP_EX, "ipv6-udp-ex"},
    {RTE_ETH_RSS_PORT, "port"},
    {RTE_ETH_RSS_VXLAN, "vxlan"},
    {RTE_ETH_RSS_GENEVE, "geneve"},
    {RTE_ETH_RSS_NVGRE, "nvgre"},
    {RTE_ETH_RSS_GTPU, "gtpu"},
    {RTE_ETH_RSS_ETH, "eth"},
    {RTE_ETH_RSS_S_VLAN, "s-vlan"},
    {RTE_ETH_RSS_C_VLAN, "c-vlan"},
    {RTE_ETH_RSS_ESP, "esp"},
    {RTE_ETH_RSS_AH, "ah"},
    {RTE_ETH_RSS_L2TPV3, "l2tpv3"},
    {RTE_ETH_RSS_PFCP, "pfcp"},
    {RTE_ETH_RSS_PPPOE, "pppoe"},
    {RTE_ETH_RSS_ECPRI, "ecpri"},
    {RTE_ETH_RSS_MPLS, "mpls"},
    {RTE_ETH_RSS_IPV4_CHKSUM, "ipv4-checksum"},
    {RTE_ETH_RSS_L4_CHKSUM, "l4-checksum"},
    {RTE_ETH_RSS_L2TPV2, "l2tpv2"},
};

static void write_rss(struct jwrite *j, uint64_t hf)
{
    jwrite_begin(j, "rss", '[');
    for (size_t i = 0; i < sizeof rss_names / sizeof *rss_names; i++)
        if (hf & rss_names[i].bit)
            jwrite_string(j, NULL, rss_names[i].name);
    jwrite_end(j, ']');
}

// Writes "rx-VLAN_STRIP", with DPDK's names.
static void write_offload_bits(struct jwrite *j, const char *direction, uint64_t bits,
                               const char *(*name)(uint64_t bit))
{
    char word[64];

    for (unsigned i = 0; i < 64; i++) {
        if (!(bits >> i & 1))
            continue;
        snprintf(word, sizeof word, "%s-%s", direction, name(1ull << i));
        jwrite_string(j, NULL, word);
    }
}

static void write_extended_counter(void *ctx, const char *stat, uint64_t value)
{
    struct jwrite *j = ctx;

    jwrite_begin(j, NULL, '{');
    jwrite_string(j, "name", stat);
    jwrite_u64(j, "value", value);
    jwrite_end(j, '}');
}

// Forwarder that polls the queue, -1 = none. The plan is control's own, so it cannot change here.
static int polled_by(uint16_t port, uint16_t queue)
{
    for (int f = 0; f < FORWARDER_MAX; f++) {
        const struct plan *p = forwarder_slot[f].plan;

        for (unsigned i = 0; p && i < p->n_rx; i++)
            if (p->rx[i].port == port && p->rx[i].queue == queue)
                return f;
    }
    return -1;
}

static const struct column queue_columns[] = {
    COUNTER(struct plan_rx_stats, packets, "rx-packets", "packets",
            "Packets forwarders took from the receive queue."),
    COUNTER(struct plan_rx_stats, bytes, "rx-bytes", "bytes",
            "Bytes forwarders took from the receive queue."),
    GAUGE(struct plan_rx_stats, depth, NULL, "packets",
          "Packets waiting in the receive queue at the last sample; 0 if the driver does not "
          "report it.",
          .family = "depth_packets"),
    GAUGE(struct plan_rx_stats, depth_max, NULL, "packets",
          "Maximum of all samples of the queue depth.", .family = "depth_max_packets"),
    {0}};

static void write_queue_state(struct jwrite *j, uint16_t port, uint16_t queue)
{
    struct plan_rx_stats sum = plan_rx_sum(port, queue);

    jwrite_begin(j, NULL, '{');
    jwrite_int(j, "queue", queue);
    columns_write(j, queue_columns, &sum);
    jwrite_int(j, "forwarder", polled_by(port, queue));
    jwrite_end(j, '}');
}

static const struct column counter_columns[] = {
    COUNTER(struct port_statistics, rx_packets, "rx-packets", "packets",
            "Packets received by the device."),
    COUNTER(struct port_statistics, rx_bytes, "rx-bytes", "bytes",
            "Bytes received by the device."),
    COUNTER(struct port_statistics, tx_packets, "tx-packets", "packets",
            "Packets sent by the device."),
    COUNTER(struct port_statistics, tx_bytes, "tx-bytes", "bytes", "Bytes sent by the device."),
    COUNTER(struct port_statistics, rx_missed, "rx-missed", "packets",
            "Packets the device dropped because its receive queue was full: forwarders were too "
            "slow."),
    COUNTER(struct port_statistics, rx_errors, "rx-errors", "packets",
            "Packets received with errors."),
    COUNTER(struct port_statistics, rx_no_buffer, "rx-no-buffer", "packets",
            "Packets the device dropped because it had no free buffer."),
    COUNTER(struct port_statistics, tx_errors, "tx-errors", "packets",
            "Packets the device failed to send."),
    COUNTER(struct port_statistics, checksum_completed, "checksum-completed", "packets",
            "Packets with an incomplete checksum (offload), which the router completed."),
    COUNTER(struct port_statistics, offload_cut, "offload-cut", "packets",
            "Segments longer than the link's MTU (sender's segmentation offload), dropped."),
    {0}};

static void write_port_statistics(struct jwrite *j, const struct port_state *p)
{
    jwrite_begin(j, "statistics", '{');
    columns_write(j, counter_columns, &p->statistics);
    jwrite_begin(j, "queue", '[');
    for (uint16_t q = 0; q < p->config.rx_queues && q < QUEUE_MAX; q++)
        write_queue_state(j, p->id, q);
    jwrite_end(j, ']');
    jwrite_begin(j, "extended", '[');
    port_manager_xstats(p->config.name, write_extended_counter, j);
    jwrite_end(j, ']');
    jwrite_end(j, '}');
    if (!p->cleared_wall_ns)
        return;
    jwrite_begin(j, "cleared", '{');
    jwrite_time(j, "time", p->cleared_wall_ns);
    columns_write(j, counter_columns, &p->cleared);
    jwrite_end(j, '}');
}

static void write_port_state(struct jwrite *j, const struct port_state *p)
{
    const struct port_config *c = &p->config;

    jwrite_begin(j, NULL, '{');
    jwrite_string(j, "name", c->name);
    jwrite_int(j, "id", p->id);
    jwrite_string(j, "driver", p->driver);
    jwrite_string_any(j, "kernel-interface", c->kernel_interface);
    jwrite_string(j, "devargs", c->devargs);
    jwrite_string_any(j, "namespace", c->netns);
    jwrite_string(j, "status", !p->started ? "stopped" : p->link_up ? "up" : "down");
    jwrite_string_any(j, "why", p->why);
    if (p->speed_mbps)
        jwrite_int(j, "speed", p->speed_mbps);
    jwrite_string(j, "duplex", p->full_duplex ? "full" : "half");
    jwrite_mac(j, "mac", p->mac);
    columns_write(j, port_size_columns, c);
    jwrite_int(j, "socket", p->socket);
    jwrite_string(j, "rx-mode", port_rx_mode_name(p->rx_mode));
    jwrite_bool(j, "promiscuous", c->promiscuous);
    write_rss(j, p->rss_hf);
    jwrite_begin(j, "offload", '[');
    write_offload_bits(j, "rx", p->rx_offloads, rte_eth_dev_rx_offload_name);
    write_offload_bits(j, "tx", p->tx_offloads, rte_eth_dev_tx_offload_name);
    jwrite_end(j, ']');
    write_port_statistics(j, p);
    jwrite_end(j, '}');
}

static void list_ports(struct show *s)
{
    char name[PORT_MAX][16];
    unsigned n = port_manager_list(name, PORT_MAX);
    struct port_state p;

    for (unsigned i = 0; i < n; i++)
        if (show_wants(s, name[i]) && !port_manager_state(name[i], &p))
            write_port_state(&s->out, &p);
}

static const struct column point_columns[] = {
    COLUMN(struct port_point, wall_ns, "time", .time = true),
    COLUMN(struct port_point, rx_packets, "rx-packets"),
    COLUMN(struct port_point, rx_bytes, "rx-bytes"),
    COLUMN(struct port_point, tx_packets, "tx-packets"),
    COLUMN(struct port_point, tx_bytes, "tx-bytes"),
    COLUMN(struct port_point, rx_missed, "rx-missed"),
    {0}};

static void write_history_point(void *ctx, const struct port_point *p)
{
    columns_object(ctx, NULL, point_columns, p);
}

static void write_history(struct jwrite *j, const char *port)
{
    jwrite_begin(j, NULL, '{');
    jwrite_string(j, "name", port);
    jwrite_int(j, "interval", PORT_HISTORY_EVERY_S);
    jwrite_begin(j, "point", '[');
    port_history_each(port, write_history_point, j);
    jwrite_end(j, ']');
    jwrite_end(j, '}');
}

static void list_port_histories(struct show *s)
{
    char name[PORT_MAX][16];
    unsigned n = port_manager_list(name, PORT_MAX);

    for (unsigned i = 0; i < n; i++)
        if (show_wants(s, name[i]))
            write_history(&s->out, name[i]);
}

// --- metrics -------------------------------------------------------------------------------------

static void write_link_families(struct metrics *m, const struct port_state *p, unsigned n)
{
    metric_family(m, METRIC_GAUGE, "port_up", "", "1: the port is started and its link is up.");
    for (unsigned i = 0; i < n; i++)
        metric_u64(m, p[i].started && p[i].link_up, "port", p[i].config.name, NULL);
    metric_family(m, METRIC_COUNTER, "port_link_changes", "changes",
                  "Link state changes while the port was started.");
    for (unsigned i = 0; i < n; i++)
        metric_u64(m, port_manager_link_changes(p[i].config.name), "port", p[i].config.name, NULL);
    metric_family(m, METRIC_INFO, "port", "", "Driver and device arguments of the port.");
    for (unsigned i = 0; i < n; i++)
        metric_u64(m, 1, "port", p[i].config.name, "driver", p[i].driver, "devargs",
                   p[i].config.devargs, NULL);
}

// LAGs have families of their own, separate from other ports: a packet of a LAG is also a packet of
// a member, and a sum over ports must count it once.
static void write_traffic_families(struct metrics *m, const struct port_state *p, unsigned n,
                                   bool lag)
{
    const char *kind = lag ? "lag" : "port";
    char name[64];

    snprintf(name, sizeof name, "%s_speed_bytes_per_second", kind);
    metric_family(m, METRIC_GAUGE, name, "",
                  "Link speed, or the sum of all members in use, in bytes per second (bit rate / "
                  "8); 0: unknown.");
    for (unsigned i = 0; i < n; i++)
        if (lag == !!p[i].config.lag.mode)
            metric_u64(m, p[i].speed_mbps * 1000000ull / 8, kind, p[i].config.name, NULL);
    for (const struct column *c = counter_columns; (c = column_family(m, kind, c)); c++)
        for (unsigned i = 0; i < n; i++)
            if (lag == !!p[i].config.lag.mode)
                column_metric(m, c, &p[i].statistics, kind, p[i].config.name, NULL);
}

static void write_queue_families(struct metrics *m, const struct port_state *p, unsigned n)
{
    char queue[12];

    for (const struct column *c = queue_columns; (c = column_family(m, "queue", c)); c++)
        for (unsigned i = 0; i < n; i++)
            for (uint16_t q = 0; q < p[i].config.rx_queues && q < QUEUE_MAX; q++) {
                struct plan_rx_stats sum = plan_rx_sum(p[i].id, q);

                snprintf(queue, sizeof queue, "%u", q);
                column_metric(m, c, &sum, "port", p[i].config.name, "queue", queue, NULL);
            }
}

static void write_port_metrics(struct metrics *m, const void *kept)
{
    char name[PORT_MAX][16];
    unsigned listed = port_manager_list(name, PORT_MAX), n = 0;
    struct port_state *p = calloc(PORT_MAX, sizeof *p);

    bug_on(!p);
    for (unsigned i = 0; i < listed; i++)
        n += !port_manager_state(name[i], &p[n]);
    write_link_families(m, p, n);
    write_traffic_families(m, p, n, false);
    write_traffic_families(m, p, n, true);
    write_queue_families(m, p, n);
    free(p);
}

// --- events --------------------------------------------------------------------------------------

static void publish_link(const char *port, bool up)
{
    event_publish("link-change",
                  json_pack("{s:s, s:s}", "port", port, "status", up ? "up" : "down"));
}

static void want_link_events(bool on)
{
    port_manager_on_link(on ? publish_link : NULL);
}

// --- state kept over a stop: counters, and the history of the last hour --------------------------

#define POINT_NUMBERS (sizeof(struct port_point) / 8)

static void save_point(void *ctx, const struct port_point *p)
{
    const uint64_t *v = (const uint64_t *)p;
    json_t *numbers = json_array();

    for (unsigned i = 0; i < POINT_NUMBERS; i++)
        json_array_append_new(numbers, json_integer((json_int_t)v[i]));
    json_array_append_new(ctx, numbers);
}

static json_t *save_ports(void)
{
    char name[PORT_MAX][16];
    unsigned n = port_manager_list(name, PORT_MAX);
    json_t *o = json_object();
    struct port_state p;

    for (unsigned i = 0; i < n; i++) {
        if (port_manager_state(name[i], &p))
            continue;
        json_t *of = columns_save(counter_columns, &p.statistics),
               *history = json_array();
        port_history_each(name[i], save_point, history);
        json_object_set_new(of, "history", history);
        json_object_set_new(o, name[i], of);
    }
    return o;
}

static bool read_point(const json_t *numbers, struct port_point *p)
{
    uint64_t *v = (uint64_t *)p;

    for (unsigned i = 0; i < POINT_NUMBERS; i++) {
        const json_t *number = json_array_get(numbers, i);
        if (!json_is_integer(number) || json_integer_value(number) < 0)
            return false;
        v[i] = (uint64_t)json_integer_value(number);
    }
    return true;
}

// Restores points in ascending order and none from the future: the clock may have been set.
static const char *restore_history(const char *port, const json_t *history, bool apply)
{
    uint64_t last_ns = 0, now_ns = clock_wall_ns();

    if (!json_is_array(history) || json_array_size(history) > PORT_HISTORY_POINTS)
        return "a port's history is not one";
    for (size_t i = 0; i < json_array_size(history); i++) {
        struct port_point p;
        if (!read_point(json_array_get(history, i), &p))
            return "a point of a port's history lacks a number";
        if (apply && p.wall_ns > last_ns && p.wall_ns <= now_ns)
            port_history_add(port, &p);
        last_ns = p.wall_ns > last_ns ? p.wall_ns : last_ns;
    }
    return NULL;
}

static const char *restore_ports(const json_t *part, bool apply)
{
    const char *name, *bad = NULL;
    json_t *of;

    json_object_foreach ((json_t *)part, name, of) {
        struct port_statistics sum;
        struct port_state p;

        if (!columns_restore(of, counter_columns, &sum))
            return "a port lacks a number";
        bool here = apply && !port_manager_state(name, &p);
        if (here)
            port_manager_restore(name, &sum);
        if (here || !apply)
            bad = restore_history(name, json_object_get(of, "history"), apply);
        if (bad)
            return bad;
    }
    return NULL;
}

const struct feature port_feature = {
    "port",
    .config = &port_config,
    .saved = &(const struct feature_saved){save_ports, restore_ports},
    .state = (const struct feature_state[]){{"port", .list = list_ports},
                                            {"port-history", .list = list_port_histories},
                                            {0}},
    .operations = port_operations,
    .metrics = &(const struct feature_metrics){.write = write_port_metrics},
    .events = &(const struct feature_events){.want = want_link_events},
};
