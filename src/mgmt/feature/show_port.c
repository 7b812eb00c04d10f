// SPDX-License-Identifier: BSD-3-Clause
// show_port.c - ports: device, link, queues, statistics
#include <rte_ethdev.h>
#include <string.h>

#include "port/port_manager.h"
#include "restconf/state.h"
#include "table/plan.h"
#include "table/port.h"

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

// "rx-VLAN_STRIP" by DPDK's own names.
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

static void write_extended(void *ctx, const char *stat, uint64_t value)
{
    struct jwrite *j = ctx;

    jwrite_begin(j, NULL, '{');
    jwrite_string(j, "name", stat);
    jwrite_u64(j, "value", value);
    jwrite_end(j, '}');
}

// Who polls the queue now, -1 = nobody. The plan is control's own work, so it cannot change here.
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

static void write_queue(struct jwrite *j, uint16_t port, uint16_t queue)
{
    struct plan_rx_stats sum = plan_rx_sum(port, queue);

    jwrite_begin(j, NULL, '{');
    jwrite_int(j, "queue", queue);
    jwrite_u64(j, "rx-packets", sum.packets);
    jwrite_u64(j, "rx-bytes", sum.bytes);
    jwrite_int(j, "forwarder", polled_by(port, queue));
    jwrite_end(j, '}');
}

static void write_counters(struct jwrite *j, const struct port_statistics *s)
{
    jwrite_u64(j, "rx-packets", s->rx_packets);
    jwrite_u64(j, "rx-bytes", s->rx_bytes);
    jwrite_u64(j, "tx-packets", s->tx_packets);
    jwrite_u64(j, "tx-bytes", s->tx_bytes);
    jwrite_u64(j, "rx-missed", s->rx_missed);
    jwrite_u64(j, "rx-errors", s->rx_errors);
    jwrite_u64(j, "rx-no-buffer", s->rx_no_buffer);
    jwrite_u64(j, "tx-errors", s->tx_errors);
    jwrite_u64(j, "checksum-completed", s->checksum_completed);
    jwrite_u64(j, "offload-cut", s->offload_cut);
}

static void write_statistics(struct jwrite *j, const struct port_state *p)
{
    jwrite_begin(j, "statistics", '{');
    write_counters(j, &p->statistics);
    jwrite_begin(j, "queue", '[');
    for (uint16_t q = 0; q < p->config.rx_queues && q < QUEUE_MAX; q++)
        write_queue(j, p->id, q);
    jwrite_end(j, ']');
    jwrite_begin(j, "extended", '[');
    port_manager_xstats(p->config.name, write_extended, j);
    jwrite_end(j, ']');
    jwrite_end(j, '}');
    if (!p->cleared_wall_ns)
        return;
    jwrite_begin(j, "cleared", '{');
    jwrite_time(j, "time", p->cleared_wall_ns);
    write_counters(j, &p->cleared);
    jwrite_end(j, '}');
}

static void write_port(struct jwrite *j, const struct port_state *p)
{
    const struct port_config *c = &p->config;

    jwrite_begin(j, NULL, '{');
    jwrite_string(j, "name", c->name);
    jwrite_int(j, "id", p->id);
    jwrite_string(j, "driver", p->driver);
    if (c->kernel_interface[0])
        jwrite_string(j, "kernel-interface", c->kernel_interface);
    jwrite_string(j, "devargs", c->devargs);
    if (c->netns[0])
        jwrite_string(j, "namespace", c->netns);
    jwrite_string(j, "status", !p->started ? "stopped" : p->link_up ? "up" : "down");
    if (p->speed_mbps)
        jwrite_int(j, "speed", p->speed_mbps);
    jwrite_string(j, "duplex", p->full_duplex ? "full" : "half");
    jwrite_mac(j, "mac", p->mac);
    jwrite_int(j, "mtu", c->mtu);
    jwrite_int(j, "rx-queues", c->rx_queues);
    jwrite_int(j, "tx-queues", c->tx_queues);
    jwrite_int(j, "rx-descriptors", c->rx_descriptors);
    jwrite_int(j, "tx-descriptors", c->tx_descriptors);
    jwrite_int(j, "socket", p->socket);
    jwrite_string(j, "rx-mode", port_rx_mode_name(p->rx_mode));
    jwrite_bool(j, "promiscuous", c->promiscuous);
    write_rss(j, p->rss_hf);
    jwrite_begin(j, "offload", '[');
    write_offload_bits(j, "rx", p->rx_offloads, rte_eth_dev_rx_offload_name);
    write_offload_bits(j, "tx", p->tx_offloads, rte_eth_dev_tx_offload_name);
    jwrite_end(j, ']');
    write_statistics(j, p);
    jwrite_end(j, '}');
}

int show_port(struct show *s)
{
    char name[PORT_MAX][16];
    unsigned n = port_manager_list(name, PORT_MAX);
    struct port_state p;

    jwrite_begin(&s->out, s->name, '[');
    for (unsigned i = 0; i < n; i++)
        if ((!s->key[0] || !strcmp(s->key[0], name[i])) && !port_manager_state(name[i], &p))
            write_port(&s->out, &p);
    jwrite_end(&s->out, ']');
    return SHOW_NOW;
}
