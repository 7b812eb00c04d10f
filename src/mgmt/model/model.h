// SPDX-License-Identifier: BSD-3-Clause
// model.h - the parts of a configuration's model that several features read; control role
//
// The feature of a word fills and frees its part (config/model.h) and plans its steps. Here are the
// entries, how to find them, and whether one stays in a change: exists on both sides and keeps its
// interface. All lists are in natural order of names.
#ifndef MODEL_MODEL_H
#define MODEL_MODEL_H

#include <libyang/libyang.h>

#include "acl_manager/acl_desired.h"
#include "base/vec.h"
#include "config/change.h"
#include "config/model.h"
#include "interface/iface_manager.h"
#include "port/port_manager.h"
#include "table/iface.h"
#include "table/policer.h"
#include "table/tunnel.h"
#include "table/vr.h"
#include "table/vr_budget.h"
#include "thread/thread_manager.h"

// Defines a function that returns the part of this feature.
#define MODEL_PART(name, feature)                                                                  \
    static inline const struct name *name(const struct model *m)                                   \
    {                                                                                              \
        return m->part[FEATURE_##feature];                                                         \
    }

// --- the process ---------------------------------------------------------------------------------

struct model_system {
    unsigned memory_mib; // 0 = chosen from the host's memory
    bool no_huge;
    int log_level;           // enum log_level
    uint32_t receive_buffer; // of netlink, bytes
};
MODEL_PART(model_system, system)

// --- access lists --------------------------------------------------------------------------------

const struct acl_desired *model_acls(const struct model *m); // shared with acl_manager

// Access lists of an interface: its own, or inherited from its virtual router or from `forwarding`.
struct acl_binding { // names of access lists, "" = none; zero after their ends
    char in[ACL_NAME_MAX], out[ACL_NAME_MAX];
};

// Reads the container `acl` of an entry of this schema from the entry's children.
struct acl_binding acl_binding_read(const struct lyd_node *first, const struct lysc_node *parent);
// Inherits missing lists. A list of the provider also replaces a list that belongs to a virtual
// router, so that a tenant cannot disable the provider's list.
void acl_binding_inherit(struct acl_binding *b, const struct acl_binding *from,
                         const struct acl_desired *lists);
// A list that belongs to a virtual router is only for that virtual router; `what`: "interface p1".
void acl_binding_check(const struct acl_binding *b, const struct acl_desired *lists,
                       const char *what, const char *vr, unsigned line, struct errors *e);
// Adds a step if they differ. The lists are in force by then (PHASE_LISTS).
void acl_binding_plan(struct change *c, const char *interface, const struct acl_binding *from,
                      const struct acl_binding *to, unsigned line);

struct model_forwarding {
    uint8_t idle;            // enum idle_mode
    uint8_t ip4_options;     // enum ip4_options
    struct acl_binding acls; // of interfaces without their own
};
const struct acl_binding *model_default_acls(const struct model *m); // of `forwarding`

// --- virtual routers -----------------------------------------------------------------------------

#define VR_DEFAULT_NAME "default"

enum vr_daemon { VR_DAEMON_NONE, VR_DAEMON_FRR, VR_DAEMON_BIRD, VR_DAEMONS };
extern const char *const vr_daemon_names[VR_DAEMONS];

struct vr_settings { // changed one by one while the virtual router stays
    uint8_t engine;  // enum fib_engine; the default one's unless configured
    uint8_t cpu_weight;
    struct flow_hash flow_hash; // likewise; its seed follows from the default one's and the name
    struct vr_limits budget;
};

struct model_vr {
    char name[16];
    char description[256];
    char netns[64]; // "" = kamueed's own
    bool own_netns; // kamueed creates the namespace, named after the virtual router
    bool enabled;
    uint8_t daemon; // enum vr_daemon
    uint32_t table;
    struct vr_settings set;
    struct acl_binding acls;
    unsigned line, engine_line;
};

struct model_vrs {
    struct vr_settings set; // of "default"
    VEC(struct model_vr) vr;
};
MODEL_PART(model_vrs, vr)
const struct model_vr *model_find_vr(const struct model *m, const char *name);

// Whether the virtual router of that name, before or after a change, exists on both sides with the
// same kernel table, perhaps under another name.
bool vr_stays(const struct change *c, const char *name);
// Whether `from` before and `to` after the change are the same virtual router.
bool vr_is_same(const struct change *c, const char *from, const char *to);
bool vr_is_renamed(const struct change *c, const char *name); // before or after
// The entry before a change of the virtual router that is `v` after it, perhaps under another name;
// NULL: it does not stay.
const struct model_vr *vr_before(const struct change *c, const struct model_vr *v);

// Begins a change in which the name is replaced by `to` but the virtual router is kept; otherwise
// it would be another virtual router.
void vr_rename_begin(const char *name, const char *to);
void vr_rename_end(void);
const char *vr_other_name(const char *name); // its name on the other side of the change

// --- ports ---------------------------------------------------------------------------------------

struct model_port {
    struct port_config config; // name comes first
    bool force;                // may take a kernel interface that carries the host's own connection
    unsigned n_members;        // of a LAG (lag.h)
    char member[LAG_MEMBER_MAX][16];
    unsigned member_line[LAG_MEMBER_MAX];
    const char *given; // of a LAG: leaf that only a port with a device may have, NULL = none
    unsigned line;
};

struct model_ports {
    VEC(struct model_port) port;
};
struct model_ports *model_ports(const struct model *m);
struct model_port *model_find_port(const struct model *m, const char *name);

// Whether the port exists before and after a change and keeps its interface, with the addresses on
// its TAP.
bool port_stays(const struct change *c, const char *name);
// Whether both have the same device in the same namespace, or are LAGs.
bool port_same_device(const struct model_port *a, const struct model_port *b);

// --- vports --------------------------------------------------------------------------------------

struct model_vport {
    char name[16], port[16];
    char vr[16]; // virtual router of its interface
    struct vport_tags tags;
    uint16_t mtu; // the port's if not configured
    bool has_tpid;
    unsigned line;
};

struct model_vports {
    VEC(struct model_vport) vport;
};
MODEL_PART(model_vports, vport)
const struct model_vport *model_find_vport(const struct model *m, const char *name);

// Whether the vport exists before and after a change and keeps its interface.
bool vport_stays(const struct change *c, const char *name);

// --- metalinks -----------------------------------------------------------------------------------

struct model_metalink {
    char name[16];   // at most 13 characters
    char end[2][16]; // names of the interfaces
    char vr[2][16];  // their virtual routers
    uint16_t mtu;
    unsigned line;
};

struct model_metalinks {
    VEC(struct model_metalink) metalink;
};
MODEL_PART(model_metalinks, metalink)
// The metalink with the end `interface`, and which end it is; NULL if there is none.
const struct model_metalink *model_find_metalink(const struct model *m, const char *interface,
                                                 unsigned *end);

// Whether the metalink joins the same virtual routers before and after a change.
bool metalink_stays(const struct change *c, const char *name);

// --- tunnels -------------------------------------------------------------------------------------

struct model_tunnel {
    char name[16];
    char outer_vr[16];
    char vr[16]; // of its interface
    struct tunnel_settings settings; // without the id of the outer virtual router
    uint16_t mtu; // 0 = what the path allows
    bool two_families, has_key, has_vni; // two_families: of its ends
    unsigned line;
};

struct model_tunnels {
    VEC(struct model_tunnel) tunnel;
};
MODEL_PART(model_tunnels, tunnel)
const struct model_tunnel *model_find_tunnel(const struct model *m, const char *name);

// Whether the tunnel exists unchanged before and after a change.
bool tunnel_stays(const struct change *c, const char *name);

// --- interfaces ----------------------------------------------------------------------------------

struct model_interface {
    char name[16], vr[16];
    char description[256];
    struct iface_policy policy;
    struct acl_binding acls; // its own, its virtual router's or the global ones
    bool has_vr;
    unsigned vr_line, line;
};

struct model_interfaces {
    VEC(struct model_interface) configured;
    VEC(struct model_interface) interface; // all interfaces
};
MODEL_PART(model_interfaces, interface)
// NULL if there is no such interface. Needs a resolved model.
const struct model_interface *model_find_interface(const struct model *m, const char *name);
bool model_owns_name(const struct model *m, const char *name); // of an interface or a LAG's member
// The entry of the configuration; NULL if it does not mention the interface.
const struct model_interface *model_find_configured_interface(const struct model *m,
                                                              const char *name);
// Virtual router configured for an interface; after all features have read.
const char *model_vr_of(const struct model *m, const char *interface);

bool interface_stays(const struct change *c, const char *name);

// --- routing daemons, policers, threads ----------------------------------------------------------

struct model_routing_daemon {
    char vr[32];             // as in struct vr
    char protocol[12];       // "bgp"
    uint32_t minimum_routes; // of both families together
};

struct model_routing_daemons {
    VEC(struct model_routing_daemon) expected;
};
MODEL_PART(model_routing_daemons, routing_daemon)

struct model_policer {
    char name[POLICER_NAME_SIZE];
    char owner[16]; // virtual router, "" = none
    struct policer policer;
    bool has_pir, has_pbs, has_ebs;
    const char *bad_dscp; // case with an unknown codepoint, or NULL
    unsigned line;
};

struct model_police { // of an interface
    char interface[16];
    char name[POLICER_DIRECTIONS][POLICER_NAME_SIZE]; // "" = none
    struct policer policer[POLICER_DIRECTIONS];       // resolved
    unsigned line;
};

struct model_policers {
    VEC(struct model_policer) policer;
    VEC(struct model_police) police;
};
MODEL_PART(model_policers, policer)

struct model_threads {
    VEC(struct thread_assignment) queue; // sorted by core, port, queue
    VEC(unsigned) line;                  // of the queue with the same index
};
MODEL_PART(model_threads, thread)

#endif
