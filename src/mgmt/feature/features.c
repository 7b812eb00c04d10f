// SPDX-License-Identifier: BSD-3-Clause
// features.c - the table of features
#include "mgmt/feature.h"

#define FEATURE(word) extern const struct feature word##_feature;
#include "mgmt/features.def"
#undef FEATURE

const struct feature *const features[FEATURE_N] = {
#define FEATURE(word) [FEATURE_##word] = &word##_feature,
#include "mgmt/features.def"
#undef FEATURE
};

// --- until each stands in its own file ---
#include "config/feature_config.h"
extern const struct feature_config system_config;
const struct feature system_feature = {"system", .config = &system_config};
extern const struct feature_config forwarding_config;
const struct feature forwarding_feature = {"forwarding", .config = &forwarding_config};
extern const struct feature_config latency_config;
const struct feature latency_feature = {"latency", .config = &latency_config};
extern const struct feature_config punt_config;
const struct feature punt_feature = {"punt", .config = &punt_config};
extern const struct feature_config icmp_config;
const struct feature icmp_feature = {"icmp", .config = &icmp_config};
const struct feature drop_feature = {"drop"};
extern const struct feature_config journal_config;
const struct feature journal_feature = {"journal", .config = &journal_config};
extern const struct feature_config audit_config;
const struct feature audit_feature = {"audit", .config = &audit_config};
extern const struct feature_config vr_config;
const struct feature vr_feature = {"vr", .config = &vr_config};
extern const struct feature_config port_config;
const struct feature port_feature = {"port", .config = &port_config};
extern const struct feature_config lag_config;
const struct feature lag_feature = {"lag", .config = &lag_config};
extern const struct feature_config vport_config;
const struct feature vport_feature = {"vport", .config = &vport_config};
extern const struct feature_config interface_config;
const struct feature interface_feature = {"interface", .config = &interface_config};
const struct feature tap_feature = {"tap"};
extern const struct feature_config thread_config;
const struct feature thread_feature = {"thread", .config = &thread_config};
extern const struct feature_config mirror_config;
const struct feature mirror_feature = {"mirror", .config = &mirror_config};
extern const struct feature_config multicast_config;
const struct feature multicast_feature = {"multicast", .config = &multicast_config};
extern const struct feature_config counters_config;
const struct feature counters_feature = {"counters", .config = &counters_config};
const struct feature nexthop_feature = {"nexthop"};
const struct feature neighbor_feature = {"neighbor"};
const struct feature route_feature = {"route"};
extern const struct feature_config acl_config;
const struct feature acl_feature = {"acl", .config = &acl_config};
extern const struct feature_config alarm_config;
const struct feature alarm_feature = {"alarm", .config = &alarm_config};
extern const struct feature_config routing_daemon_config;
const struct feature routing_daemon_feature = {"routing_daemon", .config = &routing_daemon_config};
extern const struct feature_config metrics_config;
const struct feature metrics_feature = {"metrics", .config = &metrics_config};
extern const struct feature_config web_config;
const struct feature web_feature = {"web", .config = &web_config};
extern const struct feature_config snmp_config;
const struct feature snmp_feature = {"snmp", .config = &snmp_config};
extern const struct feature_config sflow_config;
const struct feature sflow_feature = {"sflow", .config = &sflow_config};
extern const struct feature_config ipfix_config;
const struct feature ipfix_feature = {"ipfix", .config = &ipfix_config};
extern const struct feature_config api_config;
const struct feature api_feature = {"api", .config = &api_config};
const struct feature capture_feature = {"capture"};
const struct feature trace_feature = {"trace"};
const struct feature explain_feature = {"explain"};
const struct feature configuration_feature = {"configuration"};
