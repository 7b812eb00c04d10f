// SPDX-License-Identifier: BSD-3-Clause
// model.h - a configuration as plain structs: what the managers are told
//
// Made from a checked tree (model_make.h), defaults filled in, sorted by name so that two
// models can be merged and searched. It remembers the line of each thing, so
// that a manager's refusal can be blamed on it. Heap; control role.
//
//     model_make.h     reads and judges all of it: model_X.h for each area X, which know model.h
//     alone
#ifndef MODEL_MODEL_H
#define MODEL_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "acl_manager/acl_wanted.h"
#include "alarm/alarm.h"
#include "alarm/routing_daemon.h"
#include "base/vec.h"
#include "export/export.h"
#include "http/api.h"
#include "http/listen.h"
#include "port/iface_manager.h"
#include "port/mirror_manager.h"
#include "port/port_manager.h"
#include "port/thread_manager.h"
#include "rib/rib_manager.h"
#include "table/fib.h"
#include "table/icmp.h"
#include "table/iface.h"
#include "table/limits.h"
#include "table/plan.h"
#include "table/punt.h"
#include "table/vr.h"

#define VR_DEFAULT_NAME "default"

struct model_acls { // names of access lists, "" = none; all of it zero behind them
    char in[ACL_NAME_MAX], out[ACL_NAME_MAX];
};

struct model_vr {
    char name[16];
    char netns[64]; // "" = kamueed's own
    uint32_t table;
    uint8_t engine; // enum fib_engine; the settings' when it has none of its own
    struct flow_hash flow_hash; // likewise; its seed then follows from the settings' and the name
    struct model_acls acls;
    unsigned line, engine_line;
};

struct model_port {
    struct port_config config;
    bool force; // takes a kernel interface that the machine is reached by
    unsigned n_members; // of a LAG
    char member[LAG_MEMBER_MAX][16];
    unsigned member_line[LAG_MEMBER_MAX];
    const char *given; // a leaf that only a port with a device may have, NULL = none
    char vr[16]; // VR_DEFAULT_NAME unless configured
    char description[256];
    struct iface_policy policy;
    struct model_acls acls; // its own, its virtual router's or the settings'
    unsigned line, vr_line, policy_line;
};

struct model_vport {
    char name[16], port[16], vr[16];
    struct vport_tags tags;
    uint16_t mtu; // the port's when none is configured
    bool has_tpid;
    char description[256];
    struct iface_policy policy;
    struct model_acls acls; // its own, its virtual router's or the settings'
    unsigned line, vr_line, policy_line;
};

struct model_interface { // `set interface X …`; kept to be checked against ports and vports
    char name[16], vr[16];
    char description[256];
    struct iface_policy policy;
    struct model_acls acls;
    unsigned line, policy_line;
};

struct model_mirror {
    struct mirror mirror;
    unsigned line;
};

struct model_multicast { // a multicast route
    char vr[16];
    struct multicast_static route;
    unsigned line;
};

struct model_counted { // a prefix whose packets are counted
    char vr[16];
    struct prefix prefix;
    unsigned line;
};

struct model_listen { // a listener on loopback
    struct listen listen;
    unsigned line;
};

struct model_settings {
    unsigned memory_mib; // 0 = chosen from the machine
    bool no_huge;
    int log_level; // enum log_level
    enum idle_mode idle;
    uint32_t receive_buffer; // bytes
    uint32_t journal_mib;    // 0 = none
    uint32_t audit_interval_s; // 0 = none
    uint8_t engine;          // enum fib_engine, of "default"
    uint8_t ip4_options;     // enum ip4_options
    uint32_t latency_sample; // bursts, 0 = none
    bool count_nexthops;
    struct flow_hash flow_hash; // of "default"; seed 0 = random
    struct punt_limit punt[PUNT_CLASS_N];
    struct icmp_limit icmp;
    struct alarm_limit alarm[ALARM_N];
    unsigned alarm_line[ALARM_N];
    struct routing_daemons daemons;
    struct model_acls acls; // of interfaces that have none otherwise
};

struct model_api {
    struct api_config config;
    unsigned line[HTTP_LISTEN_MAX]; // of listeners
};

struct model {
    struct model_api api;
    struct model_settings settings;
    struct snmp_config snmp;
    struct sflow_config sflow;
    struct ipfix_config ipfix;
    struct acl_wanted *acl; // shared with acl_manager
    VEC(struct model_vr) vr; // sorted by name, naturally, as all of these
    VEC(struct model_port) port;
    VEC(struct model_vport) vport;
    VEC(struct model_interface) interface;
    VEC(struct model_mirror) mirror; // of each port in the order of the ports, then sessions
    VEC(struct model_multicast) multicast; // in the order of the configuration
    VEC(struct model_multicast *) multicast_by_key; // the same, to be found: model_sort_multicast
    VEC(struct model_counted) counted; // in the order of the configuration
    VEC(struct model_listen) listen;
    VEC(struct thread_assignment) thread; // sorted by core, port, queue
    VEC(unsigned) thread_line;            // of the assignment with the same index
};

void model_free(struct model *m);

struct model_vr *model_find_vr(const struct model *m, const char *name);
struct model_port *model_find_port(const struct model *m, const char *name);
struct model_vport *model_find_vport(const struct model *m, const char *name);
struct model_multicast *model_find_multicast(const struct model *m, const char *vr,
                                             const struct multicast_key *k);
void model_sort_multicast(struct model *m); // when all are read
bool model_has_counted(const struct model *m, const struct model_counted *wanted);
bool model_has_listen(const struct model *m, const struct model_listen *wanted);
bool model_has_mirror(const struct model *m, const struct model_mirror *wanted);

#endif
