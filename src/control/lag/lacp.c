// SPDX-License-Identifier: BSD-3-Clause
// lacp.c - LACP on one member of a LAG
//
//     receive    6.4.12  lacp_set_link, lacp_receive, lacp_check_timeout: the partner's state
//     periodic   6.4.13  periodic_run: LACPDUs without a change
//     selection  6.4.14  lacp_select: which members form the LAG
//     mux        6.4.15  mux_run: independent control, collecting before distributing
//     transmit   6.4.16  lacp_run: at most three LACPDUs a second
//
// Unlike the standard's default partner, a silent partner is never selected.
#include "lag/lacp.h"

#include <string.h>

#define NS 1000000000ull
#define FAST_PERIODIC_NS (1 * NS)
#define SLOW_PERIODIC_NS (30 * NS)
#define SHORT_TIMEOUT_NS (3 * NS)
#define LONG_TIMEOUT_NS (90 * NS)
#define AGGREGATE_WAIT_NS (2 * NS)
#define TRANSMIT_WINDOW_NS FAST_PERIODIC_NS

#define ADMIN                                                                                      \
    (LACP_ACTIVITY | LACP_TIMEOUT | LACP_AGGREGATION) // bits set by the administrator

enum {
    AT_SUBTYPE = 0,
    AT_VERSION = 1,
    AT_ACTOR = 2,
    AT_PARTNER = 22,
    AT_COLLECTOR = 42,
    AT_TERMINATOR = 58
};
enum { TLV_ACTOR = 1, TLV_PARTNER = 2, TLV_COLLECTOR = 3 };

// --- bytes ---

static uint16_t get16(const uint8_t *b)
{
    return (uint16_t)(b[0] << 8 | b[1]);
}

static void put16(uint8_t *b, uint16_t v)
{
    b[0] = (uint8_t)(v >> 8);
    b[1] = (uint8_t)v;
}

static struct lacp_side side_read(const uint8_t *tlv)
{
    struct lacp_side s = {.system_priority = get16(tlv + 2),
                          .key = get16(tlv + 10),
                          .port_priority = get16(tlv + 12),
                          .port = get16(tlv + 14),
                          .state = tlv[16]};

    memcpy(s.system, tlv + 4, sizeof s.system);
    return s;
}

static void side_write(uint8_t *tlv, uint8_t type, const struct lacp_side *s)
{
    tlv[0] = type;
    tlv[1] = 20;
    put16(tlv + 2, s->system_priority);
    memcpy(tlv + 4, s->system, sizeof s->system);
    put16(tlv + 10, s->key);
    put16(tlv + 12, s->port_priority);
    put16(tlv + 14, s->port);
    tlv[16] = s->state;
}

static void pdu_write(const struct lacp_port *p, uint8_t pdu[LACP_PDU])
{
    memset(pdu, 0, LACP_PDU);
    pdu[AT_SUBTYPE] = 1;
    pdu[AT_VERSION] = 1;
    side_write(pdu + AT_ACTOR, TLV_ACTOR, &p->actor);
    side_write(pdu + AT_PARTNER, TLV_PARTNER, &p->partner);
    pdu[AT_COLLECTOR] = TLV_COLLECTOR;
    pdu[AT_COLLECTOR + 1] = 16;
}

bool lacp_marker_reply(uint8_t pdu[LACP_PDU])
{
    bool question = pdu[2] == 1;

    if (question)
        pdu[2] = 2;
    return question;
}

// --- comparing ---

static bool same_system(const struct lacp_side *a, const struct lacp_side *b)
{
    return a->system_priority == b->system_priority &&
           !memcmp(a->system, b->system, sizeof a->system);
}

// True for the same port of the same system with equal bits `mask` of the state.
static bool same_side(const struct lacp_side *a, const struct lacp_side *b, uint8_t mask)
{
    return same_system(a, b) && a->key == b->key && a->port_priority == b->port_priority &&
           a->port == b->port && !((a->state ^ b->state) & mask);
}

static void unselect(struct lacp_port *p)
{
    p->selected = false;
    p->unselected_once = true;
}

// --- receive machine ---

// An unknown partner gets LACPDUs at the fast rate, so that a returning partner need not wait 30
// seconds.
static void reset_partner(struct lacp_port *p)
{
    p->partner = (struct lacp_side){.state = LACP_TIMEOUT};
    p->actor.state |= LACP_DEFAULTED;
}

static void expire_partner(struct lacp_port *p, uint64_t listened_ns)
{
    p->rx = LACP_RX_EXPIRED;
    p->partner.state = (uint8_t)((p->partner.state & ~LACP_SYNCHRONIZATION) | LACP_TIMEOUT);
    p->actor.state |= LACP_EXPIRED;
    p->current_until_ns = listened_ns + SHORT_TIMEOUT_NS;
    p->ntt = true;
}

void lacp_init(struct lacp_port *p, const struct lacp_side *actor)
{
    memset(p, 0, sizeof *p);
    p->actor = *actor;
    p->actor.state &= ADMIN;
    reset_partner(p);
}

void lacp_set_link(struct lacp_port *p, bool up, uint64_t listened_ns)
{
    if (up == (p->rx != LACP_RX_DISABLED))
        return;
    if (up) {
        expire_partner(p, listened_ns);
        return;
    }
    p->rx = LACP_RX_DISABLED;
    p->partner.state &= (uint8_t)~LACP_SYNCHRONIZATION;
    p->actor.state &= (uint8_t)~LACP_EXPIRED;
    p->periodic_at_ns = 0;
    p->ntt = false;
    unselect(p);
}

void lacp_set_actor(struct lacp_port *p, const struct lacp_side *actor)
{
    struct lacp_side next = *actor;

    next.state = (uint8_t)((next.state & ADMIN) | (p->actor.state & ~ADMIN));
    if (!same_side(&next, &p->actor, LACP_AGGREGATION))
        unselect(p);
    p->ntt |= !same_side(&next, &p->actor, 0xff);
    p->actor = next;
}

// True if the partner has our present parameters and would tell us of a change.
static bool partner_knows_us(const struct lacp_port *p, const struct lacp_side *sender,
                             const struct lacp_side *we)
{
    bool speaks = sender->state & LACP_ACTIVITY ||
                  (p->actor.state & LACP_ACTIVITY && we->state & LACP_ACTIVITY);
    bool alone = !(sender->state & LACP_AGGREGATION);

    return speaks && (alone || same_side(we, &p->actor, LACP_AGGREGATION));
}

void lacp_receive(struct lacp_port *p, const uint8_t pdu[LACP_PDU], uint64_t listened_ns)
{
    struct lacp_side sender = side_read(pdu + AT_ACTOR), we = side_read(pdu + AT_PARTNER);

    if (p->rx == LACP_RX_DISABLED)
        return;
    p->rx_pdus++;
    if (!same_side(&sender, &p->partner, LACP_AGGREGATION)) // update_Selected
        unselect(p);
    if (!same_side(&we, &p->actor, ADMIN | LACP_SYNCHRONIZATION)) // update_NTT
        p->ntt = true;
    bool matched = partner_knows_us(p, &sender, &we); // recordPDU
    p->partner = sender;
    if (!matched)
        p->partner.state &= (uint8_t)~LACP_SYNCHRONIZATION;
    p->actor.state &= (uint8_t)~(LACP_DEFAULTED | LACP_EXPIRED);
    p->rx = LACP_RX_CURRENT;
    p->current_until_ns =
        listened_ns + (p->actor.state & LACP_TIMEOUT ? SHORT_TIMEOUT_NS : LONG_TIMEOUT_NS);
}

void lacp_check_timeout(struct lacp_port *p, uint64_t listened_ns)
{
    if ((p->rx != LACP_RX_CURRENT && p->rx != LACP_RX_EXPIRED) || listened_ns < p->current_until_ns)
        return;
    if (p->rx == LACP_RX_CURRENT) {
        expire_partner(p, listened_ns);
        return;
    }
    p->rx = LACP_RX_DEFAULTED;
    reset_partner(p);
    p->actor.state &= (uint8_t)~LACP_EXPIRED;
    unselect(p);
}

// --- periodic machine ---

bool lacp_speaks(const struct lacp_port *p)
{
    return p->rx != LACP_RX_DISABLED && (p->actor.state | p->partner.state) & LACP_ACTIVITY;
}

uint64_t lacp_period_ns(const struct lacp_port *p)
{
    return p->partner.state & LACP_TIMEOUT ? FAST_PERIODIC_NS : SLOW_PERIODIC_NS;
}

static void periodic_run(struct lacp_port *p, uint64_t now_ns)
{
    uint64_t every = lacp_period_ns(p);

    if (!lacp_speaks(p)) {
        p->periodic_at_ns = 0;
        return;
    }
    bool began = p->periodic_at_ns != 0;
    if (!began || p->periodic_at_ns > now_ns + every) // starting, or a faster rate
        p->periodic_at_ns = now_ns + every;
    else if (now_ns < p->periodic_at_ns)
        return;
    else
        p->periodic_at_ns = now_ns + every;
    p->ntt = true;
}

// --- selection ---

static bool is_selectable(const struct lacp_port *p)
{
    bool heard = p->rx == LACP_RX_CURRENT || (p->rx == LACP_RX_EXPIRED && p->selected);

    return heard && p->partner.port && !same_system(&p->actor, &p->partner);
}

// True if both have the same partner and it allows aggregation on both.
static bool may_aggregate(const struct lacp_port *a, const struct lacp_port *b)
{
    return a == b || (a->actor.key == b->actor.key && same_system(&a->partner, &b->partner) &&
                      a->partner.key == b->partner.key &&
                      a->partner.state & b->partner.state & LACP_AGGREGATION);
}

void lacp_select(struct lacp_port *const *port, unsigned n)
{
    const struct lacp_port *best = NULL;
    unsigned most = 0;

    for (unsigned i = 0; i < n; i++) {
        unsigned others = 0, chosen = 0;
        for (unsigned k = 0; is_selectable(port[i]) && k < n; k++)
            if (is_selectable(port[k]) && may_aggregate(port[i], port[k])) {
                others++;
                chosen |= port[k]->selected;
            }
        unsigned worth = 2 * others + chosen;
        if (worth > most) {
            most = worth;
            best = port[i];
        }
    }
    for (unsigned i = 0; i < n; i++)
        if (best && is_selectable(port[i]) && may_aggregate(best, port[i]))
            port[i]->selected = true;
        else if (port[i]->selected)
            unselect(port[i]);
}

// --- mux machine ---

static void mux_enter(struct lacp_port *p, enum lacp_mux mux)
{
    static const uint8_t flags[] = {
        [LACP_ATTACHED] = LACP_SYNCHRONIZATION,
        [LACP_MUX_COLLECTING] = LACP_SYNCHRONIZATION | LACP_COLLECTING,
        [LACP_MUX_DISTRIBUTING] = LACP_SYNCHRONIZATION | LACP_COLLECTING | LACP_DISTRIBUTING,
    };
    const uint8_t all = LACP_SYNCHRONIZATION | LACP_COLLECTING | LACP_DISTRIBUTING;

    p->mux = mux;
    if ((p->actor.state & all) != flags[mux])
        p->ntt = true;
    p->actor.state = (uint8_t)((p->actor.state & ~all) | flags[mux]);
}

static enum lacp_mux mux_next(const struct lacp_port *p, uint64_t now_ns)
{
    bool in_sync = p->partner.state & LACP_SYNCHRONIZATION,
         collects = p->partner.state & LACP_COLLECTING;

    if (!p->selected || p->unselected_once)
        return LACP_DETACHED;
    switch (p->mux) {
    case LACP_DETACHED:
        return LACP_WAITING;
    case LACP_WAITING:
        return now_ns < p->wait_until_ns ? LACP_WAITING : LACP_ATTACHED;
    case LACP_ATTACHED:
        return in_sync ? LACP_MUX_COLLECTING : LACP_ATTACHED;
    default:
        return !in_sync ? LACP_ATTACHED : collects ? LACP_MUX_DISTRIBUTING : LACP_MUX_COLLECTING;
    }
}

static void mux_run(struct lacp_port *p, uint64_t now_ns)
{
    for (enum lacp_mux next; (next = mux_next(p, now_ns)) != p->mux || p->unselected_once;) {
        if (next == LACP_WAITING)
            p->wait_until_ns = now_ns + AGGREGATE_WAIT_NS;
        p->unselected_once = false;
        mux_enter(p, next);
    }
}

// --- transmit machine ---

bool lacp_run(struct lacp_port *p, uint64_t now_ns, uint8_t pdu[LACP_PDU])
{
    periodic_run(p, now_ns);
    mux_run(p, now_ns);
    bool room = !p->sent_ns[2] || now_ns - p->sent_ns[2] >= TRANSMIT_WINDOW_NS;
    if (!p->ntt || !lacp_speaks(p) || !room)
        return false;
    memmove(p->sent_ns + 1, p->sent_ns, sizeof p->sent_ns - sizeof *p->sent_ns);
    p->sent_ns[0] = now_ns;
    p->ntt = false;
    p->tx_pdus++;
    pdu_write(p, pdu);
    return true;
}

// --- words ---

const char *lacp_rx_name(enum lacp_rx rx)
{
    return (const char *[]){"disabled", "expired", "defaulted", "current"}[rx];
}

const char *lacp_mux_name(enum lacp_mux mux)
{
    return (const char *[]){"detached", "waiting", "attached", "collecting", "distributing"}[mux];
}

const char *lacp_reason(const struct lacp_port *p)
{
    if (lacp_distributes(p))
        return "";
    if (p->rx == LACP_RX_DISABLED)
        return "link down";
    if (p->rx == LACP_RX_DEFAULTED || !p->partner.port)
        return "no LACP partner";
    if (p->rx == LACP_RX_EXPIRED)
        return "partner silent";
    if (same_system(&p->actor, &p->partner))
        return "looped";
    if (!p->selected)
        return "other partner than the members in use";
    if (p->mux < LACP_ATTACHED)
        return "negotiating";
    if (!(p->partner.state & LACP_SYNCHRONIZATION))
        return "partner not in sync";
    return "partner not collecting";
}
