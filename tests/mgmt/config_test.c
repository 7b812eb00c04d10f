// SPDX-License-Identifier: BSD-3-Clause
// config_test.c - lines to tree to text and back, and the errors for wrong lines
//
// The real code parses, checks, prints and compares with the real schema. Random configurations
// must survive printing, parsing and differences.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "config/config.h"
#include "config/model.h"
#include "model/model.h"
#include "yang/config_json.h"
#include "yang/config_tree.h"
#include "yang/yang.h"
#include "tests/unit.h"

// Possible first words of a line, in the order of the schema.
#define TOP_WORDS                                                                                  \
    "memory, huge-pages, log-level, fib-engine, port, class-map, queue-profile, vport, "           \
    "metalink, tunnel, vr, interface, policer, address-set, acl, mirror-session, "                 \
    "program-signer, program, gpu, acl-limit, thread, forwarding, punt, multicast, icmp, "         \
    "journal, drain, fib-audit, alarm, routing-daemon, counters, netlink, sflow, ipfix, api"

static struct lyd_node *read_lines(const char *text, struct errors *e)
{
    struct lyd_node *tree = NULL;

    memset(e, 0, sizeof *e);
    config_read_text(&tree, text, e);
    if (!e->n)
        model_free(config_model_of(&tree, e));
    return tree;
}

// All errors of the text, one per line, as for a file "c".
static char *errors_of(const char *text)
{
    static struct text t;
    struct errors e;

    lyd_free_all(read_lines(text, &e));
    text_clear(&t);
    errors_text(&e, "c", &t);
    errors_free(&e);
    return t.s ? t.s : (char *)"";
}

static void assert_prints(const char *in, const char *out)
{
    struct errors e;
    struct lyd_node *tree = read_lines(in, &e);
    struct text t = {0}, why = {0};

    errors_text(&e, "c", &why);
    assert_string_equal(text_str(&why), "");
    config_print(tree, &t);
    assert_string_equal(text_str(&t), out);
    lyd_free_all(tree);
    text_free(&t);
    text_free(&why);
}

static const char full[] = "set memory 512\n"
                           "set huge-pages never\n"
                           "set log-level debug\n"
                           "set port p0 devargs \"net_af_packet0,iface=eth 1\"\n"
                           "set port p0 namespace isp1\n"
                           "set port p0 rx-queues 2\n"
                           "set port p0 mtu 9000\n"
                           "set port p0 mac 02:00:00:00:00:01\n"
                           "set port p0 enabled false\n"
                           "set port p2 devargs net_null0\n"
                           "set port p10 devargs net_null1\n"
                           "set vport v40 port p0\n"
                           "set vport v40 vlan 40\n"
                           "set vport v40 mtu 1500\n"
                           "set vport v100.10 port p0\n"
                           "set vport v100.10 outer-vlan 100\n"
                           "set vport v100.10 vlan 10\n"
                           "set vport v100.10 tpid 0x9100\n"
                           "set vr red namespace red\n"
                           "set vr red table 254\n"
                           "set interface p0 vr red\n"
                           "set interface v40 vr default\n"
                           "set thread 2 forwarder port p0 rx-queue 0\n"
                           "set thread 2 forwarder port p0 rx-queue 1\n"
                           "set thread 10 forwarder port p2 rx-queue 0\n"
                           "set forwarding idle performance\n"
                           "set netlink receive-buffer 4096\n";

unit_test(canonical_text_comes_back_byte_by_byte)
{
    assert_prints(full, full);
}

unit_test(lines_in_any_order_with_several_values_print_canonically)
{
    assert_prints("# a comment\n\n"
                  "\tset vport v40 vlan 40 port p0   # behind a line\n"
                  "set thread 1 forwarder port p0 rx-queue 10 rx-queue 9\n"
                  "set port p0 mtu 1500 rx-queues 16 devargs net_null0,x=1#2\r\n",
                  "set port p0 devargs net_null0,x=1#2\n"
                  "set port p0 rx-queues 16\n"
                  "set port p0 mtu 1500\n" // set to its default on purpose: stays
                  "set vport v40 port p0\n"
                  "set vport v40 vlan 40\n"
                  "set thread 1 forwarder port p0 rx-queue 9\n"
                  "set thread 1 forwarder port p0 rx-queue 10\n");
}

unit_test(quotes_and_backslashes_survive)
{
    assert_prints("set port p0 devargs \"a \\\"b\\\" c\\\\de\"\n",
                  "set port p0 devargs \"a \\\"b\\\" c\\\\de\"\n");
    assert_prints("set vr red description \"\xe6\x9d\xb1\xe4\xba\xac \xf0\x9f\x9a\x80\"\n",
                  "set vr red description \"\xe6\x9d\xb1\xe4\xba\xac \xf0\x9f\x9a\x80\"\n");
}

// In a line or in JSON: otherwise a line printed later would be two, or a terminal would obey it.
unit_test(a_value_is_text_of_one_line)
{
    static const char *const row[][3] = {// in a line, in JSON, as shown
                                         {"x\\ny", "x\\ny", NULL},
                                         {"x\xe2\x80\xa8y", "x\\u2028y", "x\\u2028y"},
                                         {"x\xc2\x85y", "x\\u0085y", "x\\u0085y"},
                                         {"x\x1b]0;y\x07", "x\\u001b]0;y\\u0007",
                                          "x\\u001b]0;y\\u0007"},
                                         {"x\xe2\x80\xaey", "x\\u202ey", "x\\u202ey"},
                                         {"x\xd8\x9cy", "x\\u061cy", "x\\u061cy"},
                                         {"x\xffy", NULL, "x\\xffy"},
                                         {"x\ry", "x\\ry", "x\\u000dy"}};
    char text[200];

    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        struct lyd_node *tree = NULL;
        struct errors e = {0};

        snprintf(text, sizeof text, "set vr red description \"%s\"", row[i][0]);
        const char *said = errors_of(text);
        assert_non_null(strstr(said, "without control characters"));
        if (row[i][2])
            assert_non_null(strstr(said, row[i][2]));
        snprintf(text, sizeof text, "set port p0 namespace \"%s\" devargs x", row[i][0]);
        assert_true(*errors_of(text)); // a type that does not exclude it
        if (!row[i][1])
            continue;
        snprintf(text, sizeof text, "{\"kamuee:port\": [{\"name\": \"p0\", \"devargs\": \"x\", "
                                    "\"namespace\": \"%s\"}]}", row[i][1]);
        config_read_json(&tree, text, &e);
        if (!e.n)
            model_free(config_model_of(&tree, &e));
        assert_true(e.n);
        errors_free(&e);
        lyd_free_all(tree);
    }
}

unit_test(a_retired_setting_is_refused_and_its_replacement_named)
{
    static const char *const row[][3] = { // line, JSON, replacement
        {"set snmp agentx /x", "{\"kamuee:snmp\": {\"agentx\": \"/x\"}}", "kamuee-snmp"},
        {"delete snmp", "{\"kamuee:snmp\": null}", "kamuee-snmp"},
        {"set metrics listen 127.0.0.1", "{\"kamuee:metrics\": {\"listen\": []}}", "kamuee-proxy"},
        {"set web listen ::1 port 80", "{\"kamuee:web\": {}}", "kamuee-proxy"},
        {"set api tokens /t listen ::1", "{\"kamuee:api\": {\"tokens\": \"/t\", \"listen\": []}}",
         "kamuee-proxy"},
        {"set api tls key \"a b\"", "{\"kamuee:api\": {\"kamuee:tls\": {}}}", "kamuee-proxy"},
        {"set gpu g access-list l",
         "{\"kamuee:gpu\": [{\"name\": \"g\", \"access-list\": [\"l\"]}]}",
         "the CPU matches access lists"},
        {"set program p target tenant file /f",
         "{\"kamuee:program\": [{\"name\": \"p\", \"target\": \"operator\"}]}",
         "build the program with 'kamuee program build' and leave 'target' out"},
    };

    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        struct lyd_node *tree = NULL;
        struct errors e = {0};
        const char *said = errors_of(row[i][0]);

        assert_non_null(strstr(said, "' is no longer a setting: "));
        assert_non_null(strstr(said, row[i][2]));
        config_read_json(&tree, row[i][1], &e);
        assert_int_equal(e.n, 1);
        assert_non_null(strstr(e.item[0].sentence, row[i][2]));
        errors_free(&e);
        lyd_free_all(tree);
    }
    assert_non_null(strstr(errors_of("set port p0 listen x"), "unknown word 'listen'"));
    assert_non_null(strstr(errors_of("set listen x"), "unknown word 'listen'"));
}

static struct text told; // of settings that are passed over

static bool hear(enum log_level level, const char *text)
{
    const char *line = strstr(text, "line=");

    if (line)
        text_printf(&told, "%s\n", line);
    return true;
}

static void assert_told(const char *line, bool is)
{
    if (!strstr(text_str(&told), line) == is)
        fail_msg("%s: %s", line, text_str(&told));
}

unit_test(what_a_former_version_kept_is_read_without_retired_settings)
{
    struct lyd_node *tree = NULL;
    struct errors e = {0};
    struct text t = {0};

    log_set_level(LOG_LEVEL_INFO);
    log_set_sink(hear);
    config_read_kept(&tree,
                     "set snmp agentx /x link-notifications false\nset port p0 devargs x\n"
                     "set metrics listen 127.0.0.1 port 1\nset web listen ::1\n"
                     "set api listen 127.0.0.1 port 2 tls false\nset api tokens /t tls key /k\n"
                     "set api listen ::1\nset gpu g access-list l device 0\n"
                     "set program a vr red target tenant file /a.so\n"
                     "set program b vr red target operator file /b.o\n"
                     "set program c file /c.o\nset program c target operator\n"
                     "set program c order 7\n"
                     "set program d target operator\nset program d file /d.so\n"
                     "set program d target tenant\n" // the last value decides
                     "set program e target operator\nset program e file /e.so\n"
                     "delete program e target\n"
                     "set program f target operator\ndelete program f\n"
                     "set program f file /f.so\nset port p0 color red\n",
                     "c", &e);
    log_set_sink(NULL);
    assert_told("line=9 setting=\"program target\" instead=\"build the program", true);
    assert_told("line=10 setting=\"program b\" instead=\"build the program", true);
    assert_told("line=12 setting=\"program c\"", true);
    assert_told("\"program d\"", false);
    assert_told("\"program e\"", false);
    text_free(&told);
    errors_text(&e, "c", &t);
    assert_int_equal(e.n, 1); // all else is checked as before
    assert_non_null(strstr(text_str(&t), "c:23: port p0: unknown word 'color'"));
    text_clear(&t);
    config_print(tree, &t);
    assert_string_equal(text_str(&t),
                        "set port p0 devargs x\nset program a vr red\nset program a file /a.so\n"
                        "set program d file /d.so\nset program e file /e.so\n"
                        "set program f file /f.so\nset gpu g device 0\nset api tokens /t\n");
    errors_free(&e);
    text_free(&t);
    lyd_free_all(tree);
}

unit_test(delete_removes_a_value_an_entry_or_one_of_many)
{
    assert_prints(
        "set port p0 devargs net_null0\nset port p0 mtu 9000\nset port p1 devargs net_null1\n"
        "set thread 1 forwarder port p0 rx-queue 0\nset thread 1 forwarder port p0 rx-queue 1\n"
        "set forwarding idle powersave\n"
        "delete port p0 mtu\ndelete port p1\ndelete thread 1 forwarder port p0 rx-queue 0\ndelete "
        "forwarding\n",
        "set port p0 devargs net_null0\nset thread 1 forwarder port p0 rx-queue 1\n");
    assert_prints(
        "set thread 1 forwarder port p0 rx-queue 0\nset port p0 devargs x\ndelete thread 1\n",
        "set port p0 devargs x\n");
}

unit_test(delete_of_what_is_not_there_is_refused)
{
    assert_string_equal(
        errors_of(
            "set port p0 devargs x\ndelete port p0 mtu\ndelete port p9\ndelete port p0 devargs y"),
        "c:2: port p0 mtu is not configured, so there is nothing to delete\n"
        "c:3: port p9 is not configured, so there is nothing to delete\n"
        "c:4: port p0 devargs y is not configured, so there is nothing to delete");
}

unit_test(each_wrong_line_says_what_was_expected)
{
    static const char *const table[][2] = {
        {"set port p5 mtu 99999", "c:1: port p5: 'mtu' is '99999', expected 68..9600 (bytes)"},
        {"set port p5 mtu", "c:1: port p5 mtu: the line is incomplete, expected 68..9600 (bytes)"},
        {"set port p5 mut 9000",
         "c:1: port p5: unknown word 'mut', did you mean 'mtu'? expected one of kernel-interface, "
         "devargs, lag, force, "
         "namespace, rx-queues, tx-queues, rx-descriptors, tx-descriptors, rx-mode, mtu, "
         "mac, promiscuous, enabled, mirror, queue"},
        {"set prot p0",
         "c:1: unknown word 'prot', did you mean 'port'? expected one of " TOP_WORDS},
        {"set port p5 name x", "c:1: port p5: unknown word 'name', did you mean 'namespace'? "
                               "expected one of kernel-interface, devargs, lag, force, "
                               "namespace, rx-queues, tx-queues, rx-descriptors, tx-descriptors, "
                               "rx-mode, mtu, mac, promiscuous, "
                               "enabled, mirror, queue"},
        {"set state system", "c:1: unknown word 'state', expected one of " TOP_WORDS},
        {"set port", "c:1: port: the line is incomplete, expected a name of 1 to 15 letters, "
                     "digits, '_', '.' or '-'"},
        {"set port p/0 mtu 1500",
         "c:1: port: 'name' is 'p/0', expected a name of 1 to 15 letters, digits, '_', '.' or '-'"},
        {"set port abcdefghijklmnop mtu 1500",
         "c:1: port: 'name' is 'abcdefghijklmnop', expected a name of 1 to 15 letters, digits, "
         "'_', '.' or '-'"},
        {"set huge-pages maybe", "c:1: 'huge-pages' is 'maybe', expected auto or never"},
        {"set log-level loud",
         "c:1: 'log-level' is 'loud', expected error, warning, notice, info or debug"},
        {"set port p0 enabled yes", "c:1: port p0: 'enabled' is 'yes', expected true or false"},
        {"set port p0 mac 1:2",
         "c:1: port p0: 'mac' is '1:2', expected a MAC address such as 02:00:00:00:00:01"},
        {"set thread x forwarder", "c:1: thread: 'core' is 'x', expected 0..65535"},
        {"set thread 1 forwarder",
         "c:1: thread 1 forwarder: the line is incomplete, expected one of port"},
        {"set vr default table 7",
         "c:1: vr: 'name' is 'default', expected a name of 1 to 15 letters, digits, '_', '.' or "
         "'-' that does not begin with '.' or '-', and is not 'default', which always exists"},
        {"set vr ..",
         "c:1: vr: 'name' is '..', expected a name of 1 to 15 letters, digits, '_', '.' or "
         "'-' that does not begin with '.' or '-', and is not 'default', which always exists"},
        {"set vr red table 9 routing-daemon frr",
         "c:1: vr red: 'routing-daemon frr' needs a network namespace, but it has table 9 of "
         "kamueed's: delete 'table', or use one daemon for several VRFs"},
        {"set vr a.b routing-daemon frr",
         "c:1: vr a.b: FRR allows no '.' in the name of a pathspace: rename the virtual router, "
         "or use 'routing-daemon bird'"},
        {"set vr a\nset vr b namespace a",
         "c:2: vr b: expected a 'namespace' or 'table' that vr a does not use"},
        {"set", "c:1: the line is incomplete, expected one of " TOP_WORDS},
        {"port p0 mtu 1", "c:1: unknown word 'port', expected set or delete"},
        {"set port \"p0 mtu 1", "c:1: a quote \" is not closed"},
        {"set port p5 mtu 9000", "c:1: port p5: 'kernel-interface' or 'devargs' or 'lag' is "
                                 "required: a kernel interface such as eth1 (ip link); or "
                                 "a DPDK device: a PCI address such as 0000:3b:00.0, "
                                 "or net_af_packet0,iface=eth1, net_af_xdp0,iface=eth1, "
                                 "net_memif0,…, net_tap0,…, net_pcap0,…, net_null0; or the ports "
                                 "that it is made of (lag member p0)"},
        {"set vport v4 port p0 vlan 4", "c:1: vport v4: 'port' refers to port 'p0', which does not "
                                        "exist; expected the name of a port (none is configured)"},
        {"set port p1 devargs x\nset thread 4 forwarder port p0 rx-queue 0",
         "c:2: thread 4 forwarder port p0: it refers to port 'p0', which does not exist; expected "
         "the name of a port (there is p1)"},
        {"set port p1 devargs x\nset thread 4 forwarder port p1",
         "c:2: thread 4 forwarder port p1: at least 1 'rx-queue' is required"},
        {"set interface p7 vr default",
         "c:1: interface p7: no such interface, expected the name of a port, vport, tunnel or "
         "end of a metalink"},
        {"set port p1 devargs x\nset port p2 devargs x",
         "c:2: port p2: 'devargs' is 'x', which already belongs to port p1, expected another "
         "device"},
        {"set port p1 kernel-interface eth1\nset port p2 kernel-interface eth1",
         "c:2: port p2: kernel interface eth1 already belongs to port p1, expected another one"},
        {"set port p1 devargs net_af_xdp3,iface=eth1\nset port p2 kernel-interface eth1",
         "c:2: port p2: kernel interface eth1 already belongs to port p1, expected another one"},
        {"set port p1 devargs net_af_packet3,iface=eth1\nset port p2 devargs "
         "net_af_packet4,framecnt=64,iface=eth1",
         "c:2: port p2: kernel interface eth1 already belongs to port p1, expected another one"},
        {"set port p1 devargs x\nset interface p1 vr red",
         "c:2: interface p1: 'vr' refers to vr 'red', which does not exist; expected the name of a "
         "vr (none is configured)"},
        {"set port p1 devargs x\nset port lag0 lag member p99",
         "c:2: port lag0 lag: 'member' refers to port 'p99', which does not exist; expected the "
         "name of a port (there is p1)"},
        {"set port lag0 lag member p99",
         "c:1: port lag0 lag: 'member' refers to port 'p99', which does not exist; expected the "
         "name of a port (there is no other)"},
        {"set port p1 devargs x\nset vport p1 port p1 vlan 7",
         "c:2: vport p1: the name belongs to a port, expected another name (e.g. p1.7)"},
        {"set port p1 devargs x\nset vport a port p1 vlan 7\nset vport b port p1 vlan 7",
         "c:3: vport b: port 'p1' vlan '7' already belongs to vport a, expected another VLAN"},
        {"set port p1 devargs x\nset vport a port p1 vlan 7\nset vport b port p1 outer-vlan 7 vlan "
         "7\n"
         "set vport c port p1 outer-vlan 7 vlan 7 tpid 0x8100",
         "c:4: vport c: port 'p1' outer-vlan '7' vlan '7' already belongs to vport b, expected "
         "another VLAN"},
        {"set port p1 devargs x\nset vport a port p1 vlan 7 tpid 0x8100",
         "c:2: vport a: 'tpid' is the type of an outer tag, expected an 'outer-vlan' as well"},
        {"set port p1 devargs x\nset vport a port p1 vlan 7 mtu 1501",
         "c:2: vport a: 'mtu' is '1501', expected at most 1500, the mtu of port p1"},
        {"set vr red table 254", "c:1: vr red: expected another 'table' or none: the main table "
                                 "of kamueed's namespace belongs to 'default'"},
        {"set vr red table 7\nset vr blue table 7",
         "c:1: vr red: expected a 'namespace' or 'table' that vr blue does not use"},
        {"set port p0 devargs x mac 01:00:00:00:00:01",
         "c:1: port p0: 'mac' is a multicast or zero address, expected a unicast MAC address such "
         "as 02:00:00:00:00:01"},
        {"set port p0 devargs x\nset thread 1 forwarder port p0 rx-queue 0\nset thread 2 forwarder "
         "port p0 rx-queue 0",
         "c:3: thread 2: port 'p0' rx-queue '0' already belongs to thread 1, expected a queue of "
         "its own"},
        {"set policer a cir 0", "c:1: policer a: 'cir' is 0 bit/s, expected 8k to 1T"},
        {"set policer a cir 1M cbs 1499",
         "c:1: policer a: 'cbs' is 1499 bytes, less than a frame, expected at least 1500"},
        {"set policer a cir 1M pir 2M",
         "c:1: policer a: an srtcm has one rate and no 'pir', expected 'kind trtcm' with it"},
        {"set policer a kind trtcm cir 1M",
         "c:1: policer a: a trtcm needs 'pir', a peak rate of at least its 'cir'"},
        {"set policer a kind trtcm cir 2.5M pir 2M",
         "c:1: policer a: 'pir' is below 'cir', expected at least 2500000 bit/s"},
        {"set policer a kind trtcm cir 1M pir 2M ebs 2k",
         "c:1: policer a: a trtcm has no 'ebs', expected 'pbs', the burst of its peak rate"},
        {"set policer a kind trtcm cir 1M pir 2M pbs 100",
         "c:1: policer a: 'pbs' is 100 bytes, less than a frame, expected at least 1500"},
        {"set policer a cir 1M\nset policer a exceed remark-dscp af99",
         "c:1: policer a: unknown codepoint after 'exceed remark-dscp', expected 0..63, ef, va, "
         "cs0..cs7 or af11..af43"},
        {"set port p0 devargs x mtu 9000\nset policer a cir 1M cbs 2k\n"
         "set interface p0 police out a",
         "c:3: interface p0: police out: 'cbs' of policer a is 2000 bytes, less than the "
         "interface's MTU, expected at least 9000"},
        {"set port p0 devargs x\nset interface p0 police in gold",
         "c:2: interface p0 police: 'in' refers to policer 'gold', which does not exist; expected "
         "the name of a policer (none is configured)"},
        {"set port p0 devargs x\nset port p0 mirror rx to port p0",
         "c:2: port p0: a mirror to the port itself would loop, expected another port"},
        {"set port p0 devargs x mirror rx to port p1\nset port p1 devargs y\nset port p1 mirror tx "
         "to tap mon0",
         "c:1: port p0: mirror to port 'p1', which is itself mirrored: that would loop, expected "
         "another port"},
        {"set port p0 devargs x\nset port p0 mirror rx to tap p0",
         "c:2: port p0: mirror to tap 'p0': the name belongs to an interface, expected another "
         "name"},
        {"set port p0 devargs x\nset port p0 mirror rx to tap a\nset port p0 mirror both to tap b",
         "c:3: port p0: mirror 'both' and mirror 'rx' or 'tx' would copy frames twice, expected "
         "one of them"},
        {"set port p0 devargs x\nset port p0 mirror rx",
         "c:2: port p0: a mirror needs either 'to port' or 'to tap'"},
        {"set port p0 devargs x rx-queues 2\nset thread 1 forwarder port p0 rx-queue 2",
         "c:2: thread 1: port 'p0' rx-queue '2' does not exist, expected 0..1: the port has 2 "
         "receive queues"},
        {"set alarm punt-drops raise 10 clear 10",
         "c:1: alarm punt-drops: 'clear' is 10, expected less than 'raise', which is 10"},
        {"set port p0 devargs x\nset multicast route default 239.1.1.1 any input p9",
         "c:2: multicast route default 239.1.1.1: 'input' refers to 'p9', which does not exist; "
         "expected the name of a port or "
         "vport"},
        {"set port p0 devargs x\nset multicast route default 239.1.1.1 any input p0 output p0",
         "c:2: multicast route default 239.1.1.1: 'output' is 'p0', which is the input, expected "
         "another interface"},
        {"set port p0 devargs x\nset multicast route default ff1e::1 10.0.0.1 input p0",
         "c:2: multicast route default ff1e::1: the source is of another address family, expected "
         "an IPv6 address"},
        {"set port p0 devargs x\nset multicast route default 224.0.0.9 any input p0",
         "c:2: multicast route default 224.0.0.9: the group has link-local scope, expected a "
         "multicast address with more, such as 239.1.1.1 "
         "or ff3e::1"},
        {"set port p0 devargs x\nset multicast route default 239.1.1.1 fe80::1 input p0",
         "c:2: multicast route default 239.1.1.1: the source is of another address family, "
         "expected an IPv4 address"},
        {"set port p0 devargs x\nset multicast route default ff1e::1 fe80::1 input p0",
         "c:2: multicast route default ff1e::1: the source cannot be a host beyond the link, "
         "expected a unicast address, or 'any'"},
        {"set port p0 devargs x\nset vr red table 9\nset multicast route red 239.1.1.1 any input "
         "p0",
         "c:3: multicast route red 239.1.1.1: 'input' is 'p0', expected an interface of virtual "
         "router 'red', not of 'default'"},
        {"set port p0 devargs x\nset multicast route default 239.1.1.1 any",
         "c:2: multicast route default 239.1.1.1 any: 'input' is required: the name of a port or "
         "vport"},
        {"set port p0 devargs x\nset multicast route default 239.1.1.1 any input p0 output p1 ttl "
         "0",
         "c:2: multicast route default 239.1.1.1 any input p0 output p1: 'ttl' is '0', expected "
         "1..254"},
        {"set multicast route default 10.0.0.300 any input p0",
         "c:1: multicast route default: 'group' is '10.0.0.300', expected a multicast address with "
         "more than link-local scope, such as 239.1.1.1 "
         "or ff3e::1"},
    };

    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        assert_string_equal(errors_of(table[i][0]), table[i][1]);
}

unit_test(more_entries_than_there_is_room_for_are_refused)
{
    char *said = errors_of("set sflow collector 10.0.0.1 port 1\nset sflow collector 10.0.0.2 port "
                           "1\nset sflow collector 10.0.0.3 port 1\n"
                           "set sflow collector 10.0.0.4 port 1\n");

    assert_string_equal(said, "");
    said = errors_of("set sflow collector 10.0.0.1 port 1\nset sflow collector 10.0.0.2 port "
                     "1\nset sflow collector 10.0.0.3 port 1\n"
                     "set sflow collector 10.0.0.4 port 1\nset sflow collector 10.0.0.5 port 1\n");
    assert_non_null(strstr(said, "sflow: 5 'collector' are configured, expected at most 4"));
}

unit_test(all_errors_are_told_up_to_twenty)
{
    struct text t = {0};

    for (int i = 0; i < 25; i++)
        text_printf(&t, "set port p%d mtu 1\n", i);
    char *said = errors_of(t.s);
    assert_non_null(strstr(said, "c:1: port p0: 'mtu' is '1'"));
    assert_non_null(strstr(said, "c:20: port p19: 'mtu' is '1'"));
    assert_null(strstr(said, "c:21:"));
    assert_non_null(strstr(said, "\nand 5 more"));
    text_free(&t);
}

unit_test(reference_left_behind_by_a_delete_is_named)
{
    struct errors e;
    struct lyd_node *tree = read_lines(
        "set port p0 devargs x\nset vport v port p0 vlan 4\nset interface p0 vr default\n", &e);
    struct text t = {0};

    struct lyd_node *copy =
        config_dup(tree); // forgets lines, like the running configuration
    config_read_text(&copy, "delete port p0", &e);
    model_free(config_model_of(&copy, &e));
    errors_text(&e, NULL, &t);
    assert_string_equal(text_str(&t),
                        "vport v: 'port' refers to port 'p0', which is not configured (none is "
                        "configured): configure it, or delete this as "
                        "well\ninterface p0: no port, vport, tunnel or end of a metalink has this "
                        "name: configure one, or delete 'interface p0' too");
    text_free(&t);
    errors_free(&e);
    lyd_free_all(copy);
    lyd_free_all(tree);
}

// --- unchanged entries are copied from the known model -------------------------------------------

#define KNOWN_VRS                                                                                  \
    "set port p0 devargs x\nset vr a\nset vr b table 7\nset vr c description \"a b\"\n"            \
    "set vr c import a prefix 10.0.0.0/8\nset vr d10 budget memory 3\nset vr d9 flow-hash l3\n"    \
    "set interface p0 vr a\nset policer x kind srtcm cir 10M cbs 1000000\n"

// Changes a configuration by a line, and prints its errors, or its virtual routers and its lines.
static void tell_changed(const struct lyd_node *from, const struct model *known, const char *line,
                         struct text *t)
{
    struct lyd_node *tree = config_dup(from);
    struct errors e = {0};
    struct model *m;

    config_read_text(&tree, line, &e);
    if (known)
        config_mark_known(from, tree);
    config_check(&tree, &e);
    m = model_make(tree, known, &e);
    errors_text(&e, NULL, t);
    vec_foreach (&model_vrs(m)->vr, v)
        text_printf(t, "%s '%s' '%s' %u %u %u %u %u %lu %s %u\n", v->name, v->description, v->netns,
                    v->enabled, v->table, v->set.flow_hash.mode, v->set.flow_hash.seed,
                    v->set.cpu_weight, v->set.budget.of[VR_BUDGET_MEMORY], v->acls.in, v->line);
    config_print(tree, t);
    model_free(m);
    lyd_free_all(tree);
    errors_free(&e);
}

unit_test(virtual_routers_that_are_known_are_those_read_anew)
{
    static const char *const lines[] = {
        "set vr a2", "set vr b cpu-weight 3", "delete vr b", "delete vr d9", "delete vr a",
        "set forwarding flow-hash symmetric", "set forwarding flow-hash-seed 5", "delete vr c",
        "set vr c import nobody prefix 10.0.0.0/8", "delete policer x", "set vr d9 budget memory 1",
        "delete port p0", "set vr b2 table 7", "set vr a description x", "delete interface p0",
    };
    struct errors e;
    struct lyd_node *first = read_lines(KNOWN_VRS, &e), *base = config_dup(first);
    struct model *known;

    assert_int_equal(e.n, 0);
    config_check(&base, &e);
    known = model_make(base, NULL, &e);
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        struct text with = {0}, without = {0};

        tell_changed(base, known, lines[i], &with);
        tell_changed(base, NULL, lines[i], &without);
        assert_string_equal(text_str(&with), text_str(&without));
        text_free(&with);
        text_free(&without);
    }
    model_free(known);
    lyd_free_all(base);
    lyd_free_all(first);
}

// Reads `old`, then the difference to `new`: gives `new`. Also checks the number of lines.
static void assert_diff(const char *old, const char *new, const char *lines)
{
    struct errors e;
    struct lyd_node *a = read_lines(old, &e), *b = read_lines(new, &e);
    struct text d = {0}, t = {0};
    unsigned n = 0;

    assert_int_equal(e.n, 0);
    unsigned said = config_diff(a, b, &d);
    for (const char *p = text_str(&d); *p; p++)
        n += *p == '\n';
    assert_int_equal(said, n);
    if (lines)
        assert_string_equal(text_str(&d), lines);
    config_read_text(&a, text_str(&d), &e);
    assert_int_equal(e.n, 0);
    config_print(a, &t);
    assert_string_equal(text_str(&t), new);
    lyd_free_all(a);
    lyd_free_all(b);
    text_free(&d);
    text_free(&t);
}

unit_test(diff_is_the_lines_that_lead_from_one_to_the_other)
{
    assert_diff("", full, full);
    assert_diff(full, full, "");
    assert_diff(full, "set port p10 devargs net_null1\n", NULL);
    assert_diff("set port p0 devargs a\nset port p0 mtu 9000\nset port p1 devargs b\nset thread 1 "
                "forwarder port p0 rx-queue 0\nset thread 1 forwarder port p0 rx-queue 1\n",
                "set port p0 devargs a\nset port p0 mtu 1500\nset port p2 devargs b\nset thread 1 "
                "forwarder port p0 rx-queue 1\n",
                "set port p0 mtu 1500\ndelete port p1\nset port p2 devargs b\ndelete thread 1 "
                "forwarder port p0 rx-queue 0\n");
}

unit_test(random_configurations_survive_text_and_diff)
{
    char last[8192] = "";

    srand(7);
    for (int round = 0; round < 60; round++) {
        struct text t = {0}, canon = {0};
        struct errors e;

        for (int i = rand() % 6; i >= 0; i--)
            text_printf(&t, "set port p%d devargs net_null%d mtu %d\n", i, i * 10 + rand() % 9,
                        1500 + rand() % 3000);
        for (int i = rand() % 5; i > 0; i--)
            text_printf(&t, "set vport v%d port p0 vlan %d%s\n", i, i + 10,
                        rand() % 2 ? " mtu 1000" : "");
        for (int i = rand() % 4; i > 0; i--)
            text_printf(&t, "set thread %d forwarder port p0 rx-queue %d\n", i, i + rand() % 4 * 4);
        struct lyd_node *tree = read_lines(text_str(&t), &e);
        assert_int_equal(e.n, 0);
        config_print(tree, &canon);
        assert_prints(text_str(&canon), text_str(&canon));
        assert_diff(last, text_str(&canon), NULL);
        snprintf(last, sizeof last, "%s", text_str(&canon));
        lyd_free_all(tree);
        text_free(&t);
        text_free(&canon);
    }
}

unit_test(spelling_distance_counts_swaps_once)
{
    assert_int_equal(yang_distance("mtu", "mut"), 1);
    assert_int_equal(yang_distance("port", "port"), 0);
    assert_int_equal(yang_distance("", "abc"), 3);
    assert_int_equal(yang_distance("kitten", "sitting"), 3);
}

unit_test(names_sort_naturally)
{
    assert_true(natural_compare("p2", "p10") < 0);
    assert_true(natural_compare("p10", "p2") > 0);
    assert_int_equal(natural_compare("p10", "p10"), 0);
    assert_true(natural_compare("p1", "p1.5") < 0);
    assert_true(natural_compare("a", "b") < 0);
    assert_true(natural_compare("p9x", "p10") < 0);
    assert_int_equal(natural_compare("p01", "p1"), 0);
    assert_true(natural_compare("p0", "p00x") < 0);
    assert_true(natural_compare("p99999999999999999999998", "p99999999999999999999999") < 0);
}
