// SPDX-License-Identifier: BSD-3-Clause
// rib_sync.c - dumps: the first one, resync after lost events, verification, audit
//
// All four work alike: dump some stages from the kernel, mark each object confirmed by a row, sweep
// the objects that no row confirmed. A million routes take about half a second. So correctness
// rests on dumps; all other mechanisms only make the state right sooner.
//
// We request the dump on the event socket. Rows and events are in one queue, in the order in which
// the kernel made them, with one exception: the kernel fills a datagram of rows while we read the
// previous one, so an event between the two may be newer than the rows behind it (`touched`). If
// the event describes a whole object (a link, an address, a next-hop object, a neighbor, a
// multicast route), the event wins and the row is ignored. A prefix has many candidates, and an
// event describes one of them: see rib_row.c. For the same reason, a difference found by a dump
// counts ("diverged") only if no event explains it until the queue is empty.
//
//     want --(delay, drained)--> stage 0..N: request, rows, DONE, sweep
//          --> ending --(drained)--> end
//
// NLM_F_DUMP_INTR: we take the rows, sweep nothing, and dump the stage again.
//
// Gaps: route dumps skip some routes while others are deleted, and the kernel does not report it.
// Prefixes for which a dump is not conclusive (rib_gap.h) are not swept, and the dump is repeated
// for them. After the repetition a prefix stays in doubt only if it is in a gap again, so the
// repetitions end even at 10,000 changes a second. Dumps of neighbors and multicast routes are
// small: if such events came meanwhile, nothing is swept and the dump is repeated.
//
// ENOBUFS: once the socket is empty, everything is dumped again (the kernel drops events until
// then).
//
// Verifications, and dumps repeated for the fifth time, wait ten times as long as the last dump
// took, so dumps use at most a tenth of the time.
#include <errno.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "base/hash.h"
#include "rib/journal.h"
#include "rib/neigh.h"
#include "rib/rib_multicast.h"
#include "rib/vr.h"
#include "table/fib.h"

#define SWEEP_BUDGET (1u << 16) // routes examined per turn
#define TRIES_AT_ONCE 5         // dumps repeated without a pause
#define DOUBT_DELAY_NS (10 * NS_PER_MS) // minimum delay of the next dumps for prefixes in doubt
#define FIRST_NS (10 * NS_PER_SECOND)   // after that a router counts as synced, even if in doubt
#define SILENCE_NS NS_PER_SECOND        // maximum silence of the kernel during a dump

static const struct {
    uint16_t type;
    int family;
    int stirred_by; // kind of the events after which rows may be missing, 0 = none
} request[RIB_STAGE_N] = {
    [RIB_STAGE_LINK] = {RTM_GETLINK, AF_UNSPEC},
    [RIB_STAGE_NETCONF4] = {RTM_GETNETCONF, AF_INET},
    [RIB_STAGE_NETCONF6] = {RTM_GETNETCONF, AF_INET6},
    [RIB_STAGE_NETCONF_LABEL] = {RTM_GETNETCONF, AF_MPLS},
    [RIB_STAGE_ADDR] = {RTM_GETADDR, AF_UNSPEC},
    [RIB_STAGE_RULE4] = {RTM_GETRULE, AF_INET},
    [RIB_STAGE_RULE6] = {RTM_GETRULE, AF_INET6},
    [RIB_STAGE_NEXTHOP] = {RTM_GETNEXTHOP, AF_UNSPEC},
    [RIB_STAGE_NEIGH] = {RTM_GETNEIGH, AF_UNSPEC, NETLINK_EVENT_NEIGH},
    [RIB_STAGE_MROUTE4] = {RTM_GETROUTE, RTNL_FAMILY_IPMR, NETLINK_EVENT_MROUTE},
    [RIB_STAGE_MROUTE6] = {RTM_GETROUTE, RTNL_FAMILY_IP6MR, NETLINK_EVENT_MROUTE},
    [RIB_STAGE_GROUP4] = {RTM_GETMULTICAST, AF_INET, NETLINK_EVENT_GROUP},
    [RIB_STAGE_GROUP6] = {RTM_GETMULTICAST, AF_INET6, NETLINK_EVENT_GROUP},
    [RIB_STAGE_LABEL] = {RTM_GETROUTE, AF_MPLS},
    [RIB_STAGE_ROUTE4] = {RTM_GETROUTE, AF_INET},
    [RIB_STAGE_ROUTE6] = {RTM_GETROUTE, AF_INET6},
};

void rib_sync_overrun(struct rib_vr *v)
{
    v->overruns++;
    v->sync.overrun = v->sync.broken = true;
    log_warning("rib: netlink events lost, dumping all tables again: vr=%u overruns=%llu", v->id,
                (unsigned long long)v->overruns);
}

static bool is_of_routes(const struct rib_sync *s)
{
    return s->stage == RIB_STAGE_ROUTE4 || s->stage == RIB_STAGE_ROUTE6;
}

// Requests the rows of the stage. A namespace with a thousand tables would show all of them to each
// router. So a router without the main table requests its own table, then the local one. Main's
// router reads all tables (rib_unfollowed.c).
static int ask_rows(struct rib_vr *v)
{
    struct rib_sync *s = &v->sync;

    s->local_next = false;
    if (is_of_routes(s) && v->table != RIB_TABLE_MAIN) {
        int err = netlink_dump_table(&v->events, request[s->stage].family, v->table);

        s->local_next = !err && v->table != RIB_TABLE_LOCAL;
        return err;
    }
    return netlink_dump(&v->events, request[s->stage].type, request[s->stage].family);
}

// All rows of its own table are here: requests the local table. False: the local table is not
// wanted.
static bool ask_local_rows(struct rib_vr *v)
{
    struct rib_sync *s = &v->sync;

    if (!s->local_next || s->interrupted || s->broken)
        return false;
    s->local_next = false;
    rib_rows_end(v);
    s->interrupted = netlink_dump_table(&v->events, request[s->stage].family, RIB_TABLE_LOCAL) != 0;
    s->seq = v->events.seq;
    return !s->interrupted;
}

static void next_stage(struct rib_vr *v)
{
    struct rib_sync *s = &v->sync;
    int err;

    if (!s->todo || s->broken) {
        s->stage = -1;
        s->ending = true;
        return;
    }
    s->stage = __builtin_ctz(s->todo);
    s->todo &= s->todo - 1;
    s->interrupted = s->stirred = false;
    rib_rows_drop(v);
    if (is_of_routes(s))
        v->rib[s->stage == RIB_STAGE_ROUTE6].gen++;
    rib_gaps_begin(&s->gaps, s->stage == RIB_STAGE_ROUTE6 ? IP6 : IP4);
    err = ask_rows(v);
    s->seq = v->events.seq;
    s->heard = true;
    if (s->stage == RIB_STAGE_NEXTHOP)
        s->going.family = 0; // the kernel answered only after the deletion
    if (s->stage == RIB_STAGE_ROUTE4 && s->going.family) {
        rib_sync_touch(v, &s->going);
        rib_gaps_deleted(&s->gaps, RIB_GAP_OTHER, &s->going); // IPv4 has one list for all tables
    }
    if (err) {
        log_error("rib: dump refused, will retry: vr=%u stage=%d error=%d", v->id, s->stage, err);
        rib_sync_want(v, s->served, NS_PER_SECOND);
        s->todo = 0;
        s->broken = true;
        next_stage(v);
    }
}

static void begin_dump(struct rib_vr *v)
{
    struct rib_sync *s = &v->sync;

    s->todo = s->served = s->overrun ? RIB_STAGES_ALL : s->want;
    s->judged = s->overrun ? RIB_STAGES_ALL : s->whole;
    if (!v->has_mpls) // such a kernel would show all IP routes
        s->todo &= ~(1u << RIB_STAGE_LABEL | 1u << RIB_STAGE_NETCONF_LABEL);
    if (!v->labels.wanted)
        s->todo &= ~(1u << RIB_STAGE_LABEL);
    if (s->todo & 1u << RIB_STAGE_LABEL)
        rib_label_dump_begins(v);
    s->want = s->whole = 0;
    s->overrun = s->broken = s->asked_again = false;
    s->begin_ns = clock_now_ns();
    s->checked = s->lost = 0;
    if (!s->tries++)
        s->since_ns = s->begin_ns;
    v->gen++;
    rib_map_fini(&s->touched);
    rib_map_fini(&s->diverged);
    rib_audit_dump_begins(v);
    next_stage(v);
}

// Sweeps unconfirmed routes, examining up to SWEEP_BUDGET; true when there are more to examine.
static bool sweep_routes(struct rib_vr *v, struct rib *r)
{
    uint32_t id = v->sync.sweep, end = id + SWEEP_BUDGET;

    if (end > r->route.top)
        end = r->route.top;
    for (; id < end; id++) {
        struct rib_route *t = rib_route_at(r, id);
        uint32_t node;

        // A freed record: its first word is a free link, the rest is unchanged; node 0 marks it
        // (rib_route_del).
        if (!t->node || (t->flags & RIB_ROUTE_DERIVED) || t->gen == r->gen)
            continue;
        if (rib_path_at(v, t->path)
                ->condemned) // already announced: rib_path_work() is about to delete it
            continue;
        node = t->node;
        struct prefix p = rib_trie_prefix(&r->trie, node);
        if (rib_gaps_have(&v->sync.gaps,
                          t->flags & RIB_ROUTE_LOCAL ? RIB_GAP_LOCAL : RIB_GAP_ROUTER, &p)) {
            continue;
        }
        rib_sync_diverge(v, &p, "no longer in the kernel", rib_path_links(rib_path_at(v, t->path)),
                         0);
        rib_route_del(v, r, id);
        rib_evaluate(v, r, node);
        v->swept++;
    }
    v->sync.sweep = id;
    return id < r->route.top;
}

// If the socket is full at the wrong moment, the kernel loses the end of a dump, or the refusal of
// its request, and sends nothing more. So after a silence we request the stage again. If the old
// dump still runs in the kernel, the new request is refused (EBUSY) and repeated later; late rows
// of the old dump are ignored by their sequence number.
void rib_sync_watch(struct rib_vr *v, uint64_t now_ns)
{
    struct rib_sync *s = &v->sync;

    if (s->stage < 0 || s->sweep)
        return;
    if (s->heard || netlink_has_more(&v->events)) { // with many routers its turn may come late
        s->heard = false;
        s->heard_ns = now_ns;
    } else if (now_ns - s->heard_ns >= SILENCE_NS) {
        log_warning("rib: dump timed out, retrying: vr=%u stage=%d", v->id, s->stage);
        s->todo |= 1u << s->stage;
        next_stage(v);
    }
}

// Requests a dump of the prefixes that this dump lacked; prefixes covered by it are no longer in
// doubt. Also dumps next-hop objects: the kernel answers that request under the lock for IPv4 route
// changes, so pending changes are complete by then.
static void settle_doubt(struct rib_vr *v)
{
    struct rib_sync *s = &v->sync;
    bool six = s->stage == RIB_STAGE_ROUTE6;

    if (s->judged & 1u << s->stage)
        rib_gaps_move(&s->doubt[six], &s->gaps);
    else
        rib_gaps_narrow(&s->doubt[six], &s->gaps);
    if (rib_gaps_any(&s->doubt[six]))
        rib_sync_want_doubt(v, six ? RIB_STAGES_ROUTES6 : RIB_STAGES_ROUTES4,
                            s->tries < TRIES_AT_ONCE ? 0 : DOUBT_DELAY_NS);
}

static void sweep_links(struct rib_vr *v)
{
    VEC(struct rib_link *) gone = {0};
    struct rib_link *l;

    rib_map_each (&v->link, l)
        if (l->known && l->gen != v->gen)
            *vec_push(&gone) = l;
    vec_foreach (&gone, g)
        rib_link_gone(v, *g);
    vec_free(&gone);
}

// Forgets what no row of the stage has confirmed; false: there are more routes to examine.
static bool sweep_stage(struct rib_vr *v)
{
    struct rib_sync *s = &v->sync;
    enum rib_stage stage = (enum rib_stage)s->stage;
    struct rib *r = &v->rib[stage == RIB_STAGE_ROUTE6];

    switch (stage) {
    case RIB_STAGE_LINK: sweep_links(v); break;
    case RIB_STAGE_ADDR: rib_link_sweep_addr(v); break;
    case RIB_STAGE_NEXTHOP: nexthop_object_sweep(v, v->gen); break;
    case RIB_STAGE_NEIGH: neigh_sweep(v, v->gen); break;
    case RIB_STAGE_MROUTE4: rib_multicast_sweep(v, IP4); break;
    case RIB_STAGE_MROUTE6: rib_multicast_sweep(v, IP6); break;
    case RIB_STAGE_GROUP4: rib_multicast_sweep_groups(v, IP4); break;
    case RIB_STAGE_GROUP6: rib_multicast_sweep_groups(v, IP6); break;
    case RIB_STAGE_LABEL: rib_label_sweep(v); break;
    case RIB_STAGE_ROUTE4:
    case RIB_STAGE_ROUTE6:
        if (!s->sweep)
            s->sweep = 1;
        if (r->route.top > 1 && sweep_routes(v, r))
            return false;
        s->sweep = 0;
        settle_doubt(v);
        break;
    default: break;
    }
    rib_unfollowed_sweep(v, stage);
    return true;
}

// All rows of the stage are here. True when the stage is done and the next one may begin.
static bool end_stage(struct rib_vr *v)
{
    struct rib_sync *s = &v->sync;

    journal_because(rib_audit_running(&v->audit) ? JOURNAL_AUDIT : JOURNAL_RESYNC);
    if (s->interrupted || (s->stirred && !s->broken))
        rib_sync_want(v, 1u << s->stage, s->tries < TRIES_AT_ONCE ? 0 : NS_PER_SECOND);
    else if (!s->broken && !sweep_stage(v))
        return false;
    if (s->stage >= RIB_STAGE_ROUTE4)
        rib_load(v, &v->rib[s->stage == RIB_STAGE_ROUTE6]);
    return true;
}

static void log_dump(struct rib_vr *v)
{
    const struct rib_sync *s = &v->sync;

    if (!v->synced)
        log_notice("rib: first sync: vr=%u routes4=%llu routes6=%llu fib4=%llu fib6=%llu ms=%llu",
                   v->id, (unsigned long long)v->rib[0].n_routes,
                   (unsigned long long)v->rib[1].n_routes, (unsigned long long)v->rib[0].n_fib,
                   (unsigned long long)v->rib[1].n_fib,
                   (unsigned long long)(s->took_ns / NS_PER_MS));
    else if (s->served != 1u << RIB_STAGE_NEIGH) // a neighbor dump is small and frequent
        log_info("rib: resync: vr=%u stages=%#x rows=%llu diverged=%u swept=%llu ms=%llu", v->id,
                 s->served, (unsigned long long)s->checked, s->diverged.n,
                 (unsigned long long)v->swept, (unsigned long long)(s->took_ns / NS_PER_MS));
}

static void end_dump(struct rib_vr *v)
{
    struct rib_sync *s = &v->sync;
    bool awaited = v->audit.step == AUDIT_KERNEL && v->audit.asked &&
                   !s->broken; // a caller waits for the next dump

    s->ending = false;
    // The loss of a link that explains the findings may not have been announced yet. The kernel
    // announces it and dumps next-hop objects under one lock, so the end of that dump stands behind
    // the announcement.
    if (!s->broken && s->diverged.n && v->audit.step == AUDIT_KERNEL &&
        s->served == RIB_STAGES_ALL && !s->asked_again) {
        s->asked_again = true;
        s->todo = 1u << RIB_STAGE_NEXTHOP;
        next_stage(v);
        return;
    }
    s->took_ns = clock_now_ns() - s->begin_ns;
    if (s->broken || s->want) {
        if (s->tries >= TRIES_AT_ONCE && (s->broken || s->whole) && !awaited &&
            s->want_at_ns < clock_now_ns() + NS_PER_SECOND)
            s->want_at_ns = clock_now_ns() + NS_PER_SECOND;
    } else {
        s->tries = 0;
    }
    if (s->broken)
        return; // the callers wait for the next one
    v->resyncs++;
    v->diverged += s->diverged.n;
    log_dump(v);
    // The first dump is complete when no prefix is in doubt, unless that takes too long.
    if (!(rib_gaps_any(&s->doubt[0]) || rib_gaps_any(&s->doubt[1])) ||
        clock_now_ns() - s->since_ns >= FIRST_NS)
        rib_vr_set_synced(v);
    if (s->served == RIB_STAGES_ALL)
        rib_audit_kernel_done(v, s->checked, s->diverged.n);
}

bool rib_sync_is_due(const struct rib_vr *v, uint64_t now_ns)
{
    const struct rib_sync *s = &v->sync;

    return s->stage < 0 && (s->ending || s->overrun || (s->want && s->want_at_ns <= now_ns));
}

void rib_sync_step(struct rib_vr *v, bool drained)
{
    struct rib_sync *s = &v->sync;

    if (s->stage >= 0) {
        if (s->sweep && end_stage(v))
            next_stage(v);
        return;
    }
    if (s->ending) {
        if (drained && !v->dirty.n)
            end_dump(v);
        return;
    }
    if (s->overrun ? drained : s->want && clock_now_ns() >= s->want_at_ns)
        begin_dump(v);
}

static enum journal_cause cause_of(const struct rib_vr *v, const struct netlink_event *e,
                                   bool is_row)
{
    if (is_row)
        return rib_audit_running(&v->audit) ? JOURNAL_AUDIT : JOURNAL_RESYNC;
    return e->kind == NETLINK_EVENT_ROUTE || e->kind == NETLINK_EVENT_LABEL ? JOURNAL_KERNEL
           : e->kind == NETLINK_EVENT_NEIGH ? JOURNAL_NEIGHBOR
                                            : JOURNAL_LINK;
}

// May routes have vanished with the link? Not if it only came up, got its carrier or another name:
// our own TAPs do that during the first dump, which must not be repeated for them.
static bool link_may_take_routes(const struct rib_vr *v, const struct netlink_event *e)
{
    const struct rib_link *l = rib_link_find(v, e->link.ifindex);

    if (!l || !l->known)
        return e->del;
    return e->del || (l->up && !e->link.up) || (l->carrier && !e->link.carrier) ||
           l->told.mtu != e->link.mtu || l->told.master != e->link.master;
}

// May routes vanish without an event of their own?
static bool may_take_routes(const struct rib_vr *v, const struct netlink_event *e)
{
    return e->kind == NETLINK_EVENT_LINK   ? link_may_take_routes(v, e)
           : e->kind == NETLINK_EVENT_ADDR ? e->del
                                           : e->kind == NETLINK_EVENT_NEXTHOP;
}

// Notes deletions: together with the rows, they determine the prefixes that a route dump may have
// skipped.
static void note_deletions(struct rib_vr *v, const struct netlink_event *e)
{
    if (may_take_routes(v, e))
        rib_gaps_deleted_any(&v->sync.gaps);
    if (e->kind == NETLINK_EVENT_ROUTE && e->del && e->route.prefix.family == v->sync.gaps.family)
        rib_gaps_deleted(&v->sync.gaps, rib_gap_table(v, e->route.table), &e->route.prefix);
}

// Identifies objects that an event describes as a whole; 0: not for routes, since a prefix has many
// candidates (rib_row.c).
static uint32_t key_of(const struct netlink_event *e)
{
    struct {
        uint8_t kind, family;
        uint8_t len;
        int ifindex;
        uint8_t a[32];
    } k;

    memset(&k, 0, sizeof k); // padding, too
    k.kind = e->kind;
    switch (e->kind) {
    case NETLINK_EVENT_LINK: k.ifindex = e->link.ifindex; break;
    case NETLINK_EVENT_ADDR:
        k.ifindex = e->addr.ifindex;
        k.len = e->addr.len;
        k.family = e->addr.addr.family;
        memcpy(k.a, e->addr.addr.b, 16);
        break;
    case NETLINK_EVENT_NEIGH:
        k.ifindex = e->neigh.ifindex;
        k.family = e->neigh.addr.family;
        memcpy(k.a, e->neigh.addr.b, 16);
        break;
    case NETLINK_EVENT_NEXTHOP: k.ifindex = (int)e->nexthop.id; break;
    case NETLINK_EVENT_LABEL: k.ifindex = (int)prefix_label(&e->route.prefix); break;
    case NETLINK_EVENT_NETCONF:
        k.ifindex = e->netconf.ifindex;
        k.family = e->netconf.family;
        break;
    case NETLINK_EVENT_MROUTE:
        k.family = e->mroute.family;
        k.ifindex = (int)e->mroute.table;
        memcpy(k.a, e->mroute.source, 16);
        memcpy(k.a + 16, e->mroute.group, 16);
        break;
    case NETLINK_EVENT_GROUP:
        k.ifindex = e->group.ifindex;
        k.family = e->group.addr.family;
        memcpy(k.a, e->group.addr.b, 16);
        break;
    default: return 0;
    }
    return (uint32_t)hash_bytes(&k, sizeof k, 1) | 1;
}

// May an event of the same object be newer than the row?
static bool is_overtaken(const struct rib_vr *v, const struct netlink_event *e)
{
    uint32_t key = key_of(e);

    return key && rib_sync_is_touched_key(v, key);
}

static void note_event(struct rib_vr *v, const struct netlink_event *e)
{
    bool of_routes = v->sync.stage >= RIB_STAGE_ROUTE4;
    uint32_t key = key_of(e);

    if (v->sync.row && (!of_routes || (e->kind == NETLINK_EVENT_ROUTE &&
                                       e->route.prefix.family == v->sync.gaps.family))) {
        rib_map_fini(&v->sync.touched); // state of the time before the last datagram of rows
        v->sync.row = false;
    }
    if (e->kind == NETLINK_EVENT_ROUTE && e->route.prefix.family == IP4) {
        v->sync.going = e->route.prefix;
        v->sync.going.family = e->del ? IP4 : 0;
    }
    if (v->sync.stage >= 0 && e->kind && request[v->sync.stage].stirred_by == (int)e->kind)
        v->sync.stirred = true;
    if (key)
        rib_sync_touch_key(v, key);
    if (of_routes)
        note_deletions(v, e);
}

static void take_event(struct rib_vr *v, const struct nlmsghdr *h, bool is_row)
{
    static struct netlink_event e; // large; only the manager thread uses it
    int got = netlink_parse(h, &e);

    if (got < 0)
        log_warning("rib: malformed netlink message: vr=%u type=%u length=%u", v->id, h->nlmsg_type,
                    h->nlmsg_len);
    if (got <= 0)
        return;
    journal_because(cause_of(v, &e, is_row));
    if (is_row && is_overtaken(v, &e))
        return;
    if (!is_row)
        note_event(v, &e);
    switch (e.kind) {
    case NETLINK_EVENT_LINK: rib_event_link(v, &e); break;
    case NETLINK_EVENT_ADDR: rib_event_addr(v, &e); break;
    case NETLINK_EVENT_NEIGH: neigh_event(v, &e.neigh, e.del); break;
    case NETLINK_EVENT_NEXTHOP: rib_event_nexthop(v, &e); break;
    case NETLINK_EVENT_RULE: rib_unfollowed_rule(v, &e.rule, e.del); break;
    case NETLINK_EVENT_NETCONF:
        if (e.netconf.family == IP_LABEL)
            rib_label_netconf(v, &e.netconf, e.del);
        else
            rib_event_netconf(v, &e.netconf);
        break;
    case NETLINK_EVENT_LABEL: rib_label_event(v, &e, is_row); break;
    case NETLINK_EVENT_MROUTE: rib_multicast_event(v, &e, is_row); break;
    case NETLINK_EVENT_GROUP: rib_multicast_group(v, &e.group, e.del); break;
    case NETLINK_EVENT_ROUTE:
        if (is_row &&
            v->sync.stage <
                RIB_STAGE_ROUTE4) // a kernel without multicast routing shows all its routes instead
            break;
        if (is_row) {
            rib_row_route(v, &e.route);
        } else {
            if (rib_wants(v, &e.route))
                rib_rows_event(v, &e.route.prefix);
            rib_event_route(v, &e);
        }
        break;
    }
}

void rib_sync_message(void *vr, const struct nlmsghdr *h)
{
    struct rib_vr *v = vr;
    struct rib_sync *s = &v->sync;
    bool ours = s->stage >= 0 && h->nlmsg_pid == v->events.portid && h->nlmsg_seq == s->seq;

    v->messages++;
    if (!ours && h->nlmsg_pid == v->events.portid)
        return; // of an abandoned dump
    if (!ours) {
        take_event(v, h, false);
        return;
    }
    s->row = s->heard = true;
    if (h->nlmsg_flags & NLM_F_DUMP_INTR)
        s->interrupted = true;
    if (h->nlmsg_type == NLMSG_ERROR || h->nlmsg_type == NLMSG_DONE) {
        int error = 0;

        if (h->nlmsg_len >= NLMSG_LENGTH(sizeof error))
            memcpy(&error, NLMSG_DATA(h), sizeof error);
        // A kernel without next-hop objects or netconf reports these errors, as does a kernel
        // without the table; all other errors are retried.
        if (error && error != -EOPNOTSUPP && error != -EINVAL &&
            (error != -ENOENT || v->table == RIB_TABLE_MAIN || !is_of_routes(s)))
            s->interrupted = true;
        if (ask_local_rows(v))
            return;
        rib_gaps_end(&s->gaps, v->events.datagrams);
        rib_rows_end(v);
        if (end_stage(v))
            next_stage(v);
        return;
    }
    take_event(v, h, true);
}
