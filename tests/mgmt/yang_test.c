// SPDX-License-Identifier: BSD-3-Clause
// yang_test.c - every node of the configuration has the description that an operator needs
//
// The first part walks the schema and reports each node without a range, unit, default or
// description. The second part changes values on fake managers, and checks that objects restart
// exactly when the schema announces it.
#include <libyang/libyang.h>
#include <stdlib.h>
#include <string.h>

#include "config/config.h"
#include "fake/fake_managers.h"
#include "yang/config_tree.h"
#include "yang/yang.h"
#include "tests/unit.h"

static unsigned n_nodes, n_wrong;

static void wrong(const struct lysc_node *s, const char *what)
{
    char *path = lysc_path(s, LYSC_PATH_DATA, NULL, 0);

    print_message("%s: %s\n", path, what);
    free(path);
    n_wrong++;
}

static bool is_number(const struct lysc_type *t)
{
    return t->basetype >= LY_TYPE_UINT8 && t->basetype <= LY_TYPE_UINT64 &&
           t->basetype != LY_TYPE_STRING;
}

// Numbers that name something, or count the objects in the leaf's name, have no unit; alarm
// settings have the alarm's unit.
static bool has_no_unit(const char *name)
{
    static const char *const names[] = {"core",
                                        "vlan",
                                        "outer-vlan",
                                        "table",
                                        "rx-queue",
                                        "rx-queues",
                                        "tx-queues",
                                        "rx-descriptors",
                                        "tx-descriptors",
                                        "flow-hash-seed",
                                        "ttl",
                                        "key",
                                        "order",
                                        "vni",
                                        "port",
                                        "observation-domain",
                                        "raise",
                                        "clear",
                                        "system-priority",
                                        "weight",
                                        "cpu-weight",
                                        "labels",
                                        "nexthops",
                                        "neighbors",
                                        "rules",
                                        "interfaces",
                                        "tunnels",
                                        "set-members",
                                        "captures",
                                        "class",
                                        "other",
                                        "pcp"};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strcmp(name, names[i]))
            return true;
    return false;
}

static bool inside_one_line(const struct lysc_node *s)
{
    for (; s; s = s->parent)
        if (yang_is_one_line(s))
            return true;
    return false;
}

static void check_type(const struct lysc_node *s)
{
    const struct lysc_type *t = yang_type(s);

    if (is_number(t) && !((const struct lysc_type_num *)t)->range && !lysc_is_key(s))
        wrong(s, "a number without a range");
    if (is_number(t) && !yang_units(s) && !has_no_unit(s->name) && !lysc_is_key(s) &&
        !inside_one_line(s))
        wrong(s, "a number without units (or, if it has none: yang_test.c, has_no_unit)");
    if (t->basetype == LY_TYPE_STRING && !((const struct lysc_type_str *)t)->length &&
        !((const struct lysc_type_str *)t)->patterns)
        wrong(s, "a string without length or pattern");
}

// The value without configuration is documented: by YANG's default, or the last sentence of the
// description.
static void check_default(const struct lysc_node *s)
{
    bool has = s->nodetype != LYS_LEAF || ((const struct lysc_node_leaf *)s)->dflt;

    if (!has && !lysc_is_key(s) && !(s->flags & LYS_MAND_TRUE) && !inside_one_line(s) &&
        !strstr(s->dsc ? s->dsc : "", "Default"))
        wrong(s, "neither default nor mandatory, and the description has no 'Default: …'");
}

static void check_node(const struct lysc_node *s)
{
    static const char *const when[] = {"live", "port-restart", "daemon-restart"};
    const char *apply = config_apply_of(s);
    bool known = false;

    n_nodes++;
    for (unsigned i = 0; i < 3; i++)
        known = known || !strcmp(apply, when[i]);
    if (!known)
        wrong(s, "apply is none of live, port-restart, daemon-restart");
    if (!s->dsc || !*s->dsc)
        wrong(s, "no description");
    if (s->nodetype & (LYS_LEAF | LYS_LEAFLIST)) {
        check_type(s);
        check_default(s);
    }
    for (const struct lysc_node *c = NULL;
         !(s->nodetype & (LYS_LEAF | LYS_LEAFLIST)) && (c = yang_next(c, s));)
        check_node(c);
}

unit_test(every_node_has_description_range_units_default_and_when_it_applies)
{
    for (const struct lysc_node *s = NULL; (s = yang_next(s, NULL));)
        if (yang_is_config(s))
            check_node(s);
    print_message("%u nodes\n", n_nodes);
    assert_true(n_nodes > 80);
    assert_int_equal(n_wrong, 0);
}

// --- and the description is true -----------------------------------------------------------------

#define BASE                                                                                       \
    "set port p0 devargs net_null0\nset port p1 devargs net_null1\nset vport v port p0 vlan 5 "    \
    "outer-vlan 9\n"                                                                               \
    "set vr red table 7\n"

static struct config_result result;

static void commit(const char *lines)
{
    struct lyd_node *tree = config_dup(config_running());
    struct errors e = {0};

    config_read_text(&tree, lines, &e);
    assert_int_equal(e.n, 0);
    config_result_free(&result);
    assert_int_equal(config_commit(tree, &(struct commit){.by = "test"}, &result, &e), 0);
}

// An object is removed and added by a change of the value exactly if this was announced.
unit_test(a_thing_goes_and_comes_exactly_if_the_schema_says_so)
{
    static const struct {
        const char *line, *leaf, *comes, *told;
    } change[] = {
        {"set vport v vlan 6\n", "vport/vlan", "add-vport v", "restarts vport v: vlan"},
        {"set vport v outer-vlan 8\n", "vport/outer-vlan", "add-vport v",
         "restarts vport v: outer-vlan"},
        {"set vport v tpid 0x9100\n", "vport/tpid", "add-vport v", "restarts vport v: tpid"},
        {"set vport v port p1\n", "vport/port", "add-vport v", "restarts vport v: port"},
        {"set vport v mtu 1400\n", "vport/mtu", "add-vport v", NULL},
        {"set vr red table 8\n", "vr/table", "add-vr red", "restarts vr red: table"},
        {"set vr red namespace red\n", "vr/namespace", "add-vr red", "restarts vr red: namespace"},
        {"set vr red fib-engine lpm\n", "vr/fib-engine", "add-vr red", NULL},
        {"set vr red flow-hash l3\n", "vr/flow-hash", "add-vr red", NULL},
        {"set memory 512\n", "memory", "attach", "'memory' takes effect when kamueed is restarted"},
    };

    for (size_t i = 0; i < sizeof change / sizeof *change; i++) {
        fake_reset();
        config_init("/nonexistent", NULL);
        commit(BASE);
        text_clear(&fake_calls);
        commit(change[i].line);
        char *path = strdup(change[i].leaf), *slash = strchr(path, '/');
        const struct lysc_node *s =
            slash ? (*slash = 0, yang_child(yang_child(NULL, path, true), slash + 1, true))
                  : yang_child(NULL, path, true);
        bool restarts = strstr(text_str(&fake_calls), change[i].comes);
        assert_non_null(s);
        assert_int_equal(restarts, !strcmp(config_apply_of(s), "port-restart"));
        assert_int_equal(result.notes.n, change[i].told ? 1 : 0);
        if (change[i].told)
            assert_string_equal(result.notes.item[0].sentence, change[i].told);
        free(path);
        config_fini();
    }
    config_result_free(&result);
}

// Number of values whose text, or the text of their union's member, is only made on demand.
static unsigned unsettled(const struct lyd_node *first)
{
    unsigned n = 0;

    for (const struct lyd_node *c = first; c; c = c->next) {
        if (c->schema->nodetype & (LYS_LEAF | LYS_LEAFLIST)) {
            const struct lyd_value *v = &((const struct lyd_node_term *)c)->value;

            n += !v->_canonical ||
                 (v->realtype->basetype == LY_TYPE_UNION && !v->subvalue->value._canonical);
        }
        n += unsettled(lyd_child(c));
    }
    return n;
}

unit_test(reading_writes_nothing_into_what_is_settled)
{
    struct lyd_node *tree = NULL, *copy;
    struct errors e = {0};

    config_read_text(&tree,
                     "set port p0 devargs net_null0 mac 02:00:00:00:00:01\nset acl a rule 1 permit "
                     "tcp from 10.0.0.0/24 to 2001:db8::1 port 1-5\n"
                     "set address-set s prefix 10.0.0.1\nset address-set s prefix 10.0.0.0/8\nset "
                     "counters prefix default 10.0.0.0/8\n"
                     "set multicast route default 239.1.1.1 10.0.0.1 input p0 output p0\nset sflow "
                     "agent-address ::1\nset sflow collector ::1\n",
                     &e);
    assert_int_not_equal(unsettled(tree), 0); // otherwise the call would be unnecessary
    config_check(&tree, &e);
    assert_int_equal(e.n, 0);
    config_settle(tree);
    assert_int_equal(unsettled(tree), 0);
    copy = config_dup(tree);
    assert_int_not_equal(unsettled(copy), 0); // a copy starts again
    config_settle(copy);
    assert_int_equal(unsettled(copy), 0);
    lyd_free_all(copy);
    lyd_free_all(tree);
}
