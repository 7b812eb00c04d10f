// SPDX-License-Identifier: BSD-3-Clause
// packet_trace.h - the way of one packet through the stages, step by step
//
// The forwarder's record.c writes it while the packet passes the stages: in a dry run (`explain`,
// in control's thread) or for real (`trace`, in the forwarder that received it). mgmt reads it.
// Plain memory of fixed size, allocated by the reader, never by the writer.
#ifndef TABLE_PACKET_TRACE_H
#define TABLE_PACKET_TRACE_H

#include <stdbool.h>
#include <stdint.h>

#include "acl/acl.h"
#include "base/ip.h"
#include "table/counter.h"
#include "table/fib.h"
#include "table/nexthop.h"

#define TRACED_STEPS 48 // a packet that crosses metalinks passes the stages up to 9 times
#define TRACED_FRAMES 80 // one packet becomes up to 64 fragments
#define TRACED_NODES 28

enum packet_trace_of { TRACED_PACKET, TRACED_ERROR /* the ICMP error about it */ };
enum packet_trace_kind {
    TRACED_NO_IP,
    TRACED_PLAIN,
    TRACED_ODD,
    TRACED_LOCAL
}; // classification by ether_in
// Result of a step: the packet continues, or ends here.
enum packet_trace_end {
    TRACED_ON,
    TRACED_TO_LOCAL /* goes on, may only be delivered here */,
    TRACED_SENT,
    TRACED_PUNTED,
    TRACED_HELD,
    TRACED_DROPPED
};
enum packet_trace_icmp {
    TRACED_ICMP_NONE,
    TRACED_ICMP_SENT,
    TRACED_ICMP_LIMITED,
    TRACED_ICMP_FORBIDDEN,
    TRACED_RESET_SENT
};

struct packet_trace_lookup {
    bool asked;
    struct ip_addr dst;
    uint32_t leaf;      // next-hop id in the FIB
    uint8_t leaf_kind;  // enum nexthop_kind
    uint32_t hash, bucket, n_buckets; // of a group: the flow's bucket
    uint32_t nexthop;   // id of the member, or the leaf
    uint8_t kind;       // enum nexthop_kind
    uint16_t iface, mtu; // of the output, 0 = none
    uint16_t route_mtu;  // of the route, 0 = none
    uint8_t n_nodes;
    struct fib_node node[TRACED_NODES];
    uint8_t n_labels; // that the next hop pushes
    uint32_t label[NEXTHOP_LABEL_MAX];
    // of a trial with routes of an earlier time
    struct prefix prefix;
    uint8_t protocol;
    struct ip_addr neighbor;
    uint8_t mac[6];
};

struct packet_trace_acl { // result of an access list
    uint16_t list;  // id, 0 = no list
    uint16_t iface; // interface with the list
    bool out;       // output list
    bool rules;     // the list has rules, so there is a key
    bool spared;    // neighbor discovery passes in any case
    uint8_t verb, extra; // enum acl_verb, enum acl_extra
    uint8_t class, dscp; // for ACL_CLASS, ACL_REMARK
    uint32_t rule;  // number; 0 = no rule matches
    uint32_t nexthop; // of a redirect; 0 = currently unreachable
    struct acl_key6 key; // search key; IPv4: the first four bytes of the addresses
};

struct packet_trace_police { // result of an interface's policer
    uint16_t iface;    // interface with the policer, 0 = no policer
    bool out;          // output policer
    uint8_t color;     // enum policer_color
    uint8_t action, dscp; // enum policer_action; for POLICER_REMARK
};

struct packet_trace_program { // result of the last packet program
    char name[32];     // "" = no program
    uint8_t hook;      // enum program_hook
    uint8_t fault;     // enum program_fault: the program is off, without a result
    uint8_t action;    // enum kamuee_action
    uint32_t argument; // of the action
};

struct packet_trace_step {
    const char *stage;
    uint8_t of;    // enum packet_trace_of
    uint8_t kind;  // enum packet_trace_kind: ether_in
    uint8_t end;   // enum packet_trace_end
    uint8_t family; // 0 = not IP
    uint16_t drop; // enum drop_reason
    uint16_t punt_class;
    uint16_t iface, vr; // input interface
    uint16_t len, ttl;  // of the IP packet, as received
    uint8_t icmp, icmp_type,
        icmp_code; // enum packet_trace_icmp: error to the sender
    uint32_t icmp_word;                 // second word of the ICMP header, host order: MTU, pointer
    uint16_t frame, n_frames;           // sent in this step: frame[frame .. frame + n_frames)
    struct packet_trace_lookup lookup;
    struct packet_trace_acl acl;
    struct packet_trace_police police;
    struct packet_trace_program program;
};

struct packet_trace_queue { // of the output port
    bool has;
    uint8_t class;
    uint8_t refusal; // enum queue_refusal: answer of the queue manager now
    uint16_t vr;
    bool own;        // the interface has its own queue; else the virtual router's
    uint64_t waiting_packets, waiting_bytes; // of its class, ahead of it
    uint64_t client_bytes;                   // of all classes
};

struct packet_trace_frame {
    uint16_t port, iface; // output; punted: input
    uint32_t len;         // bytes of the frame
    uint32_t kept, at;    // bytes kept, at bytes[at]
    struct packet_trace_queue queue;
};

struct packet_trace {
    uint16_t port; // input port
    bool polled;   // a forwarder polls the port
    bool past;     // lookups found routes of an earlier time
    uint16_t n_steps, n_frames;
    struct packet_trace_step step[TRACED_STEPS];
    struct packet_trace_frame in, frame[TRACED_FRAMES];
    uint64_t tsc;            // time, of a trace
    uint32_t snap;           // bytes kept of each frame, at most
    uint32_t room, used;     // of bytes[]
    uint8_t bytes[];
};

// Initializes an empty trace, followed by `room` bytes for frames.
static inline void packet_trace_init(struct packet_trace *p, uint32_t room, uint32_t snap)
{
    p->n_steps = p->n_frames = 0;
    p->used = 0;
    p->room = room;
    p->snap = snap;
}

// The packet's last step; NULL: none is recorded.
static inline const struct packet_trace_step *packet_trace_last(const struct packet_trace *p,
                                                                enum packet_trace_of of)
{
    for (unsigned i = p->n_steps; i--;)
        if (p->step[i].of == of)
            return &p->step[i];
    return NULL;
}

struct trial;

// Simulates a frame received on `port` and records its way, without effect: 0 or -errno. `t`: what
// a commit would change (trial.h), or NULL. The forwarder implements it; main returns it to the
// caller. Control, an online RCU reader.
typedef int packet_trace_explain(uint16_t port, const void *frame, uint32_t n,
                                 const struct trial *t, struct packet_trace *p);

#endif
