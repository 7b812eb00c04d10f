// SPDX-License-Identifier: BSD-3-Clause
// verify_test.c - every planted fault is found and named correctly; correct frames have no fault
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "replay/replay.h"
#include "tests/unit.h"

#define HOPS 8
#define PORTS 4

static char routes_path[] = "/tmp/net_replay_test_XXXXXX";
static struct page_tx count;

struct forwarded {
    struct option option;
    struct route_table *routes;
    struct traffic traffic;
    struct rte_mbuf mbuf;
    uint8_t bytes[256]; // the frame
    unsigned l2;
    bool is_ip6;
};

static int write_routes(void **state)
{
    static const char text[] = "# comment\n10.0.0.0/8\n10.1.0.0/16\n10.1.2.0/24\n11.0.0.0/8 "
                               "7\n10.1.2.0/24 0\n2400::/12\n2400:1::/32\n";
    int fd = mkstemp(routes_path);

    return fd < 0 || write(fd, text, sizeof text - 1) < 0 || close(fd);
}

static int remove_routes(void **state)
{
    return unlink(routes_path);
}

static void put16(uint8_t *p, unsigned v)
{
    p[0] = (uint8_t)(v >> 8);
    p[1] = (uint8_t)v;
}

static uint8_t *ip_of(struct forwarded *f)
{
    return f->bytes + f->l2;
}

// Forwards line `i` like a correct router, by the port of its next hop.
static void forward(struct forwarded *f, const char *devargs, uint64_t i)
{
    char all[512];

    memset(f, 0, sizeof *f);
    snprintf(all, sizeof all, "routes=%s,hops=%d,ports=%d,entries=64,verify=2,%s", routes_path,
             HOPS, PORTS, devargs);
    assert_int_equal(option_parse(&f->option, all), 0);
    f->option.mac = (struct rte_ether_addr){{0x02, 0, 0, 0, 0, 9}};
    f->routes = route_table_get(routes_path, HOPS);
    assert_non_null(f->routes);
    assert_int_equal(traffic_make(&f->traffic, &f->option, f->routes), 0);
    memcpy(f->bytes, f->traffic.line + i * f->traffic.stride, f->traffic.stride);
    f->l2 = f->option.vlan_low ? 18 : 14;
    f->is_ip6 = ip_of(f)[0] >> 4 == 6;
    unsigned vr =
        f->option.vlan_low ? (unsigned)(f->bytes[14] << 8 | f->bytes[15]) - f->option.vlan_low : 0;
    unsigned hop = f->is_ip6 ? route_find(&f->routes->ip6, ip_of(f) + 24, 128)
                             : route_find(&f->routes->ip4, ip_of(f) + 16, 32);
    hop = (hop + vr) % HOPS;
    memcpy(f->bytes, (uint8_t[]){0x02, 0x4b, 0x52, 0, 0, (uint8_t)hop}, 6);
    memcpy(f->bytes + 6, &f->option.mac, 6);
    f->option.index = hop % PORTS;
    ip_of(f)[f->is_ip6 ? 7 : 8]--;
    if (!f->is_ip6) {
        put16(ip_of(f) + 10, 0);
        put16(ip_of(f) + 10, (uint16_t)~traffic_sum(ip_of(f), 20, 0));
    }
    f->mbuf.buf_addr = f->bytes;
    f->mbuf.nb_segs = 1;
    f->mbuf.data_len = f->traffic.length[f->is_ip6];
    f->mbuf.pkt_len = f->mbuf.data_len;
}

static void release(struct forwarded *f)
{
    traffic_free(&f->traffic);
    route_table_put(f->routes);
}

// Expects exactly this kind of fault, or none for N_FAULTS.
static void expect(struct forwarded *f, enum fault kind)
{
    memset(&count, 0, sizeof count);
    verify_frame(&f->option, f->routes, &f->mbuf, &count);
    assert_int_equal(count.verified, 1);
    for (unsigned k = 0; k < N_FAULTS; k++)
        assert_int_equal(count.fault[k], k == kind);
}

unit_test(what_a_router_forwards_rightly_has_no_fault)
{
    static const char *const kinds[] = {"family=4,dst=prefix", "family=6,dst=prefix",
                                        "family=46,dst=prefix", "family=4,dst=flow",
                                        "family=4,dst=prefix,size=200", "family=4,dst=uniform",
                                        "family=46,dst=prefix,vlan=100-115",
                                        "family=6,dst=prefix,vlan=4094"};
    struct forwarded f;

    for (unsigned k = 0; k < sizeof kinds / sizeof *kinds; k++)
        for (uint64_t i = 0; i < 64; i += 7) {
            forward(&f, kinds[k], i);
            expect(&f, N_FAULTS);
            release(&f);
        }
}

unit_test(each_fault_is_found_as_what_it_is)
{
    struct forwarded f;

    for (unsigned kind = 0; kind < N_FAULTS; kind++) {
        forward(&f, "family=4,dst=prefix,vlan=100-115", 5);
        uint8_t *ip = ip_of(&f);
        switch ((enum fault)kind) {
        case FAULT_LENGTH:
            f.mbuf.data_len = f.mbuf.data_len - 2;
            f.mbuf.pkt_len = f.mbuf.data_len;
            break;
        case FAULT_MAC:
            f.bytes[11] ^= 1;
            break;
        case FAULT_TTL: // not decremented, with a matching checksum
            ip[8]++;
            put16(ip + 10, 0);
            put16(ip + 10, (uint16_t)~traffic_sum(ip, 20, 0));
            break;
        case FAULT_CHECKSUM:
            ip[10] ^= 1;
            break;
        case FAULT_PAYLOAD:
            ip[30] ^= 0x10;
            break;
        case FAULT_HOP:
            f.bytes[5] ^= PORTS; // another next hop on the same port
            break;
        case FAULT_PORT:
            f.option.index = (f.option.index + 1) % PORTS;
            break;
        case FAULT_VLAN:
            f.bytes[15] ^= 1;
            break;
        case N_FAULTS:
            break;
        }
        expect(&f, kind);
        release(&f);
    }
}

unit_test(a_frame_in_two_buffers_has_the_wrong_length)
{
    struct forwarded f;

    forward(&f, "family=6,dst=prefix", 3);
    f.mbuf.nb_segs = 2;
    expect(&f, FAULT_LENGTH);
    release(&f);
}

unit_test(what_did_not_come_from_us_is_foreign)
{
    struct forwarded f;

    for (unsigned v = 0; v < 3; v++) {
        forward(&f, v == 2 ? "family=6,dst=prefix" : "family=4,dst=prefix", 3);
        if (v)
            ip_of(&f)[v == 2 ? 9 : 12] ^= 1; // the source
        else
            put16(ip_of(&f) - 2, 0x0806);
        memset(&count, 0, sizeof count);
        verify_frame(&f.option, f.routes, &f.mbuf, &count);
        assert_int_equal(count.foreign, 1);
        assert_int_equal(count.verified, 0);
        release(&f);
    }
}

// The neighbor virtual router's table leads to its own next hop, which is wrong for us.
unit_test(another_virtual_routers_table_is_a_wrong_next_hop)
{
    struct forwarded f;

    forward(&f, "family=4,dst=prefix,vlan=100-103", 11);
    f.bytes[5] = (uint8_t)((f.bytes[5] + PORTS) % HOPS);
    expect(&f, FAULT_HOP);
    release(&f);
}

unit_test(longest_prefix_wins_and_a_prefix_given_twice_keeps_its_first_next_hop)
{
    struct route_table *t = route_table_get(routes_path, HOPS);
    const struct {
        uint8_t address[4];
        uint16_t hop;
    } all[] = {{{10, 2, 0, 1}, 0}, {{10, 1, 9, 1}, 1}, {{10, 1, 2, 3}, 2}, {{11, 0, 0, 1}, 7},
               {{12, 0, 0, 1}, HOP_NONE}};

    assert_non_null(t);
    assert_int_equal(t->ip4.n, 5);
    assert_int_equal(t->ip6.n, 2);
    for (unsigned i = 0; i < sizeof all / sizeof *all; i++)
        assert_int_equal(route_find(&t->ip4, all[i].address, 32), all[i].hop);
    assert_ptr_equal(route_table_get(routes_path, HOPS), t);
    route_table_put(t);
    route_table_put(t);
}

unit_test(devargs_that_make_no_sense_are_refused)
{
    static const char *const wrong[] = {"size=63",         "size=64x",   "ring=2",    "family=5",
                                        "dst=zipf",        "vlan=0",     "vlan=10-9", "vlan=1-999",
                                        "index=1,ports=1", "dst=prefix", "verify=2",  "unknown=1",
                                        "seed=-1",         "mac=xx"};
    struct option o = {0};

    for (unsigned i = 0; i < sizeof wrong / sizeof *wrong; i++)
        if (!option_parse(&o, wrong[i]))
            fail_msg("taken: %s", wrong[i]);
    assert_int_equal(option_parse(&o, "entries=1000,vlan=5"), 0);
    assert_int_equal(o.entries, 1024);
    assert_int_equal(o.vlan_high, 5);
}

int main(void)
{
    return unit_tests_run(write_routes, remove_routes);
}
