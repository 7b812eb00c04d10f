// SPDX-License-Identifier: BSD-3-Clause
// lacp.h - LACP on one member of a LAG: the machines of IEEE 802.1AX-2014 clause 6.4
//
// Pure: what comes in are LACPDUs, the state of the link and the time; what comes out are LACPDUs
// to send and whether frames may be collected and distributed. Who is selected, is decided for all
// members of a LAG together (lacp_select). No clock, no thread, no state but struct lacp_port;
// control's.
//
// Two clocks: `now_ns` is the time. `listened_ns` grows only while somebody listens: a partner is
// silent when nothing is heard of it although we listened, not because we were busy or stopped.
#ifndef PORT_LACP_H
#define PORT_LACP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LACP_PDU 110 // bytes behind the EtherType

enum lacp_flag { // of a state (6.4.2.3)
    LACP_ACTIVITY = 1, // active: speaks first
    LACP_TIMEOUT = 2,  // short: wants a LACPDU a second
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
    bool selected; // by lacp_select
    bool unselected_once; // it was not for a moment: the mux machine has to see that
    bool ntt;      // there is something to tell
    uint64_t current_until_ns; // EXPIRED, CURRENT: what the partner said holds until then; by the
                               // clock of listening
    uint64_t wait_until_ns;    // WAITING
    uint64_t periodic_at_ns;   // next LACPDU without a reason; 0: none
    uint64_t sent_ns[3];       // the last three: no more in a second (6.4.16)
    uint64_t rx_pdus, tx_pdus;
};

// `actor`: priorities, system, key, port; of its state only ACTIVITY, TIMEOUT and AGGREGATION
// count.
void lacp_init(struct lacp_port *p, const struct lacp_side *actor);
void lacp_set_link(struct lacp_port *p, bool up, uint64_t listened_ns);
void lacp_receive(struct lacp_port *p, const uint8_t pdu[LACP_PDU],
                  uint64_t listened_ns); // its lengths have been checked
void lacp_check_timeout(struct lacp_port *p,
                 uint64_t listened_ns); // what the partner said may be over: before the others
void lacp_set_actor(struct lacp_port *p,
                   const struct lacp_side *actor); // changed live: the partner is told
// Which members may be in use: those with one and the same partner, of which there are most; those
// of the last choice if there are as many.
void lacp_select(struct lacp_port *const *port, unsigned n);
// The other machines. True: `pdu` is to be sent.
bool lacp_run(struct lacp_port *p, uint64_t now_ns, uint8_t pdu[LACP_PDU]);
bool lacp_speaks(const struct lacp_port *p); // it may send LACPDUs
uint64_t lacp_period_ns(const struct lacp_port *p); // how often, at least

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
// Why it is not in use, in a few words; "" = it is.
const char *lacp_reason(const struct lacp_port *p);
// A marker is answered (6.5): the same with another type. False: it is no question.
bool lacp_marker_reply(uint8_t pdu[LACP_PDU]);

#endif
