// SPDX-License-Identifier: BSD-3-Clause
// flow_effect_test.c - effects of a change on interfaces, and which parts of it a trial on flows
// does not cover
#include <libyang/libyang.h>
#include <stdio.h>
#include <string.h>

#include "config/config.h"
#include "config_fixture.h"
#include "core/thread.h"
#include "feature/flow_trial.h"
#include "table/counter.h"
#include "table/iface.h"
#include "table/nexthop.h"
#include "table/plan.h"
#include "table/port.h"
#include "table/vr.h"
#include "tests/unit.h"
#include "yang/config_tree.h"

static const char router[] = "set port p0 devargs net_null0\n"
                             "set port p1 devargs net_null1\n"
                             "set port p2 devargs net_null2\n"
                             "set vr red\n"
                             "set policer k cir 1M cbs 9000\n";
static const char *const names[] = {"p0", "p1", "p2", "v9"};

static int tables_up(void **state)
{
    int r = counter_init() | port_table_init() | iface_table_init() | nexthop_table_init() |
            vr_table_init() | plan_init();

    if (r || !vr_new("default") || !vr_new("red"))
        return -1;
    for (unsigned k = 0; k < 4; k++) {
        struct iface *i = iface_new(names[k]);
        struct port *p = port_get((uint16_t)(k % 3));
        i->port = (uint16_t)(k % 3);
        i->kind = k == 3 ? IFACE_VPORT : IFACE_PORT;
        if (k == 3)
            continue;
        p->used = true;
        snprintf(p->name, sizeof p->name, "%s", names[k]);
    }
    return 0;
}

static int tables_down(void **state)
{
    plan_fini();
    vr_table_fini();
    nexthop_table_fini();
    iface_table_fini();
    port_table_fini();
    counter_fini();
    return 0;
}

#define effect_test(name) unit_test_of(name, tables_up, tables_down)

static struct model *model_of(const char *more)
{
    struct lyd_node *tree = NULL;
    struct errors e = {0};
    struct text t = {0}, why = {0};

    text_printf(&t, "%s%s", router, more);
    config_read_text(&tree, text_str(&t), &e);
    struct model *m = config_model_of(&tree, &e);
    errors_text(&e, NULL, &why);
    assert_string_equal(text_str(&why), "");
    text_free(&t);
    text_free(&why);
    lyd_free_all(tree);
    return m;
}

// The effect of going from `router` with these lines to `router` with those. *missing: its parts
// that are not tried, separated by '|'.
static struct flow_effect effect_of(const char *from, const char *to, char missing[256])
{
    struct model *was = model_of(from), *is = model_of(to);
    struct flow_effect f;
    size_t n = 0;

    flow_effect_of(&f, was, is);
    missing[0] = '\0';
    vec_foreach (&f.missing, m)
        n += (size_t)snprintf(missing + n, 256 - n, "%s%s", n ? "|" : "", *m);
    model_free(was);
    model_free(is);
    return f;
}

static void assert_effect(const char *from, const char *to, bool any, const char *missing)
{
    char is[256];
    struct flow_effect f = effect_of(from, to, is);

    assert_string_equal(is, missing);
    assert_int_equal(f.any, any);
    flow_effect_free(&f);
}

effect_test(what_chooses_no_packets_way_is_neither_tried_nor_missed)
{
    assert_effect("", "", false, "");
    assert_effect("", "set interface p0 description text\n", false, "");
    assert_effect("", "set log-level debug\nset icmp rate 7\n", false, "");
    assert_effect("", "set sflow collector 192.0.2.1\nset interface p0 sflow true\n", false, "");
    assert_effect("", "set port p3 devargs net_null3\n", false, "");
    assert_effect("", "set vr blue\n", false, "");
    assert_effect("", "set acl x default deny\n", false, "");
}

effect_test(what_a_trial_covers_differs_for_its_interface_alone)
{
    static const char *const change[] = {"set interface p1 urpf ipv4 strict\n",
                                         "set interface p1 vr red\n",
                                         "set interface p1 police in k\n"};
    char missing[256];

    for (unsigned k = 0; k < 3; k++) {
        struct flow_effect f = effect_of("", change[k], missing);
        assert_string_equal(missing, "");
        assert_true(f.any);
        for (unsigned i = 0; i < 3; i++) {
            uint16_t id = iface_find_name(names[i])->id;
            assert_int_equal(f.tried[id].differs, i == 1);
            assert_int_equal(f.iface[id].moves, i == 1 && k == 1);
            assert_int_equal(f.iface[id].police[POLICER_IN], i == 1 && k == 2);
        }
        flow_effect_free(&f);
    }
}

effect_test(an_interface_that_goes_or_gets_a_new_virtual_router_is_known)
{
    char missing[256];
    uint16_t p2 = iface_find_name("p2")->id;
    struct flow_effect f = effect_of("set vport v9 port p0 vlan 9\n",
                                     "set vr blue\nset interface p2 vr blue\n", missing);

    assert_string_equal(missing, "");
    assert_true(f.iface[iface_find_name("v9")->id].goes);
    assert_false(f.iface[p2].goes);
    assert_true(f.iface[p2].moves);
    assert_non_null(f.iface[p2].new_vr);
    flow_effect_free(&f);
}

effect_test(all_else_is_named)
{
    assert_effect("", "set port p1 mtu 1400\n", false, "port p1");
    assert_effect("", "set vr red flow-hash l3\n", false, "vr red");
    assert_effect("", "set interface p1 directed-broadcast true\n", false,
                  "interface p1: directed broadcasts");
    assert_effect("", "set interface p1 pcp 5 class 2\n", false,
                  "interface p1: classes by 802.1p priority");
    assert_effect("", "set port p1 queue rate 1G\n", false, "queue of port p1");
    assert_effect("set port p1 queue rate 1G\n", "set port p1 queue rate 2G\n", false,
                  "queue of port p1");
}

effect_test(another_class_map_is_tried)
{
    char missing[256];
    struct flow_effect f = effect_of("set port p1 queue rate 1G\n",
                                     "set class-map m dscp cs1 class 5\nset port p1 queue rate "
                                     "1G\nset port p1 queue class-map m\n",
                                     missing);

    assert_string_equal(missing, "");
    assert_true(f.any);
    assert_null(f.trial.map[0]);
    assert_non_null(f.trial.map[1]);
    flow_effect_free(&f);
}
