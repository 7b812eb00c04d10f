// SPDX-License-Identifier: BSD-3-Clause
// rib_history_test.c - random interleavings of changes, their announcements and a dump: in the end
// the RIB equals the kernel
//
// The kernel is a naive model (rib_model.h). Each history begins with a reason for a full or
// partial dump (a start, lost events, a silent change that was not derived), goes on with changes
// while dumps run, and ends when nothing is queued and the RIB requests nothing more. No audit
// helps. Changes include next-hop objects and groups, replaced and deleted in use, and link flaps.
//
// RIB_HISTORIES=1000000 runs that many; RIB_SEED=N repeats a failed one.
#include <libmnl/libmnl.h>
#include <linux/if.h>
#include <linux/nexthop.h>
#include <linux/rtnetlink.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "rib/neigh.h"
#include "rib/test/rib_model.h"
#include "rib/test/store_fixture.h"
#include "rib/vr.h"
#include "table/counter.h"
#include "table/iface.h"
#include "tests/unit.h"

#define HISTORIES 20000
#define CHANGES 12      // per history, at most
#define DUMPS_MAX 60    // per history: more are an endless loop
#define TURNS_MAX 100000 // likewise

static unsigned seed, most_dumps;
static uint32_t asked; // number of the last request seen by the kernel
static bool in_doubt;  // the RIB kept an IPv6 route that no dump can show

static int open_store(void **state)
{
    if (store_tables_open())
        return -1;
    for (int i = 0; i < 2; i++) {
        struct iface *f = iface_new(i ? "e2" : "e1");

        f->ifindex = 11 + i;
        f->kind = IFACE_PORT;
        f->mtu = 1500;
    }
    if (store_managers_open())
        return -1;
    for (uint16_t i = 0; i < 2; i++) {
        rib_event_link(v, &(struct netlink_event){.link = {.ifindex = 11 + i, .mtu = 1500}});
        rib_iface_bind(v, (uint16_t)(i + 1));
    }
    return 0;
}

// --- reader ---

static void hear(void *ctx, const struct nlmsghdr *h)
{
    rib_sync_message(v, h);
}

// Passes a new request of the RIB to the kernel.
static void look_for_request(void)
{
    static const struct {
        uint16_t type;
        uint8_t family;
    } of[RIB_STAGE_N] = {[RIB_STAGE_LINK] = {RTM_GETLINK, 0},
                         [RIB_STAGE_NEXTHOP] = {RTM_GETNEXTHOP, 0},
                         [RIB_STAGE_ROUTE4] = {RTM_GETROUTE, IP4},
                         [RIB_STAGE_ROUTE6] = {RTM_GETROUTE, IP6}};

    if (v->sync.stage < 0 || v->sync.seq == asked)
        return;
    asked = v->sync.seq;
    model_dump(of[v->sync.stage].type, of[v->sync.stage].family, asked);
}

static void read_one(void)
{
    unsigned len;
    const struct nlmsghdr *h = model_take(&len);

    if (!h)
        return;
    v->events.datagrams++;
    assert_true(netlink_walk(h, len, hear, NULL));
    look_for_request();
}

static void turn(void)
{
    bool drained;

    for (unsigned n = model_pick(4); n; n--)
        read_one();
    drained = model_is_drained();
    rib_path_work(v, 1 + model_pick(3));
    if (v->sync.want && model_pick(3) == 0)
        v->sync.want_at_ns = 0; // its time has come
    rib_sync_step(v, drained);
    look_for_request();
    if (model_pick(16) == 0)
        rib_commit(v);
}

static bool is_quiet(void)
{
    const struct rib_sync *s = &v->sync;

    return s->stage < 0 && !s->ending && !s->want && !s->overrun && !v->dirty.n;
}

// --- comparison ---

static struct rib_path *path_of(const struct model_place *p, const struct model_route *t)
{
    static struct netlink_event e;

    assert_int_equal(netlink_parse(model_message(p, t), &e), 1);
    return rib_path_get(v, &e.route);
}

static void print_routes(const struct model_place *p)
{
    const struct rib *r = &v->rib[p->prefix.family == IP6];
    uint32_t node = rib_trie_find(&r->trie, &p->prefix),
             id = node ? rib_trie_at(&r->trie, node)->head : 0;
    char text[PREFIX_TEXT_MAX];

    printf("%s table %s\n  kernel:", prefix_format(&p->prefix, text), p->local ? "local" : "main");
    for (unsigned i = 0; i < p->n; i++)
        printf(" (metric %u legs %#x nhid %u proto %u)", p->route[i].metric, p->route[i].legs,
               p->route[i].nhid, p->route[i].protocol);
    printf("\n  RIB:   ");
    for (; id; id = rib_route_at(r, id)->next) {
        const struct rib_route *t = rib_route_at(r, id);
        const struct rib_path *path = rib_path_at(v, t->path);

        printf(" (metric %u proto %u local %d", t->metric, t->protocol, t->flags);
        for (unsigned i = 0; i < path->n_hops; i++)
            printf(" via %u", path->hop[i].gateway.b[p->prefix.family == IP4 ? 3 : 15]);
        printf(" nhid %u)", path->nhid);
    }
    printf("\n");
}

static bool is_route(const struct rib_route *t, const struct model_place *p, unsigned k)
{
    struct rib_path *path = k < p->n ? path_of(p, &p->route[k]) : NULL;
    bool same = path && t->path == path->id && t->metric == p->route[k].metric &&
                t->protocol == p->route[k].protocol;

    if (path)
        rib_path_put(v, path);
    return same;
}

// No dump tells whether a route behind the legs of a multipath route exists (rib_row.c).
static bool is_behind_legs(const struct rib_route *t, const struct model_place *p, unsigned k)
{
    return p->prefix.family == IP6 && k && t->metric == p->route[k - 1].metric &&
           __builtin_popcount(p->route[k - 1].legs) > 1 &&
           !rib_is_multipath6(rib_path_at(v, t->path));
}

static bool equals(const struct model_place *p)
{
    const struct rib *r = &v->rib[p->prefix.family == IP6];
    uint32_t node = rib_trie_find(&r->trie, &p->prefix),
             id = node ? rib_trie_at(&r->trie, node)->head : 0;
    unsigned k = 0;

    for (; id; id = rib_route_at(r, id)->next) {
        const struct rib_route *t = rib_route_at(r, id);

        if (!!(t->flags & RIB_ROUTE_LOCAL) != p->local)
            continue;
        if (is_route(t, p, k))
            k++;
        else if (is_behind_legs(t, p, k))
            in_doubt = true;
        else
            return false;
    }
    return k == p->n;
}

static bool same_hop(const struct netlink_hop *a, struct netlink_hop b, uint16_t weight)
{
    b.weight = weight;
    return !hop_compare(a, &b);
}

static const struct netlink_nexthop *parse_object(unsigned i)
{
    static struct netlink_event e;

    assert_int_equal(netlink_parse(model_object_message(i), &e), 1);
    return &e.nexthop;
}

// Its usable legs, in the order of the members.
static bool has_legs(const struct nexthop_object *o, const struct model_object *group)
{
    const struct netlink_nexthop *m;
    unsigned n = 0;

    for (unsigned k = 0; k < group->n; k++) {
        m = parse_object(group->member[k].object);
        if (m->blackhole)
            return o->set.fixed == NEXTHOP_BLACKHOLE && !o->set.n;
        if (n == o->set.n || !same_hop(&o->set.hop[n++].key, m->hop, group->member[k].weight))
            return false;
    }
    return n == o->set.n;
}

static bool object_equals(unsigned i)
{
    const struct nexthop_object *o = rib_map_find(&v->object, model_object_id(i));
    const struct model_object *k = &model_object[i];
    const struct netlink_nexthop *m;

    if (!k->there || !o || !o->announced)
        return !k->there && !(o && o->announced);
    m = parse_object(i);
    if (o->group != m->group || o->blackhole != m->blackhole || o->member.n != m->n_members)
        return false;
    for (unsigned n = 0; n < m->n_members; n++)
        if (o->member.item[n].id != m->member[n].id ||
            o->member.item[n].weight != m->member[n].weight)
            return false;
    if (m->group)
        return has_legs(o, k);
    return m->blackhole ? o->set.fixed == NEXTHOP_BLACKHOLE
                        : o->set.n == 1 && same_hop(&o->set.hop[0].key, m->hop, 1);
}

static void compare(void)
{
    bool was_in_doubt = in_doubt && v->sync.want;
    char why[200];

    in_doubt = false;

    for (unsigned i = 0; i < 2; i++)
        if (rib_check(v, &v->rib[i], why, sizeof why))
            fail_msg("%s (RIB_SEED=%u)", why, seed);
    for (unsigned i = 0; i < MODEL_PLACES; i++) {
        if (equals(&model_place[i]) || (was_in_doubt && model_place[i].prefix.family == IP6))
            continue;
        print_routes(&model_place[i]);
        fail_msg("the RIB is not as the kernel (RIB_SEED=%u)", seed);
    }
    for (unsigned i = 0; i < MODEL_OBJECTS; i++)
        if (!object_equals(i))
            fail_msg("next-hop object %u is not as in the kernel (RIB_SEED=%u)",
                     (unsigned)model_object_id(i), seed);
}

// --- histories ---

// Starts like a new process, without any state.
static void forget_everything(void)
{
    for (unsigned i = 0; i < 2; i++) {
        struct rib *r = &v->rib[i];
        uint32_t next;

        for (uint32_t node = rib_trie_first(&r->trie); node; node = next) {
            next = rib_trie_next(&r->trie, node);
            while (rib_trie_at(&r->trie, node)->head)
                rib_route_del(v, r, rib_trie_at(&r->trie, node)->head);
            rib_evaluate(v, r, node);
        }
        r->deferred = false; // loading a whole FIB costs too much here
    }
    for (unsigned i = 0; i < MODEL_OBJECTS; i++)
        nexthop_object_del(v, model_object_id(i));
    rib_commit(v);
    v->synced = false;
    v->sync.tries = 0;
    rib_sync_want(v, RIB_STAGES_ALL, 0);
}

static void unheard_changes(unsigned n)
{
    for (; n; n--)
        model_change();
    while (model_step())
        ;
    model_lose();
}

static void begin_history(void)
{
    unsigned how = v->synced ? model_pick(4) : 0;

    unheard_changes(how == 3 ? model_pick(3) : model_pick(6));
    if (how < 2)
        forget_everything();
    else if (how == 2)
        rib_sync_overrun(v);
    else
        rib_sync_want(v, RIB_STAGES_ALL, 0);
}

static void history(void)
{
    unsigned changes = model_pick(CHANGES + 1), dumps = model_dumps, turns = 0;

    begin_history();
    while (changes || model_is_busy() || !is_quiet()) {
        if (model_pick(2) && !model_step() && changes)
            model_change(), changes--;
        turn();
        if (++turns > TURNS_MAX || model_dumps - dumps > DUMPS_MAX)
            fail_msg("no end: %u dumps (RIB_SEED=%u)", model_dumps - dumps, seed);
    }
    if (model_dumps - dumps > most_dumps)
        most_dumps = model_dumps - dumps;
    compare();
}

// Changes without a dump: silent changes of the kernel are derived, and no dump has to repair
// anything.
static void history_without_a_dump(void)
{
    unsigned changes = model_pick(2 * CHANGES + 1);

    while (changes || model_is_busy() || v->dirty.n) {
        if (model_pick(2) && !model_step() && changes)
            model_change(), changes--;
        for (unsigned n = model_pick(4); n; n--)
            read_one();
        if (model_pick(8) == 0)
            rib_path_work(v, model_pick(4));
    }
    compare();
}

static struct rib_audit_report told;

static void tell(void *ctx, const struct rib_audit_report *r)
{
    told = *r;
    told.runs = 1;
}

// An audit during changes, some of them silent: they are not differences.
static void history_with_an_audit(void)
{
    unsigned changes = model_pick(CHANGES + 1), turns = 0;
    char text[PREFIX_TEXT_MAX];

    for (unsigned i = 0; !is_quiet() || model_is_busy(); turn())
        if (++i > TURNS_MAX)
            fail_msg("no quiet (RIB_SEED=%u)", seed);
    told.runs = 0;
    rib_audit_ask(v, tell, NULL);
    while (!told.runs) {
        if (model_pick(2) && !model_step() && changes)
            model_change(), changes--;
        turn();
        while (rib_audit_slice(v, false))
            ;
        if (++turns > TURNS_MAX)
            fail_msg("no end of an audit (RIB_SEED=%u)", seed);
    }
    if (told.diverged)
        fail_msg("an audit found %u differences, the first one %s: %s (RIB_SEED=%u)",
                 (unsigned)told.diverged,
                 told.n_findings ? prefix_format(&told.finding[0].prefix, text) : "-",
                 told.n_findings ? told.finding[0].what : "-", seed);
    while (changes || model_is_busy() || !is_quiet()) {
        if (model_pick(2) && !model_step() && changes)
            model_change(), changes--;
        turn();
    }
    compare();
}

// --- objects that an event describes as a whole ---

static struct nlmsghdr *address_message(uint16_t type)
{
    static _Alignas(8) char buf[256];
    struct nlmsghdr *h = mnl_nlmsg_put_header(buf);
    struct ifaddrmsg *m = mnl_nlmsg_put_extra_header(h, sizeof *m);

    h->nlmsg_type = type;
    *m = (struct ifaddrmsg){.ifa_family = AF_INET, .ifa_prefixlen = 24, .ifa_index = 11};
    mnl_attr_put(h, IFA_LOCAL, 4, (uint8_t[4]){10, 9, 0, 1});
    return h;
}

static struct nlmsghdr *link_message(bool up)
{
    static _Alignas(8) char buf[256];
    struct nlmsghdr *h = mnl_nlmsg_put_header(buf);
    struct ifinfomsg *m = mnl_nlmsg_put_extra_header(h, sizeof *m);

    h->nlmsg_type = RTM_NEWLINK;
    *m = (struct ifinfomsg){.ifi_index = 11, .ifi_flags = up ? IFF_UP | IFF_RUNNING : 0};
    return h;
}

static struct nlmsghdr *object_message(uint16_t type)
{
    static _Alignas(8) char buf[256];
    struct nlmsghdr *h = mnl_nlmsg_put_header(buf);
    struct nhmsg *m = mnl_nlmsg_put_extra_header(h, sizeof *m);

    h->nlmsg_type = type;
    *m = (struct nhmsg){.nh_family = AF_INET};
    mnl_attr_put_u32(h, NHA_ID, 77);
    mnl_attr_put_u32(h, NHA_OIF, 11);
    return h;
}

static struct nlmsghdr *neigh_message(uint16_t type)
{
    static _Alignas(8) char buf[256];
    struct nlmsghdr *h = mnl_nlmsg_put_header(buf);
    struct ndmsg *m = mnl_nlmsg_put_extra_header(h, sizeof *m);

    h->nlmsg_type = type;
    *m = (struct ndmsg){.ndm_family = AF_INET, .ndm_ifindex = 11, .ndm_state = NUD_REACHABLE};
    mnl_attr_put(h, NDA_DST, 4, (uint8_t[4]){10, 9, 0, 2});
    mnl_attr_put(h, NDA_LLADDR, 6, "\2\0\0\0\0\1");
    return h;
}

static void hear_event(struct nlmsghdr *h)
{
    rib_sync_message(v, h);
}

static void hear_row(struct nlmsghdr *h)
{
    h->nlmsg_pid = v->events.portid;
    h->nlmsg_seq = v->sync.seq;
    rib_sync_message(v, h);
}

static bool has_neigh(void)
{
    struct ip_addr a = {.family = IP4, .b = {10, 9, 0, 2}};
    struct neigh *n = neigh_find(v, 11, &a);

    return n && n->in_kernel;
}

static bool has_object(void)
{
    const struct nexthop_object *o = rib_map_find(&v->object, 77);

    return o && o->announced;
}

unit_test(an_older_row_does_not_undo_an_event)
{
    struct rib_link *l;

    v->sync.stage = RIB_STAGE_LINK;
    for (unsigned i = 0; i < 2; i++) { // 0: as rows that no event contradicts
        if (i) {
            hear_event(link_message(false));
            hear_event(address_message(RTM_DELADDR));
            hear_event(object_message(RTM_DELNEXTHOP));
            hear_event(neigh_message(RTM_DELNEIGH));
        }
        hear_row(link_message(true));
        hear_row(address_message(RTM_NEWADDR));
        hear_row(object_message(RTM_NEWNEXTHOP));
        hear_row(neigh_message(RTM_NEWNEIGH));
        l = rib_link_find(v, 11);
        assert_int_equal(l->up, !i);
        assert_int_equal(l->addr.n, !i);
        assert_int_equal(has_object(), !i);
        assert_int_equal(has_neigh(), !i);
    }
    hear_event(link_message(true)); // newer than all of those rows: later ones are newer still
    hear_row(address_message(RTM_NEWADDR));
    assert_int_equal(l->addr.n, 1);
    hear_event(address_message(RTM_DELADDR));
    v->sync.stage = -1;
    v->sync.want = v->sync.whole = 0;
}

unit_test(the_rib_ends_as_the_kernel)
{
    unsigned n =
        getenv("RIB_HISTORIES") ? (unsigned)atoi(getenv("RIB_HISTORIES")) / 6 : HISTORIES / 6;
    unsigned from = getenv("RIB_SEED") ? (unsigned)atoi(getenv("RIB_SEED")) : 1;

    if (getenv("RIB_SEED"))
        n = 1;
    for (seed = from; seed < from + n; seed++) {
        model_seed(seed);
        model_make(v->events.portid);
        v->synced = false;
        for (unsigned i = 0; i < 4;
             i++) // the first is a start; each other begins in the state left by the previous one
            history();
        history_without_a_dump();
        history_with_an_audit();
    }
    printf("%u histories, the longest took %u dumps of routes\n", 6 * n, most_dumps);
    forget_everything();
}

int main(void)
{
    setvbuf(stdout, NULL, _IOLBF, 0);
    log_set_level(getenv("FIXTURE_LOG") ? LOG_LEVEL_DEBUG : LOG_LEVEL_ERROR);
    return unit_tests_run(open_store, close_store);
}
