// SPDX-License-Identifier: BSD-3-Clause
// queue_config_test.c - queues of ports in the configuration: built-in profiles, refusals and their
// words, live changes only on the affected ports
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "config/change.h"
#include "config/config.h"
#include "config/feature_config.h"
#include "feature/queue.h"
#include "fake/fake_managers.h"
#include "fake/fake_queue.h"
#include "yang/config_tree.h"
#include "tests/unit.h"

static struct text said;

static struct model *read_model(const char *lines, struct errors *e)
{
    struct lyd_node *tree = NULL;

    config_read_text(&tree, lines, e);
    struct model *m = e->n ? NULL : config_model_of(&tree, e);
    lyd_free_all(tree);
    return m;
}

// Errors of the lines, one per line; "" if there are none.
static const char *refusal(const char *lines)
{
    struct errors e = {0};

    text_clear(&said);
    model_free(read_model(lines, &e));
    errors_text(&e, NULL, &said);
    if (e.n)
        text_printf(&said, "\n");
    errors_free(&e);
    return text_str(&said);
}

static struct model *model_of(const char *lines)
{
    struct errors e = {0};
    struct model *m = read_model(lines, &e);

    text_clear(&said);
    errors_text(&e, NULL, &said);
    assert_string_equal(text_str(&said), "");
    return m;
}

// Changes `from` to `to`; returns the calls.
static const char *calls_between(const char *from, const char *to)
{
    struct model *empty = model_of(""), *a = model_of(from), *b = model_of(to);
    struct errors e = {0};

    fake_reset();
    assert_int_equal(change_make(empty, a, &e), 0);
    text_clear(&fake_calls);
    assert_int_equal(change_make(a, b, &e), 0);
    model_free(empty);
    model_free(a);
    model_free(b);
    return text_str(&fake_calls);
}

#define PORT "set port p1 devargs net_null1\n"
#define RED PORT "set vr red table 7\nset interface p1 vr red\n"
#define VPORTS PORT "set vr red table 7\nset vr blue table 8\n"                                    \
                    "set vport v1 port p1 vlan 1\nset vport v2 port p1 vlan 2\n"                   \
                    "set interface v1 vr red\nset interface v2 vr blue\n"

unit_test(one_line_makes_a_shaper_with_eight_classes)
{
    assert_string_equal(calls_between(PORT, PORT "set port p1 queue rate 100M\n"),
                        "set-queue p1\n");
    const struct port_queue_config *q = fake_queue("p1");

    assert_int_equal(q->rate_bps, 100000000);
    assert_int_equal(q->core, -1);
    assert_int_equal(q->overhead, 24);
    assert_int_equal(q->n_clients, 0);
    const struct queue_client_config *c = &q->other;
    assert_true(!c->guarantee_bps && !c->maximum_bps && c->weight == 1);
    assert_int_equal(c->class[0].weight, 0);
    assert_int_equal(c->class[0].rate_bps, 10000000);
    assert_int_equal(c->class[1].rate_bps, 30000000);
    static const uint8_t weight[] = {0, 0, 20, 15, 15, 10, 20, 1};
    for (unsigned k = 0; k < QUEUE_CLASSES; k++) {
        assert_int_equal(c->class[k].weight, weight[k]);
        assert_int_equal(c->class[k].limit_bytes, 100000000 / 8 / 10); // 100 ms
        assert_int_equal(c->class[k].discipline, k < 2   ? QUEUE_TAIL_DROP
                                                 : k < 6 ? QUEUE_CODEL
                                                         : QUEUE_FQ_CODEL);
    }
    assert_true(c->class[6].ecn && c->class[6].flows == 1024 && c->class[6].target_us == 5000 &&
                c->class[6].interval_us == 100000 && c->class[6].step_us == 1000);
    assert_int_equal(c->class[2].flows, 0);
    assert_int_equal(c->limit_bytes, 8 * 1250000);
    assert_int_equal(queue_config_check(c), 0);
}

unit_test(the_built_in_class_map_is_that_of_rfc_4594_and_rfc_8622)
{
    calls_between("", PORT "set port p1 queue\n");
    const struct class_map *map = &fake_queue("p1")->map;
    static const struct {
        uint8_t class, dscp[8]; // ends with 0
    } expected[] = {
        {0, {48, 56}},         {1, {46, 44}},     {2, {24, 32, 40, 34, 36, 38}},
        {3, {26, 28, 30}},     {4, {16, 18, 20, 22}}, {5, {10, 12, 14}},
        {7, {1, 8}},
    };
    unsigned elsewhere = 64;

    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++)
        for (const uint8_t *d = expected[i].dscp; *d; d++, elsewhere--)
            assert_int_equal(map->of_dscp[*d], expected[i].class);
    for (unsigned d = 0; d < 64; d++)
        elsewhere -= map->of_dscp[d] == 6;
    assert_int_equal(elsewhere, 0);
    assert_int_equal(map->other, 6);
    assert_false(map->remarks_pcp);
}

unit_test(a_class_map_says_what_differs)
{
    calls_between("", PORT "set class-map m dscp ef class 0\nset class-map m dscp 7 class 5\n"
                           "set class-map m other 7\nset class-map m remark-pcp class 6 pcp 3\n"
                           "set port p1 queue class-map m\n");
    const struct class_map *map = &fake_queue("p1")->map;

    assert_int_equal(map->of_dscp[46], 0);
    assert_int_equal(map->of_dscp[7], 5);
    assert_int_equal(map->of_dscp[48], 0);
    assert_int_equal(map->other, 7);
    assert_true(map->remarks_pcp);
    static const uint8_t pcp[QUEUE_CLASSES] = {6, 5, 4, 3, 2, 2, 3, 1};
    assert_memory_equal(map->pcp_of_class, pcp, sizeof pcp);
}

unit_test(a_profile_says_what_differs_and_rates_follow_the_maximum)
{
    calls_between(
        "", RED "set queue-profile p class 1 rate-percent 50\n"
                "set queue-profile p class 2 strict\nset queue-profile p class 0 weight 9\n"
                "set queue-profile p class 6 discipline codel limit 100k limit-time 50ms ecn false "
                "target 2ms interval 40ms\n"
                "set port p1 queue rate 1G\n"
                "set port p1 queue vr red guarantee 2.5M maximum 20M weight 10 reserve 64 profile "
                "p\n");
    const struct queue_client_config *red = &fake_queue_client("p1", "red")->config;

    assert_int_equal(red->guarantee_bps, 2500000);
    assert_int_equal(red->maximum_bps, 20000000);
    assert_int_equal(red->weight, 10);
    assert_int_equal(red->reserve_packets, 64);
    assert_int_equal(red->class[0].weight, 9);
    assert_int_equal(red->class[0].rate_bps, 0);
    assert_int_equal(red->class[1].rate_bps, 10000000);
    assert_int_equal(red->class[2].weight, 0);
    assert_int_equal(red->class[2].rate_bps, 0);
    assert_int_equal(red->class[1].limit_bytes, 250000); // 100 ms of 20M
    assert_int_equal(red->class[6].discipline, QUEUE_CODEL);
    assert_int_equal(red->class[6].limit_bytes, 100000);
    assert_int_equal(red->class[6].limit_us, 50000);
    assert_int_equal(red->class[6].target_us, 2000);
    assert_int_equal(red->class[6].interval_us, 40000);
    assert_false(red->class[6].ecn);
    assert_int_equal(red->class[7].weight, 1);
    assert_int_equal(fake_queue("p1")->other.class[1].rate_bps, 300000000);
}

unit_test(a_slow_client_may_have_four_frames_waiting)
{
    calls_between("", PORT "set port p1 queue rate 64k\n");
    const struct queue_client_config *c = &fake_queue("p1")->other;

    assert_int_equal(c->class[6].limit_bytes, 4 * (1500 + 14 + 8 + 24));
    assert_int_equal(c->class[0].rate_bps, 8000); // not 6400, which cannot be enforced
}

unit_test(without_a_rate_limits_follow_the_links_speed)
{
    calls_between("", PORT "set port p1 queue\n"); // 10 Gb/s
    assert_int_equal(fake_queue("p1")->rate_bps, 0);
    assert_int_equal(fake_queue("p1")->other.class[6].limit_bytes, 125000000);
}

// --- refusals ------------------------------------------------------------------------------------

unit_test(more_guarantees_than_the_rate_are_refused_with_the_arithmetic)
{
    assert_string_equal(
        refusal(VPORTS "set port p1 queue rate 1G\n"
                       "set port p1 queue vr red guarantee 500M\n"
                       "set port p1 queue vr blue guarantee 490M\n"),
        "line 10: port p1: the queue's guarantees are 990M, expected at most 980M (98 % of 1G): "
        "lower one, or raise the rate\n");
    assert_string_equal(refusal(VPORTS "set port p1 queue rate 1G\n"
                                       "set port p1 queue vr red guarantee 500M\n"
                                       "set port p1 queue vr blue guarantee 480M\n"),
                        "");
}

unit_test(rates_that_cannot_be_kept_are_refused)
{
    assert_string_equal(refusal(PORT "set port p1 queue rate 0\n"),
                        "line 2: port p1: queue rate is 0, expected at least 8k bits/s\n");
    assert_string_equal(refusal(PORT "set port p1 queue rate 7.9k\n"),
                        "line 2: port p1: queue rate is 7.9k, expected at least 8k bits/s\n");
    assert_string_equal(
        refusal(RED "set port p1 queue vr red guarantee 5k\n"),
        "line 4: port p1: queue vr red: 'guarantee' is 5k, expected at least 8k bits/s\n");
    assert_string_equal(refusal(RED "set port p1 queue vr red guarantee 20M maximum 10M\n"),
                        "line 4: port p1: queue vr red: 'maximum' is 10M, expected at least its "
                        "guarantee of 20M\n");
    assert_string_equal(refusal(RED "set port p1 queue vr red weight 0\n"),
                        "line 4: port p1: queue vr red: 'weight' is 0 and it has no guarantee, so "
                        "that it could send nothing: expected a weight of 1..128, or a "
                        "guarantee\n");
    assert_string_equal(refusal(RED "set port p1 queue vr red weight 0 guarantee 1M\n"), "");
    assert_string_equal(refusal(PORT "set port p1 queue\nset port p1 queue other maximum 1k\n"),
                        "line 3: port p1: queue other: 'maximum' is 1k, expected at least 8k "
                        "bits/s\n");
    assert_non_null(strstr(refusal(PORT "set port p1 queue rate fast\n"),
                           "a rate in bits per second, such as 500k, 100M or 2.5G"));
    assert_non_null(strstr(refusal(PORT "set port p1 queue other weight 129\n"), "0..128"));
}

unit_test(limits_below_a_frame_are_refused)
{
    assert_string_equal(refusal(RED "set port p1 queue vr red limit 1k\n"),
                        "line 4: port p1: queue vr red: 'limit' is 1000 bytes, expected at least "
                        "1546, the port's longest frame\n");
    assert_string_equal(refusal(PORT "set port p1 mtu 9000\nset queue-profile q class 3 limit 2k\n"
                                     "set port p1 queue profile q\n"),
                        "line 3: queue-profile q: class 3 limit is 2000 bytes, expected at least "
                        "9046, the longest frame of port p1\n");
}

unit_test(a_client_must_send_by_the_port)
{
    assert_string_equal(
        refusal(PORT "set vr red table 7\nset port p1 queue vr red weight 3\n"),
        "line 3: port p1: queue vr 'red' has no interface on the port, expected a virtual router "
        "that sends by it: 'set interface p1 vr red', or a vport of the port in it\n");
    assert_string_equal(refusal(PORT "set port p2 devargs net_null2\nset vport v port p2 vlan 1\n"
                                     "set port p1 queue vport v weight 3\n"),
                        "line 4: port p1: queue vport 'v' is a sub-interface of port p2, expected "
                        "one of port p1\n");
    assert_string_equal(refusal(VPORTS "set port p1 queue vr blue weight 3\n"
                                       "set port p1 queue vport v1 weight 3\n"
                                       "set port p1 queue vr default weight 3\n"),
                        "");
}

unit_test(a_lag_has_its_queues_at_its_members)
{
#define LAG "set port p1 devargs net_null1\nset port lag0 lag member p1\n"                         \
            "set vr red table 7\nset interface lag0 vr red\n"
    assert_string_equal(refusal(LAG "set port lag0 queue rate 1G\n"),
                        "line 5: port lag0: 'queue' belongs to a LAG's members: set it there, "
                        "'set port p1 queue'\n");
    assert_string_equal(refusal(LAG "set port p1 queue vr red weight 3\n"), "");
#undef LAG
}

unit_test(what_is_not_there_is_refused_and_so_is_deleting_what_is_in_use)
{
    assert_non_null(strstr(refusal(PORT "set port p1 queue profile nosuch\n"), "nosuch"));
    assert_non_null(strstr(refusal(PORT "set port p1 queue class-map nosuch\n"), "nosuch"));
    assert_non_null(strstr(refusal(PORT "set port p1 queue vr nosuch\n"), "nosuch"));
    assert_non_null(strstr(refusal(PORT "set port p1 queue vport nosuch\n"), "nosuch"));
    assert_non_null(strstr(refusal(PORT "set queue-profile q class 1 weight 3\n"
                                        "set port p1 queue profile q\ndelete queue-profile q\n"),
                           "'q'"));
    assert_non_null(strstr(refusal(RED "set port p1 queue vr red\ndelete interface p1\n"
                                       "delete vr red\n"),
                           "'red'"));
    assert_non_null(strstr(refusal("set class-map default other 3\n"), "built in"));
    assert_non_null(strstr(refusal("set queue-profile default class 3 weight 3\n"), "built in"));
}

unit_test(class_maps_that_contradict_themselves_are_refused)
{
    assert_string_equal(
        refusal("set class-map m dscp ef class 1\nset class-map m dscp 46 class 2\n"),
        "line 2: class-map m: dscp '46' is the same as dscp 'ef', expected one of the two\n");
    assert_string_equal(
        refusal("set class-map m dscp 64 class 1\n"),
        "line 1: class-map m: dscp '64' does not exist, expected 0..63, ef, va, le, cs0..cs7 or "
        "af11..af43\n");
    assert_non_null(strstr(refusal("set class-map m dscp ef class 8\n"), "0..7"));
}

unit_test(profiles_that_cannot_work_are_refused)
{
    assert_string_equal(refusal("set queue-profile q class 6 flows 100\n"),
                        "line 1: queue-profile q: class 6 flows is '100', expected a power of two "
                        "such as 1024\n");
    assert_string_equal(refusal("set queue-profile q class 6 target 1s\n"),
                        "line 1: queue-profile q: class 6 target is 1000000 us, expected more than "
                        "0, and less than its interval of 100000 us\n");
    assert_string_equal(refusal("set queue-profile q class 3 rate-percent 10\n"),
                        "line 1: queue-profile q: class 3 has a weight, and 'rate-percent' is of a "
                        "strict class, expected 'strict' as well\n");
    assert_non_null(strstr(refusal("set queue-profile q class 3 limit-time 50\n"), "50ms"));
}

unit_test(a_strict_class_without_a_rate_is_worth_a_note)
{
    struct model *a = model_of(""), *b = model_of("set queue-profile q class 2 strict\n");
    struct errors notes = {0};

    queue_config.note(a, b, &notes);
    assert_int_equal(notes.n, 1);
    assert_non_null(strstr(notes.item[0].sentence,
                           "class 2 of queue-profile q is strict without a rate"));
    queue_config.note(b, b, &notes);
    assert_int_equal(notes.n, 1);
    errors_free(&notes);
    model_free(a);
    model_free(b);
}

// --- changes -------------------------------------------------------------------------------------

unit_test(every_value_changes_live)
{
    static const char base[] = VPORTS "set port p1 queue rate 1G\n"
                                      "set port p1 queue vr red guarantee 100M\n";
    static const char *const change[] = {
        "set port p1 queue rate 900M\n", "set port p1 queue core 3\n",
        "set port p1 queue packets 500\n", "set port p1 queue overhead 0\n",
        "set port p1 queue vr red guarantee 200M\n", "set port p1 queue vr red maximum 200M\n",
        "set port p1 queue vr blue weight 7\n", "set port p1 queue vport v2 weight 7\n",
        "set port p1 queue other maximum 1M\n", "delete port p1 queue vr red\n",
    };

    for (size_t i = 0; i < sizeof change / sizeof *change; i++) {
        char to[1024];

        snprintf(to, sizeof to, "%s%s", base, change[i]);
        assert_string_equal(calls_between(base, to), "set-queue p1\n");
    }
    assert_string_equal(calls_between(base, base), "");
    assert_string_equal(calls_between(base, VPORTS), "remove-queue p1\n");
    assert_null(fake_queue("p1"));
}

unit_test(a_profile_or_class_map_reaches_the_ports_that_use_it)
{
#define PORTS PORT "set port p2 devargs net_null2\nset port p3 devargs net_null3\n"                \
                   "set port p1 queue\nset port p2 queue profile q\nset port p3 queue class-map m\n"
    assert_string_equal(
        calls_between(PORTS "set queue-profile q class 3 weight 30\nset class-map m other 1\n",
                      PORTS "set queue-profile q class 3 weight 31\nset class-map m other 1\n"),
        "set-queue p2\n");
    assert_string_equal(
        calls_between(PORTS "set queue-profile q class 3 weight 30\nset class-map m other 1\n",
                      PORTS "set queue-profile q class 3 weight 30\nset class-map m other 2\n"),
        "set-queue p3\n");
#undef PORTS
}

unit_test(a_queue_goes_before_what_it_names_and_comes_after)
{
    static const char with[] = VPORTS "set port p1 queue vport v1 weight 3\n"
                                      "set port p1 queue vr blue weight 3\n";

    assert_string_equal(calls_between("", with),
                        "add-vr blue\nadd-vr red\nattach p1\nadd-vport v1\nadd-vport v2\n"
                        "set-queue p1\n");
    assert_string_equal(calls_between(with, ""),
                        "remove-queue p1\ndel-vport v1\ndel-vport v2\ndetach p1\ndel-vr blue\n"
                        "del-vr red\n");
    // Another VLAN: the sub-interface and its queue are removed and added again.
    assert_string_equal(calls_between(with, PORT "set vr red table 7\nset vr blue table 8\n"
                                                 "set vport v1 port p1 vlan 9\n"
                                                 "set vport v2 port p1 vlan 2\n"
                                                 "set interface v1 vr red\n"
                                                 "set interface v2 vr blue\n"
                                                 "set port p1 queue vport v1 weight 3\n"
                                                 "set port p1 queue vr blue weight 3\n"),
                        "set-queue p1\ndel-vport v1\nadd-vport v1\nset-queue p1\n");
}

// Each call of the change fails once: afterwards the old state is back.
unit_test(a_change_that_fails_leaves_the_queues_as_they_were)
{
    struct model *empty = model_of(""),
                 *a = model_of(VPORTS "set port p1 queue vport v1 weight 3\n"
                                      "set port p1 queue vr blue weight 3\n"),
                 *b = model_of(PORT "set port p2 devargs net_null2\nset vr blue table 9\n"
                                    "set vport v2 port p1 vlan 2\nset interface v2 vr blue\n"
                                    "set port p1 queue vr blue weight 4\nset port p2 queue\n");
    struct text before = {0}, after = {0};
    int failed = 0;

    for (int n = 1; n < 40; n++) {
        struct errors e = {0};

        fake_reset();
        assert_int_equal(change_make(empty, a, &e), 0);
        text_clear(&before), fake_state(&before);
        fake_fail_at = n;
        int r = change_make(a, b, &e);
        failed += r != 0;
        fake_fail_at = 0;
        text_clear(&after), fake_state(&after);
        if (r)
            assert_string_equal(text_str(&after), text_str(&before));
        errors_free(&e);
    }
    assert_true(failed >= 8);
    text_free(&before);
    text_free(&after);
    model_free(empty);
    model_free(a);
    model_free(b);
}
