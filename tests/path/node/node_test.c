// SPDX-License-Identifier: BSD-3-Clause
// node_test.c - forwarders on two memory nodes look up in their own copies of the FIB, with the
// same results
#include "harness.h"

#include <stdlib.h>

#include "core/mem.h"
#include "forwarder/state.h"

#define PREFIXES 300
#define HOPS 40

static uint16_t in, out;
static uint32_t hop[HOPS];

// Forwarder 0 polls queue 0 on node 0, forwarder 1 queue 1 on node 1.
static void two_nodes(void)
{
    rig_in_and_out(&in, &out);
    struct plan_rx q[] = {{iface_get(in)->port, 0}, {iface_get(in)->port, 1}};
    for (unsigned f = 0; f < 2; f++) {
        rig_plan_set(f, rig_plan_new(f, q + f, 1));
        rig_forwarder(f)->node = f;
    }
    for (unsigned i = 0; i < HOPS; i++)
        hop[i] = rig_adjacency(out, (uint8_t)(i + 1));
}

static void address(bool v6, unsigned n, char *text, size_t size)
{
    if (v6)
        snprintf(text, size, "2001:db8:%x:%x::%x", n & 0xf, n >> 4 & 0xf, n >> 8);
    else
        snprintf(text, size, "198.51.%u.%u", n & 0xf, n >> 4 & 0xff);
}

// A host route, or one of two networks around it.
static void some_prefix(bool v6, unsigned n, unsigned kind, char *text, size_t size)
{
    char host[64];

    address(v6, n, host, sizeof host);
    if (kind == 0)
        snprintf(text, size, v6 ? "%s/128" : "%s/32", host);
    else if (kind == 1 && v6)
        snprintf(text, size, "2001:db8:%x::/48", n & 0xf);
    else if (kind == 1)
        snprintf(text, size, "198.51.%u.0/24", n & 0xf);
    else
        snprintf(text, size, "%s", v6 ? "2001:db8:0::/45" : "198.51.0.0/21");
}

// Sends the same packet to both forwarders: both forward it alike, or neither does.
static bool both_do_alike(const char *dst, bool v6)
{
    struct frame f = ip_frame(.src = v6 ? "2001:db8:ffff::1" : "192.0.2.1", .dst = dst), sent[2];
    bool was_sent[2];

    for (unsigned i = 0; i < 2; i++) {
        rig_send_queue(0, i, &f);
        rig_step(i);
        was_sent[i] = rig_receive_queue(1, i, &sent[i]);
    }
    assert_int_equal(was_sent[0], was_sent[1]);
    if (!was_sent[0])
        return false;
    assert_int_equal(sent[0].n, sent[1].n);
    assert_memory_equal(sent[0].b, sent[1].b, sent[0].n);
    return true;
}

static void forward_alike(bool v6)
{
    unsigned n_sent = 0, n_none = 0;
    char dst[64], prefix[80];

    two_nodes();
    srandom(11);
    for (unsigned i = 0; i < 4000; i++) {
        some_prefix(v6, (unsigned)random() % PREFIXES, (unsigned)random() % 3, prefix,
                    sizeof prefix);
        rig_route(VR_DEFAULT, prefix, hop[random() % HOPS]);
        if (random() % 3 == 0)
            rig_unroute(VR_DEFAULT, prefix);
        address(v6, (unsigned)random() % PREFIXES, dst, sizeof dst);
        bool was_sent = both_do_alike(dst, v6);
        n_sent += was_sent;
        n_none += !was_sent;
    }
    assert_true(n_sent > 500);
    assert_true(n_none > 0);
    struct fib_stats s;
    char why[200];
    const struct fib *fib = v6 ? vr_get(VR_DEFAULT)->fib6 : vr_get(VR_DEFAULT)->fib4;
    fib_stats(fib, &s);
    assert_true(s.updates > 1000);
    assert_int_equal(fib_check(fib, why, sizeof why), 0); // block by block
}

path_test(ipv4_packets_are_forwarded_alike_on_both_nodes)
{
    forward_alike(false);
}

path_test(ipv6_packets_are_forwarded_alike_on_both_nodes)
{
    forward_alike(true);
}

path_test(each_node_has_its_own_copy)
{
    const struct vr *vr = vr_get(VR_DEFAULT);

    assert_ptr_not_equal(vr_fib(vr->id, IP4, 0), vr_fib(vr->id, IP4, 1));
    assert_ptr_not_equal(vr_fib(vr->id, IP6, 0), vr_fib(vr->id, IP6, 1));
    assert_ptr_equal(vr_fib(vr->id, IP4, 0), vr->fib4);
}

static void count(void *ctx, const struct mem_region *r)
{
    size_t *bytes = ctx;

    if (!strcmp(r->name, "poptrie, node 0"))
        bytes[0] += r->bytes;
    if (!strcmp(r->name, "poptrie, node 1"))
        bytes[1] += r->bytes;
}

path_test(memory_is_told_by_node)
{
    size_t bytes[2] = {0};

    mem_walk(count, bytes);
    assert_true(bytes[1] > 0);
    assert_true(bytes[0] > 0);
}

int main(void)
{
    mem_nodes_set(2);
    return unit_tests_run(unit_begin, unit_end);
}
