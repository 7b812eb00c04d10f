// SPDX-License-Identifier: BSD-3-Clause
// acl_config_test.c - access lists in the configuration: one line per rule, keywordless words,
// completion, refusals
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/complete.h"
#include "config/config.h"
#include "config/model.h"
#include "model/model.h"
#include "yang/config_json.h"
#include "yang/config_tree.h"
#include "yang/yang.h"
#include "tests/unit.h"

static struct text said;

// Frees both; returns the text of the tree, or the errors.
static const char *settled(struct lyd_node *tree, struct errors *e)
{
    text_clear(&said);
    if (e->n)
        errors_text(e, NULL, &said);
    else
        config_print(tree, &said);
    errors_free(e);
    lyd_free_all(tree);
    return text_str(&said);
}

// The canonical text of the lines, or their errors.
static const char *reads(const char *lines)
{
    struct lyd_node *tree = NULL;
    struct errors e = {0};

    config_read_text(&tree, lines, &e);
    if (!e.n)
        model_free(config_model_of(&tree, &e));
    return settled(tree, &e);
}

unit_test(one_rule_is_one_line_in_canonical_order)
{
    assert_string_equal(
        reads("set address-set customers prefix 10.0.0.0/8\n"
              "set acl edge rule 100 permit tcp to any port 443 from set customers\n"
              "set acl edge rule 20 deny icmp6 icmp-type echo-request description \"no pings\" log "
              "every 100\n"
              "set acl edge rule 30 reject tcp established dscp ef tcp-flags syn,!ack\n"
              "set acl edge rule 40 permit 89 fragments police 1000 burst 64\n"
              "set mirror-session ids to tap ids0\n"
              "set acl edge rule 50 permit tcp redirect to 192.0.2.9 mirror ids\n"
              "set acl edge rule 60 permit udp\n"
              "set acl edge rule 60 redirect to 2001:db8::9\n"
              "set acl edge rule 70 permit udp remark-dscp 46 class 3 from 10.0.0.0/8\n"
              "set acl edge default permit\n"),
        "set address-set customers prefix 10.0.0.0/8\n"
        "set acl edge default permit\n"
        "set acl edge rule 20 deny icmp6 icmp-type echo-request log every 100 description \"no "
        "pings\"\n"
        "set acl edge rule 30 reject tcp established tcp-flags syn,!ack dscp ef\n"
        "set acl edge rule 40 permit 89 fragments police 1000 burst 64\n"
        "set acl edge rule 50 permit tcp mirror ids redirect to 192.0.2.9\n"
        "set acl edge rule 60 permit udp redirect to 2001:db8::9\n"
        "set acl edge rule 70 permit udp from 10.0.0.0/8 class 3 remark-dscp 46\n"
        "set acl edge rule 100 permit tcp from set customers to any port 443\n"
        "set mirror-session ids to tap ids0\n");
}

unit_test(line_with_an_action_says_the_whole_rule_and_one_without_changes_it)
{
    assert_string_equal(
        reads("set acl e rule 1 permit tcp from 192.0.2.1 to any port 443 log\n"
              "set acl e rule 1 deny udp\n"
              "set acl e rule 2 permit tcp from 192.0.2.1 to any port 443\n"
              "set acl e rule 2 log\n"
              "set acl e rule 2 to 198.51.100.0/24\n"),
        "set acl e rule 1 deny udp\n"
        "set acl e rule 2 permit tcp from 192.0.2.1 to 198.51.100.0/24 port 443 log\n");
}

unit_test(later_case_of_a_choice_wins)
{
    assert_string_equal(reads("set address-set s prefix 10.0.0.0/8\n"
                              "set acl e rule 1 permit tcp from 192.0.2.1\n"
                              "set acl e rule 1 from set s\n"
                              "set acl e rule 2 permit tcp from set s\n"
                              "set acl e rule 2 from any\n"),
                        "set address-set s prefix 10.0.0.0/8\n"
                        "set acl e rule 1 permit tcp from set s\n"
                        "set acl e rule 2 permit tcp from any\n");
}

unit_test(flags_and_words_of_a_rule_can_be_deleted)
{
    assert_string_equal(reads("set acl e rule 1 permit tcp from 192.0.2.1 port 5 established log\n"
                              "delete acl e rule 1 established\n"
                              "delete acl e rule 1 log\n"
                              "delete acl e rule 1 from port\n"
                              "set acl e rule 2 permit tcp\n"
                              "delete acl e rule 2\n"),
                        "set acl e rule 1 permit tcp from 192.0.2.1\n");
}

unit_test(wrong_rules_are_refused_with_what_was_expected)
{
    static const struct {
        const char *line, *says;
    } wrong[] = {
        {"set acl e rule 1 permti tcp",
         "unknown word 'permti', expected one of permit, deny or reject"},
        {"set acl e rule 1 permit tcp frm any", "unknown word 'frm', did you mean 'from'?"},
        {"set acl e rule 1 permit udp police rate 100",
         "police: unknown word 'rate', expected one of 1..400000000 (kbit/s), packets, burst"},
        {"set acl e rule 1 permit", "acl e rule 1: 'protocol' is required: a protocol: ip (all)"},
        {"set acl e rule 1 permit nonsense", "acl e rule 1: unknown protocol 'nonsense'"},
        {"set acl e rule 1 permit udp established",
         "'established' and 'tcp-flags' need the protocol tcp"},
        {"set acl e rule 1 permit ip to any port 80",
         "'port' needs the protocol tcp, udp, sctp or udplite"},
        {"set acl e rule 1 permit tcp to any port 70000", "unknown port '70000'"},
        {"set acl e rule 1 permit tcp to any port nosuch", "unknown port 'nosuch'"},
        {"set acl e rule 1 permit tcp from 10.0.0.0/8 to 2001:db8::/32",
         "'2001:db8::/32' is of another address family"},
        {"set acl e rule 1 permit tcp from 10.0.0.0/33", "expected one of any, a prefix such as"},
        {"set acl e rule 1 permit tcp to any port 80 fragments",
         "'fragments' matches later fragments, which carry no ports"},
        {"set acl e rule 1 permit icmp icmp-type neighbor-solicitation",
         "unknown ICMP type 'neighbor-solicitation' for icmp"},
        {"set acl e rule 1 deny tcp police 100", "'police' works only with 'permit'"},
        {"set acl e rule 1 permit tcp class 8", "'class' is '8', expected 0..7"},
        {"set acl e rule 1 permit tcp remark-dscp af99", "unknown codepoint 'af99'"},
        {"set acl e rule 1 deny tcp class 3", "'class' works only with 'permit'"},
        {"set acl e rule 1 reject tcp remark-dscp ef", "'remark-dscp' works only with 'permit'"},
        {"set acl e rule 1 permit tcp from set none",
         "refers to address-set 'none', which does not exist"},
        {"set acl e rule 1 permit tcp mirror none",
         "refers to mirror-session 'none', which does not exist"},
        {"set acl e rule 1 deny tcp redirect to 192.0.2.9", "'redirect' works only with 'permit'"},
        {"set acl e rule 1 permit tcp redirect to fe80::1", "invalid next hop 'fe80::1'"},
        {"set acl e rule 1 permit tcp from 10.0.0.0/8 redirect to 2001:db8::9",
         "'2001:db8::9' is of another address family"},
        {"set acl e rule 1 permit tcp redirect to nowhere", "the address of a next hop"},
        {"set mirror-session ids to port p0", "refers to port 'p0', which does not exist"},
        {"set port p0 devargs x\nset mirror-session ids to port p0 tap t",
         "mirror-session ids: a mirror needs either 'to port' or 'to tap'"},
        {"set port p0 devargs x\nset mirror-session ids to tap p0",
         "mirror-session ids: mirror to tap 'p0': the name belongs to an interface"},
        {"set acl e rule 0 permit tcp", "'number' is '0', expected 1..4294967294"},
        {"set interface p0 acl in e", "refers to acl 'e', which does not exist"},
        {"set acl e file relative", "'file' is 'relative', expected the path of a file"},
    };

    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        if (!strstr(reads(wrong[i].line), wrong[i].says))
            fail_msg("%s: %s", wrong[i].line, text_str(&said));
}

unit_test(interface_has_its_own_lists_or_those_of_its_router_or_of_forwarding)
{
    struct lyd_node *tree = NULL;
    struct errors e = {0};
    struct model *m;

    config_read_text(
        &tree,
        "set port p0 devargs net_null0\nset port p1 devargs net_null1\nset port p2 devargs "
        "net_null2\n"
        "set vr red namespace red\nset interface p1 vr red\nset interface p2 vr red\n"
        "set acl a default permit\nset acl b default permit\nset acl c default permit\n"
        "set forwarding acl in a\nset forwarding acl out a\nset vr red acl in b\nset interface p2 "
        "acl in c\n",
        &e);
    m = config_model_of(&tree, &e);
    assert_int_equal(e.n, 0);
    assert_string_equal(model_find_interface(m, "p0")->acls.in, "a");
    assert_string_equal(model_find_interface(m, "p1")->acls.in, "b");
    assert_string_equal(model_find_interface(m, "p1")->acls.out, "a");
    assert_string_equal(model_find_interface(m, "p2")->acls.in, "c");
    model_free(m);
    lyd_free_all(tree);
}

unit_test(difference_of_a_rule_is_its_line)
{
    struct lyd_node *a = NULL, *b = NULL;
    struct errors e = {0};
    struct text t = {0};

    config_read_text(
        &a, "set acl e rule 1 permit tcp from any port 5 to any\nset acl e rule 2 deny ip\n", &e);
    config_read_text(&b, "set acl e rule 1 permit tcp to any\nset acl e rule 3 deny ip\n", &e);
    assert_int_equal(config_diff(a, b, &t), 3);
    assert_string_equal(
        t.s, "set acl e rule 1 permit tcp to any\ndelete acl e rule 2\nset acl e rule 3 deny ip\n");
    text_free(&t);
    lyd_free_all(a);
    lyd_free_all(b);
}

// The words offered by completion at the end of the line.
static const char *offered(const char *line)
{
    struct jwrite j = {.t = &said};

    text_clear(&said);
    jwrite_begin(&j, NULL, '{');
    complete_line(line, NULL, true, &j);
    jwrite_end(&j, '}');
    return text_str(&said);
}

static bool offers(const char *line, const char *word)
{
    struct text wanted = {0};

    text_printf(&wanted, "\"word\":\"%s\"", word);
    bool there = strstr(offered(line), wanted.s);
    text_free(&wanted);
    return there;
}

unit_test(completion_knows_where_a_word_of_a_rule_may_stand)
{
    assert_true(offers("set acl e rule 10 ", "permit"));
    assert_false(offers("set acl e rule 10 ", "from"));
    assert_true(offers("set acl e rule 10 permit ", "icmp6"));
    assert_false(offers("set acl e rule 10 permit ", "from"));
    assert_true(offers("set acl e rule 10 permit tcp ", "from"));
    assert_true(offers("set acl e rule 10 permit tcp ", "established"));
    assert_true(offers("set acl e rule 10 permit tcp ", "fragments"));
    assert_true(offers("set acl e rule 10 permit tcp from ", "any"));
    assert_true(offers("set acl e rule 10 permit tcp from ", "set"));
    assert_true(offers("set acl e rule 10 permit tcp from any ", "port"));
    assert_true(offers("set acl e rule 10 permit tcp from any ", "to"));
    assert_true(offers("set acl e rule 10 permit tcp from any to any port htt", "https"));
    assert_true(offers("set acl e rule 10 permit tcp from any to any port https l", "log"));
    assert_true(offers("set acl e rule 10 permit tcp log ", "every"));
    assert_true(offers("set acl e rule 10 permit tcp from any ", "redirect"));
    assert_true(offers("set acl e rule 10 permit tcp redirect ", "to"));
    assert_false(offers("set acl e rule 10 permit tcp nonsense ", "log"));
}

// --- known entries are not checked again ---------------------------------------------------------

static void random_line(struct text *t)
{
    static const char *const end[] = {
        "",     " from set s",  " from set u to any port 443", " from 10.0.0.0/8",
        " log", " log every 7", " description \"a b\""};
    unsigned number = 1 + (unsigned)rand() % 40;

    switch (rand() % 8) {
    case 0:
        text_printf(t, "delete acl %c rule %u\n", 'a' + rand() % 2, number);
        break;
    case 1:
        text_printf(t, "delete address-set u\n");
        break;
    case 2:
        text_printf(t, "set address-set %c prefix 192.0.2.%d\n", "su"[rand() % 2], rand() % 256);
        break;
    case 3:
        text_printf(t, "set acl %c default %s\n", 'a' + rand() % 2, rand() % 2 ? "permit" : "deny");
        break;
    default:
        text_printf(t, "set acl %c rule %u %s %s%s\n", 'a' + rand() % 2, number,
                    rand() % 2 ? "permit" : "deny", rand() % 2 ? "tcp" : "udp",
                    end[(size_t)rand() % (sizeof end / sizeof *end)]);
    }
}

// Everything in the model about access lists, and the errors.
static void tell_model(const struct model *m, struct errors *e, struct text *t)
{
    vec_foreach (&model_acls(m)->list, l) {
        text_printf(t, "%s %u\n%s", l->name, l->otherwise, text_str(&l->text));
        for (size_t i = 0; i < l->rules.rule.n; i++) {
            const struct acl_how *how = &l->rules.how.item[i];

            acl_line_format(&l->rules.rule.item[i], how->verb,
                            how->more ? &l->rules.more.item[how->more - 1] : NULL, l->rules.set, t);
            text_printf(t, "\n");
        }
    }
    errors_text(e, NULL, t);
    errors_free(e);
}

static void tell_tree(const struct lyd_node *base, const struct lyd_node *tree, struct text *t)
{
    char *all = NULL;

    config_print(tree, t);
    config_diff(base, tree, t);
    assert_int_equal(lyd_print_mem(&all, tree, LYD_JSON, LYD_PRINT_WITHSIBLINGS | LYD_PRINT_WD_ALL),
                     0);
    text_printf(t, "%s", all ? all : "");
    free(all);
}

unit_test(model_made_with_what_is_known_is_the_one_made_without)
{
    struct model *known = NULL;
    struct lyd_node *base = NULL;
    struct errors e = {0};
    unsigned n_valid = 0, n_known = 0;

    srand(20261122);
    config_check(&base, &e);
    known = model_make(base, NULL, &e);
    for (int round = 0; round < 3000; round++) {
        struct text lines = {0}, with = {0}, without = {0};
        struct lyd_node *a = config_dup(base), *b = config_dup(base);
        struct errors ignored = {0};

        for (int i = 1 + rand() % 4; i; i--)
            random_line(&lines);
        config_read_text(&a, text_str(&lines), &ignored);
        config_read_text(&b, text_str(&lines), &ignored);
        errors_free(&ignored);
        config_mark_known(base, a);
        config_check(&a, &e);
        struct model *m = model_make(a, known, &e);
        bool valid = !e.n;
        tell_model(m, &e, &with);
        tell_tree(base, a, &with);
        config_check(&b, &e);
        struct model *n = model_make(b, NULL, &e);
        tell_model(n, &e, &without);
        tell_tree(base, b, &without);
        assert_string_equal(text_str(&with), text_str(&without));
        model_free(n);
        lyd_free_all(b);
        text_free(&lines);
        text_free(&with);
        text_free(&without);
        if (!valid) {
            model_free(m);
            lyd_free_all(a);
            continue;
        }
        struct lyd_node *copy = config_dup(a); // libyang agrees
        assert_int_equal(lyd_validate_module(&copy, yang_module, LYD_VALIDATE_NO_STATE, NULL), 0);
        lyd_free_all(copy);
        for (const struct lyd_node *l = a; l; l = l->next)
            for (const struct lyd_node *r = lyd_child(l); r; r = r->next)
                n_known += config_is_known(r);
        n_valid++;
        model_free(known);
        lyd_free_all(base);
        known = m;
        base = a;
    }
    assert_true(n_valid > 1000 && n_known > 10 * n_valid);
    model_free(known);
    lyd_free_all(base);
}

// --- JSON ----------------------------------------------------------------------------------------

#define LIST(entry)                                                                                \
    "{\"kamuee:address-set\": [{\"name\": \"s\"}], \"kamuee:acl\": [{\"name\": \"e\", \"rule\": "  \
    "[" entry "]}]}"
#define RULE(from)                                                                                 \
    "{\"number\": 10, \"action\": \"deny\", \"protocol\": \"ip\", \"from\": {" from "}}"

// The canonical text of both, after merging the second into the first if that is valid; or the
// errors.
static const char *merged(const char *first, const char *second)
{
    struct lyd_node *tree = NULL;
    struct errors e = {0};

    for (unsigned i = 0; i < 2 && !e.n; i++) {
        config_read_json(&tree, i ? second : first, &e);
        if (!e.n)
            model_free(config_model_of(&tree, &e));
    }
    return settled(tree, &e);
}

unit_test(of_two_cases_the_one_that_is_merged_stays)
{
    assert_string_equal(
        merged(LIST(RULE("\"prefix\": \"192.0.2.0/24\"")), LIST(RULE("\"set\": \"s\""))),
        "set address-set s\nset acl e rule 10 deny ip from set s\n");
    assert_string_equal(merged(LIST(RULE("\"set\": \"s\"")), LIST(RULE("\"prefix\": \"any\""))),
                        "set address-set s\nset acl e rule 10 deny ip from any\n");
    assert_string_equal(
        merged(LIST(RULE("\"prefix\": \"any\", \"set\": \"s\"")), "{}"),
        "acl e rule 10 from: 'prefix' and 'set' exclude each other, expected only one");
}

unit_test(what_json_says_twice_is_refused)
{
    assert_string_equal(
        merged(LIST(RULE("\"prefix\": \"any\"") ", " RULE("\"prefix\": \"any\"")), "{}"),
        "acl e rule 10 appears twice, expected it once");
    assert_string_equal(merged("{\"kamuee:address-set\": [{\"name\": \"s\", \"prefix\": "
                               "[\"10.0.0.0/8\", \"10.0.0.0/8\"]}]}",
                               "{}"),
                        "address-set s prefix appears twice, expected it once");
    assert_string_equal(
        merged(
            "{\"kamuee:address-set\": [{\"name\": \"s\"}, {\"name\": \"t\"}, {\"name\": \"s\"}]}",
            "{}"),
        "set address-set s\nset address-set t\n"); // a single entry, in two places
    assert_string_equal(merged("{\"kamuee:memory\": 64, \"kamuee:memory\": 65}", "{}"),
                        "not JSON: duplicate object key near '\"kamuee:memory\"' in line 1");
}

unit_test(merging_json_keeps_the_order_of_the_schema)
{
    assert_string_equal(merged("{\"kamuee:api\": {\"tokens\": \"/t\"}, \"kamuee:memory\": 64, "
                               "\"kamuee:port\": [{\"name\": \"p0\", \"devargs\": \"net_null0\"}]}",
                               "{\"kamuee:port\": [{\"name\": \"p1\", \"devargs\": \"net_null1\"}, "
                               "{\"name\": \"p0\", \"mtu\": 9000}], \"kamuee:memory\": 65}"),
                        "set memory 65\nset port p0 devargs net_null0\nset port p0 mtu 9000\nset "
                        "port p1 devargs net_null1\n"
                        "set api tokens /t\n");
}
