// SPDX-License-Identifier: BSD-3-Clause
// burst_test.c - bursts of 1 to 64 packets of several virtual routers, each with its own fate
//
// A model decides by a packet's number whether it leaves, by which port, with which bytes and
// class. It shares nothing with the forwarder. KAMUEE_SEED=n repeats a run.
#include "fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "forwarder/packet.h"
#include "table/packet_class.h"

#define ROUNDS 600u

static uint64_t seed;

static uint32_t dice(uint32_t n)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(seed >> 33) % n;
}

enum verdict { CONTINUE, DROP, CLASS, NEXT_HOP, PUNT, VERDICTS };

static struct fate {
    unsigned net;
    bool six;
    enum verdict verdict;
    unsigned class;
    bool second, far;        // arrives on the other interface; destined to `aside`
    bool marks, ages, moves; // changes DSCP, TTL, or destination (to `aside`)
    uint8_t ttl;
    struct frame in;
    unsigned seen; // number of times
    int place;     // rank among the packets that its program has seen
} fate[BURST_MAX];

static enum program_hook hook;

// Packets of one family and one interface keep their order.
#define STREAMS (4 * NETS)
static unsigned stream_of(const struct fate *t)
{
    return 4 * t->net + 2 * t->second + t->six;
}

static int places[NETS]; // packets seen by each net's program in this burst

static uint16_t way_in(const struct fate *t)
{
    return t->second ? net[t->net].in2 : net[t->net].in;
}

static void change(const struct fate *t, struct kamuee_packet *p)
{
    if (t->marks && p->family == 4)
        p->data[1] = 0xb8;
    else if (t->marks)
        p->data[0] = 0x6b, p->data[1] = (uint8_t)(0x80 | (p->data[1] & 15));
    if (t->ages)
        p->data[p->family == 4 ? 8 : 7] = t->ttl;
    if (t->moves && p->family == 4)
        p->data[16] = 30;
    else if (t->moves)
        p->data[24 + 5] = 0xc;
    if (t->moves)
        p->changed = p->family == 4 ? 20 : 40;
    else if (t->marks || t->ages)
        p->changed = p->family == 4 ? 9 : 8;
}

static uint64_t code_of(unsigned n, struct kamuee_packet *p)
{
    unsigned number = number_of(p);

    assert_true(number < BURST_MAX);
    struct fate *t = &fate[number];
    assert_int_equal(t->net, n);
    assert_int_equal(p->interface, ifindex_of(hook != PROGRAM_OUTPUT ? way_in(t)
                                              : t->far               ? net[n].aside
                                                                     : net[n].out));
    assert_memory_equal(p->data, frame_l3(&t->in), p->readable);
    t->seen++;
    t->place = places[n]++;
    change(t, p);
    switch (t->verdict) {
    case DROP:
        return KAMUEE_DROP;
    case CLASS:
        return KAMUEE_VERDICT(KAMUEE_CLASS, t->class);
    case NEXT_HOP:
        return KAMUEE_VERDICT(KAMUEE_NEXT_HOP, 1 + t->six);
    case PUNT:
        return KAMUEE_PUNT;
    default:
        return KAMUEE_CONTINUE;
    }
}

static uint64_t code_default(struct kamuee_packet *p)
{
    return code_of(DEFAULT, p);
}

static uint64_t code_red(struct kamuee_packet *p)
{
    return code_of(RED, p);
}

// The packet after the program.
static struct frame changed(const struct fate *t)
{
    struct kamuee_packet p = {.family = t->six ? 6 : 4};
    struct frame f = t->in;
    uint8_t *ip = frame_l3(&f);

    if (t->net == BLUE) // it has no program
        return f;
    memcpy(p.data, ip, 40);
    change(t, &p);
    memcpy(ip, p.data, p.changed);
    if (!t->six && p.changed)
        ip4_fix_checksum(&f);
    return f;
}

static void make_packet(struct fate *t, unsigned number)
{
    uint8_t *ip;

    t->in = packet(t->net, t->six, number, dice(120));
    if (t->second) { // in the next VLAN
        unsigned tags = net[t->net].vlan ? 4 : 0;
        memmove(t->in.b + 16, t->in.b + 12 + tags, t->in.n - 12 - tags);
        t->in.n += 4 - tags;
        memcpy(t->in.b, iface_get(way_in(t))->mac, 6);
        store16(t->in.b + 12, RTE_BE16(0x8100));
        store16(t->in.b + 14, rte_cpu_to_be_16(net[t->net].vlan + 1));
    }
    ip = frame_l3(&t->in);
    if (t->far && t->six)
        ip[24 + 5] = 0xc;
    else if (t->far)
        ip[16] = 30;
    if (!t->six)
        ip4_fix_checksum(&t->in);
}

// Chooses the packets' fates: mostly alike, so that bursts also take the fast paths.
static void roll(unsigned n, bool mixed, bool alike)
{
    const unsigned most = hook == PROGRAM_OUTPUT ? NEXT_HOP : VERDICTS;
    const enum verdict verdict = (enum verdict)dice(most);
    const unsigned one_net = dice(NETS), class = dice(8);
    const bool changes = dice(2), six = dice(2);

    for (unsigned i = 0; i < n; i++) {
        struct fate *t = &fate[i];
        *t = (struct fate){.net = mixed ? dice(NETS) : one_net,
                           .six = alike ? six : dice(2),
                           .verdict = alike ? verdict : (enum verdict)dice(most),
                           .class = alike ? class : dice(8),
                           .ttl = (uint8_t)(2 + dice(63))};
        if (changes && (!alike || dice(8) == 0)) {
            t->marks = dice(2);
            t->ages = dice(2);
            t->moves = hook != PROGRAM_OUTPUT && dice(2);
        }
        t->second = mixed && dice(2);
        t->far = mixed && dice(3) == 0;
        make_packet(t, i);
    }
}

static void assert_leaves(struct frame *f, const struct rte_mbuf *m, unsigned port, int *last)
{
    const uint8_t *ip = frame_l3(f);
    const bool six = ip[0] >> 4 == 6;
    const unsigned number = (unsigned)load16_host(ip + (six ? 40 : 20)) - 1000;

    assert_true(number < BURST_MAX);
    struct fate *t = &fate[number];
    const bool has_program = t->net != BLUE,
               aside = t->far || (has_program && (t->moves || t->verdict == NEXT_HOP));
    struct frame in = changed(t), out = forwarded(&in, t->net, aside);
    assert_int_equal(port, aside ? 2 : 1);
    assert_frame(f, &out);
    assert_true(!has_program || (t->verdict != DROP && t->verdict != PUNT));
    assert_int_equal(packet_class_get(m),
                     has_program && t->verdict == CLASS ? (int)t->class : PACKET_CLASS_NONE);
    if (has_program) {
        assert_true(last[stream_of(t)] < (int)number);
        last[stream_of(t)] = (int)number;
    }
    t->seen += 16;
}

static void take_sent(unsigned port)
{
    int last[STREAMS];
    struct rte_mbuf *m;
    static struct frame f;

    memset(last, -1, sizeof last);
    while ((m = rig_receive_mbuf(port))) {
        f.n = m->pkt_len;
        memcpy(f.b, rte_pktmbuf_mtod(m, void *), f.n);
        assert_leaves(&f, m, port, last);
        rte_pktmbuf_free(m);
    }
}

static void take_punted(void)
{
    struct frame f;

    while (punted(&f)) {
        const uint8_t *ip = frame_l3(&f);
        struct fate *t = &fate[load16_host(ip + (ip[0] >> 4 == 6 ? 40 : 20)) - 1000u];
        struct frame in = changed(t);
        if (net[t->net].vlan || t->second) { // its TAP shows no tags
            memmove(in.b + 12, in.b + 16, in.n - 16);
            in.n -= 4;
        }
        assert_frame(&f, &in);
        assert_true(t->net != BLUE && t->verdict == PUNT);
        t->seen += 16;
    }
}

// Sends one burst of n packets.
static void burst(unsigned n, bool mixed, bool alike)
{
    uint64_t drops = rig_drops(DROP_PROGRAM_DROP), dropped = 0;

    memset(places, 0, sizeof places);
    roll(n, mixed, alike);
    for (unsigned i = 0; i < n; i++)
        rig_send(0, &fate[i].in);
    rig_poll();
    take_sent(1);
    take_sent(2);
    take_punted();
    for (unsigned i = 0; i < n; i++) {
        bool has = fate[i].net != BLUE, gone = has && fate[i].verdict == DROP;
        assert_int_equal(fate[i].seen, has + (gone ? 0 : 16));
        dropped += gone;
    }
    assert_int_equal(rig_drops(DROP_PROGRAM_DROP), drops + dropped);
}

static void programs_see_packets_in_order(unsigned n)
{
    int last[STREAMS];

    memset(last, -1, sizeof last);
    for (unsigned i = 0; i < n; i++) {
        int *place = &last[stream_of(&fate[i])];
        if (fate[i].net == BLUE)
            continue;
        assert_true(fate[i].place > *place);
        *place = fate[i].place;
    }
}

static void bursts_at(enum program_hook where)
{
    struct native a = {.name = "a",
                       .hook = where,
                       .code = code_default,
                       .declared = "window 64",
                       .next_hop = {NULL, where == PROGRAM_OUTPUT ? NULL : ASIDE4,
                                    where == PROGRAM_OUTPUT ? NULL : ASIDE6}},
                  b = a;

    hook = where;
    b.name = "b";
    b.net = RED;
    b.code = code_red;
    b.declared = "window 128; hash";
    native_add(&a);
    native_add(&b);
    for (unsigned round = 0; round < ROUNDS; round++) {
        burst(1 + round % BURST_MAX, round & 1, round % 3 == 0);
        programs_see_packets_in_order(1 + round % BURST_MAX);
    }
    assert_int_equal(native_status("a").off + native_status("b").off, 0);
    assert_int_equal(rig_drops_all(), rig_drops(DROP_PROGRAM_DROP));
}

program_path_test(each_packet_has_its_fate_at_ether)
{
    bursts_at(PROGRAM_ETHER);
}

program_path_test(each_packet_has_its_fate_at_input)
{
    bursts_at(PROGRAM_INPUT);
}

program_path_test(each_packet_has_its_fate_at_output)
{
    bursts_at(PROGRAM_OUTPUT);
}

// --- frames of an EtherType ----------------------------------------------------------------------

static unsigned typed_seen[BURST_MAX];

static uint64_t drops_odd(struct kamuee_packet *p)
{
    unsigned number = number_of(p);

    assert_true(number < BURST_MAX);
    typed_seen[number]++;
    return number & 1 ? KAMUEE_DROP : KAMUEE_VERDICT(KAMUEE_NEXT_HOP, 1);
}

// Between IP packets, and between frames of the same EtherType in a virtual router without that
// program.
program_path_test(frames_of_an_ether_type_are_found_among_others)
{
    struct native n = {.hook = PROGRAM_ETHER_TYPE,
                       .net = RED,
                       .ether_type = 0x88b5,
                       .code = drops_odd,
                       .next_hop = {NULL, ASIDE4}};

    native_add(&n);
    for (unsigned size = 1; size <= BURST_MAX; size++) {
        unsigned of_kind[3] = {0}, odd = 0;
        uint64_t drops = rig_drops(DROP_PROGRAM_DROP), unknown = rig_drops(DROP_ETHER_TYPE_UNKNOWN);
        memset(typed_seen, 0, sizeof typed_seen);
        for (unsigned i = 0; i < size; i++) {
            unsigned kind = dice(3);
            struct frame f = kind == 0   ? packet(RED, i & 4, i, 30)
                             : kind == 1 ? typed(RED, 0x88b5, i, 30 + i)
                                         : typed(BLUE, 0x88b5, i, 30);
            of_kind[kind]++;
            odd += kind == 1 && i & 1;
            rig_send(0, &f);
        }
        assert_int_equal(rig_poll_out(1), of_kind[0]);
        assert_int_equal(rig_discard(2), of_kind[1] - odd);
        assert_int_equal(rig_drops(DROP_PROGRAM_DROP), drops + odd);
        assert_int_equal(rig_drops(DROP_ETHER_TYPE_UNKNOWN), unknown + of_kind[2]);
        unsigned seen = 0;
        for (unsigned i = 0; i < size; i++)
            seen += typed_seen[i];
        assert_int_equal(seen, of_kind[1]);
    }
    assert_int_equal(native_status("one").off, 0);
}

int main(void)
{
    const char *given = getenv("KAMUEE_SEED");

    seed = given ? strtoull(given, NULL, 10) : (uint64_t)time(NULL);
    printf("seed %llu\n", (unsigned long long)seed);
    return unit_tests_run(unit_begin, unit_end);
}
