// SPDX-License-Identifier: BSD-3-Clause
// seeds.c - see seeds.h
#include "seeds.h"

#include <stdio.h>
#include <stdlib.h>

#include "forwarder/label.h"
#include "router.h"

static struct seed seed[SEEDS_MAX];
static unsigned n_seeds;

static void add(const struct frame *f, unsigned port)
{
    uint8_t *b = malloc(f->n);

    assert_non_null(b);
    assert_true(n_seeds < SEEDS_MAX);
    memcpy(b, f->b, f->n);
    seed[n_seeds++] = (struct seed){.port = (uint8_t)port, .n = (uint16_t)f->n, .b = b};
}

static void add_ip(struct ip_spec s, unsigned port)
{
    struct frame f;

    if (!s.src)
        s.src = strchr(s.dst, ':') ? "2001:db8:1::9" : "10.1.0.9";
    f = frame_ip(&s);
    add(&f, port);
}

// --- forwarded packets: each next hop of the router, each size that matters, by each kind of
// interface ---

static void transit(void)
{
    static const unsigned payload[] = {0, 1, 18, 200, 270, 900, 1452, 1472, 3000};
    char dst[IP_TEXT_MAX];

    for (unsigned k = 0; k < FUZZ_HOPS; k++) {
        snprintf(dst, sizeof dst, "10.%u.0.1", k);
        add_ip((struct ip_spec){.dst = dst, .pad_to = 60}, 0);
        add_ip((struct ip_spec){.dst = dst, .payload = 1300, .fragment = 0x4000}, 0);
        snprintf(dst, sizeof dst, "2001:db8:%x::1", k);
        add_ip((struct ip_spec){.dst = dst}, 0);
        add_ip((struct ip_spec){.dst = dst, .payload = 1300, .flow_label = k}, 0);
    }
    for (unsigned k = 0; k < sizeof payload / sizeof *payload; k++) {
        add_ip((struct ip_spec){.dst = "10.1.0.1", .payload = payload[k]}, 0);
        add_ip((struct ip_spec){.dst = "2001:db8:1::1", .payload = payload[k]}, 0);
        add_ip(
            (struct ip_spec){.dst = "10.2.0.1", .payload = payload[k], .vlan = 10, .to_iface = 3},
            0);
        add_ip(
            (struct ip_spec){
                .dst = "2001:db8:2::1", .payload = payload[k], .vlan = 20, .to_iface = 4},
            2);
    }
    add_ip((struct ip_spec){.dst = "198.51.100.1", .ttl = 1}, 0);
    add_ip((struct ip_spec){.dst = "198.51.100.1", .ttl_zero = true}, 0);
    add_ip((struct ip_spec){.dst = "2001:db8:ffff::1", .ttl = 1}, 0);
    add_ip((struct ip_spec){.dst = "198.51.100.1", .dst_mac = broadcast_mac}, 0);
    add_ip((struct ip_spec){.dst = "198.51.100.1", .vlan = 99}, 0);
}

// --- labels: each operation, alone and above others, with what decides about the packet below ---

static void add_labels(struct ip_spec s, const uint32_t *entry, unsigned n)
{
    struct frame f = frame_ip(&s);
    uint8_t *at = frame_l3(&f);

    memmove(at + 4 * n, at, f.n - (unsigned)(at - f.b));
    for (unsigned k = 0; k < n; k++)
        label_store(at + 4 * k, entry[k] | (k == n - 1 ? ENTRY_BOTTOM : 0));
    at[-2] = 0x88;
    at[-1] = 0x47;
    f.n += 4 * n;
    add(&f, 0);
}

static void labels(void)
{
    static const uint32_t reserved[] = {0, 1, 2, 3, 7, 13};

    for (unsigned k = 0; k <= FUZZ_LABELS; k++) {
        const uint32_t op = (FUZZ_LABEL + k) << 12 | 64, ends = (FUZZ_LABEL + 5) << 12 | 9;
        const uint32_t above[] = {op, ends, 7 << 12, 0x12345000}, below[] = {ends, op},
                       expired[] = {(op & ~0xffu) | 1, ends};
        const struct ip_spec four = {.src = "10.1.0.9", .dst = "10.3.0.1"},
                             six = {.src = "2001:db8:1::9", .dst = "2001:db8:3::1"};
        struct ip_spec large = four, whole = four;
        large.payload = 1468;
        whole.payload = 1468;
        whole.fragment = 0x4000;
        add_labels(four, &op, 1);
        add_labels(six, &op, 1);
        add_labels(four, above, 4);
        add_labels(six, below, 2);
        add_labels(four, expired, 1);
        add_labels(six, expired, 2);
        add_labels(large, below, 2);
        add_labels(whole, &op, 1);
    }
    for (unsigned k = 0; k < sizeof reserved / sizeof *reserved; k++)
        add_labels((struct ip_spec){.src = "10.1.0.9", .dst = "10.3.0.1"},
                   (uint32_t[]){reserved[k] << 12 | 5, FUZZ_LABEL << 12 | 5}, 1 + k % 2);
}

// --- IPv4: options, pieces, addresses ---

static void options(void)
{
    static const char *const option[] = {
        "\x07\x0b\x04\0\0\0\0\0\0\0\0\0",   "\x07\x0b\x0c\1\2\3\4\5\6\7\10\0",
        "\x44\x0c\x05\0\0\0\0\0\0\0\0\0",   "\x44\x0c\x05\1\0\0\0\0\0\0\0\0",
        "\x44\x0c\x05\3\12\1\0\1\0\0\0\0",  "\x44\x04\x05\xf0\1\1\1\1\1\1\1\1",
        "\x83\x0b\x04\12\2\0\1\12\3\0\1\0", "\x89\x0b\x04\12\2\0\1\12\3\0\1\0",
        "\x94\x04\0\0\1\1\1\1\1\1\1\1",     "\x5e\x04\0\0\x94\x04\0\0\1\1\1\0",
        "\x5e\x0d\0\0\0\0\0\0\0\0\0\0",     "\x07\x02\1\1\1\1\1\1\1\1\1\1"};

    for (unsigned k = 0; k < sizeof option / sizeof *option; k++)
        for (unsigned big = 0; big < 2; big++) {
            struct frame f = ip_frame(.src = "10.1.0.9", .dst = big ? "10.1.0.1" : "198.51.100.7",
                                      .options = 12, .payload = big * 800);
            memcpy(frame_l3(&f) + 20, option[k], 12);
            ip4_fix_checksum(&f);
            add(&f, 0);
        }
    add_ip((struct ip_spec){.dst = "10.1.0.1", .options = 40, .payload = 800}, 0);
}

static void pieces(void)
{
    static const uint16_t field[] = {0x2000, 0x2010, 0x0010, 0x1fff, 0x3fff, 0x6000, 0x8000};

    for (unsigned k = 0; k < sizeof field / sizeof *field; k++) {
        add_ip((struct ip_spec){.dst = "198.51.100.1", .fragment = field[k], .payload = 400}, 0);
        add_ip((struct ip_spec){.dst = "10.1.0.1", .fragment = field[k], .payload = 1400}, 0);
        add_ip((struct ip_spec){.dst = FUZZ_OWN4, .fragment = field[k], .payload = 64}, 0);
    }
}

static void odd_addresses(void)
{
    static const char *const a4[] = {"127.0.0.1", "224.0.0.5", "224.0.0.18",
                                     "239.1.1.1", "232.1.1.1", "255.255.255.255",
                                     "0.0.0.0",   "240.0.0.1", "169.254.1.1"};
    static const char *const a6[] = {
        "::",      "::1",     "fe80::1",         "ff02::1",        "ff02::5", "ff02::1:ff00:1",
        "ff05::1", "ff0e::1", "::ffff:10.0.0.1", "2002:7f00:1::1", "fc00::1"};

    for (unsigned k = 0; k < sizeof a4 / sizeof *a4; k++) {
        add_ip((struct ip_spec){.dst = a4[k]}, 0);
        add_ip((struct ip_spec){.src = a4[k], .dst = "198.51.100.1", .ttl = 1}, 0);
        add_ip((struct ip_spec){.src = a4[k], .dst = FUZZ_OWN4, .proto = 1}, 0);
        add_ip((struct ip_spec){.dst = a4[k], .dst_mac = (uint8_t[6]){1, 0, 0x5e, 0, 0, 5}}, 0);
    }
    for (unsigned k = 0; k < sizeof a6 / sizeof *a6; k++) {
        add_ip((struct ip_spec){.dst = a6[k]}, 0);
        add_ip((struct ip_spec){.src = a6[k], .dst = "2001:db8:ffff::1", .ttl = 1}, 0);
        add_ip((struct ip_spec){.src = a6[k], .dst = FUZZ_OWN6}, 0);
        add_ip((struct ip_spec){.dst = a6[k], .dst_mac = (uint8_t[6]){0x33, 0x33, 0, 0, 0, 5}}, 0);
    }
}

// --- what the control plane gets: by protocol and by port ---

static void for_us(void)
{
    static const uint8_t proto4[] = {1,  2,  4,  6,   17,  41,  46,  47,
                                     50, 88, 89, 103, 112, 132, 136, 253};
    static const uint8_t proto6[] = {0, 6, 17, 43, 44, 50, 51, 58, 59, 60, 89, 103, 112, 135, 253};
    static const uint16_t port[] = {179,  639,  646,  520, 521, 6696, 3784, 3785,
                                    4784, 6784, 7784, 53,  67,  123,  4789, 2152};

    for (unsigned k = 0; k < sizeof proto4; k++) {
        add_ip((struct ip_spec){.dst = FUZZ_OWN4, .proto = proto4[k], .ttl = 255}, 0);
        add_ip((struct ip_spec){.dst = "198.51.100.1", .proto = proto4[k]}, 0);
    }
    for (unsigned k = 0; k < sizeof proto6; k++) {
        add_ip((struct ip_spec){.dst = FUZZ_OWN6, .proto = proto6[k], .ttl = 255}, 0);
        add_ip((struct ip_spec){.dst = "2001:db8:ffff::1", .proto = proto6[k]}, 0);
    }
    for (unsigned k = 0; k < sizeof port / sizeof *port; k++) {
        add_ip(
            (struct ip_spec){
                .dst = FUZZ_OWN4, .dport = port[k], .ttl = 255, .proto = k & 1 ? 6 : 17},
            0);
        add_ip(
            (struct ip_spec){
                .dst = FUZZ_OWN6, .dport = port[k], .ttl = 255, .proto = k & 1 ? 17 : 6},
            0);
    }
}

// ICMP messages of every type, those about packets with the packet in them.
static void icmp(void)
{
    static const uint8_t type4[] = {0, 3, 4, 5, 8, 9, 10, 11, 12, 13, 17, 30, 40},
                         type6[] = {1, 2, 3, 4, 128, 129, 130, 131, 133, 134, 135, 136, 137, 143};
    uint8_t body[72] = {0};
    struct frame about = ip_frame(.src = "198.51.100.1", .dst = "10.1.0.9");

    memcpy(body + 8, frame_l3(&about), 28);
    for (unsigned k = 0; k < sizeof type4; k++) {
        body[0] = type4[k];
        add_ip(
            (struct ip_spec){
                .dst = "198.51.100.1", .proto = 1, .l4 = body, .l4_len = 64, .ttl = k & 1 ? 1 : 64},
            0);
        add_ip((struct ip_spec){.dst = FUZZ_OWN4, .proto = 1, .l4 = body, .l4_len = 64}, 0);
    }
    for (unsigned k = 0; k < sizeof type6; k++) {
        body[0] = type6[k];
        add_ip((struct ip_spec){.dst = "2001:db8:ffff::1",
                                .proto = 58,
                                .l4 = body,
                                .l4_len = 72,
                                .ttl = k & 1 ? 1 : 64},
               0);
        add_ip(
            (struct ip_spec){.dst = FUZZ_OWN6, .proto = 58, .l4 = body, .l4_len = 72, .ttl = 255},
            0);
        add_ip((struct ip_spec){.src = "fe80::9",
                                .dst = "ff02::1:ff00:1",
                                .proto = 58,
                                .l4 = body,
                                .l4_len = 72,
                                .ttl = 255},
               0);
    }
}

// IPv6 extension headers: proto, bytes.
static void extensions(void)
{
    static const struct {
        uint8_t proto, n, b[40];
    } chain[] = {
        {0, 16, {58, 0, 5, 2, 0, 0, 1, 0, 143}},                 // router alert, MLD
        {0, 16, {17, 0, 0xc2, 4, 0, 1, 0x11, 0x70}},             // jumbo payload
        {0, 16, {17, 0, 1, 4, 0, 0, 0, 0}},                      // padding
        {0, 24, {60, 0, 1, 4, 0, 0, 0, 0, 17, 0, 1, 4}},         // with destination options behind
        {43, 32, {17, 2, 0, 1, 0, 0, 0, 0, 0x20, 1, 0xd, 0xb8}}, // routing, type 0
        {43, 32, {17, 2, 4, 1, 0, 0, 0, 0, 0x20, 1, 0xd, 0xb8}}, // segment routing
        {44, 24, {17, 0, 0, 1, 0, 0, 0, 7}},
        {44, 24, {17, 0, 0, 0, 0, 0, 0, 7}}, // first fragment, atomic fragment
        {44, 24, {58, 0, 1, 1, 0, 0, 0, 7}},
        {44, 24, {44, 0, 0, 1, 0, 0, 0, 7, 17}},
        {60, 16, {58, 0, 1, 4, 0, 0, 0, 0, 1}},
        {60, 16, {60, 0xff, 1, 4, 0, 0, 0, 0}},
        {51, 24, {17, 4, 0, 0}},
        {50, 24, {1, 2, 3, 4}},
        {59, 0, {0}},
    };

    for (unsigned k = 0; k < sizeof chain / sizeof *chain; k++)
        for (unsigned to = 0; to < 3; to++)
            add_ip((struct ip_spec){.dst = to == 0   ? "2001:db8:ffff::1"
                                           : to == 1 ? FUZZ_OWN6
                                                     : "ff02::16",
                                    .proto = chain[k].proto,
                                    .l4 = chain[k].b,
                                    .l4_len = chain[k].n,
                                    .ttl = to == 0 ? 2 : 1},
                   0);
}

// --- not IP ---

static void add_ether(uint16_t type, const void *body, unsigned n, const uint8_t *dst)
{
    struct frame f = {.n = n + 14 < 60 ? 60 : n + 14};

    memcpy(f.b, dst ? dst : iface_get(1)->mac, 6);
    memcpy(f.b + 6, neighbor_mac(9), 6);
    f.b[12] = (uint8_t)(type >> 8);
    f.b[13] = (uint8_t)type;
    memcpy(f.b + 14, body, n);
    add(&f, 0);
}

static void not_ip(void)
{
    static const uint8_t arp[28] = {0,  1, 8, 0, 6, 4, 0, 1, 2, 0, 0,  0,   0, 9,
                                    10, 1, 0, 9, 0, 0, 0, 0, 0, 0, 10, 255, 0, 0};
    static const uint8_t isis[16] = {0xfe, 0xfe, 3, 0x83, 27},
                         lldp[16] = {2, 7, 4, 2, 0, 0, 0, 0, 9}, lacp[16] = {1, 1, 1, 20};
    static const uint8_t tagged[64] = {0, 10, 8, 0, 0x45},
                         twice[64] = {0, 10, 0x81, 0, 0, 20, 8, 0, 0x45};
    static const uint16_t other[] = {0x8847, 0x88cc, 0x888e, 0x8870, 0x9000,
                                     0x0800, 0x86dd, 0x0600, 0x05dc, 0};

    add_ether(0x0806, arp, sizeof arp, broadcast_mac);
    add_ether(0x0806, arp, sizeof arp, NULL);
    add_ether(16, isis, sizeof isis, (uint8_t[6]){1, 0x80, 0xc2, 0, 0, 0x14});
    add_ether(0x88cc, lldp, sizeof lldp, (uint8_t[6]){1, 0x80, 0xc2, 0, 0, 14});
    add_ether(0x8809, lacp, sizeof lacp, (uint8_t[6]){1, 0x80, 0xc2, 0, 0, 2});
    add_ether(0x8100, tagged, sizeof tagged, NULL);
    add_ether(0x8100, twice, sizeof twice, NULL);
    add_ether(0x88a8, twice, sizeof twice, NULL);
    for (unsigned k = 0; k < sizeof other / sizeof *other; k++)
        add_ether(other[k], twice, sizeof twice, k & 1 ? broadcast_mac : NULL);
}

unsigned seeds_make(void)
{
    transit();
    labels();
    options();
    pieces();
    odd_addresses();
    for_us();
    icmp();
    extensions();
    not_ip();
    return n_seeds;
}

const struct seed *seed_get(unsigned i)
{
    return &seed[i];
}
