// SPDX-License-Identifier: BSD-3-Clause
// rib_model.c - for tests: a naive kernel that changes routes while it dumps them (rib_model.h)
#include "rib/test/rib_model.h"

#include <libmnl/libmnl.h>
#include <linux/if.h>
#include <linux/nexthop.h>
#include <linux/rtnetlink.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/hash.h"
#include "base/log.h"

#define QUEUE 2048
#define DATAGRAM 2048
#define STEPS 1024
#define N4 10                // places of IPv4, then of IPv6
#define WAYS 4               // gateways of a family, two on each link
#define BLACKHOLE (2 * WAYS) // way of an object; then that of an IPv6 blackhole

struct model_place model_place[MODEL_PLACES];
unsigned model_dumps;

static uint32_t random_state, port;

static struct datagram {
    unsigned len;
    _Alignas(8) char buf[DATAGRAM];
} queue[QUEUE], taken;
static unsigned queue_from, queue_n;

// Remaining steps of a change.
static struct step {
    enum { SEND, INSERT, ERASE, ERASE_LIKE, LEG_ADD, LEG_DEL } what;
    bool with_next; // in one step with the next, under one lock
    bool soon;      // takes less time than filling a datagram
    unsigned place, at;
    struct model_route route;
    struct datagram message;
} steps[STEPS];
static unsigned step_from, step_n;

struct model_object model_object[MODEL_OBJECTS];
static bool link_up[2] = {true, true}, carrier[2] = {true, true};
static bool compat;      // net.ipv4.nexthop_compat_mode
static bool skip_notify; // net.ipv6.route.skip_notify_on_dev_down

static struct {
    bool running, ending;
    uint16_t type;
    uint8_t family;
    uint32_t seq;
    bool local;      // the route is in the local table
    unsigned place;  // IPv4: first place of the leaf; IPv6: the node
    unsigned in;     // rows of the leaf or node already done
    unsigned count, sernum; // IPv6
} dump;
static unsigned sernum[2]; // of the IPv6 tables

unsigned model_pick(unsigned n)
{
    return (random_state = hash_mix32(random_state + 0x9e3779b9)) % n;
}

void model_seed(unsigned seed)
{
    random_state = hash_mix32(seed);
}

// --- messages ---

static int link_of(unsigned way)
{
    return way % WAYS < 2 ? 11 : 12;
}

static bool is_up(unsigned way)
{
    return link_up[link_of(way) - 11];
}

static void put_gateway(struct nlmsghdr *h, uint16_t attr, uint8_t family, unsigned way)
{
    uint8_t gateway[16] = {10, 0, 0, (uint8_t)(way + 1)};

    if (family == IP6)
        memcpy(gateway, "\xfd\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 15), gateway[15] = (uint8_t)(way + 1);
    mnl_attr_put(h, attr, family == IP4 ? 4 : 16, gateway);
}

static void put_legs(struct nlmsghdr *h, uint8_t family, uint8_t legs)
{
    struct nlattr *nest;

    if (__builtin_popcount(legs) == 1) {
        mnl_attr_put_u32(h, RTA_OIF, (uint32_t)link_of((unsigned)__builtin_ctz(legs)));
        put_gateway(h, RTA_GATEWAY, family, (unsigned)__builtin_ctz(legs));
        return;
    }
    nest = mnl_attr_nest_start(h, RTA_MULTIPATH);
    for (unsigned way = 0; way < 8; way++) {
        struct rtnexthop *leg = mnl_nlmsg_get_payload_tail(h);

        if (!(legs & 1u << way))
            continue;
        *leg = (struct rtnexthop){.rtnh_ifindex = link_of(way)};
        h->nlmsg_len += sizeof *leg;
        put_gateway(h, RTA_GATEWAY, family, way);
        leg->rtnh_len = (unsigned short)((char *)mnl_nlmsg_get_payload_tail(h) - (char *)leg);
    }
    mnl_attr_nest_end(h, nest);
}

static struct nlmsghdr *message(void *buf, uint16_t type, uint16_t flags)
{
    struct nlmsghdr *h = mnl_nlmsg_put_header(buf);

    h->nlmsg_type = type;
    h->nlmsg_flags = flags;
    return h;
}

static void route_message(void *buf, uint16_t type, uint16_t flags, const struct model_place *p,
                          const struct model_route *t)
{
    struct nlmsghdr *h = message(buf, type, flags);
    struct rtmsg *r = mnl_nlmsg_put_extra_header(h, sizeof *r);

    *r = (struct rtmsg){.rtm_family = (uint8_t)ip_af_of_family(p->prefix.family),
                        .rtm_dst_len = p->prefix.len,
                        .rtm_type = RTN_UNICAST,
                        .rtm_protocol = t->protocol,
                        .rtm_table = p->local ? RT_TABLE_LOCAL : RT_TABLE_MAIN};
    mnl_attr_put(h, RTA_DST, p->prefix.family == IP4 ? 4 : 16, p->prefix.b);
    mnl_attr_put_u32(h, RTA_PRIORITY, t->metric);
    if (t->nhid)
        mnl_attr_put_u32(h, RTA_NH_ID, t->nhid);
    else
        put_legs(h, p->prefix.family, t->legs);
}

const struct nlmsghdr *model_message(const struct model_place *p, const struct model_route *t)
{
    static _Alignas(8) char buf[DATAGRAM];

    route_message(buf, RTM_NEWROUTE, 0, p, t);
    return (void *)buf;
}

uint32_t model_object_id(unsigned i)
{
    return i < MODEL_SINGLES ? 10 + i : 20 + i - MODEL_SINGLES;
}

static void put_members(struct nlmsghdr *h, const struct model_object *o)
{
    struct nexthop_grp g[MODEL_MEMBERS];

    memset(g, 0, sizeof g);
    for (unsigned i = 0; i < o->n; i++) {
        g[i].id = model_object_id(o->member[i].object);
        g[i].weight = (uint8_t)(o->member[i].weight - 1);
        ((uint8_t *)&g[i])[offsetof(struct nexthop_grp, weight) + 1] =
            (uint8_t)((o->member[i].weight - 1) >> 8); // Linux 6.12
    }
    mnl_attr_put(h, NHA_GROUP, o->n * sizeof g[0], g);
    mnl_attr_put_u16(h, NHA_GROUP_TYPE,
                     o->resilient ? NEXTHOP_GRP_TYPE_RES : NEXTHOP_GRP_TYPE_MPATH);
}

static void object_message(void *buf, uint16_t type, uint16_t flags, unsigned i)
{
    const struct model_object *o = &model_object[i];
    bool group = i >= MODEL_SINGLES, six = o->way == BLACKHOLE + 1 || o->way / WAYS == 1;
    struct nlmsghdr *h = message(buf, type, flags);
    struct nhmsg *m = mnl_nlmsg_put_extra_header(h, sizeof *m);

    *m = (struct nhmsg){.nh_family = group ? AF_UNSPEC : six ? AF_INET6 : AF_INET};
    mnl_attr_put_u32(h, NHA_ID, model_object_id(i));
    if (group) {
        put_members(h, o);
    } else if (o->way >= BLACKHOLE) {
        mnl_attr_put(h, NHA_BLACKHOLE, 0, NULL);
    } else {
        mnl_attr_put_u32(h, NHA_OIF, (uint32_t)link_of(o->way));
        put_gateway(h, NHA_GATEWAY, six ? IP6 : IP4, o->way % WAYS);
    }
}

const struct nlmsghdr *model_object_message(unsigned i)
{
    static _Alignas(8) char buf[DATAGRAM];

    object_message(buf, RTM_NEWNEXTHOP, 0, i);
    return (void *)buf;
}

static void link_message(void *buf, unsigned i)
{
    struct nlmsghdr *h = message(buf, RTM_NEWLINK, 0);
    struct ifinfomsg *m = mnl_nlmsg_put_extra_header(h, sizeof *m);

    *m = (struct ifinfomsg){.ifi_index = (int)(11 + i),
                            .ifi_flags = !link_up[i]  ? 0
                                         : carrier[i] ? IFF_UP | IFF_RUNNING
                                                      : IFF_UP};
    mnl_attr_put_u32(h, IFLA_MTU, 1500);
}

static void enqueue(const struct datagram *d)
{
    bug_on(queue_n == QUEUE);
    queue[(queue_from + queue_n++) % QUEUE] = *d;
}

// --- changes ---

static struct step *plan(unsigned what, unsigned place, unsigned at)
{
    struct step *s = &steps[step_n++];

    bug_on(step_n > STEPS);
    s->what = what;
    s->with_next = s->soon = false;
    s->place = place;
    s->at = at;
    return s;
}

static void plan_send(uint16_t type, uint16_t flags, unsigned place, const struct model_route *t)
{
    struct step *s = plan(SEND, place, 0);

    route_message(s->message.buf, type, flags, &model_place[place], t);
    s->message.len = ((struct nlmsghdr *)s->message.buf)->nlmsg_len;
}

static void plan_send_object(uint16_t type, uint16_t flags, unsigned i)
{
    struct step *s = plan(SEND, 0, 0);

    object_message(s->message.buf, type, flags, i);
    s->message.len = ((struct nlmsghdr *)s->message.buf)->nlmsg_len;
}

static void plan_insert(unsigned place, unsigned at, const struct model_route *t)
{
    plan(INSERT, place, at)->route = *t;
}

// An IPv6 deletion does not restart a dump that stands at the prefix.
static void erase(unsigned place, unsigned at)
{
    struct model_place *p = &model_place[place];

    memmove(&p->route[at], &p->route[at + 1], (--p->n - at) * sizeof p->route[0]);
    if (p->prefix.family == IP6 && dump.running && dump.place == place && dump.local == p->local &&
        at < dump.in)
        dump.in--;
}

static void erase_like(unsigned place, const struct model_route *t)
{
    struct model_place *p = &model_place[place];
    unsigned at = 0;

    while (memcmp(&p->route[at], t, sizeof *t))
        bug_on(++at == p->n);
    erase(place, at);
}

static bool step_one(void)
{
    struct step *s = &steps[step_from++];
    struct model_place *p = &model_place[s->place];

    sernum[p->local] += (s->what == INSERT || s->what == LEG_ADD) && p->prefix.family == IP6;
    switch (s->what) {
    case SEND: enqueue(&s->message); break;
    case INSERT:
        memmove(&p->route[s->at + 1], &p->route[s->at], (p->n++ - s->at) * sizeof p->route[0]);
        p->route[s->at] = s->route;
        break;
    case ERASE: erase(s->place, s->at); break;
    case ERASE_LIKE: erase_like(s->place, &s->route); break;
    case LEG_ADD: p->route[s->at].legs |= s->route.legs; break;
    case LEG_DEL: p->route[s->at].legs &= (uint8_t)~s->route.legs; break;
    }
    return s->with_next;
}

bool model_step(void)
{
    if (step_from == step_n)
        return false;
    while (step_one())
        ;
    if (step_from == step_n)
        step_from = step_n = 0, steps[0].soon = false;
    return true;
}

bool model_is_busy(void)
{
    return step_from != step_n || queue_n || dump.running;
}

bool model_is_drained(void)
{
    return !queue_n;
}

static void finish(void)
{
    while (model_step())
        ;
}

static unsigned span_begin(const struct model_place *p, uint8_t metric)
{
    unsigned at = 0;

    while (at < p->n && p->route[at].metric < metric)
        at++;
    return at;
}

static unsigned span_end(const struct model_place *p, uint8_t metric)
{
    unsigned at = span_begin(p, metric);

    while (at < p->n && p->route[at].metric == metric)
        at++;
    return at;
}

// fib_table_delete()
static void delete4(unsigned place)
{
    const struct model_place *p = &model_place[place];
    unsigned at = p->n ? model_pick(p->n) : 0;

    if (!p->n)
        return;
    plan_send(RTM_DELROUTE, 0, place, &p->route[at]);
    plan(ERASE, place, at);
}

// fib_table_insert()
static void insert4(unsigned place)
{
    const struct model_place *p = &model_place[place];
    unsigned how = model_pick(4), first, end; // 0 add, 1 append, 2 prepend, 3 replace
    unsigned object = model_pick(MODEL_OBJECTS);
    struct model_route t = {.legs = (uint8_t)(1u << model_pick(4)),
                            .metric = (uint8_t)(model_pick(2) * 5),
                            .protocol = (uint8_t)(model_pick(8) ? 186 : 4)};

    if (model_pick(6) == 0)
        t.legs |= (uint8_t)(1u << model_pick(4));
    if (model_pick(3) == 0 && model_object[object].there)
        t.nhid = (uint8_t)model_object_id(object), t.legs = 0;
    for (unsigned way = 0; way < WAYS; way++)
        if (t.legs & 1u << way && !is_up(way))
            return;
    first = span_begin(p, t.metric);
    end = span_end(p, t.metric);
    for (unsigned k = first; k < end; k++)
        if (!memcmp(&p->route[k], &t, sizeof t))
            return;
    if ((first < end && how == 0) || p->n == MODEL_LIST)
        return;
    if (first < end && how == 3) {
        plan(ERASE, place, first)->with_next = true;
        plan_insert(place, first, &t);
        plan_send(RTM_NEWROUTE, NLM_F_REPLACE, place, &t);
        return;
    }
    plan_insert(place, how == 1 ? end : first, &t);
    plan_send(RTM_NEWROUTE,
              (uint16_t)(NLM_F_CREATE | (first == end ? NLM_F_EXCL
                                         : how == 1   ? NLM_F_APPEND
                                                      : 0)),
              place, &t);
}

// fib_flush(): IPv4 routes by the object, or without a leg other than these, vanish without an
// event.
static void flush4(uint32_t nhid, uint8_t legs)
{
    for (unsigned i = 0; i < N4; i++)
        for (unsigned k = 0; k < model_place[i].n; k++) {
            const struct model_route *t = &model_place[i].route[k];

            if (t->nhid ? t->nhid == nhid : !(t->legs & ~legs))
                plan(ERASE_LIKE, i, 0)->route = *t;
        }
}

// IPv6 routes by the object go; 0: routes with a leg among `some` and none but `legs`. `tell`: with
// an event.
static void flush6(uint32_t nhid, uint8_t some, uint8_t legs, bool tell)
{
    for (unsigned i = N4; i < MODEL_PLACES; i++)
        for (unsigned k = 0; k < model_place[i].n; k++) {
            const struct model_route *t = &model_place[i].route[k];

            if (nhid ? t->nhid != nhid : t->nhid || !(t->legs & some) || t->legs & ~legs)
                continue;
            plan(ERASE_LIKE, i, 0)->route = *t;
            if (!tell)
                continue;
            steps[step_n - 1].with_next = true;
            plan_send(RTM_DELROUTE, 0, i, t);
            steps[step_n - 1].soon = true;
        }
}

// --- next-hop objects ---

static unsigned member_of(unsigned group, unsigned single)
{
    const struct model_object *g = &model_object[group];
    unsigned i = 0;

    while (i < g->n && g->member[i].object != single)
        i++;
    return g->there ? i : g->n;
}

static bool is_in(unsigned group, unsigned single)
{
    return group >= MODEL_SINGLES && member_of(group, single) < model_object[group].n;
}

// remove_nexthop(); a link's loss takes its objects and their groups without an event.
static void remove_object(unsigned i, bool tell)
{
    if (tell)
        plan_send_object(RTM_DELNEXTHOP, 0, i);
    model_object[i].there = false;
    flush4(model_object_id(i), 0);
    flush6(model_object_id(i), 0, 0, compat); // ip6_del_rt()
    for (unsigned g = MODEL_SINGLES; g < MODEL_OBJECTS; g++) {
        struct model_object *o = &model_object[g];
        unsigned at = member_of(g, i);

        if (!is_in(g, i))
            continue;
        if (o->n == 1) {
            remove_object(g, tell);
            continue;
        }
        memmove(&o->member[at], &o->member[at + 1], (--o->n - at) * sizeof o->member[0]);
        if (tell)
            plan_send_object(RTM_NEWNEXTHOP, 0, g);
    }
}

static void remove_objects_on(unsigned link)
{
    for (unsigned i = 0; i < MODEL_SINGLES; i++)
        if (model_object[i].there && model_object[i].way < BLACKHOLE &&
            link_of(model_object[i].way) - 11 == (int)link)
            remove_object(i, false);
}

// May IPv6 routes use it?
static bool suits6(const struct model_object *o, bool group)
{
    for (unsigned i = 0; group && i < o->n; i++)
        if (!suits6(&model_object[o->member[i].object], false))
            return false;
    return group || (o->way >= WAYS && o->way != BLACKHOLE);
}

static bool is_used6(unsigned i)
{
    for (unsigned p = N4; p < MODEL_PLACES; p++)
        for (unsigned k = 0; k < model_place[p].n; k++)
            if (model_place[p].route[k].nhid == model_object_id(i))
                return true;
    return false;
}

static struct model_object random_group(const struct model_object *old)
{
    static const uint16_t weight[] = {1, 1, 1, 2, 3, 256, 257, 5000, UINT16_MAX};
    struct model_object o = {.resilient = old->there ? old->resilient : model_pick(3) == 0};
    unsigned n = 1 + model_pick(MODEL_MEMBERS), from = model_pick(MODEL_SINGLES);

    for (unsigned k = 0; k < MODEL_SINGLES && o.n < n; k++) {
        uint8_t i = (uint8_t)((from + k) % MODEL_SINGLES);

        if (!model_object[i].there || (model_object[i].way >= BLACKHOLE && n > 1))
            continue;
        o.member[o.n].object = i;
        o.member[o.n++].weight = weight[model_pick(sizeof weight / sizeof *weight)];
    }
    o.there = o.n;
    return o;
}

static struct model_object random_single(void)
{
    struct model_object o = {.way = (uint8_t)model_pick(BLACKHOLE)};

    if (model_pick(10) == 0)
        o.way = (uint8_t)(BLACKHOLE + model_pick(2));
    o.there = o.way >= BLACKHOLE || (is_up(o.way) && carrier[link_of(o.way) - 11]);
    return o;
}

// replace_nexthop(): may the object become this one?
static bool may_be(unsigned i, const struct model_object *o)
{
    bool group = i >= MODEL_SINGLES, six = suits6(o, group);

    if (!six && is_used6(i))
        return false;
    for (unsigned g = MODEL_SINGLES; g < MODEL_OBJECTS; g++)
        if (is_in(g, i) &&
            ((!six && is_used6(g)) || (o->way >= BLACKHOLE && model_object[g].n > 1)))
            return false;
    return true;
}

// nexthop_replace_notify(): announces each route by the object.
static void announce_routes_of(unsigned i)
{
    for (unsigned p = 0; p < MODEL_PLACES; p++)
        for (unsigned k = 0; k < model_place[p].n; k++)
            if (model_place[p].route[k].nhid == model_object_id(i))
                plan_send(RTM_NEWROUTE, NLM_F_REPLACE, p, &model_place[p].route[k]);
}

static void change_object(void)
{
    unsigned i = model_pick(MODEL_OBJECTS);
    struct model_object *old = &model_object[i], new;
    bool group = i >= MODEL_SINGLES, replaced = old->there;

    if (replaced && model_pick(3) == 0) {
        remove_object(i, true);
        return;
    }
    new = group ? random_group(old) : random_single();
    if (!new.there || (replaced && !may_be(i, &new)))
        return;
    *old = new;
    plan_send_object(
        RTM_NEWNEXTHOP,
        (uint16_t)(NLM_F_CREATE | (replaced || model_pick(2) ? NLM_F_REPLACE : NLM_F_EXCL)), i);
    for (unsigned g = i; replaced && compat && g < MODEL_OBJECTS; g++)
        if (g == i || is_in(g, i))
            announce_routes_of(g);
    if (new.resilient)
        plan_send_object(RTM_NEWNEXTHOPBUCKET, 0, i); // no news for us
}

static void plan_link(unsigned i)
{
    struct step *s = plan(SEND, 0, 0);

    link_message(s->message.buf, i);
    s->message.len = ((struct nlmsghdr *)s->message.buf)->nlmsg_len;
}

// netdev_state_change(): the announcement comes last.
static void change_carrier(void)
{
    unsigned i = model_pick(2);

    carrier[i] = !carrier[i];
    if (!link_up[i])
        return;
    if (!carrier[i])
        remove_objects_on(i);
    plan_link(i);
}

// __dev_notify_flags(): the announcement comes first.
static void change_link(void)
{
    unsigned i = model_pick(2);

    link_up[i] = !link_up[i];
    plan_link(i);
    if (link_up[i])
        return;
    remove_objects_on(i);
    uint8_t own = i ? 0xc : 3, dead = link_up[!i] ? own : 0xf;
    flush4(0, dead);
    flush6(0, own, dead, !skip_notify); // rt6_sync_down_dev()
}

// ip6_route_del(): deletes one leg or all; fib6_del_route() announces under the tree's lock.
static void delete6(unsigned place)
{
    const struct model_place *p = &model_place[place];
    unsigned at = p->n ? model_pick(p->n) : 0, leg = model_pick(WAYS);
    struct model_route t;

    if (!p->n)
        return;
    t = p->route[at];
    if (__builtin_popcount(t.legs) > 1 && model_pick(2)) {
        while (!(t.legs & 1u << leg))
            leg = (leg + 1) % WAYS;
        t.legs = (uint8_t)(1u << leg);
        plan(LEG_DEL, place, at)->route = t;
        steps[step_n - 1].with_next = true;
    } else {
        plan(ERASE, place, at)->with_next = __builtin_popcount(t.legs) <= 1;
    }
    plan_send(RTM_DELROUTE, 0, place, &t);
    steps[step_n - 1].soon = true;
}

// First route of [first, end) with or without legs; `end`: none.
static unsigned find_kind(const struct model_place *p, unsigned first, unsigned end, bool legs)
{
    while (first < end && !!p->route[first].legs != legs)
        first++;
    return first;
}

// fib6_add_rt2node(): a route by an object stands beside the others of its metric.
static void insert6_object(unsigned place, unsigned how, const struct model_route *t)
{
    const struct model_place *p = &model_place[place];
    unsigned first = span_begin(p, t->metric), end = span_end(p, t->metric);
    unsigned victim = find_kind(p, first, end, false);

    if (victim == end)
        victim = first;
    for (unsigned k = first; k < end; k++)
        if (p->route[k].nhid == t->nhid && (how != 2 || k != victim)) // else it would exist twice
            return;
    if (how == 2 && first < end) {
        plan(ERASE, place, victim)->with_next = true;
        plan_insert(place, victim, t);
        steps[step_n - 1].with_next = true;
        plan_send(RTM_NEWROUTE, NLM_F_REPLACE, place, t);
        return;
    }
    plan_insert(place, end, t);
    steps[step_n - 1].with_next = true;
    plan_send(RTM_NEWROUTE,
              (uint16_t)(NLM_F_CREATE | (first == end ? NLM_F_EXCL : 0) |
                         (how == 1 ? NLM_F_APPEND : 0)),
              place, t);
}

// ip6_route_multipath_add(): adds leg by leg, with one announcement at the end. It places no leg
// behind a route by an object that stands behind a leg (dumps do not show such a route).
static void insert6_legs(unsigned place, unsigned how, const struct model_route *t)
{
    const struct model_place *p = &model_place[place];
    unsigned first = span_begin(p, t->metric), end = span_end(p, t->metric);
    unsigned at = find_kind(p, first, end, true);
    struct model_route whole = *t, leg = *t;
    bool single = __builtin_popcount(t->legs) == 1, there = at < end, replaces;

    leg.legs = (uint8_t)(t->legs & -t->legs);
    replaces = how == 2 && first < end;
    if (replaces) {
        at = there ? at : first;
        if (at != end - 1 && !single)
            return;
        plan(ERASE, place, at)->with_next = true;
        plan_insert(place, at, &leg);
    } else if (there) {
        if (at != end - 1 || p->route[at].legs & t->legs)
            return;
        whole.legs |= p->route[at].legs;
        plan(LEG_ADD, place, at)->route = leg;
    } else {
        plan_insert(place, at, &leg);
    }
    steps[step_n - 1].with_next = single;
    for (unsigned rest = t->legs & ~(unsigned)leg.legs; rest; rest &= rest - 1) {
        leg.legs = (uint8_t)(rest & -rest);
        plan(LEG_ADD, place, at)->route = leg;
    }
    if (single)
        plan_send(RTM_NEWROUTE,
                  (uint16_t)(replaces
                                 ? NLM_F_REPLACE
                                 : NLM_F_CREATE | (first == end ? NLM_F_EXCL : 0) |
                                       (how == 1 ? NLM_F_APPEND : 0)),
                  place, &whole);
    else
        plan_send(RTM_NEWROUTE,
                  (uint16_t)(how == 2 ? NLM_F_REPLACE : NLM_F_CREATE | (how ? NLM_F_APPEND : 0)),
                  place, &whole);
}

static void insert6(unsigned place)
{
    const struct model_place *p = &model_place[place];
    unsigned how = model_pick(3); // 0 add, 1 append, 2 replace
    unsigned object = model_pick(MODEL_OBJECTS);
    const struct model_object *o = &model_object[object];
    struct model_route t = {.metric = (uint8_t)(model_pick(2) * 5 + 1), .protocol = 4};

    if ((how == 0 && span_end(p, t.metric) > span_begin(p, t.metric)) || p->n == MODEL_LIST)
        return;
    if (model_pick(3) == 0 && o->there && suits6(o, object >= MODEL_SINGLES)) {
        t.nhid = (uint8_t)model_object_id(object);
        insert6_object(place, how, &t);
    } else {
        t.legs = (uint8_t)(1 + model_pick(15));
        insert6_legs(place, how, &t);
    }
}

void model_change(void)
{
    unsigned place = model_pick(MODEL_PLACES), what = model_pick(41);

    finish();
    if (what == 0)
        change_link();
    else if (what == 1)
        change_carrier();
    else if (what < 10)
        change_object();
    else if (place < N4)
        (model_pick(5) < 2 ? delete4 : insert4)(place);
    else
        (model_pick(5) < 2 ? delete6 : insert6)(place);
}

// --- dumps ---

void model_dump(uint16_t type, uint8_t family, uint32_t seq)
{
    memset(&dump, 0, sizeof dump);
    dump.running = true;
    dump.type = type;
    dump.family = family;
    dump.seq = seq;
    dump.place = family == IP6 ? N4 : 0;
    dump.sernum = sernum[0];
    model_dumps += type == RTM_GETROUTE;
    if (type != RTM_GETROUTE)
        finish(); // these are dumped under the lock for changes
    model_fill();
}

static struct nlmsghdr *room(struct datagram *d)
{
    return (void *)(d->buf + d->len);
}

static void close_row(struct datagram *d)
{
    struct nlmsghdr *h = room(d);

    h->nlmsg_flags = NLM_F_MULTI;
    h->nlmsg_seq = dump.seq;
    h->nlmsg_pid = port;
    d->len += NLMSG_ALIGN(h->nlmsg_len);
}

static void add_row(struct datagram *d, unsigned place, unsigned at)
{
    route_message(room(d), RTM_NEWROUTE, 0, &model_place[place], &model_place[place].route[at]);
    close_row(d);
}

static bool same_leaf(unsigned a, unsigned b)
{
    return b < N4 && !memcmp(model_place[a].prefix.b, model_place[b].prefix.b, 4);
}

static bool leaf_is_there(unsigned first)
{
    for (unsigned i = first; same_leaf(first, i); i++)
        if (model_place[i].n)
            return true;
    return false;
}

// fn_trie_dump_leaf(): true when the datagram is full.
static bool fill_leaf(struct datagram *d, unsigned first, unsigned *rows)
{
    unsigned seen = 0;

    for (unsigned i = first; same_leaf(first, i); i++)
        for (unsigned k = 0; k < model_place[i].n; k++, seen++) {
            if (seen < dump.in || model_place[i].local != dump.local)
                continue;
            if (!*rows) {
                dump.in = seen;
                return true;
            }
            add_row(d, i, k);
            --*rows;
        }
    return false;
}

// fib_table_dump(): continues at the first leaf not before its position, and skips as many routes
// as it has shown of that leaf.
static bool fill4(struct datagram *d, unsigned *rows)
{
    unsigned next;

    for (; dump.place < N4; dump.place = next) {
        for (next = dump.place + 1; same_leaf(dump.place, next); next++)
            ;
        if (!leaf_is_there(dump.place))
            continue;
        if (fill_leaf(d, dump.place, rows))
            return true;
        dump.in = 0;
        if (model_pick(4) == 0) // changes continue meanwhile
            model_step();
    }
    dump.in = 0;
    dump.place = 0;
    return false;
}

// fib6_dump_table(): walks a changed tree again, skipping as many prefixes as it has shown.
static bool fill6(struct datagram *d, unsigned *rows)
{
    if (dump.sernum != sernum[dump.local]) {
        unsigned skip = dump.count;

        dump.sernum = sernum[dump.local];
        dump.in = 0;
        for (dump.place = N4; dump.place < MODEL_PLACES && skip; dump.place++)
            skip -= model_place[dump.place].local == dump.local && model_place[dump.place].n;
    }
    for (; dump.place < MODEL_PLACES; dump.place++, dump.in = 0) {
        const struct model_place *p = &model_place[dump.place];

        if (p->local != dump.local || !p->n)
            continue;
        for (; dump.in < p->n; dump.in++, --*rows) {
            if (!*rows)
                return true;
            add_row(d, dump.place, dump.in);
        }
        dump.count++;
    }
    dump.place = N4;
    dump.in = dump.count = 0;
    dump.sernum = sernum[!dump.local];
    return false;
}

static void fill_others(struct datagram *d)
{
    for (unsigned i = 0; i < 2 && dump.type == RTM_GETLINK; i++) {
        link_message(room(d), i);
        close_row(d);
    }
    for (unsigned i = 0; i < MODEL_OBJECTS && dump.type == RTM_GETNEXTHOP; i++) {
        if (!model_object[i].there)
            continue;
        object_message(room(d), RTM_NEWNEXTHOP, 0, i);
        close_row(d);
    }
}

static void fill_routes(struct datagram *d)
{
    unsigned rows = 1 + model_pick(4);

    while (!dump.ending) {
        if ((dump.family == IP4 ? fill4 : fill6)(d, &rows))
            return;
        dump.ending = dump.local;
        dump.local = true;
    }
}

bool model_fill(void)
{
    static struct datagram d;

    if (!dump.running)
        return false;
    d.len = 0;
    if (dump.type == RTM_GETROUTE && dump.family)
        fill_routes(&d);
    else
        fill_others(&d), dump.ending = true;
    if (dump.ending && (!d.len || model_pick(2))) {
        struct nlmsghdr *h = message(room(&d), NLMSG_DONE, 0);

        *(int *)mnl_nlmsg_put_extra_header(h, sizeof(int)) = 0;
        close_row(&d);
        dump.running = false;
    }
    while (dump.type == RTM_GETROUTE && (model_pick(3) == 0 || steps[step_from].soon) &&
           model_step()) // before it enters the queue
        ;
    enqueue(&d);
    return true;
}

const struct nlmsghdr *model_take(unsigned *len)
{
    if (!queue_n)
        return NULL;
    taken = queue[queue_from];
    queue_from = (queue_from + 1) % QUEUE;
    queue_n--;
    *len = taken.len;
    model_fill();
    return (void *)taken.buf;
}

void model_lose(void)
{
    queue_n = 0;
}

// --- the universe ---

void model_make(uint32_t portid)
{
    static const char *const text[MODEL_PLACES] = {
        // in the order of the kernel's walks
        "20.0.0.0/26",     "20.0.0.0/26",     "20.0.0.0/25",       "20.0.0.0/24",
        "20.0.0.0/24",     "20.0.1.0/24",     "20.0.2.0/25",       "20.0.2.0/24",
        "20.0.2.0/24",     "20.0.3.0/24",     "2001:db8:0:1::/64", "2001:db8::/48",
        "2001:db8:1::/48", "2001:db8:2::/48", "2001:db8::/32",     "2001:db9::/48",
        "2001:db9::/32",   "2001:dba::/32",   "2001:db8::/48",     "2001:dba::/32"};

    port = portid;
    queue_n = step_from = step_n = 0;
    dump.running = false;
    memset(model_object, 0, sizeof model_object);
    compat = model_pick(2);
    skip_notify = model_pick(2);
    link_up[0] = link_up[1] = carrier[0] = carrier[1] = true;
    for (unsigned i = 0; i < MODEL_PLACES; i++) {
        model_place[i] = (struct model_place){.local = i == 0 || i == 3 || i == 7 || i >= 18};
        bug_on(prefix_parse(text[i], &model_place[i].prefix, true));
    }
}
