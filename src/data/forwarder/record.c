// SPDX-License-Identifier: BSD-3-Clause
// record.c - finds the effect of a stage by comparing the forwarder before and after it (record.h)
//
// note_state() copies the counters and the fill levels of the forwarder's collections; after the
// next stage, every difference belongs to the recorded packet or to its ICMP error. So a stage
// needs no line of code for records, and a record cannot claim anything that did not happen. Only
// the lookup is repeated, to record its path. record_traced() splits a burst around the packets
// that traces want.
#include "forwarder/label.h"
#include "forwarder/lookup.h"
#include "forwarder/queue_stage.h"
#include "forwarder/record.h"
#include "forwarder/stages.h"
#include "forwarder/tags.h"
#include "forwarder/tx.h"

#include "core/rcu.h"
#include "table/iface.h"
#include "table/port.h"
#include "table/trace.h"
#include "table/trial.h"
#include "forwarder/forbidden.h"

// --- frames ---

static struct packet_trace_frame keep_frame(struct packet_trace *p, const struct rte_mbuf *m,
                                      uint16_t port, uint16_t iface)
{
    struct packet_trace_frame k = {.port = port, .iface = iface, .len = m->pkt_len, .at = p->used};

    k.kept = RTE_MIN(k.len, p->snap);
    k.kept = RTE_MIN(k.kept, p->room - p->used);
    uint8_t *to = p->bytes + k.at;
    const void *from = rte_pktmbuf_read(m, 0, k.kept, to);
    if (from && from != to)
        memcpy(to, from, k.kept);
    p->used += k.kept;
    return k;
}

static void frame_add(struct packet_trace *p, struct packet_trace_step *s, const struct rte_mbuf *m,
                      uint16_t port, uint16_t iface)
{
    if (p->n_frames == TRACED_FRAMES)
        return;
    p->frame[p->n_frames++] = keep_frame(p, m, port, iface);
    s->n_frames++;
}

// --- before and after ---

static uint32_t local_n(const struct forwarder *f)
{
    return f->local4.n + f->local6.n;
}

static uint32_t origin_n(const struct forwarder *f)
{
    return f->origin4.n + f->origin6.n;
}

static void note_state(struct forwarder *f)
{
    struct record *r = &f->record;

    memcpy(r->drop, f->counter->drop, sizeof r->drop);
    r->icmp = f->counter->icmp;
    for (unsigned c = 0; c < PUNT_CLASS_N; c++)
        r->punt[c] = f->punt[c].n;
    r->hold = f->hold.n;
    r->local = local_n(f);
    r->origin = origin_n(f);
    for (unsigned p = 0; p < PORT_MAX; p++)
        r->tx[p] = (uint16_t)tx_word_n(f->tx_word[p]);
    r->acl.list = 0;
    r->acl.spared = false;
    r->police.iface = 0;
    r->program.name[0] = '\0';
}

static enum drop_reason drop_since_note(const struct forwarder *f)
{
    for (unsigned i = DROP_NONE + 1; i < DROP_N; i++)
        if (f->counter->drop[i] != f->record.drop[i])
            return i;
    return DROP_NONE;
}

// Records the frame's place in the port's queue.
static void note_queue(const struct port_queue *q, const struct class_map *map, uint16_t iface,
                       const struct rte_mbuf *m, struct packet_trace_queue *note)
{
    const struct port_queue_settings *s = rcu_load(&q->settings);
    struct queue_place place = queue_place_of(s, map ? map : &s->map, iface, m);
    struct queue_packet p = {.len = m->pkt_len + s->overhead,
                             .client = place.client,
                             .class = place.class};
    struct queue_class_stats class;
    struct queue_stats client;

    queue_class_stats(q->manager, place.client, place.class, &class);
    queue_stats(q->manager, place.client, &client);
    *note = (struct packet_trace_queue){.has = true,
                                        .class = place.class,
                                        .refusal = (uint8_t)queue_judge(q->manager, &p),
                                        .vr = iface_get(place.iface)->vr,
                                        .own = place.client >= VR_MAX,
                                        .waiting_packets = class.waiting_packets,
                                        .waiting_bytes = class.waiting_bytes,
                                        .client_bytes = client.waiting_bytes};
}

static unsigned sent_by(const struct forwarder *f, uint16_t port)
{
    return tx_word_n(f->tx_word[port]) - f->record.tx[port];
}

// Returns true if all frames are on their way to the other end of a metalink or into a tunnel, so
// that this is not the end.
static bool add_sent(struct forwarder *f, struct packet_trace_step *s)
{
    struct packet_trace *p = f->record.trace;
    unsigned n_crossing = 0;

    for (uint16_t port = PORT_TUNNEL; port <= PORT_METALINK; port++)
        n_crossing += sent_by(f, port);
    for (uint64_t ports = f->tx_ports; ports; ports &= ports - 1) {
        uint16_t port = (uint16_t)__builtin_ctzll(ports);
        for (unsigned k = f->record.tx[port]; k < tx_word_n(f->tx_word[port]); k++) {
            struct rte_mbuf *m = f->tx_pkt[port][k];
            unsigned n = p->n_frames;
            uint16_t iface = tx_iface(port, m);
            frame_add(p, s, m, port, iface);
            if (p->n_frames > n && f->plan && f->plan->queue[port])
                note_queue(f->plan->queue[port], f->trial ? f->trial->map[port] : NULL, iface, m,
                           &p->frame[n].queue);
        }
    }
    return n_crossing && n_crossing == s->n_frames;
}

static void add_punted(struct forwarder *f, struct packet_trace_step *s)
{
    for (unsigned c = 0; c < PUNT_CLASS_N; c++) {
        struct collect *up = &f->punt[c];
        if (up->n == f->record.punt[c])
            continue;
        struct rte_mbuf *m = up->pkt[up->n - 1];
        s->end = TRACED_PUNTED;
        s->punt_class = (uint16_t)c;
        frame_add(f->record.trace, s, m, iface_get(packet_meta(m)->iface)->port,
                  packet_meta(m)->iface);
    }
}

// Has this stage sent an error along the path of a packet with labels? It is the frame just sent.
static bool is_labeled_error(const struct forwarder *f, const struct packet_trace_step *s)
{
    return s->family == IP_NONE && s->n_frames && f->counter->icmp.sent != f->record.icmp.sent;
}

// `stays`: the packet is still in its burst, so frames sent are about it, such as a redirect.
static void find_end(struct forwarder *f, struct packet_trace_step *s, bool stays)
{
    s->frame = f->record.trace->n_frames;
    s->drop = (uint16_t)drop_since_note(f);
    bool crosses = add_sent(f, s);
    if (crosses)
        f->record.left |= (uint8_t)(1 << s->of);
    else if (s->n_frames) // some copies of a multicast packet may be dropped, and one punted
        s->end = TRACED_SENT;
    else
        add_punted(f, s);
    if (stays)
        s->end = TRACED_ON;
    else if (s->drop && (s->end != TRACED_SENT || is_labeled_error(f, s)))
        s->end = TRACED_DROPPED;
    else if (f->hold.n != f->record.hold)
        s->end = TRACED_HELD;
    else if (local_n(f) > f->record.local && s->kind != TRACED_LOCAL)
        s->end = TRACED_TO_LOCAL;
    f->record.left |=
        (uint8_t)((s->end == TRACED_SENT || s->end == TRACED_PUNTED || s->end == TRACED_HELD)
                  << s->of);
}

// Reads the error in the last frame, as far as it was kept.
static void find_labeled(const struct packet_trace *p, struct packet_trace_step *s)
{
    const struct packet_trace_frame *k = &p->frame[s->frame + s->n_frames - 1];
    const uint8_t *at = p->bytes + k->at;
    uint32_t left = k->kept, head = ETHER_HDR;
    struct label_stack stack;

    s->icmp = TRACED_ICMP_SENT;
    while (left >= head + VLAN_HDR && is_tag(load16(at + head - 2)))
        head += VLAN_HDR;
    if (left < head || !stack_read(at + head, left - head, &stack) || !stack.family)
        return;
    const uint8_t *icmp = stack.below + (stack.family == IP4 ? IP4_HDR : IP6_HDR);
    if (icmp + 8 > at + left)
        return;
    s->icmp_type = icmp[0];
    s->icmp_code = icmp[1];
    s->icmp_word = rte_be_to_cpu_32(load32(icmp + 4));
}

static void find_icmp(struct forwarder *f, struct packet_trace_step *s)
{
    const struct counter_icmp *now = &f->counter->icmp, *was = &f->record.icmp;

    if (now->limited != was->limited) {
        s->icmp = TRACED_ICMP_LIMITED;
    } else if (now->forbidden != was->forbidden) {
        s->icmp = TRACED_ICMP_FORBIDDEN;
    } else if (is_labeled_error(f, s)) {
        find_labeled(f->record.trace, s);
    } else if (now->sent != was->sent) { // an IPv6 redirect, which is not looked up
        s->icmp = TRACED_ICMP_SENT;
        s->icmp_type = 137;
    }
    if (origin_n(f) <= f->record.origin)
        return;
    const struct burst *b = f->origin4.n ? &f->origin4 : &f->origin6;
    if (b->ip[b->n - 1][b->family == IP4 ? 9 : 6] == PROTO_TCP) {
        s->icmp = TRACED_RESET_SENT;
        return;
    }
    const uint8_t *icmp = b->ip[b->n - 1] + (b->family == IP4 ? IP4_HDR : IP6_HDR);
    s->icmp = TRACED_ICMP_SENT;
    s->icmp_type = icmp[0];
    s->icmp_code = icmp[1];
    s->icmp_word = rte_be_to_cpu_32(load32(icmp + 4));
}

// --- data that a stage used ---

static void find_packet(const struct burst *b, struct packet_trace_step *s)
{
    s->family = b->family;
    s->iface = iface_get(b->iface[0])->id; // also in a trial
    s->vr = b->vr[0];
    s->len = b->len[0];
    s->ttl = (uint16_t)(b->family == IP4 ? b->hop[0] & 0xff : b->hop[0] >> 24);
}

// Repeats the lookup, and records its path. If the table has changed meanwhile, the group's member
// may differ.
static void find_lookup(const struct forwarder *f, const struct burst *b,
                        struct packet_trace_step *s)
{
    struct packet_trace_lookup *l = &s->lookup;
    const struct fib *fib = fwd_fib(f, s->vr, b->family);

    if (f->trial && f->trial->past)
        *l = f->trial->past->last;
    l->asked = true;
    l->dst.family = b->family;
    if (b->family == IP4)
        l->dst.ip4 = b->dst4[0];
    else
        memcpy(l->dst.b, b->dst6[0], 16);
    l->nexthop = b->nh[0];
    uint64_t word = nexthop_word(nexthop_get(l->nexthop));
    l->kind = nexthop_word_kind(word);
    if (l->kind != NEXTHOP_GROUP && l->kind != NEXTHOP_NONE) {
        l->iface = nexthop_word_iface(word);
        l->mtu = nexthop_word_mtu(word);
    }
    const struct nexthop_encap *e = &nexthop_get(l->nexthop)->encap;
    for (l->n_labels = 0; l->kind == NEXTHOP_ENCAP && l->n_labels < e->n; l->n_labels++)
        l->label[l->n_labels] = nexthop_label_number(e->label_be[l->n_labels]);
    if (f->trial && f->trial->past) {
        trial_lookup(f, l);
        return;
    }
    l->leaf = fib_find(fib, &l->dst);
    l->route_mtu = nexthop_route_mtu(l->leaf);
    l->leaf = nexthop_real(l->leaf);
    l->n_nodes =
        (uint8_t)RTE_MIN(fib_path(fib, &l->dst, l->node, TRACED_NODES), (unsigned)TRACED_NODES);
    word = nexthop_word(nexthop_get(l->leaf));
    l->leaf_kind = nexthop_word_kind(word);
    if (l->leaf_kind == NEXTHOP_GROUP) {
        // Like nexthop_member.
        uint64_t group = __atomic_load_n(&nexthop_get(l->leaf)->group.word, __ATOMIC_ACQUIRE);
        l->hash = fwd_hash(b, 0, b->family);
        l->n_buckets = (uint32_t)(group >> 32) + 1;
        l->bucket = l->hash & (uint32_t)(group >> 32);
    }
}

// Virtual router of an interface, at the time of explain's question.
static uint16_t vr_of(const struct forwarder *f, uint16_t id)
{
    const struct trial_iface *t =
        f->trial && f->trial->past && f->trial->iface ? &f->trial->iface[id] : NULL;

    return t && t->differs ? t->vr : iface_get(id)->vr;
}

// The burst into which ether_in has put the packet.
static void find_kind(struct forwarder *f, struct packet_trace_step *s)
{
    const struct {
        const struct burst *b;
        uint8_t kind;
    } where[] = {{&f->in4, TRACED_PLAIN},    {&f->in6, TRACED_PLAIN},
                 {&f->odd4, TRACED_ODD},     {&f->odd6, TRACED_ODD},
                 {&f->local4, TRACED_LOCAL}, {&f->local6, TRACED_LOCAL}};

    for (unsigned i = 0; i < RTE_DIM(where); i++)
        if (where[i].b->n) {
            find_packet(where[i].b, s);
            s->vr = vr_of(f, s->iface);
            s->kind = where[i].kind;
        }
}

// --- steps ---

// As clients know it.
static const char *name_of_stage(enum stage stage, const struct burst *b)
{
    if (stage == STAGE_CHECKS_IN)
        return "features_in";
    if (stage == STAGE_OTHER)
        return b && b->family == IP6 ? "ip6_local" : "ip4_local";
    return stage_name[stage];
}

static struct packet_trace_step *add_step(struct forwarder *f, enum stage stage,
                                          const struct burst *b)
{
    struct packet_trace *p = f->record.trace;

    if (p->n_steps == TRACED_STEPS)
        return NULL;
    struct packet_trace_step *s = &p->step[p->n_steps++];
    memset(s, 0, sizeof *s);
    s->stage = name_of_stage(stage, b);
    s->of = b && b->kind == BURST_ORIGIN ? TRACED_ERROR : TRACED_PACKET;
    s->iface = f->record.iface;
    s->vr = vr_of(f, s->iface);
    return s;
}

void record_stage(struct forwarder *f, enum stage stage, const struct burst *b)
{
    bool silent = stage == STAGE_CHECKS_IN && b->features == IFACE_OFFLOAD; // checksums are no step
    struct packet_trace_step *s = silent ? NULL : add_step(f, stage, b);

    if (s) {
        if (b)
            find_packet(b, s);
        else
            find_kind(f, s);
        if (stage == STAGE_IP4_FWD || stage == STAGE_IP6_FWD || stage == STAGE_OTHER)
            find_lookup(f, b, s);
        find_end(f, s, b && b->n);
        find_icmp(f, s);
        s->acl = f->record.acl;
        s->police = f->record.police;
        s->program = f->record.program;
        f->record.iface = s->iface;
    }
    note_state(f);
}

void record_begin(struct forwarder *f, struct packet_trace *p, uint16_t port,
                  const struct rte_mbuf *m)
{
    p->port = port;
    f->record.trace = p;
    f->record.on = true;
    f->record.left = 0;
    uint16_t iface = iface_of_frame(port_get(port), m, true);
    f->record.iface = iface ? iface : port_get(port)->untagged;
    p->in = keep_frame(p, m, port, f->record.iface);
    note_state(f);
}

void record_again(struct forwarder *f, uint16_t port)
{
    f->record.iface = iface_of_frame(port_get(port), f->rx.pkt[0], true);
    note_state(f);
}

void record_refused(struct forwarder *f, enum drop_reason reason)
{
    struct packet_trace_step *s = add_step(f, STAGE_TX, NULL);

    if (!s)
        return;
    if (reason == DROP_PUNT_RING_FULL || reason == DROP_HOLD_RING_FULL)
        s->stage = reason == DROP_PUNT_RING_FULL ? "punt" : "hold";
    if (reason == DROP_IFACE_DOWN)
        s->stage = stage_name[STAGE_ETHER_IN];
    s->of = f->record.left & 1 << TRACED_PACKET ? TRACED_PACKET : TRACED_ERROR;
    s->end = TRACED_DROPPED;
    s->drop = (uint16_t)reason;
}

void record_end(struct forwarder *f)
{
    enum drop_reason reason = drop_since_note(f);

    if (reason != DROP_NONE)
        record_refused(f, reason);
    f->record.on = false;
}

// --- the packets of a trace ---

// Moves the packets [at, at + n) of a burst to f->rx.
static void rx_set_part(struct forwarder *f, const struct arrivals *all, unsigned at, unsigned n)
{
    memcpy(f->rx.pkt, all->pkt + at, n * sizeof *all->pkt);
    memcpy(f->rx.frame, all->frame + at, n * sizeof *all->frame);
    f->rx.n = n;
}

unsigned record_traced(struct forwarder *f, uint16_t port, struct plan_rx_stats *stats)
{
    struct arrivals all = f->rx;
    struct trace_places places;
    unsigned from = 0;

    for (unsigned i = 0; i < all.n; i++) {
        if (!trace_take(port, all.pkt[i], iface_of_frame(port_get(port), all.pkt[i], true),
                        &places))
            continue;
        if (i > from) {
            rx_set_part(f, &all, from, i - from);
            path_usual(f, port_get(port), stats);
            path_flush(f);
        }
        rx_set_part(f, &all, i, 1);
        record_begin(f, places.of[0], port, all.pkt[i]);
        path_recorded(f, port_get(port), stats);
        path_flush(f);
        record_end(f);
        trace_done(&places);
        from = i + 1;
    }
    if (from)
        rx_set_part(f, &all, from, all.n - from);
    return f->rx.n;
}
