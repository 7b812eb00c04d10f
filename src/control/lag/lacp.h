// SPDX-License-Identifier: BSD-3-Clause
// lacp.h - LACP on one member of a LAG: the machines of IEEE 802.1AX-2014 clause 6.4
//
// Pure functions of struct lacp_port. Input: LACPDUs, link state and time. Output: LACPDUs to send,
// and whether frames may be collected and distributed. lacp_select decides for all members of a LAG
// together. Called by lag_active.c; control role.
//
// Two clocks: `now_ns` is the time; `listened_ns` grows only while control reads LACPDUs, so a
// partner is not silent just because control was busy or stopped.
#ifndef LAG_LACP_H
#define LAG_LACP_H

#include <stdbool.h>
#include <stdint.h>

#define LACP_PDU 110 // bytes behind the EtherType

enum lacp_flag {       // bits of a state (6.4.2.3)
    LACP_ACTIVITY = 1, // active: speaks first
    LACP_TIMEOUT = 2,  // short: wants one LACPDU a second
    LACP_AGGREGATION = 4,
    LACP_SYNCHRONIZATION = 8,
    LACP_COLLECTING = 16,
    LACP_DISTRIBUTING = 32,
    LACP_DEFAULTED = 64,
    LACP_EXPIRED = 128,
};

struct lacp_side { // actor or partner, host order
    uint16_t system_priority, key, port_priority, port;
    uint8_t system[6];
    uint8_t state; // enum lacp_flag
};

enum lacp_rx { LACP_RX_DISABLED, LACP_RX_EXPIRED, LACP_RX_DEFAULTED, LACP_RX_CURRENT };
enum lacp_mux {
    LACP_DETACHED,
    LACP_WAITING,
    LACP_ATTACHED,
    LACP_MUX_COLLECTING,
    LACP_MUX_DISTRIBUTING
};

struct lacp_port {
    struct lacp_side actor, partner;
    enum lacp_rx rx;
    enum lacp_mux mux;
    bool selected;             // by lacp_select
    bool unselected_once;      // unselected for a moment, which the mux machine must notice
    bool ntt;                  // need to transmit
    uint64_t current_until_ns; // EXPIRED, CURRENT: end of the partner's timeout (listened_ns)
    uint64_t wait_until_ns;    // WAITING
    uint64_t periodic_at_ns;   // next periodic LACPDU; 0: none
    uint64_t sent_ns[3];       // times of the last three: no more are allowed in a second (6.4.16)
    uint64_t rx_pdus, tx_pdus;
};

// `actor`: priorities, system, key, port, and ACTIVITY, TIMEOUT and AGGREGATION of the state.
void lacp_init(struct lacp_port *p, const struct lacp_side *actor);
void lacp_set_link(struct lacp_port *p, bool up, uint64_t listened_ns);
// The forwarder has already checked the lengths in the PDU.
void lacp_receive(struct lacp_port *p, const uint8_t pdu[LACP_PDU], uint64_t listened_ns);
// Expires a silent partner; call it before lacp_select and lacp_run.
void lacp_check_timeout(struct lacp_port *p, uint64_t listened_ns);
// Changes the actor live and informs the partner.
void lacp_set_actor(struct lacp_port *p, const struct lacp_side *actor);
// Selects the largest group of members with the same partner; the last choice wins a tie.
void lacp_select(struct lacp_port *const *port, unsigned n);
// Runs the periodic, mux and transmit machines. True: send `pdu`.
bool lacp_run(struct lacp_port *p, uint64_t now_ns, uint8_t pdu[LACP_PDU]);
bool lacp_speaks(const struct lacp_port *p);        // it sends LACPDUs
uint64_t lacp_period_ns(const struct lacp_port *p); // maximum time between two LACPDUs

static inline bool lacp_collects(const struct lacp_port *p)
{
    return p->mux >= LACP_MUX_COLLECTING;
}
static inline bool lacp_distributes(const struct lacp_port *p)
{
    return p->mux == LACP_MUX_DISTRIBUTING;
}
const char *lacp_rx_name(enum lacp_rx rx);    // "current"
const char *lacp_mux_name(enum lacp_mux mux); // "distributing"
// Reason why the member is not in use; "" if it is.
const char *lacp_reason(const struct lacp_port *p);
// Turns a marker into its response (6.5). Returns false if it is a response already.
bool lacp_marker_reply(uint8_t pdu[LACP_PDU]);

#endif
