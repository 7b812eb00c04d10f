// SPDX-License-Identifier: BSD-3-Clause
// rib_vr.c - life of a virtual router in rib_manager: sockets, turns, end
//
// A turn reads events for at most TURN_NS, re-examines some prefixes of dirty paths, advances a
// dump by one step, and commits: all that one turn reads is one FIB commit. Then the mailbox, held
// packets and the other routers get their turn, however long the queue is.
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <linux/netlink.h>
#include <stdlib.h>

#include "base/clock.h"
#include "netlink/netns.h"
#include "rib/journal.h"
#include "rib/neigh.h"
#include "rib/rib_multicast.h"
#include "rib/vr.h"

#define TURN_NS (4 * NS_PER_MS)
#define DUMP_BATCH 8 // a datagram of a dump has hundreds of rows, a datagram of events one message
#define TURN_PREFIXES 4096 // re-examined per turn

size_t rib_receive_bytes = NETLINK_RECEIVE_DEFAULT;
static _Atomic unsigned n_behind; // virtual routers with an incomplete first dump

bool rib_manager_is_behind(void)
{
    return atomic_load_explicit(&n_behind, memory_order_relaxed);
}

void rib_vr_set_synced(struct rib_vr *v)
{
    if (!v->synced)
        atomic_fetch_sub(&n_behind, 1);
    v->synced = true;
}

struct rib_vr *rib_vr_new(uint16_t id, int netns_fd, uint32_t table)
{
    struct rib_vr *v = calloc(1, sizeof *v);
    int err;

    if (!v) {
        errno = ENOMEM;
        return NULL;
    }
    v->id = id;
    v->table = table ? table : RIB_TABLE_MAIN;
    v->sync.stage = -1;
    v->audit.next_ns = clock_now_ns() + rib_audit_interval_ns();
    err = netlink_open(&v->events, netns_fd, rib_receive_bytes, true);
    if (err)
        goto fail;
    err = netlink_open(&v->requests, netns_fd, 0, false);
    if (err)
        goto fail_events;
    if (v->table != RIB_TABLE_MAIN)
        netlink_filter_table(&v->events, v->table); // best effort: others are discarded anyway
    v->namespace = netns_cookie(v->events.fd);
    v->netns = netns_fd < 0 ? netns_fd : fcntl(netns_fd, F_DUPFD_CLOEXEC, 0);
    rib_label_init(v);
    rib_init(&v->rib[0], IP4);
    rib_init(&v->rib[1], IP6);
    rib_budget_changed(v);
    rib_vr_set(id, v);
    rib_label_vr_changed(v);
    atomic_fetch_add(&n_behind, 1);
    rib_sync_want(v, RIB_STAGES_ALL, 0);
    return v;
fail_events:
    netlink_close(&v->events);
fail:
    free(v);
    errno = -err;
    return NULL;
}

// The prefixes stay in the router's two FIBs, which control frees next, after a grace period; only
// the next hops are released.
static void release_nodes(struct rib *r)
{
    for (uint32_t id = rib_trie_first(&r->trie); id; id = rib_trie_next(&r->trie, id)) {
        nexthop_put(rib_trie_at(&r->trie, id)->nexthop);
        rib_trie_at(&r->trie, id)->nexthop = 0;
    }
}

void rib_vr_free(struct rib_vr *v)
{
    struct rib_link *l;

    rib_vr_set_synced(v);                           // nobody waits for it any more
    v->rib[0].deferred = v->rib[1].deferred = true; // stop writing to the FIB
    rib_import_vr_gone(v);
    rib_vr_set(v->id, NULL);
    rib_label_vr_changed(v);
    netlink_close(&v->events);
    netlink_close(&v->requests);
    acl_target_resolve_vr_gone(v);
    rib_label_fini(v);
    rib_path_fini(v);
    nexthop_object_fini(v);
    neigh_vr_gone(v);
    rib_counted_fini(v);
    rib_unfollowed_fini(v);
    rib_multicast_fini(v);
    rib_map_each (&v->link, l) {
        nexthop_put(l->glean);
        nexthop_put(l->broadcast);
    }
    rib_link_free_unused(v, true);
    rib_map_fini(&v->link);
    for (int i = 0; i < 2; i++) {
        release_nodes(&v->rib[i]);
        rib_fini(&v->rib[i]);
    }
    rib_audit_end(v);
    rib_map_fini(&v->sync.touched);
    rib_map_fini(&v->sync.diverged);
    rib_gaps_fini(&v->sync.gaps);
    rib_gaps_fini(&v->sync.doubt[0]);
    rib_gaps_fini(&v->sync.doubt[1]);
    vec_free(&v->sync.shown.row); // their paths are already gone
    nexthop_free_unused();
    netns_close(v->netns);
    free(v);
}

// Should the turn read another batch at once? A batch that was not full emptied the socket. Only a
// dump waits for an empty socket; otherwise the next turn reads the few new messages. Reading each
// message as it is made would delay the program that changes routes every time.
static bool reads_on(const struct rib_vr *v, int got)
{
    const struct rib_sync *s = &v->sync;

    return got < 0 || got == NETLINK_BATCH ||
           (got && (s->stage >= 0 || s->want || s->overrun || s->ending));
}

bool rib_vr_turn(struct rib_vr *v)
{
    uint64_t begin = clock_now_ns(), until = begin + TURN_NS;
    bool auditing, waiting;
    int got;

    do {
        journal_new_moment();
        v->events.batch = v->sync.stage >= 0 ? DUMP_BATCH : 0;
        got = netlink_receive(&v->events, rib_sync_message, v);
        if (got < 0) {
            if (got != -ENOBUFS)
                log_error("rib: netlink socket: vr=%u error=%d", v->id, got);
            rib_sync_overrun(v);
        }
        v->batches += got > 0;
    } while (reads_on(v, got) && !netlink_would_wait(&v->events) && clock_now_ns() < until);
    journal_because(JOURNAL_LINK);
    rib_path_work(v, TURN_PREFIXES);
    waiting = rib_budget_work(v, TURN_PREFIXES);
    rib_sync_step(v, got == 0);
    auditing = rib_audit_slice(v, false);
    rib_commit(v);
    rib_audit_took(v, clock_now_ns() - begin);
    return reads_on(v, got) || v->events.ahead || v->dirty.n || v->sync.sweep ||
           v->sync.ending || auditing || waiting;
}

static void take_answer(void *ctx, const struct nlmsghdr *h)
{
    struct rib_vr *v = ctx;
    struct nlmsgerr e;

    if (h->nlmsg_type != NLMSG_ERROR || h->nlmsg_len < NLMSG_LENGTH(sizeof e))
        return;
    memcpy(&e, NLMSG_DATA(h), sizeof e);
    if (e.error && e.msg.nlmsg_seq != NETLINK_NEIGH_GROUP &&
        e.msg.nlmsg_seq != NETLINK_NEIGH_DELETE) // an interface without IPv6 has no IPv6 groups
        neigh_refused(v, e.error);
}

void rib_vr_read_answers(int fd, short what, void *vr)
{
    struct rib_vr *v = vr;

    while (netlink_receive(&v->requests, take_answer, v) > 0)
        ;
}
