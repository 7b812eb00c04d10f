// SPDX-License-Identifier: BSD-3-Clause
// random.c - see random.h
#include "random.h"

#include "acl_fixture.h"
#include "table/acl_meter.h"
#include "table/policer.h"

#include <stdio.h>

static uint16_t iface[8];
static const uint8_t port_of[8] = {0, 1, 0, 2, 2, 3, 0, 2};
static const uint16_t tag_of[8] = {0, 0, 10, 20, 0, 0, 5, 6};
static const uint16_t outer_of[8] = {[6] = 30, [7] = 30}, tpid_of[8] = {[6] = 0x88a8, [7] = 0x8100};

static void random_multicast(uint16_t vr, uint8_t family, uint8_t last, uint16_t in, unsigned flags,
                             const uint16_t *out)
{
    struct multicast_entry e = {.key = {.family = family}, .in = in, .flags = (uint8_t)flags};
    static const uint8_t g4[4] = {239, 9, 9}, g6[16] = {0xff, 0x0e};

    memcpy(e.key.group, family == IP4 ? g4 : g6, family == IP4 ? 4 : 16);
    e.key.group[family == IP4 ? 3 : 15] = last;
    for (; *out; out++)
        e.out[e.n_out++] = (struct multicast_out){.iface = *out, .ttl = 1};
    router_role(ROLE_RIB_MANAGER);
    assert_int_equal(multicast_set(vr, &e), 0);
}

// Groups 1 to 4 by interface 0 in the default router, and 2 in the other; 5 has no route.
static void random_groups(uint16_t blue)
{
    for (uint8_t family = IP4; family <= IP6; family += IP6 - IP4) {
        random_multicast(VR_DEFAULT, family, 1, iface[0], 0,
                         (const uint16_t[]){iface[1], iface[4], iface[5], 0});
        random_multicast(VR_DEFAULT, family, 2, iface[0], MULTICAST_TREE,
                         (const uint16_t[]){iface[0], iface[1], 0});
        random_multicast(VR_DEFAULT, family, 3, iface[0], 0, (const uint16_t[]){iface[5], 0});
        random_multicast(VR_DEFAULT, family, 4, iface[0], MULTICAST_SLOW | MULTICAST_KERNEL,
                         (const uint16_t[]){iface[1], 0});
        random_multicast(blue, family, 1, iface[2], 0, (const uint16_t[]){iface[3], 0});
        multicast_daemon_set(iface[1], family, true);
    }
}

void random_router(void)
{
    uint16_t blue = rig_vr("blue");
    uint32_t nh[13];

    iface[0] = rig_iface(0, 0, VR_DEFAULT);
    iface[1] = rig_iface(1, 0, VR_DEFAULT);
    iface[2] = rig_iface(0, 10, blue);
    iface[3] = rig_iface(2, 20, blue);
    iface[4] = rig_iface(2, 0, VR_DEFAULT);
    iface[5] = rig_iface(3, 0, VR_DEFAULT);
    iface[6] = rig_iface_pair(0, outer_of[6], tpid_of[6], tag_of[6], VR_DEFAULT);
    iface[7] = rig_iface_pair(2, outer_of[7], tpid_of[7], tag_of[7], blue);
    iface_get(iface[5])->flags = 0;
    iface_get(iface[4])->mtu = 300;
    nh[0] = rig_adjacency(iface[1], 1);
    nh[1] = rig_adjacency(iface[4], 2); // small MTU
    nh[2] = rig_nexthop(NEXTHOP_LOCAL, iface[0]);
    nh[3] = rig_nexthop(NEXTHOP_HOLD, iface[1]);
    nh[4] = rig_nexthop(NEXTHOP_GLEAN, iface[1]);
    nh[5] = rig_nexthop(NEXTHOP_BLACKHOLE, 0);
    nh[6] = rig_nexthop(NEXTHOP_UNREACHABLE, 0);
    nh[7] = rig_nexthop(NEXTHOP_PROHIBIT, 0);
    nh[8] = rig_nexthop(NEXTHOP_FAILED, 0);
    nh[9] = rig_group((uint32_t[]){nh[0], nh[1], nh[3]}, 3);
    nh[10] = rig_group(NULL, 0);
    nh[11] = rig_adjacency(iface[0], 3);
    nh[12] = rig_adjacency(iface[6], 6);
    for (unsigned k = 0; k < 13; k++) {
        char text[PREFIX_TEXT_MAX];
        snprintf(text, sizeof text, "10.%u.0.0/16", k);
        rig_route(VR_DEFAULT, text, nh[k]);
        snprintf(text, sizeof text, "2001:db8:%x::/48", k);
        rig_route(VR_DEFAULT, text, nh[k]);
    }
    uint32_t everybody = rig_nexthop(NEXTHOP_BROADCAST, iface[1]);
    nexthop_set_broadcast(everybody, iface[1]);
    rig_route(VR_DEFAULT, "10.3.1.0/24",
              everybody); // very short prefix, so that random packets match
    uint32_t there = rig_adjacency(iface[3], 4), back = rig_adjacency(iface[2], 5);
    for (unsigned k = 0; k < 12; k++) {
        char text[PREFIX_TEXT_MAX];
        snprintf(text, sizeof text, "10.%u.0.0/16", k);
        rig_route(blue, text, k % 3 ? there : back);
        snprintf(text, sizeof text, "2001:db8:%x::/48", k);
        rig_route(blue, text, k % 3 ? there : back);
    }
    random_groups(blue);
}

static void random_rule(struct list *l, uint32_t number, const char *src, enum acl_verb verb,
                        enum acl_extra extra)
{
    side(&list_rule(l, number, strchr(src, ':') ? ACL_IP6 : ACL_IP4, verb)->src, src);
    list_action(l)->extra = (uint8_t)extra;
}

// Drops AFx3 and remarks AFx2, with unlimited tokens: time does not change the result.
static void random_policers(void)
{
    static const struct policer p = {.name = "random",
                                     .kind = POLICER_SRTCM,
                                     .cir = 1000000000000,
                                     .cbs = 1000000000,
                                     .ebs = 1000000000,
                                     .color_aware = true,
                                     .action = {POLICER_PASS, POLICER_REMARK, POLICER_DROP},
                                     .dscp = {0, 46, 0}};

    router_role(ROLE_CONTROL);
    for (unsigned i = 0; i < 4; i++)
        if (policer_bind(iface[i], i & 1 ? POLICER_OUT : POLICER_IN, &p))
            fail_msg("no memory for policers");
}

void random_lists(void)
{
    struct list l = {.otherwise = {.extra = ACL_LOG}};

    random_rule(&l, 10, "10.1.0.0/16", ACL_DENY, 0);
    random_rule(&l, 20, "10.2.0.0/16", ACL_REJECT, ACL_LOG);
    random_rule(&l, 30, "10.3.0.0/16", ACL_PERMIT, ACL_POLICE);
    router_role(ROLE_ACL_MANAGER);
    list_action(&l)->meter =
        acl_meter_new(1, 1); // nothing passes, at any time
    random_rule(&l, 40, "10.4.0.0/16", ACL_PERMIT, ACL_REDIRECT);
    list_action(&l)->redirect = redirect_to("30.0.0.9");
    random_rule(&l, 50, "2001:db8:1::/48", ACL_DENY, ACL_LOG);
    random_rule(&l, 60, "2001:db8:2::/48", ACL_REJECT, 0);
    random_rule(&l, 70, "2001:db8:4::/48", ACL_PERMIT, ACL_REDIRECT);
    list_action(&l)->redirect = redirect_to("2001:db8:30::9");
    rig_route(VR_DEFAULT, "30.0.0.9/32", rig_adjacency(iface[4], 7));
    rig_route(VR_DEFAULT, "2001:db8:30::9/128", rig_adjacency(iface[4], 7));
    list_rule(&l, 80, ACL_BOTH, ACL_DENY)->part = ACL_LATER;
    uint16_t one = list_publish(&l, "one");
    l.rule[0].src.addr[1] = 5; // 10.5/16
    l.otherwise = (struct acl_action){0};
    uint16_t other = list_publish(&l, "other");
    list_bind(iface[0], one, 0);
    list_bind(iface[1], 0, other);
    list_bind(iface[2], other, other);
    list_bind(iface[3], 0, one);
    list_bind(iface[4], one, one);
    random_policers();
}

uint32_t random_next(struct random *r)
{
    r->state ^= r->state >> 12;
    r->state ^= r->state << 25;
    r->state ^= r->state >> 27;
    return (uint32_t)(r->state * 0x2545f4914f6cdd1d >> 32);
}

static const char *pick(struct random *r, bool is4, char *text)
{
    static const char *const odd4[] = {"127.0.0.1", "224.0.0.5", "255.255.255.255", "0.0.0.0",
                                       "240.1.1.1", "239.9.9.9", "169.254.3.4"};
    static const char *const odd6[] = {"::1", "ff02::5",         "fe80::1",
                                       "::",  "::ffff:10.0.0.1", "ff0e::1"};

    if (random_below(r, 15) == 0) {
        snprintf(text, IP_TEXT_MAX, is4 ? "239.9.9.%u" : "ff0e::%u", 1 + random_below(r, 5));
        return text;
    }
    if (random_below(r, 12) == 0)
        return is4 ? odd4[random_below(r, 7)] : odd6[random_below(r, 6)];
    if (is4)
        snprintf(text, IP_TEXT_MAX, "10.%u.%u.%u", random_below(r, 13), random_below(r, 4),
                 random_below(r, 256));
    else
        snprintf(text, IP_TEXT_MAX, "2001:db8:%x::%x", random_below(r, 13), random_below(r, 65536));
    return text;
}

unsigned random_frame(struct random *r, struct frame *f)
{
    static const uint8_t protos[] = {1, 2, 6, 17, 17, 17, 44, 58, 60, 0, 89, 132};
    char src[IP_TEXT_MAX], dst[IP_TEXT_MAX];
    bool is4 = random_below(r, 2);
    unsigned way = random_below(r, 4) ? 0 : random_below(r, 8); // input port
    struct ip_spec s = {
        .src = pick(r, is4, src),
        .dst = pick(r, is4, dst),
        .tos = (uint8_t)(r->state >> 40),
        .proto = protos[random_below(r, sizeof protos)],
        .ttl = random_below(r, 8) ? 64 : 1,
        .sport = (uint16_t)random_next(r),
        .fragment = random_below(r, 6) ? 0x4000 * random_below(r, 2) : (uint16_t)random_next(r),
        .payload = random_below(r, 10) ? random_below(r, 64) : random_below(r, 3000),
        .options = random_below(r, 6) ? 0 : 4 * random_below(r, 11),
        .vlan = random_below(r, 20) ? tag_of[way] : random_below(r, 2) ? 11 : 0xfff,
        .outer_tci = (uint16_t)(outer_of[way] | random_below(r, 2) << 13),
        .outer_tpid = random_below(r, 20) ? tpid_of[way] : random_below(r, 2) ? 0x9100 : 0x8100,
        .to_iface = iface[way],
        .dst_mac = random_below(r, 15) ? NULL : broadcast_mac,
        .pad_to = random_below(r, 2) ? 60 : 0,
    };
    *f = frame_ip(&s);
    if (is4 && s.options) { // options that routers know
        static const uint8_t option[] = {7, 68, 131, 137, 148, 94};
        uint8_t *at = frame_l3(f) + 20;
        at[0] = option[random_below(r, sizeof option)];
        at[1] = (uint8_t)random_below(r, s.options + 2);
    }
    if (!is4 && random_below(r, 30) == 0)
        memset(frame_l3(f) + 4, 0, 3); // no payload length, hop-by-hop options
    for (unsigned n = random_below(r, 4) ? 0 : 1 + random_below(r, 4); n;
         n--) // a few wrong bytes near the front
        f->b[random_below(r, f->n < 70 ? f->n : 70)] = (uint8_t)random_next(r);
    if (is4 && random_below(r, 2))
        ip4_fix_checksum(f);
    if (random_below(r, 20) == 0)
        f->n = 1 + random_below(r, f->n);
    if (random_below(r, 50) == 0)
        for (unsigned i = 0; i < f->n; i++)
            f->b[i] = (uint8_t)random_next(r);
    return random_below(r, 20) ? port_of[way] : random_below(r, RIG_PORTS);
}
