// SPDX-License-Identifier: BSD-3-Clause
// lanes_test.c - all sets of lanes give the same results, on plausible and random frames, and on
// all kinds of next hops
#include <rte_mbuf.h>
#include <string.h>

#include "base/cpu.h"
#include "forwarder/lanes.h"
#include "forwarder/packet.h"
#include "harness.h"
#include "random.h"

enum { BURSTS = 4000 };

static const struct lanes *scalar, *wide; // the two compared sets
static struct random rnd = {.state = 20151001};

// Strips the tag like a port, the outer one of two; or claims a stripped tag for an untagged frame.
static void tag_off(struct rte_mbuf *m)
{
    uint8_t *frame = rte_pktmbuf_mtod(m, uint8_t *);

    m->ol_flags |= RTE_MBUF_F_RX_VLAN_STRIPPED;
    m->vlan_tci = (uint16_t)random_next(&rnd);
    if (m->data_len < 18 || !is_tag(load16(frame + 12)) || !random_below(&rnd, 10))
        return;
    m->vlan_tci = load16_host(frame + 14);
    memmove(frame + 4, frame, 12);
    rte_pktmbuf_adj(m, 4);
}

// Frames as ports deliver them: sometimes in segments, with the tag in the mbuf, with the checksum
// found good or bad.
static unsigned arrive(struct arrivals *a)
{
    static struct frame f;
    unsigned port = 0;

    a->n = 1 + random_below(&rnd, BURST_MAX);
    for (unsigned i = 0; i < a->n; i++) {
        unsigned p = random_frame(&rnd, &f);
        struct rte_mbuf *m =
            rig_mbuf(&f, random_below(&rnd, 10) ? 2048 : 40 + random_below(&rnd, 200));
        port = i ? port : p;
        if (!random_below(&rnd, 3))
            m->ol_flags |= RTE_MBUF_F_RX_IP_CKSUM_GOOD;
        if (!random_below(&rnd, 20))
            m->ol_flags |= RTE_MBUF_F_RX_IP_CKSUM_BAD;
        if (!random_below(&rnd, 5))
            tag_off(m);
        a->pkt[i] = m;
        a->frame[i] = rte_pktmbuf_mtod(m, uint8_t *);
    }
    return port;
}

#define SAME(array) assert_memory_equal(x->array, y->array, x->n * sizeof *x->array)

static void assert_same_bursts(const struct burst *x, const struct burst *y)
{
    assert_int_equal(x->n, y->n);
    SAME(pkt);
    SAME(ip);
    assert_int_equal(x->mixed, y->mixed);
    assert_int_equal(x->features, y->features);
    assert_int_equal(x->chained, y->chained);
    assert_int_equal(x->bytes, y->bytes);
    SAME(iface);
    SAME(vr);
    SAME(len);
    SAME(size);
    SAME(hop);
    if (x->family == IP4)
        SAME(dst4);
    else if (x->family == IP6)
        SAME(dst6);
}

// Gives virtual routers ids that differ only above the low byte.
static void number_vrs_apart(void)
{
    for (unsigned i = 1; i < IFACE_MAX; i++) {
        unsigned vr = iface_get((uint16_t)i)->vr;

        assert_true(vr < VR_MAX >> 8);
        iface_get((uint16_t)i)->vr = (vr << 8 | 1) & (VR_MAX - 1);
    }
}

static void plain_packets_are_the_same_ones(void **state)
{
    static struct arrivals a;
    static struct burst x, y;
    unsigned n_plain[TAG_N] = {0}, n_odd = 0, n_mixed = 0;

    if (!wide)
        skip(); // not on this CPU
    random_router();
    random_lists();
    number_vrs_apart();
    for (unsigned k = 0; k < BURSTS; k++) {
        unsigned port = arrive(&a);
        for (unsigned family = IP4;; family = IP6) {
            for (enum tag tag = UNTAGGED; tag < TAG_N; tag++) {
                unsigned before = a.n == BURST_MAX ? 0 : random_below(&rnd, BURST_MAX - a.n);
                x.n = before;
                x.family = (uint8_t)family;
                x.chained = x.mixed = false;
                x.features = 0;
                x.bytes = 0;
                y = x;
                uint64_t odd = (family == IP4 ? scalar->append_plain4 : scalar->append_plain6)(
                    &a, port_get((uint16_t)port), tag, &x);
                assert_true(odd == (family == IP4 ? wide->append_plain4 : wide->append_plain6)(
                                       &a, port_get((uint16_t)port), tag, &y));
                assert_int_equal(x.n - before, a.n - (unsigned)__builtin_popcountll(odd));
                assert_same_bursts(&x, &y);
                n_plain[tag] += x.n - before;
                n_mixed += x.mixed;
                n_odd += (unsigned)__builtin_popcountll(odd);
            }
            if (family == IP6)
                break;
        }
        rte_pktmbuf_free_bulk(a.pkt, a.n);
    }
    for (enum tag tag = UNTAGGED; tag < TAG_N; tag++)
        assert_true(n_plain[tag] > 100);
    assert_true(n_odd > BURSTS && n_mixed > 100);
}

// Some frames get one to three labels, with any bits.
static void put_labels(struct arrivals *a)
{
    for (unsigned i = 0; i < a->n; i++) {
        unsigned n = 4 * random_below(&rnd, 4);
        uint8_t *frame = (uint8_t *)rte_pktmbuf_prepend(a->pkt[i], (uint16_t)n);
        a->frame[i] = frame;
        if (!n || a->pkt[i]->data_len < 14 + n)
            continue;
        memmove(frame, frame + n, 14);
        store16(frame + 12, ETHER_TYPE_MPLS);
        for (unsigned k = 0; k < n; k += 4)
            store32(frame + 14 + k, random_next(&rnd));
    }
}

// All frames with labels, and those among some of them which are plain behind the first one.
static void packets_with_labels_are_the_same_ones(void **state)
{
    static struct arrivals a;
    static struct burst x, y, below_x, below_y;
    unsigned n_labels = 0, n_plain[7] = {0};

    if (!wide)
        skip(); // not on this CPU
    random_router();
    random_lists();
    number_vrs_apart();
    for (unsigned k = 0; k < BURSTS; k++) {
        const struct port *port = port_get((uint16_t)arrive(&a));
        put_labels(&a);
        memset(&x, 0, sizeof x);
        y = x;
        uint64_t odd = scalar->append_labels(&a, port, &x);
        assert_true(odd == wide->append_labels(&a, port, &y));
        assert_int_equal(x.n, a.n - (unsigned)__builtin_popcountll(odd));
        assert_same_bursts(&x, &y);
        n_labels += x.n;
        for (unsigned family = IP4; x.n; family = IP6) {
            uint64_t of =
                (random_below(&rnd, 2) ? UINT64_MAX : random_next(&rnd) * 0x100000001ull) &
                UINT64_MAX >> (64 - x.n);
            memset(&below_x, 0, sizeof below_x);
            below_x.family = (uint8_t)family;
            below_y = below_x;
            uint64_t plain =
                (family == IP4 ? scalar->append_below4 : scalar->append_below6)(&x, of, &below_x);
            assert_true(plain == (family == IP4 ? wide->append_below4
                                                : wide->append_below6)(&y, of, &below_y));
            assert_int_equal(plain & ~of, 0);
            assert_int_equal(below_x.n, __builtin_popcountll(plain));
            memcpy(below_x.vr, below_y.vr, sizeof below_x.vr); // the caller's
            assert_same_bursts(&below_x, &below_y);
            n_plain[family] += below_x.n;
            if (family == IP6)
                break;
        }
        rte_pktmbuf_free_bulk(a.pkt, a.n);
    }
    assert_true(n_labels > BURSTS && n_plain[IP4] > 100 && n_plain[IP6] > 100);
}

static void assert_same_applied(const struct burst *x, const struct burst *y)
{
    assert_int_equal(x->in_place, y->in_place);
    assert_int_equal(x->same, y->same);
    SAME(word);
    SAME(header);
    SAME(out_iface);
    SAME(out_port);
    assert_true(x->out_ports == y->out_ports);
    SAME(hop_out);
    SAME(size);
}

static void random_burst(struct burst *b, unsigned family)
{
    memset(b, 0, sizeof *b);
    b->n = 1 + random_below(&rnd, BURST_MAX);
    b->family = (uint8_t)family;
    b->l2 = (uint8_t)(14 + 4 * random_below(&rnd, 3));
    bool alike = random_below(&rnd, 2); // otherwise `same` would never be true
    for (unsigned i = 0; i < b->n; i++) {
        b->nh[i] = alike ? 1 : random_below(&rnd, nexthop_used() + 1);
        b->hop[i] = random_next(&rnd);
        if (random_below(&rnd, 4) == 0)
            b->hop[i] |= 0xffff0000; // sums that overflow
        b->len[i] = (uint16_t)(alike                   ? 100
                               : random_below(&rnd, 2) ? random_next(&rnd)
                                                       : 1500 + random_below(&rnd, 3));
        b->size[i] = (uint16_t)(b->len[i] + b->l2);
    }
}

static void next_hops_take_the_same_packets(void **state)
{
    static struct burst x, y;
    unsigned n_same = 0, n_bad = 0;

    if (!wide)
        skip(); // not on this CPU
    random_router();
    random_lists();
    for (unsigned k = 0; k < BURSTS * 4; k++) {
        bool lower = random_below(&rnd, 4);
        random_burst(&x, k % 2 ? IP4 : IP6);
        y = x;
        uint64_t bad = scalar->apply_nexthops(&x, lower);
        assert_true(bad == wide->apply_nexthops(&y, lower));
        assert_same_applied(&x, &y);
        n_same += x.same;
        n_bad += bad != 0;
    }
    assert_true(n_same > 100 && n_bad > BURSTS);
}

static int with_avx2(void **state)
{
    wide = lanes_by_name("avx2");
    return rig_setup(state);
}

static int with_gathers(void **state)
{
    wide = lanes_by_name("avx512");
    return rig_setup(state);
}

static int with_loads(void **state)
{
    wide = lanes_by_name("avx512-loads");
    return rig_setup(state);
}

path_test(one_of_them_is_chosen)
{
    const struct lanes *avx512 = lanes_by_name(gather_is_slow() ? "avx512-loads" : "avx512"),
                       *avx2 = lanes_by_name("avx2");

    assert_ptr_equal(lanes_choose(0), avx512 ? avx512 : avx2);
    assert_ptr_equal(lanes_choose(256), avx2);
    assert_ptr_equal(lanes_choose(128), scalar);
}

int main(void)
{
    static const CMFixtureFunction with[] = {with_avx2, with_gathers, with_loads};

    for (unsigned i = 0; i < sizeof with / sizeof *with; i++) {
        unit_test_add(&(struct CMUnitTest){"plain_packets_are_the_same_ones",
                                           plain_packets_are_the_same_ones, with[i], rig_teardown,
                                           NULL});
        unit_test_add(&(struct CMUnitTest){"packets_with_labels_are_the_same_ones",
                                           packets_with_labels_are_the_same_ones, with[i],
                                           rig_teardown, NULL});
        unit_test_add(&(struct CMUnitTest){"next_hops_take_the_same_packets",
                                           next_hops_take_the_same_packets, with[i], rig_teardown,
                                           NULL});
    }
    scalar = lanes_by_name("scalar");
    rig_reach += 16; // tag_off() and put_labels() move the data after the poisoning
    if (!lanes_by_name("avx2"))
        return 77; // only one set: skipped
    return unit_tests_run(unit_begin, unit_end);
}
