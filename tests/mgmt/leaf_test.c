// SPDX-License-Identifier: BSD-3-Clause
// leaf_test.c - no leaf of the configuration is read and then forgotten
//
// One configuration has every leaf of the schema at a value that is not its default. Each leaf in
// turn is removed, or gets another value if it is mandatory: the change must make a step.
#include <libyang/libyang.h>
#include <stdlib.h>
#include <string.h>

#include "config/change.h"
#include "config/config_running.h"
#include "yang/config_tree.h"
#include "yang/yang.h"
#include "tests/unit.h"

static const char everything[] =
    "set memory 512\nset huge-pages never\nset log-level debug\nset fib-engine lpm\n"
    "set port p0 kernel-interface eth0 force true namespace there rx-queues 3 tx-queues 2 "
    "rx-descriptors 512 tx-descriptors 512\n"
    "set port p0 rx-mode poll mtu 9000 mac 02:00:00:00:00:07 promiscuous false enabled false\n"
    "set port p1 devargs net_null1\nset port p2 devargs net_null2\nset port p3 devargs net_null3\n"
    "set port p4 devargs net_null4\nset port p5 devargs net_null5\nset port p6 devargs "
    "net_null6\nset port p7 devargs net_null7\n"
    "set port p8 devargs net_null8\n"
    "set port lag0 lag mode active-backup primary p4\nset port lag0 lag member p4\nset port lag0 "
    "lag member p5\n"
    "set port lag1 lag min-links 2\nset port lag1 lag lacp rate slow activity passive "
    "system-priority 7\n"
    "set port lag1 lag member p6\nset port lag1 lag member p7\nset port lag2 lag mode "
    "active-backup\nset port lag2 lag member p8\n"
    "set port p0 mirror rx to port p2\nset port p1 mirror both to tap mon0\n"
    "set vport v1 port p0 outer-vlan 9 vlan 1 tpid 0x8100 mtu 1400\nset interface v1 vr blue\nset "
    "vport v2 port p2 vlan 2\n"
    "set vr red namespace red description tenant enabled false routing-daemon frr\n"
    "set vr blue table 7 fib-engine dir24_8 flow-hash symmetric "
    "flow-label true flow-hash-seed 5 cpu-weight 9 acl in a out b\n"
    "set vr blue budget ipv4-routes 7 ipv6-routes 7 labels 7 nexthops 7 neighbors 7 interfaces 777 "
    "tunnels 777 rules 777 set-members 777 captures 7 memory 7 punt-rate 7\n"
    "set metalink m a red b blue mtu 1400\nset interface m-a description end\n"
    "set tunnel t kind gre local 192.0.2.1 remote 192.0.2.2 vr red key 7 ttl 7 dscp 7 mtu 1400\n"
    "set tunnel u kind vxlan local 2001:db8::1 remote 2001:db8::2 vni 7 zero-checksum true\n"
    "set vr red import blue prefix 10.0.0.0/8 ge 9 le 24\n"
    "set forwarding import red prefix 2001:db8::/32 ge 33 le 48\n"
    "set interface p1 description uplink vr red urpf ipv4 strict ipv6 loose allow-default true\n"
    "set interface p1 pcp 5 class 3\n"
    "set interface p1 redirect true sflow true ipfix true directed-broadcast true "
    "fast-reroute true acl in a out b\n"
    "set address-set s prefix 192.0.2.0/24\nset address-set f file /etc/set\n"
    "set acl a default permit\nset acl b file /etc/list\n"
    "set mirror-session m to port p2\nset mirror-session t to tap mon1\n"
    "set acl a rule 1 permit tcp from 10.0.0.0/8 port 1 to 10.0.0.0/8 port 80 established "
    "description web\n"
    "set acl a rule 2 permit tcp from set s to set s tcp-flags syn dscp ef\n"
    "set acl a rule 3 permit icmp from any to any icmp-type echo-request\n"
    "set acl a rule 4 permit ip from any to any first-fragment\n"
    "set acl a rule 5 permit ip from any to any log every 7\n"
    "set acl a rule 6 permit udp from any to any police 100 burst 10\n"
    "set acl a rule 66 permit 47 from any to any police packets 100\n"
    "set acl a rule 7 permit ip from any to any mirror m\nset acl a rule 8 permit ip from any to "
    "any redirect to 192.0.2.1\n"
    "set acl a rule 9 permit ip from any to any class 3 remark-dscp ef\n"
    "set acl red:l vr red\nset address-set red:s vr red\nset policer red:p vr red cir 1M\n"
    "set interface p1 police out red:p\n"
    "set policer s kind srtcm cir 100M cbs 100k ebs 200k color-aware true\n"
    "set policer s conform remark-dscp af11\nset policer s exceed drop\n"
    "set policer s violate remark-dscp 13\nset policer t conform drop\n"
    "set policer t exceed remark-dscp 7\nset policer t violate pass\n"
    "set policer t kind trtcm cir 100M pir 2.5G pbs 300k\n"
    "set interface p2 police in s out t\n"
    "set program red:p vr red hook ether-type ether-type 0x88b5 file /p order 7 on-fault pass "
    "mirror-session m\nset program red:p next-hop 3 address 192.0.2.1\n"
    "set program q hook input file /q\nset program-signer s key /s.pub\n"
    "set gpu g device emulated vr red max-latency 77 timeout 7 offload always\n"
    "set gpu g emulated-fault silent vr default\n"
    "set acl-limit memory 77 build-time 7\n"
    "set class-map cm dscp ef class 3\nset class-map cm other 2\n"
    "set class-map cm remark-pcp class 3 pcp 7\n"
    "set queue-profile q class 4 strict rate-percent 7\nset queue-profile q class 1 weight 7\n"
    "set queue-profile q class 2 discipline fq-codel flows 64 ecn true limit 90k limit-time 70ms "
    "target 7ms interval 77ms step 2ms\nset queue-profile q class 3 strict\n"
    "set queue-profile r class 1 weight 9\n"
    "set port p1 queue rate 100M core 2 profile q class-map cm packets 777 overhead 20\n"
    "set port p1 queue vr red guarantee 7M maximum 70M weight 7 limit 77k reserve 7 profile r\n"
    "set port p0 queue vport v1 guarantee 7M maximum 70M weight 7 limit 77k reserve 7 profile r\n"
    "set port p0 queue other maximum 70M weight 7 limit 77k reserve 7 profile r\n"
    "set thread 1 forwarder port p0 rx-queue 0\nset thread 1 forwarder port p0 rx-queue 2\nset "
    "thread 2 forwarder port p0 rx-queue 1\n"
    "set forwarding idle performance ipv4-options process latency-sample 61 flow-hash l3 "
    "flow-label false flow-hash-seed 7 cpu-weight 8 acl in b out a\n"
    "set forwarding budget ipv4-routes 7 ipv6-routes 7 labels 7 nexthops 7 neighbors 7 "
    "interfaces 777 "
    "tunnels 777 rules 777 set-members 777 captures 7 memory 7 punt-rate 7\n"
    "set punt icmp rate 7 burst 8 queue 99\n"
    "set multicast route default 239.1.1.1 any input p2 output p0 ttl 9\n"
    "set icmp rate 7 burst 8 total-rate 9 total-burst 10\n"
    "set journal size 7\nset fib-audit interval 7\nset drain time 7 script /etc/drain bfd true\n"
    "set alarm buffers enabled false raise 7 clear 3\n"
    "set routing-daemon red bgp minimum-routes 7\n"
    "set counters nexthop true\nset counters prefix default 192.0.2.0/24\n"
    "set netlink receive-buffer 500000\n"
    "set sflow sample-rate 7 polling-interval 7 header-size 77 agent-address 192.0.2.9 collector "
    "192.0.2.1 port 7\n"
    "set ipfix sample-rate 7 active-timeout 7 inactive-timeout 6 template-interval 7 flows 1024 "
    "observation-domain 7 collector 192.0.2.1 port 8\n"
    "set api proxy nobody\nset api tokens /t\n"
    "set api client c role admin vr red\nset api group read-only r operator o admin a\n"
    "set api group vr red read-only r operator o admin a\n";

// Mandatory leaves, with another value. The others are removed.
static const struct {
    const char *leaf, *value;
} instead[] = {
    {"/kamuee:port/devargs", "net_null9"},
    {"/kamuee:port/kernel-interface", "eth9"},
    {"/kamuee:port/mirror/to/tap", "mon9"},
    {"/kamuee:port/mirror/to/port", "p3"},
    {"/kamuee:vport/port", "p1"},
    {"/kamuee:vport/vlan", "77"},
    {"/kamuee:api/tokens", "/t2"},
    {"/kamuee:acl/rule/police/rate", "777"},
    {"/kamuee:acl/rule/police/packets", "777"},
    {"/kamuee:policer/cir", "90M"},
    {"/kamuee:program/hook", "output"},
    {"/kamuee:program/file", "/p2"},
    {"/kamuee:program-signer/key", "/s2.pub"},
    {"/kamuee:program/ether-type", "0x88b6"},
    {"/kamuee:program/next-hop/address", "2001:db8::7"},
    {"/kamuee:interface/pcp/class", "4"},
    {"/kamuee:policer/pir", "777M"},
    {"/kamuee:vport/outer-vlan", "77"},
    {"/kamuee:metalink/a", "default"},
    {"/kamuee:metalink/b", "default"},
    {"/kamuee:tunnel/kind", "gre-udp"},
    {"/kamuee:tunnel/local", "2001:db8::7"},
    {"/kamuee:tunnel/remote", "2001:db8::7"},
    {"/kamuee:tunnel/vni", "8"},
    {"/kamuee:vr/namespace", "green"},
    {"/kamuee:vr/table", "77"},
    {"/kamuee:class-map/dscp/class", "5"},
    {"/kamuee:interface/pcp/class", "6"},
    {"/kamuee:class-map/remark-pcp/class/pcp", "6"},
    {"/kamuee:acl/rule/action", "deny"},
    {"/kamuee:acl/rule/protocol", "132"},
    {"/kamuee:gpu/device", "3"},
    {"/kamuee:mirror-session/to/tap", "mon9"},
    {"/kamuee:mirror-session/to/port", "p3"},
    {"/kamuee:multicast/route/input", "p3"},
    {"/kamuee:api/proxy", "root"},
    {"/kamuee:api/client/role", "operator"},
};
// Leaves whose change makes no step: the first two are read when kamueed starts, the third permits
// values that a check refuses, the fourth has its default here, so removing it changes nothing, and
// another kind needs other leaves. The others are read at their use.
static const char *const no_step[] = {"/kamuee:memory",
                                      "/kamuee:huge-pages",
                                      "/kamuee:port/force",
                                      "/kamuee:policer/kind",
                                      "/kamuee:vr/description",
                                      "/kamuee:vr/routing-daemon",
                                      "/kamuee:routing-daemon/vr",
                                      "/kamuee:routing-daemon/protocol",
                                      "/kamuee:routing-daemon/minimum-routes"};

// Leaves that depend on the key of their entry: "red:l" belongs to red.
static const char *const with_key[] = {"/kamuee:acl/vr", "/kamuee:address-set/vr",
                                       "/kamuee:policer/vr", "/kamuee:program/vr"};

static struct lyd_node *tree_of(const char *text)
{
    struct lyd_node *tree = NULL;
    struct errors e = {0};
    struct text why = {0};

    config_read_text(&tree, text, &e);
    model_free(config_model_of(&tree, &e));
    errors_text(&e, NULL, &why);
    assert_string_equal(text_str(&why), "");
    text_free(&why);
    return tree;
}

static char *schema_path(const struct lysc_node *s)
{
    char *path = lysc_path(s, LYSC_PATH_DATA, NULL, 0);

    assert_non_null(path);
    return path;
}

static const char *other_value(const char *path)
{
    for (size_t i = 0; i < sizeof instead / sizeof *instead; i++)
        if (!strcmp(instead[i].leaf, path))
            return instead[i].value;
    return NULL;
}

static size_t steps_between(const struct model *from, const struct model *to)
{
    struct change p;

    change_plan(&p, from, to);
    size_t n = p.step.n;
    change_free(&p);
    return n;
}

// The whole tree without this node, or with another value in it. NULL: refused.
static struct model *model_without(struct lyd_node *tree, const struct lyd_node *node,
                                   const char *value)
{
    struct lyd_node *copy = NULL, *at = NULL;
    char *path = lyd_path(node, LYD_PATH_STD, NULL, 0);
    struct errors e = {0};

    assert_int_equal(lyd_dup_siblings(tree, NULL, LYD_DUP_RECURSIVE, &copy), LY_SUCCESS);
    assert_int_equal(lyd_find_path(copy, path, 0, &at), LY_SUCCESS);
    free(path);
    if (value) {
        assert_int_equal(lyd_change_term(at, value), LY_SUCCESS);
    } else {
        if (at == copy)
            copy = at->next;
        lyd_free_tree(at);
    }
    struct model *m = config_model_of(&copy, &e);
    lyd_free_all(copy);
    if (e.n) {
        model_free(m);
        m = NULL;
    }
    errors_free(&e);
    return m;
}

struct walk {
    struct lyd_node *tree;
    struct model *all;
    const struct lysc_node *leaf; // current leaf
    unsigned tried, stepless;
};

static void try_each(struct walk *w, struct lyd_node *from)
{
    for (struct lyd_node *node = from; node; node = node->next) {
        try_each(w, lyd_child(node));
        if (node->schema != w->leaf || !config_is_explicit(node))
            continue;
        char *path = schema_path(w->leaf);
        // A key names its entry: removing the key removes the entry.
        const struct lyd_node *gone = lysc_is_key(w->leaf) ? lyd_parent(node) : node;
        struct model *m = model_without(w->tree, gone, other_value(path));
        if (m) {
            w->tried++;
            w->stepless += !steps_between(w->all, m);
        }
        model_free(m);
        free(path);
    }
}

static bool is_among(const char *path, const char *const *list, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!strcmp(list[i], path))
            return true;
    return false;
}

static bool has_no_step(const char *path)
{
    return is_among(path, no_step, sizeof no_step / sizeof *no_step);
}

static bool goes_with_key(const char *path)
{
    return is_among(path, with_key, sizeof with_key / sizeof *with_key);
}

// Returns the number of leaves.
static unsigned try_leaves(struct walk *w, const struct lysc_node *parent)
{
    unsigned n = 0;

    for (const struct lysc_node *s = NULL; (s = yang_next(s, parent));) {
        if (!yang_is_config(s) || (s->nodetype & (LYS_RPC | LYS_NOTIF | LYS_ACTION)))
            continue;
        if (!(s->nodetype & (LYS_LEAF | LYS_LEAFLIST))) {
            n += try_leaves(w, s);
            continue;
        }
        char *path = schema_path(s);
        w->leaf = s;
        w->tried = w->stepless = 0;
        try_each(w, w->tree);
        // other leaves may refer to the entry of a key
        if (!w->tried && !lysc_is_key(s) && !goes_with_key(path))
            fail_msg("%s: not in `everything`, or cannot be taken away: give it another value in "
                     "`instead`",
                     path);
        if (w->stepless && !has_no_step(path))
            fail_msg("%s: a change of it makes no step", path);
        if (!w->stepless && has_no_step(path))
            fail_msg("%s: makes a step, and is named in `no_step`", path);
        free(path);
        n++;
    }
    return n;
}

unit_test(each_leaf_makes_a_step)
{
    struct walk w = {.tree = tree_of(everything)};
    struct errors e = {0};

    w.all = config_model_of(&w.tree, &e);
    assert_int_equal(steps_between(w.all, w.all), 0);
    unsigned n = try_leaves(&w, NULL);
    print_message("%u leaves\n", n);
    assert_true(n > 100);
    model_free(w.all);
    lyd_free_all(w.tree);
}

static void expect_order(const struct model *from, const struct model *to, const char *expected)
{
    struct change p;
    struct text t = {0};
    char subject[64];

    change_plan(&p, from, to);
    for (size_t i = 0; i < p.step.n; i++) {
        const struct step *s = &p.step.item[i];

        if (s->kind->what[0]) // not a setting
            text_printf(&t, "%s %s\n",
                        !s->from ? "add"
                        : !s->to ? "del"
                                 : "set",
                        step_subject(s, subject, sizeof subject));
    }
    change_free(&p);
    assert_string_equal(text_str(&t), expected);
    text_free(&t);
}

// Used objects come before their users, and go after them.
unit_test(steps_come_in_the_safe_order)
{
    struct lyd_node *tree = tree_of(everything), *none = tree_of("");
    struct errors e = {0};
    struct model *all = config_model_of(&tree, &e), *empty = config_model_of(&none, &e);

    assert_int_equal(e.n, 0);
    expect_order(
        empty, all,
        "set program-signer\nadd signature of program q\nadd signature of program red:p\n"
        "set access lists\nset vr default\nset vr default\nset vr default\nset vr default\n"
        "add vr blue\nadd vr red\nadd port p0\n"
        "add port p1\nadd port p2\nadd port p3\nadd port p4\nadd port p5\nadd port p6\nadd port "
        "p7\nadd port p8\n"
        "add port lag0\nadd port lag1\nadd port lag2\n"
        "set interface p1\nadd vport v1\nadd vport v2\nadd metalink m\nadd tunnel t\nadd tunnel u\n"
        "set interface lag0\nset interface lag1\nset interface lag2\nset interface m-a\n"
        "set interface m-a\nset interface m-b\nset interface p0\nset "
        "interface p1\nset interface p1\n"
        "set interface p1\nset interface p2\n"
        "set interface p3\nset interface t\nset interface u\nset interface v1\nset interface "
        "v2\nadd policers of interface p1\nadd policers of interface p2\n"
        "set thread\nadd import of vr default\nadd import of vr red\n"
        "add queue of port p0\nadd queue of port p1\nadd mirror of port p0\n"
        "add mirror of port p1\nadd mirror-session m\nadd mirror-session t\n"
        "add program q\nadd program red:p\nadd gpu g\nadd multicast route\n"
        "add counters prefix\nset sflow\nset ipfix\nset api\n");
    expect_order(all, empty,
                 "set program-signer\nset access lists\n"
                 "del import of vr default\ndel import of vr red\n"
                 "del queue of port p0\ndel queue of port p1\n"
                 "del mirror of port p0\ndel mirror of port p1\ndel mirror-session m\n"
                 "del mirror-session t\ndel program q\ndel program red:p\n"
                 "del gpu g\ndel multicast route\ndel counters prefix\n"
                 "set interface lag0\nset interface lag1\nset interface lag2\nset interface m-a\n"
                 "set interface m-a\nset interface m-b\nset interface p0\n"
                 "set interface p1\nset interface p1\nset interface p1\nset interface p1\n"
                 "set interface p2\nset interface p3\nset interface t\nset interface u\nset "
                 "interface v1\nset interface v2\n"
                 "del policers of interface p1\ndel policers of interface p2\n"
                 "del vport v1\ndel vport v2\ndel metalink m\n"
                 "del tunnel t\ndel tunnel u\n"
                 "del port lag0\ndel port lag1\ndel port lag2\n"
                 "del port p0\ndel port p1\ndel port p2\ndel port p3\ndel port p4\ndel port p5\n"
                 "del port p6\ndel port p7\ndel port p8\ndel vr blue\ndel vr red\n"
                 "set vr default\nset vr default\nset vr default\nset vr default\nset thread\n"
                 "set sflow\n"
                 "set ipfix\nset api\n");
    model_free(all);
    model_free(empty);
    lyd_free_all(tree);
    lyd_free_all(none);
}

// Commits are stored as text, and the next start reads it.
unit_test(what_is_printed_is_read_as_the_same)
{
    struct lyd_node *tree = tree_of(everything), *again;
    struct text t = {0}, u = {0};

    config_print(tree, &t);
    again = tree_of(text_str(&t));
    config_print(again, &u);
    assert_string_equal(text_str(&t), text_str(&u));
    text_free(&u);
    lyd_free_all(tree);
    lyd_free_all(again);
    text_free(&t);
}

// A difference as lines turns one configuration into the other, including keywordless leaves.
unit_test(a_difference_as_lines_makes_the_other)
{
    struct lyd_node *old = tree_of("set policer s kind srtcm cir 1M cbs 9000\n"
                                   "set policer s exceed drop\nset policer s conform drop\n"),
                    *new = tree_of("set policer s kind srtcm cir 1M cbs 9000\n"
                                   "set policer s exceed remark-dscp 7\n");
    struct text lines = {0}, rest = {0};
    struct errors e = {0};

    config_diff(old, new, &lines);
    config_read_text(&old, text_str(&lines), &e);
    assert_int_equal(e.n, 0);
    assert_int_equal(config_diff(old, new, &rest), 0);
    lyd_free_all(old);
    lyd_free_all(new);
    text_free(&lines);
    text_free(&rest);
}
