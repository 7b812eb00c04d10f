// SPDX-License-Identifier: BSD-3-Clause
// scale_test.c - the cost of a configuration grows linearly with its size
//
//     scale_test [LIST N]      without arguments: the tests; otherwise prints the seconds that N
//     entries of this list take
//
// A nested loop over one list is fast in every test, and stops the router for a minute when a
// client sends 200,000 entries. So each list of the schema is read, checked, compared, printed and
// copied at two sizes; eight times the entries may take at most sixteen times as long (quadratic
// code would take 64). The measure is processor time, the least of three or more.
#include <stdint.h>
#include <libyang/libyang.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "config_fixture.h"

#include "config/change.h"
#include "config/config.h"
#include "config/config_bound.h"
#include "config/config_running.h"
#include "config/model.h"
#include "yang/config_json.h"
#include "yang/config_tree.h"
#include "yang/yang.h"
#include "tests/unit.h"

#define ONE_PORT "set port p0 devargs net_null0\n"

static void ports(struct text *t, unsigned i)
{
    text_printf(t, "set port q%u devargs net_null%u\n", i, i);
}

static void port_mirrors(struct text *t, unsigned i)
{
    text_printf(t, "set port q%u devargs net_null%u mirror both to tap m%u\n", i, i, i);
}

static void vports(struct text *t, unsigned i)
{
    text_printf(t, "set vport v%u port p0 outer-vlan %u vlan %u\n", i, 1 + i / 4000 % 4000,
                1 + i % 4000);
}

static void vrs(struct text *t, unsigned i)
{
    text_printf(t, "set vr r%u namespace ns%u\n", i, i);
}

static void interfaces(struct text *t, unsigned i)
{
    text_printf(t, "set interface v%u sflow true\nset vport v%u port p0 vlan %u\n", i, i,
                1 + i % 4000);
}

static void bindings(struct text *t, unsigned i)
{
    text_printf(
        t,
        "set interface v%u acl in l%u\nset vport v%u port p0 vlan %u\nset acl l%u default permit\n",
        i, i, i, 1 + i % 4000, i);
}

static void sets(struct text *t, unsigned i)
{
    text_printf(t, "set address-set s%u prefix 192.0.2.%u\n", i, i % 256);
}

static void members(struct text *t, unsigned i)
{
    text_printf(t, "set address-set s prefix 10.%u.%u.%u\n", i >> 16 & 255, i >> 8 & 255, i & 255);
}

static void lists(struct text *t, unsigned i)
{
    text_printf(t, "set acl l%u rule 10 permit tcp from any to any port 443\n", i);
}

static void lists_of_sets(struct text *t, unsigned i)
{
    text_printf(t,
                "set address-set s%u prefix 192.0.2.0/24\nset acl l%u rule 10 permit tcp from set "
                "s%u to any\n",
                i, i, i);
}

static void rules(struct text *t, unsigned i)
{
    text_printf(t, "set acl edge rule %u permit tcp from 10.%u.%u.0/24 to any port %u\n", i + 1,
                i >> 8 & 255, i & 255, 1 + i % 60000);
}

static void mirror_sessions(struct text *t, unsigned i)
{
    text_printf(t, "set mirror-session m%u to tap t%u\n", i, i);
}

static void threads(struct text *t, unsigned i)
{
    text_printf(t, "set thread %u forwarder port p0 rx-queue %u\n", i % 1024, i % 32);
}

static void routes(struct text *t, unsigned i)
{
    text_printf(t, "set multicast route default 239.%u.%u.%u any input p0 output p0\n",
                1 + (i >> 16 & 127), i >> 8 & 255, i & 255);
}

static void counted(struct text *t, unsigned i)
{
    text_printf(t, "set counters prefix default 10.%u.%u.%u/32\n", i >> 16 & 255, i >> 8 & 255,
                i & 255);
}

static void daemons(struct text *t, unsigned i)
{
    text_printf(t, "set vr r%u namespace ns%u\nset routing-daemon r%u bgp\n", i, i, i);
}

static void clients(struct text *t, unsigned i)
{
    text_printf(t,
                "set api client c%u role admin\nset sflow collector 10.%u.%u.%u\nset ipfix "
                "collector 10.%u.%u.%u\n",
                i, i >> 16 & 255, i >> 8 & 255, i & 255, i >> 16 & 255, i >> 8 & 255, i & 255);
}

static void queues(struct text *t, unsigned i)
{
    text_printf(t,
                "set vport v%u port p0 outer-vlan %u vlan %u\nset interface v%u vr r%u\nset vr r%u "
                "table %u\nset port p0 queue vport v%u weight 3\nset port p0 queue vr r%u weight "
                "3\n",
                i, 1 + i / 4000 % 4000, 1 + i % 4000, i, i, i, i + 1, i, i);
}

static void profiles(struct text *t, unsigned i)
{
    text_printf(t,
                "set queue-profile q%u class 3 weight 7\nset class-map m%u dscp %u class 3\n", i, i,
                i % 64);
}

static const struct many {
    const char *what;
    void (*line)(struct text *t, unsigned i);
} kinds[] = {
    {"port", ports},
    {"port mirror", port_mirrors},
    {"vport", vports},
    {"vr", vrs},
    {"interface", interfaces},
    {"interface acl", bindings},
    {"address-set", sets},
    {"address-set prefix", members},
    {"acl", lists},
    {"acl set", lists_of_sets},
    {"acl rule", rules},
    {"mirror-session", mirror_sessions},
    {"port queue", queues},
    {"queue-profile", profiles},
    {"thread", threads},
    {"multicast route", routes},
    {"counters prefix", counted},
    {"routing-daemon", daemons},
    {"api client", clients},
};
#define KINDS (sizeof kinds / sizeof *kinds)

static double cpu_s(void)
{
    struct timespec t;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

// Does the work of a commit before applying; returns the seconds.
static double check(const struct many *k, const char *text, unsigned *errors)
{
    struct lyd_node *tree = NULL;
    struct errors e = {0};
    struct text t = {0};
    double since = cpu_s();

    config_read_text(&tree, text, &e);
    struct model *m = config_model_of(&tree, &e);
    if (!e.n) {
        config_diff(config_running(), tree, &t);
        config_print(tree, &t);
        lyd_free_all(config_dup(tree));
    }
    double took = cpu_s() - since;
    *errors = e.n;
    errors_free(&e);
    text_free(&t);
    model_free(m);
    lyd_free_all(tree);
    return took;
}

static double cost(const struct many *k, unsigned n, unsigned times)
{
    struct text t = {0};
    double best = 1e9;
    unsigned errors;

    text_printf(&t, ONE_PORT);
    for (unsigned i = 0; i < n; i++)
        k->line(&t, i);
    for (unsigned i = 0; i < times; i++) {
        double s = check(k, t.s, &errors);
        best = s < best ? s : best;
    }
    text_free(&t);
    return best;
}

static double list_cost(const struct many *k, unsigned n)
{
    return cost(k, n, 3);
}

#define FEW 500u
#define MORE 8u
#define VRS 2047u // as many as the schema allows

// Do MORE times the entries cost at most twice MORE times as much? Other processes lengthen a time,
// so a ratio above that is measured again, up to four times, and the least times count.
static bool is_proportional(const char *what, double (*cost_of)(const struct many *, unsigned),
                            const struct many *k)
{
    double few = 1e9, many = 1e9;
    bool is = false;

    for (unsigned i = 0; i < 4 && !is; i++) {
        double f = cost_of(k, FEW), m = cost_of(k, MORE * FEW);
        few = f < few ? f : few;
        many = m < many ? m : many;
        is = many < 0.002 + 16 * few;
    }
    print_message("%-24s %6u: %7.1f ms  %6u: %7.1f ms  x %.1f\n", what, FEW, few * 1e3, MORE * FEW,
                  many * 1e3, many / few);
    return is;
}

unit_test(eight_times_as_many_take_eight_times_as_long)
{
    bool all = true;

    for (unsigned k = 0; k < KINDS; k++)
        all = is_proportional(kinds[k].what, list_cost, &kinds[k]) && all;
    assert_true(all);
}

static const struct many *kind(const char *what)
{
    for (unsigned k = 0; k < KINDS; k++)
        if (!strcmp(kinds[k].what, what))
            return &kinds[k];
    return NULL;
}

static struct model *model_with(struct text *t, const char *more)
{
    struct lyd_node *tree = NULL;
    struct errors e = {0};

    text_printf(t, "%s", more);
    config_read_text(&tree, text_str(t), &e);
    struct model *m = config_model_of(&tree, &e);
    assert_int_equal(e.n, 0);
    lyd_free_all(tree);
    return m;
}

// The plan is made on the control thread, which serves nobody meanwhile.
unit_test(a_change_of_one_leaf_searches_no_virtual_router)
{
    double all = cost(kind("vr"), VRS, 3), plan = 1e9;
    struct text t = {0};

    for (unsigned i = 0; i < VRS; i++)
        vrs(&t, i);
    struct model *from = model_with(&t, ONE_PORT), *to = model_with(&t, "set log-level debug\n");
    for (unsigned i = 0; i < 10; i++) {
        struct change c;
        double since = cpu_s();

        change_plan(&c, from, to);
        double took = cpu_s() - since;
        plan = took < plan ? took : plan;
        assert_int_equal(c.step.n, 1);
        change_free(&c);
    }
    print_message("%u virtual routers: read %.1f ms, planned beside them %.2f ms\n", VRS, all * 1e3,
                  plan * 1e3);
    assert_true(16 * plan < all);
    model_free(from);
    model_free(to);
    text_free(&t);
}

#if defined __SANITIZE_ADDRESS__ || !defined __x86_64__ // perhaps emulated
#define REFUSED_WITHIN_S 10
#else
#define REFUSED_WITHIN_S 1
#endif

// With a wide margin: most of the time would go into compiling patterns and moving memory, none
// into comparing.
unit_test(a_hopeless_number_is_refused_within_a_second)
{
    double vports_s = cost(kind("vport"), 200000, 1), lists_s = cost(kind("acl"), 20000, 1);

    print_message("200,000 vports refused: %.2f s, 20,000 lists: %.2f s\n", vports_s, lists_s);
    assert_true(vports_s < REFUSED_WITHIN_S);
    assert_true(lists_s < REFUSED_WITHIN_S);
}

static char *json_of(unsigned n)
{
    struct text t = {0};

    text_printf(
        &t,
        "{\"kamuee:port\": [{\"name\": \"p0\", \"devargs\": \"net_null0\"}], \"kamuee:vport\": [");
    for (unsigned i = 0; i < n; i++)
        text_printf(&t, "%s{\"name\": \"v%u\", \"port\": \"p0\", \"outer-vlan\": %u, \"vlan\": %u}",
                    i ? ", " : "", i, 1 + i / 4000 % 4000, 1 + i % 4000);
    text_printf(&t, "]}");
    return t.s;
}

// Read, and merged into an equal configuration.
static double json_cost(const struct many *k, unsigned n)
{
    char *json = json_of(n);
    double best = 1e9;

    for (unsigned i = 0; i < 3; i++) {
        struct lyd_node *tree = NULL;
        struct errors e = {0};
        double since = cpu_s(), took;

        config_read_json(&tree, json, &e);
        config_read_json(&tree, json, &e);
        model_free(config_model_of(&tree, &e));
        took = cpu_s() - since;
        best = took < best ? took : best;
        assert_int_equal(e.n, 0);
        lyd_free_all(tree);
    }
    free(json);
    return best;
}

unit_test(so_they_do_as_json)
{
    assert_true(is_proportional("JSON vport", json_cost, NULL));
}

// --- a client of one virtual router --------------------------------------------------------------

static void own_sets(struct text *t, unsigned i)
{
    text_printf(t,
                "set address-set red:s%u prefix 192.0.2.0/24\nset acl red:l%u rule %u permit tcp "
                "from set red:s%u to any\n",
                i, i / 64, i + 1, i);
}

static double bound_commit(const char *text)
{
    struct snapshot *part = config_bound("red");
    struct lyd_node *to = config_dup(part->tree);
    struct config_result result = {0};
    struct errors e = {0};
    double since = cpu_s();

    config_read_text(&to, text, &e);
    int r = config_bound_commit(&(struct bound_change){"red", part->tree, to},
                                &(struct commit){.by = "test", .check_only = true}, &result, &e);
    double took = cpu_s() - since;
    assert_int_equal(r, 0);
    config_result_free(&result);
    errors_free(&e);
    lyd_free_all(to);
    snapshot_unref(part);
    return took;
}

static double bound_cost(const struct many *k, unsigned n)
{
    struct text t = {0};
    double best = 1e9;

    for (unsigned i = 0; i < n; i++)
        own_sets(&t, i);
    for (unsigned i = 0; i < 3; i++) {
        double s = bound_commit(t.s);
        best = s < best ? s : best;
    }
    text_free(&t);
    return best;
}

static void run_with_red(void)
{
    struct config_result result = {0};
    struct lyd_node *tree = NULL;
    struct errors e = {0};

    config_read_text(&tree, "set vr red table 7\n", &e);
    assert_int_equal(config_commit(tree, &(struct commit){.by = "test"}, &result, &e), 0);
    config_result_free(&result);
}

unit_test(so_it_does_for_a_client_of_one_virtual_router)
{
    run_with_red();
    assert_true(is_proportional("own address-set and rule", bound_cost, NULL));
}

// --- the schema ----------------------------------------------------------------------------------

static void look_at_node(const struct lysc_node *s, bool at_top, struct text *wrong)
{
    const struct lysc_node_list *list =
        s->nodetype == LYS_LIST ? (const struct lysc_node_list *)s : NULL;

    if (lysc_node_musts(s) || lysc_node_when(s))
        text_printf(wrong, "%s: must or when\n", s->name);
    if (s->nodetype == LYS_CHOICE && at_top)
        text_printf(wrong, "%s: choice at the top\n", s->name);
    if (s->nodetype == LYS_LEAFLIST && at_top)
        text_printf(wrong, "%s: leaf-list at the top\n", s->name);
    if (list && list->uniques && strcmp(s->name, "vport")) // feature/vport.c
        text_printf(wrong, "%s: unique\n", s->name);
    if (list && at_top && list->max == UINT32_MAX && strcmp(s->name, "punt") &&
        strcmp(s->name, "alarm")) // few possible keys
        text_printf(wrong, "%s: no max-elements\n", s->name);
    for (const struct lysc_node *c = lysc_node_child(s); c; c = c->next)
        if (c->flags & LYS_CONFIG_W)
            look_at_node(c, false, wrong);
}

// The schema must not have rules that config_check.c does not check.
unit_test(the_schema_has_no_rule_that_nobody_checks)
{
    struct text wrong = {0};

    for (const struct lysc_node *s = yang_module->compiled->data; s; s = s->next)
        if (s->flags & LYS_CONFIG_W)
            look_at_node(s, true, &wrong);
    assert_string_equal(text_str(&wrong), "");
    text_free(&wrong);
}

static int setup(void **state)
{
    int r = schema_set_up(state);

    config_init("/nonexistent/kamuee.conf", NULL);
    return r;
}

static int teardown(void **state)
{
    config_fini();
    return schema_tear_down(state);
}

int main(int argc, char **argv)
{
    if (argc < 3)
        return unit_tests_run(setup, teardown);
    setup(NULL);
    if (!strcmp(argv[1], "own")) {
        run_with_red();
        printf("%s own: %.3f s\n", argv[2], bound_cost(NULL, (unsigned)atoi(argv[2])));
    } else if (kind(argv[1]))
        printf("%s %s: %.3f s\n", argv[2], argv[1],
               cost(kind(argv[1]), (unsigned)atoi(argv[2]), 1));
    return teardown(NULL);
}
