// SPDX-License-Identifier: BSD-3-Clause
// past_test.c - explain at an earlier time agrees with the forwarder at that time
//
// A random history of a router whose tables rib_manager's own code writes: routes of two virtual
// routers, groups, MTUs, neighbors, carriers; and of its interfaces: links, access lists with
// redirects, uRPF, virtual routers. After each event random packets pass the forwarder, and
// everything that explain tells about their way is kept. Later, questions about earlier times must
// have these answers, or none if the journal has forgotten that time. PAST_QUESTIONS=1000000 for a
// long run; KAMUEE_SEED=n repeats a run.
#include "acl_fixture.h"

#include <linux/neighbour.h>
#include <linux/rtnetlink.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/clock.h"
#include "base/hash.h"
#include "rib/journal.h"
#include "rib/neigh.h"
#include "rib/rib_manager.h"
#include "rib/vr.h"
#include "table/nexthop_count.h"
#include "table/past.h"
#include "table/trial.h"

#define IFACES 5u
#define GATEWAYS 3u // on each link
#define PREFIXES 24u
#define FLOWS 12u
#define LISTS 800u
#define MOMENTS 3000u

static uint16_t iface[IFACES], red;
static struct rib_vr *router[2];
static struct packet_trace *trace;
static uint64_t dice;
static unsigned n_lists;

static uint32_t roll(uint32_t n)
{
    dice += 0x9e3779b97f4a7c15u;
    return (uint32_t)((hash_mix64(dice) >> 32) * n >> 32);
}

// --- the router ----------------------------------------------------------------------------------

static unsigned vr_of(unsigned link) // link 4 is red's
{
    return link == 4;
}

static struct ip_addr gateway(unsigned link, unsigned k, bool six)
{
    struct ip_addr a = {.family = six ? IP6 : IP4};

    if (six)
        memcpy(a.b, (uint8_t[16]){0xfd, 1, [7] = (uint8_t)link, [15] = (uint8_t)(k + 2)}, 16);
    else
        memcpy(a.b, (uint8_t[4]){172, 16, (uint8_t)link, (uint8_t)(k + 2)}, 4);
    return a;
}

static void link_event(unsigned link, bool carrier)
{
    struct netlink_event e = {.kind = NETLINK_EVENT_LINK};

    e.link = (struct netlink_link){
        .ifindex = 11 + (int)link, .mtu = 1500, .up = true, .carrier = carrier};
    rib_event_link(router[vr_of(link)], &e);
}

static void router_open(unsigned which, uint16_t vr, uint32_t table)
{
    struct rib_vr *v = router[which] = rib_vr_new(vr, -1, table);

    assert_non_null(v);
    v->no_managed = v->synced = true;
    for (unsigned i = 0; i < 2; i++) {
        v->rib[i].deferred = false;
        v->rib[i].loaded_ns = clock_now_ns();
    }
}

void rig_begin(void)
{
    static const unsigned port[IFACES] = {0, 1, 2, 0, 3};

    red = rig_vr("red");
    past_limit(PAST_IFACE, 1 << 20);
    for (unsigned k = 0; k < IFACES; k++) {
        iface[k] = rig_iface(port[k], k == 3 ? 30 : 0, k == 4 ? red : VR_DEFAULT);
        iface_get(iface[k])->ifindex = 11 + (int)k;
        iface_get(iface[k])->carrier = true;
    }
    nexthop_cross_begin();
    router_role(ROLE_RIB_MANAGER);
    assert_int_equal(nexthop_manager_init(), 0);
    assert_int_equal(
        neigh_manager_init(&(struct neigh_routes){rib_is_connected, rib_host_set, rib_detour}), 0);
    assert_int_equal(journal_resize(4), 0);
    router_open(0, VR_DEFAULT, RIB_TABLE_MAIN);
    router_open(1, red, 77);
    for (unsigned k = 0; k < IFACES; k++) {
        link_event(k, true);
        rib_iface_bind(router[vr_of(k)], iface[k]);
    }
    trace = calloc(1, sizeof *trace + 4096);
    assert_non_null(trace);
}

static int clean(void **state)
{
    router_role(ROLE_CONTROL);
    for (unsigned k = 0; k < IFACES; k++)
        iface_bind_acl(iface_get(iface[k]), 0, 0);
    forwarder_explain_fini();
    router_role(ROLE_RIB_MANAGER);
    rib_vr_free(router[1]);
    rib_vr_free(router[0]);
    neigh_manager_fini();
    nexthop_manager_fini();
    router_role(ROLE_CONTROL);
    past_limit(PAST_IFACE, 0);
    lists_free();
    free(trace);
    return rig_teardown(state);
}

// --- events --------------------------------------------------------------------------------------

static struct prefix random_prefix(bool *six)
{
    const unsigned i = roll(PREFIXES);
    struct prefix p = {.family = i % 3 ? IP4 : IP6, .len = i < 3 ? 0 : (uint8_t)(9 + i)};

    *six = p.family == IP6;
    if (*six)
        memcpy(p.b, (uint8_t[16]){0x20, 1, 0xd, 0xb8, (uint8_t)(i * 40)}, 16);
    else
        memcpy(p.b, (uint8_t[4]){10, (uint8_t)(i * 24), (uint8_t)(i * 16)}, 4);
    if (*six && p.len)
        p.len = (uint8_t)(p.len + 12);
    prefix_canon(&p);
    return p;
}

static void route_event(void)
{
    static const uint8_t type[] = {RTN_BLACKHOLE, RTN_UNREACHABLE, RTN_PROHIBIT};
    struct netlink_event e = {.kind = NETLINK_EVENT_ROUTE};
    const unsigned of = roll(3) == 0;
    bool six;

    e.route = (struct netlink_route){.prefix = random_prefix(&six),
                                     .type = roll(8) ? RTN_UNICAST : type[roll(3)],
                                     .protocol = 186,
                                     .table = router[of]->table,
                                     .metric = 10 * roll(2),
                                     .mtu = roll(6) ? 0 : (uint16_t)(1300 + roll(100))};
    e.route.metrics_hash = e.route.mtu;
    for (unsigned k = 0, n = 1 + roll(3); e.route.type == RTN_UNICAST && k < n; k++) {
        const unsigned link = of ? 4 : roll(4);
        e.route.hop[e.route.n_hops++] =
            (struct netlink_hop){.ifindex = 11 + (int)link,
                                 .weight = (uint16_t)(1 + roll(3)),
                                 .onlink = true,
                                 .gateway = gateway(link, roll(GATEWAYS), six)};
    }
    e.route.multipath = e.route.n_hops > 1;
    e.create = e.replace = true;
    e.del = roll(5) == 0;
    rib_event_route(router[of], &e);
}

static void neighbor_event(void)
{
    static const uint16_t state[] = {NUD_REACHABLE, NUD_REACHABLE, NUD_REACHABLE, NUD_STALE,
                                     NUD_FAILED};
    const unsigned link = roll(IFACES);
    struct netlink_neigh m = {.ifindex = 11 + (int)link, .state = state[roll(5)], .has_mac = true};

    m.addr = gateway(link, roll(GATEWAYS), roll(3) == 0);
    memcpy(m.mac, (uint8_t[6]){2, 0, 0, 0, (uint8_t)link, (uint8_t)roll(8)}, 6);
    neigh_event(router[vr_of(link)], &m, roll(10) == 0);
}

static uint16_t random_list(void)
{
    static uint16_t all[LISTS];
    struct list l = {.otherwise = {.verb = roll(8) ? ACL_PERMIT : ACL_DENY}};

    if (n_lists == LISTS)
        return all[roll(LISTS)];
    for (unsigned k = 0, n = roll(4); k < n; k++) {
        static const char *const prefix[] = {"10.0.0.0/9", "10.128.0.0/10", "10.0.0.0/8"};
        struct acl_rule *r = list_rule(&l, 10 + 10 * k, ACL_IP4, roll(2) ? ACL_PERMIT : roll(3));
        side(roll(2) ? &r->src : &r->dst, prefix[roll(3)]);
        if (roll(3) == 0) {
            list_action(&l)->verb = ACL_PERMIT;
            list_action(&l)->extra = ACL_REDIRECT;
            list_action(&l)->redirect = redirect_to(roll(2) ? "10.96.0.9" : "10.200.0.9");
        }
    }
    return all[n_lists++] = list_publish(&l, "x");
}

static void interface_event(void)
{
    struct iface *i = iface_get(iface[roll(IFACES)]);
    const uint8_t urpf = roll(2) ? 0 : (uint8_t)(roll(4) | (roll(2) ? 0 : URPF_ALLOW_DEFAULT));
    const uint16_t list = roll(3) ? random_list() : 0;

    router_role(ROLE_CONTROL);
    switch (roll(5)) {
    case 0:
        iface_set_flags(i, IFACE_UP, roll(5) ? IFACE_UP : 0);
        break;
    case 1:
        iface_bind_acl(i, list, i->acl_out);
        break;
    case 2:
        iface_bind_acl(i, i->acl_in, list);
        break;
    case 3:
        iface_set_vr(i, roll(2) ? red : VR_DEFAULT);
        break;
    case 4:
        i->policy.urpf[0] = i->policy.urpf[1] = urpf;
        iface_set_flags(i, IFACE_URPF4 | IFACE_URPF6,
                        urpf & URPF_MODE ? IFACE_URPF4 | IFACE_URPF6 : 0);
    }
}

static void random_event(void)
{
    router_role(ROLE_RIB_MANAGER);
    journal_new_moment();
    switch (roll(16)) {
    case 0:
        link_event(roll(IFACES), roll(3));
        break;
    case 1:
        rib_fib_sources(router[0], roll(2) ? IP4 : IP6, (uint8_t)roll(3));
        break;
    case 2:
    case 3:
    case 4:
        interface_event();
        break;
    case 5:
    case 6:
    case 7:
    case 8:
        neighbor_event();
        break;
    default:
        route_event();
    }
    router_role(ROLE_RIB_MANAGER);
    for (unsigned k = 0; k < 2; k++) {
        while (rib_path_work(router[k], 1000))
            ;
        rib_commit(router[k]);
    }
}

// --- packets -------------------------------------------------------------------------------------

struct flow {
    uint8_t in, n;
    uint8_t b[120];
};

static void random_flow(struct flow *f)
{
    char src[48], dst[48];
    bool six = roll(3) == 0;

    f->in = (uint8_t)roll(IFACES);
    for (unsigned k = 0, i = roll(PREFIXES); k < 2; k++, i = roll(PREFIXES))
        if (six)
            snprintf(k ? dst : src, 48, "2001:db8:%x::%x", (i * 40 & 255) << 8, 1 + roll(4));
        else
            snprintf(k ? dst : src, 48, "10.%u.%u.%u", i * 24 & 255, i * 16 & 255, roll(4));
    struct frame g =
        ip_frame(.src = src, .dst = dst, .sport = (uint16_t)roll(100), .dport = 7,
                 .vlan = f->in == 3 ? 30 : 0, .to_iface = iface[f->in], .ttl = roll(20) ? 64 : 1);
    if (!six && roll(10) == 0) // too long for some routes
        g = ip_frame(.src = src, .dst = dst, .to_iface = iface[f->in], .vlan = f->in == 3 ? 30 : 0);
    f->n = (uint8_t)g.n;
    assert_true(g.n <= sizeof f->b);
    memcpy(f->b, g.b, g.n);
}

struct step { // what explain tells, compared with memcmp
    uint32_t leaf, hash, bucket, n_buckets, nexthop;
    uint16_t drop, iface, vr, out, mtu, route_mtu;
    uint8_t of, end, icmp, icmp_type, leaf_kind, kind, verb, acl_out, redirected, pad[3];
    uint32_t rule;
};

struct outcome {
    uint32_t n, port;
    uint64_t frames; // hash of the sent frames
    struct step step[6];
};

static void read_outcome(struct outcome *o)
{
    memset(o, 0, sizeof *o);
    for (unsigned k = 0; k < trace->n_steps; k++) {
        const struct packet_trace_step *s = &trace->step[k];
        if (!strcmp(s->stage, "ip4_in") || !strcmp(s->stage, "ip6_in") ||
            (!strcmp(s->stage, "ether_in") && s->end == TRACED_ON))
            continue; // a link that is down now: the packet is not plain
        assert_true(o->n < 6);
        o->step[o->n++] = (struct step){
            .leaf = s->lookup.leaf,
            .hash = s->lookup.hash,
            .bucket = s->lookup.bucket,
            .n_buckets = s->lookup.n_buckets,
            .nexthop = s->lookup.nexthop,
            .drop = s->drop,
            .iface = s->iface,
            .vr = s->vr,
            .out = s->lookup.iface,
            .mtu = s->lookup.mtu,
            .route_mtu = s->lookup.route_mtu,
            .of = s->of,
            .end = s->end,
            .icmp = s->icmp,
            .icmp_type = s->icmp_type,
            .leaf_kind = s->lookup.leaf_kind,
            .kind = s->lookup.kind,
        };
        if (s->acl.list) {
            struct step *to = &o->step[o->n - 1];
            to->verb = s->acl.verb;
            to->acl_out = 1 + s->acl.out;
            to->redirected = s->acl.nexthop != 0;
            to->rule = s->acl.rule;
        }
    }
    for (unsigned k = 0; k < trace->n_frames; k++) {
        const struct packet_trace_frame *f = &trace->frame[k];
        o->port = f->port;
        o->frames = hash_bytes(trace->bytes + f->at, f->kept, o->frames + f->len);
    }
}

static void explain(const struct flow *f, const struct trial *t)
{
    packet_trace_init(trace, 4096, 256);
    router_role(ROLE_CONTROL);
    assert_int_equal(forwarder_explain(iface_get(iface[f->in])->port, f->b, f->n, t, trace), 0);
}

// --- moments -------------------------------------------------------------------------------------

static struct moment {
    uint64_t at_ns;
    struct trial_iface iface[IFACES];
    struct flow flow[FLOWS];
    struct outcome did[FLOWS];
} * moment;

static void keep_moment(struct moment *m)
{
    static const struct trial in_force; // with full token buckets

    for (unsigned k = 0; k < IFACES; k++) {
        const struct iface *i = iface_get(iface[k]);
        m->iface[k] = (struct trial_iface){
            .differs = true, .vr = i->vr, .list = {{.id = i->acl_in}, {.id = i->acl_out}}};
        memcpy(m->iface[k].urpf, i->policy.urpf, 2);
        for (unsigned d = 0; d < 2; d++) // as if it were not in force any more
            if (m->iface[k].list[d].id && roll(2))
                m->iface[k].list[d] =
                    (struct trial_list){.content = acl_table[m->iface[k].list[d].id].content};
    }
    for (unsigned k = 0; k < FLOWS; k++) {
        random_flow(&m->flow[k]);
        explain(&m->flow[k], &in_force);
        read_outcome(&m->did[k]);
    }
    m->at_ns = clock_now_ns();
}

static void answer(struct trial_route *r, uint64_t at_ns)
{
    struct journal_query q = {
        .vr = r->vr, .family = r->dst.family, .match = JOURNAL_COVERING, .from_ns = at_ns};
    struct journal_answer a;

    q.prefix.family = r->dst.family;
    q.prefix.len = (uint8_t)ip_bits(r->dst.family);
    memcpy(q.prefix.b, r->dst.b, 16);
    router_role(ROLE_RIB_MANAGER);
    journal_at_now(&q, &a);
    r->answered = true;
    r->known = a.reached;
    r->leaf = a.leaf;
    vec_free(&a.row);
    vec_free(&a.nexthop);
}

// False: the answer is not known any more.
static bool ask(const struct moment *m, unsigned which, struct outcome *o)
{
    static struct trial_iface tried[IFACE_MAX];
    struct trial_past past = {.at_ns = m->at_ns};
    const struct trial t = {.iface = tried, .past = &past};
    bool again = true;
    struct iface was;

    for (unsigned k = 0; k < IFACES; k++)
        tried[iface[k]] = m->iface[k];
    router_role(ROLE_CONTROL);
    if (!iface_was(iface[m->flow[which].in], m->at_ns, &was))
        return false;
    past.down = !iface_is_up(&was);
    while (again) {
        again = false;
        explain(&m->flow[which], &t);
        for (unsigned i = 0; i < past.n; i++)
            if (!past.route[i].answered) {
                answer(&past.route[i], m->at_ns);
                if (!past.route[i].known)
                    return false;
                again = true;
            }
    }
    read_outcome(o);
    return !past.lost;
}

static void tell(const char *what, const struct outcome *o)
{
    for (unsigned k = 0; k < o->n; k++) {
        const struct step *s = &o->step[k];
        print_message("%s: step %u of %u end %u drop %u iface %u vr %u leaf %u/%u nexthop %u/%u "
                      "hash %x bucket %u/%u out %u mtu %u %u icmp %u/%u acl %u rule %u verb %u "
                      "redirected %u\n",
                      what, k, s->of, s->end, s->drop, s->iface, s->vr, s->leaf, s->leaf_kind,
                      s->nexthop, s->kind, s->hash, s->bucket, s->n_buckets, s->out, s->mtu,
                      s->route_mtu, s->icmp, s->icmp_type, s->acl_out, s->rule, s->verb,
                      s->redirected);
    }
    print_message("%s: port %u frames %llx\n", what, o->port, (unsigned long long)o->frames);
}

unit_test_of(explain_says_what_the_forwarder_did_then, rig_setup, clean)
{
    const char *seed = getenv("KAMUEE_SEED"), *many = getenv("PAST_QUESTIONS");
    const unsigned questions = many ? (unsigned)atoi(many) : 60000;
    unsigned known = 0, forgotten = 0, ends[TRACED_DROPPED + 1] = {0}, members = 0;

    moment = calloc(MOMENTS, sizeof *moment);
    assert_non_null(moment);
    dice = seed ? strtoull(seed, NULL, 0) : (uint64_t)time(NULL);
    print_message("KAMUEE_SEED=%llu\n", (unsigned long long)dice);
    for (unsigned n = 0, asked = 0; n < MOMENTS; n++) {
        random_event();
        keep_moment(&moment[n]);
        for (; asked < (uint64_t)questions * (n + 1) / MOMENTS; asked++) {
            const unsigned back = roll(2) ? roll(n + 1) : roll(n < 50 ? n + 1 : 50);
            const struct moment *m = &moment[n - back];
            const unsigned which = roll(FLOWS);
            struct outcome said;
            if (!ask(m, which, &said)) {
                forgotten++;
                continue;
            }
            if (memcmp(&said, &m->did[which], sizeof said)) {
                tell("did", &m->did[which]);
                tell("said", &said);
                fail_msg("moment %u, asked %u later, packet %u by %u", n - back, back, which,
                         m->flow[which].in);
            }
            known++;
            ends[said.n ? said.step[said.n - 1].end : 0]++;
            members += said.n && said.step[said.n - 1].n_buckets > 0;
        }
    }
    print_message("%u answers: %u sent, %u held, %u dropped, %u by groups; %u forgotten\n", known,
                  ends[TRACED_SENT], ends[TRACED_HELD], ends[TRACED_DROPPED], members, forgotten);
    assert_true(known > questions / 4);
    assert_true(ends[TRACED_SENT] > known / 20); // otherwise the test tests little
    free(moment);
}
