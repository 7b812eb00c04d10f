// SPDX-License-Identifier: BSD-3-Clause
// lacp_test.c - LACP against the tables of IEEE 802.1AX-2014 6.4, and two ends against each other
#include "lag/lacp.h"
#include "tests/unit.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define MS 1000000ull
#define S (1000 * MS)
#define TICK (100 * MS)
#define LINKS 4

struct end {
    struct lacp_port port[LINKS];
    unsigned sent[LINKS];
};

static struct end a, b;
static uint64_t now, away; // away: time during which these did not run
static unsigned n_links, cut; // cut: bit mask of links that deliver nothing
static bool deaf;             // b receives nothing

static struct lacp_side side(uint8_t system, uint16_t port, uint8_t state)
{
    return (struct lacp_side){.system_priority = 32768,
                              .system = {2, 0, 0, 0, 0, system},
                              .key = 7,
                              .port_priority = 255,
                              .port = port,
                              .state = (uint8_t)(state | LACP_AGGREGATION)};
}

static void begin(unsigned links, uint8_t state_a, uint8_t state_b)
{
    now = 1000 * S;
    away = 0;
    n_links = links;
    cut = 0;
    deaf = false;
    memset(&a, 0, sizeof a);
    memset(&b, 0, sizeof b);
    for (unsigned i = 0; i < links; i++) {
        struct lacp_side sa = side(1, (uint16_t)(1 + i), state_a),
                         sb = side(2, (uint16_t)(11 + i), state_b);
        lacp_init(&a.port[i], &sa);
        lacp_init(&b.port[i], &sb);
        lacp_set_link(&a.port[i], true, now);
        lacp_set_link(&b.port[i], true, now);
    }
}

static void end_run(struct end *e, struct end *other, bool hears)
{
    struct lacp_port *all[LINKS];
    uint8_t pdu[LACP_PDU];

    for (unsigned i = 0; i < n_links; i++) {
        all[i] = &e->port[i];
        lacp_check_timeout(all[i], now - away);
    }
    lacp_select(all, n_links);
    for (unsigned i = 0; i < n_links; i++)
        if (lacp_run(&e->port[i], now, pdu)) {
            e->sent[i]++;
            if (!(cut >> i & 1) && hears)
                lacp_receive(&other->port[i], pdu, now - away);
        }
}

static void pass(uint64_t ns)
{
    for (uint64_t end = now + ns; now < end; now += TICK) {
        end_run(&a, &b, !deaf);
        end_run(&b, &a, true);
    }
}

static unsigned distributing(const struct end *e)
{
    unsigned n = 0;

    for (unsigned i = 0; i < n_links; i++)
        n += lacp_distributes(&e->port[i]);
    return n;
}

#define FAST (LACP_ACTIVITY | LACP_TIMEOUT)

unit_test(two_active_ends_are_in_use_after_the_aggregate_wait)
{
    begin(4, FAST, FAST);
    pass(1900 * MS);
    assert_int_equal(distributing(&a), 0); // waits 2 s, so that all links come up together
    pass(700 * MS);
    assert_int_equal(distributing(&a), 4);
    assert_int_equal(distributing(&b), 4);
    assert_string_equal(lacp_reason(&a.port[0]), "");
    assert_int_equal(a.port[0].actor.state, FAST | LACP_AGGREGATION | LACP_SYNCHRONIZATION |
                                                LACP_COLLECTING | LACP_DISTRIBUTING);
    assert_int_equal(a.port[0].partner.port, 11);
}

unit_test(somebody_has_to_speak_first)
{
    begin(1, LACP_TIMEOUT, LACP_TIMEOUT);
    pass(100 * S);
    assert_int_equal(distributing(&a) + distributing(&b) + a.sent[0] + b.sent[0], 0);
    begin(1, FAST, LACP_TIMEOUT);
    pass(4 * S);
    assert_int_equal(distributing(&a) + distributing(&b), 2);
}

unit_test(the_partner_says_how_often_it_wants_to_hear)
{
    begin(1, FAST, LACP_ACTIVITY); // a wants the fast rate, b the slow one
    pass(10 * S);
    assert_int_equal(distributing(&a), 1);
    a.sent[0] = b.sent[0] = 0;
    pass(60 * S);
    assert_in_range(a.sent[0], 2, 3);
    assert_in_range(b.sent[0], 58, 61);
}

unit_test(a_silent_partner_is_given_up_after_three_seconds_or_ninety)
{
    begin(1, FAST, FAST);
    pass(5 * S);
    cut = 1;
    pass(1900 * MS); // the last LACPDU may be a second old
    assert_int_equal(distributing(&a), 1);
    pass(1200 * MS);
    assert_int_equal(distributing(&a), 0);
    assert_int_equal(lacp_collects(&a.port[0]), 0);
    assert_string_equal(lacp_reason(&a.port[0]), "partner silent");
    assert_true(a.port[0].actor.state & LACP_EXPIRED);
    pass(3 * S);
    assert_int_equal(a.port[0].rx, LACP_RX_DEFAULTED);
    assert_string_equal(lacp_reason(&a.port[0]), "no LACP partner");
    assert_true(a.port[0].actor.state & LACP_DEFAULTED);
    cut = 0;
    pass(4 * S);
    assert_int_equal(distributing(&a) + distributing(&b), 2);

    begin(1, LACP_ACTIVITY, LACP_ACTIVITY);
    pass(10 * S);
    assert_int_equal(distributing(&a), 1);
    cut = 1;
    pass(55 * S);
    assert_int_equal(distributing(&a), 1);
    pass(40 * S);
    assert_int_equal(distributing(&a), 0);
}

// A link that works one way.
unit_test(who_is_not_heard_is_not_sent_to)
{
    begin(2, FAST, FAST);
    pass(5 * S);
    deaf = true;
    pass(5 * S);
    assert_int_equal(distributing(&b), 0);
    assert_int_equal(distributing(&a), 0); // b reports that it is not in sync
}

unit_test(a_partner_is_not_given_up_because_nobody_listened)
{
    begin(2, FAST, FAST);
    pass(5 * S);
    now += 10 * S; // busy: LACPDUs of the partner are not read meanwhile
    away += 10 * S;
    end_run(&a, &b, false);
    assert_int_equal(distributing(&a), 2);
    assert_int_equal(a.port[0].rx, LACP_RX_CURRENT);
    pass(20 * S);
    assert_int_equal(distributing(&a), 2);
    cut = 3; // now it is silent, which must be noticed as soon as ever
    pass(3100 * MS);
    assert_int_equal(distributing(&a), 0);
}

unit_test(a_link_that_goes_down_is_out_at_once)
{
    uint8_t pdu[LACP_PDU];

    begin(2, FAST, FAST);
    pass(5 * S);
    lacp_set_link(&a.port[0], false, now);
    lacp_run(&a.port[0], now, pdu);
    assert_false(lacp_distributes(&a.port[0]));
    assert_string_equal(lacp_reason(&a.port[0]), "link down");
    pass(1 * S);
    assert_int_equal(distributing(&a), 1);
    lacp_set_link(&a.port[0], true, now);
    pass(4 * S);
    assert_int_equal(distributing(&a), 2);
}

unit_test(no_more_than_three_lacpdus_leave_in_a_second)
{
    uint8_t pdu[LACP_PDU] = {1, 1};

    begin(1, FAST, FAST);
    pass(5 * S);
    a.sent[0] = 0;
    for (unsigned i = 0; i < 100;
         i++) { // each PDU reports us differently, so there is always something to tell
        pdu[41] = (uint8_t)i;
        lacp_receive(&a.port[0], pdu, now);
        if (lacp_run(&a.port[0], now, pdu))
            a.sent[0]++;
        memset(pdu, 0, sizeof pdu);
        now += 10 * MS;
    }
    assert_in_range(a.sent[0], 1, 4);
}

// --- the tables ---

static uint8_t *said(uint8_t *pdu, uint8_t state_partner, uint8_t state_us)
{
    static const uint8_t begin_of[LACP_PDU] = {
        1, 1, 1, 20, 0x80, 0, 2, 0, 0, 0, 0, 2, 0, 7, 0, 255, 0, 11, 0, 0, 0, 0,
        2, 20, 0x80, 0, 2, 0, 0, 0, 0, 1, 0, 7, 0, 255, 0, 1, 0, 0, 0, 0, 3, 16};

    memcpy(pdu, begin_of, LACP_PDU);
    pdu[18] = state_partner;
    pdu[38] = state_us;
    return pdu;
}

static struct lacp_port *alone(uint8_t state)
{
    static struct lacp_port p;
    struct lacp_side s = side(1, 1, state);

    lacp_init(&p, &s);
    lacp_set_link(&p, true, now);
    return &p;
}

static void run_for(struct lacp_port *p, uint64_t ns)
{
    uint8_t pdu[LACP_PDU];

    for (uint64_t end = now + ns; now < end; now += TICK) {
        lacp_check_timeout(p, now);
        lacp_select(&p, 1);
        lacp_run(p, now, pdu);
    }
}

#define UP (FAST | LACP_AGGREGATION)

unit_test(collecting_waits_for_sync_and_distributing_for_collecting)
{
    static const struct {
        uint8_t partner;
        enum lacp_mux mux;
    } row[] = {
        {UP, LACP_ATTACHED},
        {UP | LACP_SYNCHRONIZATION, LACP_MUX_COLLECTING},
        {UP | LACP_SYNCHRONIZATION | LACP_COLLECTING, LACP_MUX_DISTRIBUTING},
        {UP | LACP_SYNCHRONIZATION, LACP_MUX_COLLECTING},
        {UP | LACP_COLLECTING | LACP_DISTRIBUTING, LACP_ATTACHED},
        {UP | LACP_SYNCHRONIZATION | LACP_COLLECTING | LACP_DISTRIBUTING, LACP_MUX_DISTRIBUTING},
    };
    struct lacp_port *p = alone(FAST);
    uint8_t pdu[LACP_PDU];

    for (unsigned i = 0; i < sizeof row / sizeof *row; i++) {
        lacp_receive(p, said(pdu, row[i].partner, UP | LACP_SYNCHRONIZATION), now);
        run_for(p, i ? TICK : 2200 * MS);
        assert_int_equal(p->mux, row[i].mux);
    }
}

unit_test(sync_counts_only_from_who_knows_us)
{
    static const unsigned at[] = {
        24, 31, 33, 35,
        37}; // priority, system, key, port priority, port in the partner's record of us
    uint8_t pdu[LACP_PDU];

    for (unsigned i = 0; i < sizeof at / sizeof *at; i++) {
        struct lacp_port *p = alone(FAST);
        said(pdu, UP | LACP_SYNCHRONIZATION | LACP_COLLECTING, UP)[at[i]] ^= 1;
        lacp_receive(p, pdu, now);
        assert_false(p->partner.state & LACP_SYNCHRONIZATION);
        assert_true(p->ntt);
        run_for(p, 2500 * MS);
        assert_int_equal(p->mux, LACP_ATTACHED);
        assert_string_equal(lacp_reason(p), "partner not in sync");
    }
    struct lacp_port *p = alone(FAST);
    lacp_receive(p, said(pdu, UP | LACP_SYNCHRONIZATION, UP & ~LACP_AGGREGATION),
                 now); // it regards us as an individual link
    assert_false(p->partner.state & LACP_SYNCHRONIZATION);
}

unit_test(sync_counts_only_while_one_of_the_two_speaks)
{
    uint8_t pdu[LACP_PDU];
    struct lacp_port *p = alone(LACP_TIMEOUT);

    lacp_receive(p, said(pdu, (UP | LACP_SYNCHRONIZATION) & ~LACP_ACTIVITY, UP & ~LACP_ACTIVITY),
                 now);
    assert_false(p->partner.state & LACP_SYNCHRONIZATION);
    p = alone(FAST);
    lacp_receive(p, said(pdu, (UP | LACP_SYNCHRONIZATION) & ~LACP_ACTIVITY, UP), now);
    assert_true(p->partner.state & LACP_SYNCHRONIZATION);
}

unit_test(another_partner_begins_anew)
{
    static const unsigned at[] = {5, 11, 13, 15, 17};
    uint8_t pdu[LACP_PDU];

    for (unsigned i = 0; i < sizeof at / sizeof *at; i++) {
        struct lacp_port *p = alone(FAST);
        lacp_receive(
            p, said(pdu, UP | LACP_SYNCHRONIZATION | LACP_COLLECTING, UP | LACP_SYNCHRONIZATION),
            now);
        run_for(p, 2200 * MS);
        assert_true(lacp_distributes(p));
        pdu[at[i]] ^= 1;
        lacp_receive(p, pdu, now);
        run_for(p, TICK);
        assert_int_equal(p->mux, LACP_WAITING);
        assert_string_equal(lacp_reason(p), "negotiating");
    }
}

unit_test(a_lacpdu_looks_as_the_standard_says)
{
    uint8_t pdu[LACP_PDU], expected[LACP_PDU];
    struct lacp_port *p = alone(FAST);

    assert_false(lacp_run(p, now, pdu) && p->ntt);
    lacp_receive(p, said(pdu, UP, UP), now);
    now += S;
    p->ntt = true;
    assert_true(lacp_run(p, now, pdu));
    said(expected, 0, 0);
    uint8_t us[20], them[20];
    memcpy(them, expected + 2, 20);
    memcpy(us, expected + 22, 20);
    memcpy(expected + 4, us + 2, 18);
    memcpy(expected + 24, them + 2, 18);
    expected[18] = p->actor.state;
    expected[38] = UP;
    assert_memory_equal(pdu, expected, LACP_PDU);
}

unit_test(links_to_two_partners_are_no_one_lag)
{
    struct lacp_port *all[3];
    uint8_t pdu[LACP_PDU];

    begin(3, FAST, FAST);
    for (unsigned i = 0; i < 3; i++) {
        all[i] = &a.port[i];
        said(pdu, UP, UP)[17] = (uint8_t)(20 + i);
        pdu[11] = i == 1 ? 9 : 2; // port 1 has another partner
        lacp_receive(&a.port[i], pdu, now);
    }
    lacp_select(all, 1);
    lacp_select(all + 1, 1);
    assert_true(a.port[1].selected);
    lacp_select(all, 2); // one each: the selected one stays
    assert_true(a.port[0].selected != a.port[1].selected);
    lacp_select(all, 3); // two outweigh one
    assert_true(a.port[0].selected && !a.port[1].selected && a.port[2].selected);
    assert_string_equal(lacp_reason(&a.port[1]), "other partner than the members in use");
}

unit_test(a_partner_that_may_not_aggregate_is_used_by_one_link)
{
    struct lacp_port *all[2];
    uint8_t pdu[LACP_PDU];

    begin(2, FAST, FAST);
    for (unsigned i = 0; i < 2; i++) {
        all[i] = &a.port[i];
        said(pdu, FAST | LACP_SYNCHRONIZATION, UP)[17] = (uint8_t)(20 + i);
        lacp_receive(&a.port[i], pdu, now);
    }
    lacp_select(all, 2);
    assert_int_equal(a.port[0].selected + a.port[1].selected, 1);
}

unit_test(a_looped_link_is_never_used)
{
    uint8_t pdu[LACP_PDU];
    struct lacp_port *p = alone(FAST);

    said(pdu, UP | LACP_SYNCHRONIZATION | LACP_COLLECTING, UP);
    pdu[11] = 1;
    lacp_receive(p, pdu, now);
    run_for(p, 2500 * MS);
    assert_int_equal(p->mux, LACP_DETACHED);
    assert_string_equal(lacp_reason(p), "looped");
}

unit_test(another_rate_is_told_and_interrupts_nothing)
{
    begin(1, FAST, FAST);
    pass(5 * S);
    struct lacp_side slow = side(1, 1, LACP_ACTIVITY);
    lacp_set_actor(&a.port[0], &slow);
    pass(1500 * MS);
    assert_int_equal(distributing(&a), 1);
    assert_false(b.port[0].partner.state & LACP_TIMEOUT);
}

unit_test(another_key_begins_anew)
{
    begin(1, FAST, FAST);
    pass(5 * S);
    struct lacp_side other = side(1, 1, FAST);
    other.key = 8;
    lacp_set_actor(&a.port[0], &other);
    pass(TICK);
    assert_int_equal(distributing(&a), 0);
    pass(5 * S);
    assert_int_equal(distributing(&a), 1);
}

unit_test(a_marker_is_answered_and_an_answer_is_not)
{
    uint8_t pdu[LACP_PDU] = {2, 1, 1, 16};

    assert_true(lacp_marker_reply(pdu));
    assert_int_equal(pdu[2], 2);
    assert_false(lacp_marker_reply(pdu));
}

unit_test(whatever_is_said_states_stay_in_order)
{
    uint8_t pdu[LACP_PDU];

    srandom(1);
    begin(3, FAST, FAST);
    for (unsigned round = 0; round < 200000; round++) {
        struct lacp_port *all[3] = {&a.port[0], &a.port[1], &a.port[2]}, *p = all[random() % 3];
        said(pdu, (uint8_t)random(), random() % 3 ? UP | LACP_SYNCHRONIZATION : (uint8_t)random());
        if (random() % 50 == 0)
            pdu[random() % 40] = (uint8_t)random();
        if (random() % 4)
            lacp_receive(p, pdu, now);
        if (random() % 200 == 0)
            lacp_set_link(p, random() % 2, now);
        for (unsigned i = 0; i < 3; i++)
            lacp_check_timeout(all[i], now);
        lacp_select(all, 3);
        for (unsigned i = 0; i < 3; i++) {
            lacp_run(all[i], now, pdu);
            uint8_t s = all[i]->actor.state;
            assert_true(!(s & LACP_DISTRIBUTING) || s & LACP_COLLECTING);
            assert_true(!(s & LACP_COLLECTING) || s & LACP_SYNCHRONIZATION);
            assert_true(!lacp_collects(all[i]) || all[i]->selected);
            assert_true(!lacp_collects(all[i]) || all[i]->rx == LACP_RX_CURRENT);
            assert_true(lacp_distributes(all[i]) == !lacp_reason(all[i])[0]);
        }
        now += (uint64_t)random() % (200 * MS);
    }
}
