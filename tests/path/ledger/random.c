// SPDX-License-Identifier: BSD-3-Clause
// random.c - see random.h
#include "random.h"

#include <stdio.h>

static uint16_t iface[6];
static const uint8_t port_of[6] = {0, 1, 0, 2, 2, 3};
static const uint16_t tag_of[6] = {0, 0, 10, 20, 0, 0};

void random_router(void)
{
    uint16_t blue = rig_vr("blue");
    uint32_t nh[12];

    iface[0] = rig_iface(0, 0, VR_DEFAULT);
    iface[1] = rig_iface(1, 0, VR_DEFAULT);
    iface[2] = rig_iface(0, 10, blue);
    iface[3] = rig_iface(2, 20, blue);
    iface[4] = rig_iface(2, 0, VR_DEFAULT);
    iface[5] = rig_iface(3, 0, VR_DEFAULT);
    iface_get(iface[5])->up = 0;
    iface_get(iface[4])->mtu = 300;
    nh[0] = rig_adjacency(iface[1], 1);
    nh[1] = rig_adjacency(iface[4], 2); // narrow
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
    for (unsigned k = 0; k < 12; k++) {
        char text[PREFIX_TEXT_MAX];
        snprintf(text, sizeof text, "10.%u.0.0/16", k);
        rig_route(VR_DEFAULT, text, nh[k]);
        snprintf(text, sizeof text, "2001:db8:%x::/48", k);
        rig_route(VR_DEFAULT, text, nh[k]);
    }
    uint32_t there = rig_adjacency(iface[3], 4), back = rig_adjacency(iface[2], 5);
    for (unsigned k = 0; k < 12; k++) {
        char text[PREFIX_TEXT_MAX];
        snprintf(text, sizeof text, "10.%u.0.0/16", k);
        rig_route(blue, text, k % 3 ? there : back);
        snprintf(text, sizeof text, "2001:db8:%x::/48", k);
        rig_route(blue, text, k % 3 ? there : back);
    }
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
    static const char *const odd4[] = {"127.0.0.1", "224.0.0.5", "255.255.255.255", "0.0.0.0", "240.1.1.1", "239.9.9.9", "169.254.3.4"};
    static const char *const odd6[] = {"::1", "ff02::5", "fe80::1", "::", "::ffff:10.0.0.1", "ff0e::1"};

    if (random_below(r, 12) == 0)
        return is4 ? odd4[random_below(r, 7)] : odd6[random_below(r, 6)];
    if (is4)
        snprintf(text, IP_TEXT_MAX, "10.%u.%u.%u", random_below(r, 13), random_below(r, 4), random_below(r, 256));
    else
        snprintf(text, IP_TEXT_MAX, "2001:db8:%x::%x", random_below(r, 13), random_below(r, 65536));
    return text;
}

unsigned random_frame(struct random *r, struct frame *f)
{
    static const uint8_t protos[] = {1, 2, 6, 17, 17, 17, 44, 58, 60, 0, 89, 132};
    char src[IP_TEXT_MAX], dst[IP_TEXT_MAX];
    bool is4 = random_below(r, 2);
    unsigned way = random_below(r, 4) ? 0 : random_below(r, 6); // comes in by
    struct ip_spec s = {
        .src = pick(r, is4, src),
        .dst = pick(r, is4, dst),
        .proto = protos[random_below(r, sizeof protos)],
        .ttl = random_below(r, 8) ? 64 : 1,
        .sport = (uint16_t)random_next(r),
        .fragment = random_below(r, 6) ? 0x4000 * random_below(r, 2) : (uint16_t)random_next(r),
        .payload = random_below(r, 10) ? random_below(r, 64) : random_below(r, 3000),
        .options = random_below(r, 6) ? 0 : 4 * random_below(r, 11),
        .vlan = random_below(r, 20) ? tag_of[way] : 11,
        .to_iface = iface[way],
        .dst_mac = random_below(r, 15) ? NULL : broadcast_mac,
        .pad_to = random_below(r, 2) ? 60 : 0,
    };
    *f = frame_ip(&s);
    if (is4 && s.options) { // one that routers know
        static const uint8_t option[] = {7, 68, 131, 137, 148, 94};
        uint8_t *at = frame_l3(f) + 20;
        at[0] = option[random_below(r, sizeof option)];
        at[1] = (uint8_t)random_below(r, s.options + 2);
    }
    if (!is4 && random_below(r, 30) == 0)
        memset(frame_l3(f) + 4, 0, 3); // no payload length, hop-by-hop options
    for (unsigned n = random_below(r, 4) ? 0 : 1 + random_below(r, 4); n; n--) // a few wrong bytes near the front
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
