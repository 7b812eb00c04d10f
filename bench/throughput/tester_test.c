// SPDX-License-Identifier: BSD-3-Clause
// tester_test.c - checks that the tester counts correctly
//
// Histogram and arrival against naive models with random input. Whole trials over two
// cross-connected net_ring ports that drop, duplicate, swap and change a known number of packets:
// exactly these must be reported.
#include <rte_cycles.h>
#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_eth_ring.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/checksum.h"
#include "throughput/answer.h"
#include "throughput/trial.h"
#include "tests/unit.h"

static uint64_t random_state = 88172645463325252ull;

static uint64_t random_next(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state;
}

// --- histogram ---

#define VALUES 20000

static int by_size(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return x < y ? -1 : x > y;
}

unit_test(percentiles_are_those_of_the_sorted_values_within_a_thousandth)
{
    static struct histogram h;
    static uint64_t value[VALUES];
    static const double percent[] = {0, 1, 10, 50, 90, 99, 99.9, 99.99, 100};

    for (unsigned bits = 4; bits <= 40; bits += 4) {
        histogram_clear(&h);
        for (unsigned i = 0; i < VALUES; i++) {
            value[i] = random_next() >> (64 - bits) >> random_next() % bits;
            histogram_note(&h, value[i]);
        }
        qsort(value, VALUES, sizeof(*value), by_size);
        for (unsigned i = 0; i < sizeof(percent) / sizeof(*percent); i++) {
            // In integers, since percentages have at most two decimals: the rank is ceil(VALUES *
            // percent / 100).
            unsigned hundredths = (unsigned)(percent[i] * 100 + 0.5),
                     rank = (VALUES * hundredths + 9999) / 10000;
            uint64_t exact = value[rank ? rank - 1 : 0],
                     found = histogram_percentile(&h, percent[i]);

            assert_true(found >= exact);
            assert_true(found - exact <= exact / 1000);
        }
        assert_int_equal(h.max, value[VALUES - 1]);
        assert_int_equal(h.min, value[0]);
    }
}

unit_test(steps_follow_each_other_without_gap_or_overlap)
{
    for (uint32_t step = 0; step + 1 < HISTOGRAM_STEPS; step++) {
        assert_int_equal(histogram_step(histogram_value(step)), step);
        assert_int_equal(histogram_step(histogram_value(step) + 1), step + 1);
    }
    assert_int_equal(histogram_step(UINT64_MAX), HISTOGRAM_STEPS - 1);
}

unit_test(an_empty_histogram_has_only_zeros)
{
    static struct histogram h;

    histogram_clear(&h);
    assert_int_equal(histogram_percentile(&h, 50), 0);
    assert_int_equal(histogram_percentile(&h, 0), 0);
}

// --- arrival ---

#define SENT 1000000u
#define PER_SLICE 1000u

// Each packet arrives 0 to 2 times, some 1 to 100 places later: compared with a plain array.
unit_test(every_lost_doubled_and_late_packet_is_counted_once)
{
    static struct arrival a;
    static uint8_t came[SENT];
    static uint64_t first[SENT / PER_SLICE], refused[SENT / PER_SLICE], lost[SENT / PER_SLICE];
    static uint32_t order[2 * SENT];
    struct slices s = {.first = first, .refused = refused, .lost = lost, .n = SENT / PER_SLICE,
                       .cap = SENT / PER_SLICE};
    uint64_t received = 0, duplicated = 0, reordered = 0, missing = 0, highest = 0;
    uint32_t n = 0;

    for (uint32_t i = 0; i < s.n; i++)
        first[i] = (uint64_t)i * PER_SLICE;
    for (uint32_t i = 0; i < SENT; i++) {
        unsigned r = random_next() % 1000;

        for (unsigned copies = r < 5 ? 0 : r < 8 ? 2 : 1; copies; copies--)
            order[n++] = i;
        if (r % 50 == 7 && n > 200) {
            uint32_t other = n - 1 - (uint32_t)(random_next() % 100), last = order[n - 1];

            order[n - 1] = order[other];
            order[other] = last;
        }
    }
    arrival_begin(&a, &s);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t number = order[i];

        arrival_note(&a, arrival_number(&a, number));
        if (came[number]++) {
            duplicated++;
            continue;
        }
        received++;
        reordered += number < highest;
        highest = number >= highest ? number + 1ull : highest;
    }
    arrival_end(&a, SENT);
    assert_int_equal(a.received, received);
    assert_int_equal(a.duplicated, duplicated);
    assert_int_equal(a.reordered, reordered);
    assert_int_equal(a.late, 0);
    assert_int_equal(a.lost, SENT - received);
    for (uint32_t i = 0; i < s.n; i++) {
        uint64_t expected = 0;

        for (uint32_t k = 0; k < PER_SLICE; k++)
            expected += !came[i * PER_SLICE + k];
        assert_int_equal(lost[i], expected);
        missing += expected;
    }
    assert_true(missing > SENT / 400); // the input had losses
}

unit_test(numbers_go_on_beyond_32_bits)
{
    static struct arrival a;

    a.next = (1ull << 32) - 2;
    assert_int_equal(arrival_number(&a, 0xffffffff), 0xffffffff);
    assert_int_equal(arrival_number(&a, 3), (1ull << 32) + 3);
    a.next = (5ull << 32) + 1;
    assert_int_equal(arrival_number(&a, 0xfffffff0), (4ull << 32) + 0xfffffff0);
}

unit_test(a_packet_behind_the_window_is_late_and_lost)
{
    static struct arrival a;
    uint64_t first = 0, refused = 0, lost = 0;
    struct slices s = {.first = &first, .refused = &refused, .lost = &lost, .n = 1, .cap = 1};

    arrival_begin(&a, &s);
    for (uint64_t i = 1; i <= ARRIVAL_WINDOW; i++)
        arrival_note(&a, i);
    arrival_note(&a, 0);
    arrival_end(&a, ARRIVAL_WINDOW + 1);
    assert_int_equal(a.late, 1);
    assert_int_equal(a.lost, 1);
    assert_int_equal(lost, 1);
}

// --- frames ---

static struct trial trial;

static void begin_frames(struct stream *s)
{
    static ip4_t dst4[] = {0x010113c6, 0x020113c6, 0x030113c6};
    static uint8_t dst6[][16] = {{0x20, 1, 0, 2, [15] = 1}, {0x20, 1, 0, 2, [15] = 2}};

    s->src[0] = (struct ip_addr){.family = IP4, .ip4 = 0x020012c6};
    s->src[1] = (struct ip_addr){.family = IP6, .b = {0x20, 1, 0, 2, [15] = 9}};
    s->dst4 = dst4;
    s->n_dst4 = 3;
    s->dst6 = dst6;
    s->n_dst6 = 2;
}

unit_test(a_frame_with_any_bit_changed_is_not_taken_for_good)
{
    struct stream *s = &trial.direction[0].stream;
    struct frame_plan plan = {.bytes = {60, 124}, .n_sizes = 2, .percent6 = 50};
    struct mark mark;

    stream_begin(s, 7);
    for (unsigned i = 0; i < 8; i++) {
        uint8_t frame[FRAME_SIZE_MAX] = {0};
        uint16_t bytes = stream_write(s, &plan, frame, 41 + i, 0x1122334455667788ull * i);

        assert_int_equal(frame_read(frame, bytes, &mark), FRAME_GOOD);
        assert_int_equal(mark.trial, 7);
        assert_int_equal(mark.number, 41 + i);
        assert_int_equal(frame_read(frame, bytes - 1u, &mark) == FRAME_GOOD, false);
        // A router may change Ethernet addresses, TTL with checksum (IPv4), class and flow label
        // (IPv6).
        for (unsigned bit = 8 * 34; bit < 8u * bytes; bit++) {
            frame[bit / 8] ^= (uint8_t)(1u << bit % 8);
            assert_int_not_equal(frame_read(frame, bytes, &mark), FRAME_GOOD);
            frame[bit / 8] ^= (uint8_t)(1u << bit % 8);
        }
    }
}

unit_test(shares_of_ipv6_and_of_sizes_are_as_asked)
{
    struct stream *s = &trial.direction[0].stream;
    struct frame_plan plan = {.bytes = {60, 60, 60, 590}, .n_sizes = 4, .percent6 = 37};
    unsigned n6 = 0, large = 0;

    stream_begin(s, 1);
    for (unsigned i = 0; i < 10000; i++) {
        uint8_t frame[FRAME_SIZE_MAX] = {0};
        uint16_t bytes = stream_write(s, &plan, frame, i, 0);
        bool is6 = frame[12] == 0x86;

        n6 += is6;
        large += bytes == 590;
        assert_true(bytes == 590 || bytes == (is6 ? 80 : 60));
    }
    assert_int_equal(n6, 3700);
    assert_int_equal(large, 2500);
}

// As with a NIC: a destination always uses the same queue, and all destinations are used.
unit_test(each_destination_keeps_to_its_queue)
{
    struct stream s = {.src = {{.family = IP4, .ip4 = 0x020012c6}}, .n_dst4 = 10, .queues = 4};
    struct frame_plan plan = {.bytes = {60}, .n_sizes = 1};
    ip4_t dst4[10];
    unsigned seen[10] = {0};

    for (unsigned i = 0; i < 10; i++)
        dst4[i] = 0x01000000 + i;
    s.dst4 = dst4;
    stream_begin(&s, 1);
    for (unsigned i = 0; i < 4 * 6; i++) { // a multiple of 2 and 3, the queues' destinations
        uint8_t frame[FRAME_SIZE_MAX] = {0};
        uint32_t dst;

        s.queue = i % 4;
        stream_write(&s, &plan, frame, i, 0);
        memcpy(&dst, frame + 30, 4);
        assert_int_equal((dst - dst4[0]) % 4, s.queue);
        seen[dst - dst4[0]]++;
    }
    for (unsigned i = 0; i < 10; i++)
        assert_int_equal(seen[i], i % 4 < 2 ? 2 : 3);
}

// --- answers ---

static const uint8_t our_mac[6] = {2, 0, 0, 0, 0, 9}, their_mac[6] = {2, 0, 0, 0, 0, 1};
static const struct ip_addr ours[2] = {{.family = IP4, .b = {198, 18, 0, 2}},
                                       {.family = IP6, .b = {0x20, 1, 0, 2, [15] = 2}}};

unit_test(a_request_for_our_address_becomes_its_reply)
{
    uint8_t frame[60] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2, 0, 0, 0, 0,   1,  8, 6,
                         0,    1,    8,    0,    6,    4,    0, 1, 2, 0, 0,   0,  0, 1,
                         198,  18,   0,    1,    0,    0,    0, 0, 0, 0, 198, 18, 0, 2};
    uint8_t other[60];

    memcpy(other, frame, sizeof(other));
    other[41] = 3;
    assert_false(neighbor_answer(other, sizeof(other), our_mac, ours));
    assert_false(neighbor_answer(frame, 41, our_mac, ours));
    assert_true(neighbor_answer(frame, sizeof(frame), our_mac, ours));
    assert_memory_equal(frame, their_mac, 6);
    assert_memory_equal(frame + 6, our_mac, 6);
    assert_int_equal(frame[21], 2);
    assert_memory_equal(frame + 22, our_mac, 6);
    assert_memory_equal(frame + 28, ours[0].b, 4);
    assert_memory_equal(frame + 32, their_mac, 6);
    assert_memory_equal(frame + 38, ((uint8_t[]){198, 18, 0, 1}), 4);
    assert_false(neighbor_answer(frame, sizeof(frame), our_mac, ours)); // a reply is not a request
}

unit_test(a_solicitation_for_our_address_becomes_its_advertisement)
{
    uint8_t frame[86] = {0x33, 0x33, 0xff, 0,    0,    2,    2,         0,         0,
                         0,    0,    1,    0x86, 0xdd, 0x60, [19] = 32, [20] = 58, [21] = 255};
    uint8_t *ip = frame + 14, *icmp = ip + 40;

    memcpy(ip + 8, (uint8_t[16]){0x20, 1, 0, 2, [15] = 1}, 16);
    memcpy(ip + 24, (uint8_t[16]){0xff, 2, [11] = 1, 0xff, 0, 0, 2}, 16);
    icmp[0] = 135;
    memcpy(icmp + 8, ours[1].b, 16);
    memcpy(icmp + 24, (uint8_t[8]){1, 1, 2, 0, 0, 0, 0, 1}, 8);
    assert_true(neighbor_answer(frame, sizeof(frame), our_mac, ours));
    assert_memory_equal(frame, their_mac, 6);
    assert_memory_equal(ip + 8, ours[1].b, 16);
    assert_int_equal(ip[24 + 15], 1);
    assert_int_equal(icmp[0], 136);
    assert_int_equal(icmp[4], 0x60);
    assert_memory_equal(icmp + 24, ((uint8_t[8]){2, 1, 2, 0, 0, 0, 0, 9}), 8);
    assert_int_equal(
        checksum_finish(checksum_add(checksum_pseudo6(ip + 8, ip + 24, 32, 58), icmp, 32)), 0);
    assert_false(neighbor_answer(frame, sizeof(frame), our_mac, ours));
}

// --- trials ---

#define PACKETS 50000u

static struct {
    unsigned drop, twice, swap, corrupt; // every N packets, 0 = never
    unsigned stall_us;                   // once, after the first packet
    uint64_t n_drop, n_twice, n_swap, n_corrupt, seen;
} plant;

static struct rte_mempool *copies;

// Between the two ports: on packets that port 1 receives.
static uint16_t spoil(uint16_t port, uint16_t queue, struct rte_mbuf **pkt, uint16_t n,
                      uint16_t max, void *arg)
{
    uint16_t out = 0;

    if (plant.stall_us && n && plant.seen)
        rte_delay_us_block(plant.stall_us);
    plant.stall_us = plant.seen ? 0 : plant.stall_us;
    for (uint16_t i = 0; i < n; i++) {
        struct rte_mbuf *m = pkt[i];
        uint64_t k = ++plant.seen;

        if (plant.drop && k % plant.drop == 0) {
            rte_pktmbuf_free(m);
            plant.n_drop++;
            continue;
        }
        if (plant.corrupt && k % plant.corrupt == 0) {
            rte_pktmbuf_mtod(m, uint8_t *)[48 + k % 12] ^=
                0x40; // number or time stamp; IPv6: destination or UDP
            plant.n_corrupt++;
        }
        pkt[out++] = m;
        if (plant.swap && k % plant.swap == 0 && out > 1) {
            pkt[out - 1] = pkt[out - 2];
            pkt[out - 2] = m;
            plant.n_swap++;
        }
        // A copy needs a free place, left by a dropped packet.
        if (plant.twice && out <= i && k % plant.twice == 0) {
            pkt[out++] = rte_pktmbuf_copy(m, copies, 0, UINT32_MAX);
            plant.n_twice++;
        }
    }
    return out;
}

static void run_counted(struct trial_spec *spec)
{
    memset(&plant.n_drop, 0, 5 * sizeof(uint64_t));
    *spec = (struct trial_spec){.seconds = 60, .count = PACKETS, .burst = 32, .slice_ms = 1,
                                .wait_ms = 20, .from = {true, false},
                                .plan = {.bytes = {60, 590, 1514}, .n_sizes = 3, .percent6 = 25}};
    trial_run(&trial, spec);
}

unit_test(a_clean_wire_loses_nothing)
{
    struct trial_spec spec;
    const struct direction *d = &trial.direction[0];

    memset(&plant, 0, sizeof(plant));
    run_counted(&spec);
    assert_int_equal(d->sent, PACKETS);
    assert_int_equal(d->arrival.received, PACKETS);
    assert_int_equal(d->arrival.lost + d->arrival.duplicated + d->arrival.reordered + d->corrupted +
                         d->foreign + d->refused,
                     0);
    assert_int_equal(d->latency.n + d->unseen, PACKETS);
    assert_true(d->jitter.n < PACKETS);
}

unit_test(planted_faults_are_reported_exactly)
{
    struct trial_spec spec;
    const struct direction *d = &trial.direction[0];
    uint64_t in_slices = 0;

    memset(&plant, 0, sizeof(plant));
    plant.drop = 97;
    plant.twice = 98; // right after a dropped one, whose place it takes
    plant.swap = 1009;
    plant.corrupt = 1013;
    run_counted(&spec);
    assert_true(plant.n_drop > 500 && plant.n_twice > 0 && plant.n_swap > 0 && plant.n_corrupt > 0);
    assert_int_equal(d->corrupted, plant.n_corrupt);
    assert_int_equal(d->arrival.lost, plant.n_drop + plant.n_corrupt);
    assert_int_equal(d->arrival.received, PACKETS - plant.n_drop - plant.n_corrupt);
    assert_int_equal(d->arrival.duplicated, plant.n_twice);
    assert_int_equal(d->arrival.reordered, plant.n_swap);
    assert_int_equal(d->latency.n + d->unseen, d->arrival.received);
    for (uint32_t i = 0; i < d->slices.n; i++)
        in_slices += d->slices.lost[i];
    assert_int_equal(in_slices, d->arrival.lost);
}

unit_test(packets_under_way_while_the_tester_is_away_have_no_latency)
{
    struct trial_spec spec;
    const struct direction *d = &trial.direction[0];

    memset(&plant, 0, sizeof(plant));
    plant.stall_us = 5000;
    run_counted(&spec);
    assert_true((double)trial.away >= 0.005 * (double)rte_get_tsc_hz());
    assert_int_equal(d->arrival.received, PACKETS);
    assert_int_equal(d->latency.n + d->unseen, PACKETS);
    assert_true(d->unseen > 0 && d->latency.n > 0);
}

unit_test(the_clock_offers_what_was_asked_or_says_what_it_skipped)
{
    struct trial_spec spec = {.rate = 100000, .seconds = 0.2, .then_rate = 50000,
                              .then_seconds = 0.1, .burst = 4, .slice_ms = 10, .wait_ms = 20,
                              .from = {true, false}, .plan = {.bytes = {60}, .n_sizes = 1}};
    const struct direction *d = &trial.direction[0];

    memset(&plant, 0, sizeof(plant));
    trial_run(&trial, &spec);
    // 20,000 and 5,000; the last few packets of a phase may be due while the thread is preempted.
    uint64_t due = d->sent + d->refused + d->skipped;
    assert_true(due <= 25002);
    assert_true((double)due >=
                25000.0 - 100000.0 * ((double)trial.away / (double)rte_get_tsc_hz()) * 2 - 4);
    assert_int_equal(d->arrival.lost, 0);
}

unit_test(only_frames_of_this_trial_count)
{
    struct trial_spec spec;
    struct rte_mbuf *old = rte_pktmbuf_alloc(trial.pool), *other = rte_pktmbuf_alloc(trial.pool);
    struct frame_plan plan = {.bytes = {60}, .n_sizes = 1};
    const struct direction *d = &trial.direction[0];

    memset(&plant, 0, sizeof(plant));
    run_counted(&spec); // the next trial must not count a frame of it …
    old->data_len =
        stream_write(&trial.direction[0].stream, &plan, rte_pktmbuf_mtod(old, uint8_t *), 5, 0);
    old->pkt_len = old->data_len;
    other->data_len = 60; // … nor a frame that is not a test frame
    other->pkt_len = 60;
    memset(rte_pktmbuf_mtod(other, void *), 0xff, 60);
    uint16_t from_before = trial.direction[0].stream.trial;
    run_counted(&spec);
    assert_int_not_equal(trial.direction[0].stream.trial, from_before);
    assert_int_equal(rte_eth_tx_burst(trial.port[0], 0, (struct rte_mbuf *[]){old, other}, 2), 2);
    run_counted(&spec); // discarded before the trial
    assert_int_equal(d->foreign, 0);
    assert_int_equal(d->arrival.received, PACKETS);
    assert_int_equal(frame_read((const uint8_t[60]){0xff}, 60, &(struct mark){0}), FRAME_FOREIGN);
}

// --- the wire ---

static uint16_t make_port(const char *name, struct rte_ring *rx, struct rte_ring *tx,
                          struct rte_mempool *pool)
{
    struct rte_eth_conf conf = {0};
    int id = rte_eth_from_rings(name, &rx, 1, &tx, 1, 0);

    if (id < 0 || rte_eth_dev_configure((uint16_t)id, 1, 1, &conf) ||
        rte_eth_rx_queue_setup((uint16_t)id, 0, 64, 0, NULL, pool) ||
        rte_eth_tx_queue_setup((uint16_t)id, 0, 64, 0, NULL) || rte_eth_dev_start((uint16_t)id))
        exit(1);
    return (uint16_t)id;
}

static void zero(struct rte_mempool *pool, void *arg, void *buffer, unsigned i)
{
    struct rte_mbuf *m = buffer;

    memset(m->buf_addr, 0, m->buf_len);
}

static int make_wire(void **state)
{
    struct rte_ring *there = rte_ring_create("there", 1024, 0, 0),
                    *back = rte_ring_create("back", 1024, 0, 0);

    trial.pool = rte_pktmbuf_pool_create("send", 4095, 0, 0, 2048, 0);
    copies = rte_pktmbuf_pool_create("copies", 1023, 0, 0, 2048, 0);
    if (!there || !back || !trial.pool || !copies)
        return -1;
    rte_mempool_obj_iter(trial.pool, zero, NULL);
    trial.port[0] = make_port("wire0", back, there, trial.pool);
    trial.port[1] = make_port("wire1", there, back, trial.pool);
    rte_eth_add_rx_callback(trial.port[1], 0, spoil, NULL);
    for (unsigned i = 0; i < DIRECTIONS; i++) {
        struct slices *s = &trial.direction[i].slices;

        s->cap = TRIAL_SLICES_MAX;
        s->first = calloc(s->cap, sizeof(uint64_t));
        s->refused = calloc(s->cap, sizeof(uint64_t));
        s->lost = calloc(s->cap, sizeof(uint64_t));
        begin_frames(&trial.direction[i].stream);
    }
    return 0;
}

int main(void)
{
    char prefix[40];
    char *eal[] = {
        "tester_test",    "--no-huge",   "-m",          "128",           "--no-shconf", "--no-pci",
        "--no-telemetry", "--log-level", "lib.*:error", "--file-prefix", prefix,        NULL};

    snprintf(prefix, sizeof prefix, "tester-test-%d", (int)getpid());
    if (rte_eal_init((int)(sizeof(eal) / sizeof(*eal)) - 1, eal) < 0)
        return 1;
    return unit_tests_run(make_wire, NULL);
}
