// SPDX-License-Identifier: BSD-3-Clause
// state_test.c - state and route tables from a client's side: against the schema; stalled, leaving
// and late readers
#include <stdint.h>
#include <errno.h>
#include <event2/event.h>
#include <jansson.h>
#include <libyang/libyang.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "fake/fake_managers.h"
#include "fake/fake_queue.h"
#include "fake/fake_rib.h"
#include "server/mgmt.h"
#include "test_server.h"
#include "table/iface.h"
#include "yang/yang.h"

// --- state --------------------------------------------------------------------------------------

static void assert_in_schema(const char *json)
{
    struct lyd_node *tree = NULL;

    if (lyd_parse_data_mem(yang_ctx, json, LYD_JSON, LYD_PARSE_STRICT, LYD_VALIDATE_PRESENT, &tree))
        fail_msg("%s at %s in %s", ly_errmsg(yang_ctx), ly_errpath(yang_ctx), json);
    assert_non_null(tree);
    lyd_free_all(tree);
}

served_test(all_state_is_as_the_schema_says)
{
    assert_get("state", 200);
    assert_in_schema(reply.body.s);
    assert_said("\"rx-packets\":\"1099511627776\"");
    assert_said("{\"name\":\"bgp\",\"routes\":\"901890\"}");
    assert_said("{\"name\":\"77\",\"routes\":\"1\"}");
    assert_int_equal(ask("GET", "/restconf/data", NULL), 200);
    assert_said("\"kamuee:state\":{\"configuration\"");
    assert_said("\"system\":{");
    assert_said("\"kamuee:port\":[{\"name\":\"p0\"");
    assert_int_equal(ask("GET", "/restconf/data?content=nonconfig", NULL), 200);
    assert_null(strstr(reply.body.s, "\"kamuee:port\":[{\"name\":\"p0\""));
}

// Starts in a process of its own, with `from` replaced by `to` in the schema. Returns the signal
// that ended it.
static int signal_of_start(const char *schema, const char *from, const char *to)
{
    char dir[] = "/tmp/state-test-XXXXXX", path[64], err[1024];
    const char *at = strstr(schema, from);
    int status;

    assert_non_null(at);
    assert_non_null(mkdtemp(dir));
    snprintf(path, sizeof path, "%s/kamuee.yang", dir);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fprintf(f, "%.*s%s%s", (int)(at - schema), schema, to, at + strlen(from));
    fclose(f);
    pid_t child = fork();
    if (!child) {
        struct mgmt_start s;

        signal(SIGABRT, SIG_DFL);
        setenv("KAMUEE_YANG_DIR", dir, 1);
        event_reinit(loop);
        if (mgmt_load(&(struct mgmt_files){.config = file}, &s, err, sizeof err))
            _exit(2);
        _exit(mgmt_start(loop, dir, err, sizeof err) ? 1 : 0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    unlink(path);
    unlink(strcat(strcpy(path, dir), "/kamuee.sock"));
    rmdir(dir);
    assert_int_not_equal(WEXITSTATUS(status), 2);
    return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

unit_test(schema_and_features_differ_in_nothing_or_the_start_is_a_bug)
{
    static const char box[] = "  container state {", rpc[] = "  rpc shutdown {";
    struct text t = {0};
    char err[256];

    fake_reset();
    write_config("");
    assert_int_equal(yang_load(err, sizeof err), 0);
    assert_true(yang_source("kamuee", NULL, &t));
    yang_unload();
    assert_int_equal(signal_of_start(text_str(&t), box, box), 0);
    assert_int_equal(
        signal_of_start(text_str(&t), box, "  container state { leaf none { type string; }"),
        SIGABRT);
    assert_int_equal(
        signal_of_start(text_str(&t), "    container ledger {", "    container none {"), SIGABRT);
    assert_int_equal(signal_of_start(text_str(&t), rpc, "  rpc none; rpc shutdown {"), SIGABRT);
    assert_int_equal(signal_of_start(text_str(&t), rpc, "  rpc none {"), SIGABRT);
    text_free(&t);
}

served_test(what_is_cleared_is_as_the_schema_says_and_of_what_was_named)
{
    static const char op[] = "/restconf/operations/kamuee:clear-counters";

    assert_int_equal(ask("POST", op, "{\"kamuee:input\":{\"of\":\"interface\",\"name\":\"v41\"}}"),
                     404);
    assert_said("there is no interface 'v41'");
    assert_int_equal(ask("POST", op, "{\"kamuee:input\":{\"of\":\"interface\",\"name\":\"v40\"}}"),
                     204);
    assert_get("state/interface=v40/cleared/rx-packets", 200);
    assert_get("state/interface=p0/cleared", 404);
    assert_int_equal(ask("POST", op, NULL), 204);
    assert_get("state/interface=p0/cleared/time", 200);
    assert_gets_only("state/port=p0/cleared/rx-packets",
                     "{\"kamuee:rx-packets\":\"1099511627776\"}\n");
    assert_get("state", 200);
    assert_in_schema(reply.body.s);
}

// Asks for a container, or an entry of a list, and compares its leaves with the schema.
static void assert_has_every_leaf(const char *of, const char *schema)
{
    const struct lysc_node *at = lys_find_path(yang_ctx, NULL, schema, false), *leaf;
    char target[128];

    snprintf(target, sizeof target, DATA "state/%s", of);
    assert_int_equal(ask("GET", target, NULL), 200);
    assert_non_null(at);
    for (leaf = lysc_node_child(at); leaf; leaf = leaf->next) {
        char name[64];

        snprintf(name, sizeof name, "\"%s\":", leaf->name);
        if (leaf->nodetype == LYS_LEAF)
            assert_said(name);
    }
}

// State is written by tables (restconf/column.h), and assert_in_schema says that it has nothing
// else.
served_test(each_counter_of_the_schema_is_told)
{
    assert_int_equal(ask("POST", "/restconf/operations/kamuee:clear-counters", NULL), 204);
    assert_has_every_leaf("interface=p0/statistics", "/kamuee:state/interface/statistics");
    assert_has_every_leaf("interface=p0/cleared", "/kamuee:state/interface/cleared");
    assert_has_every_leaf("port=p0/statistics", "/kamuee:state/port/statistics");
    assert_has_every_leaf("port=p0/cleared", "/kamuee:state/port/cleared");
    assert_has_every_leaf("thread=forwarder%2F0/statistics", "/kamuee:state/thread/statistics");
    assert_has_every_leaf("punt=bfd", "/kamuee:state/punt");
    assert_has_every_leaf("icmp", "/kamuee:state/icmp");
    assert_has_every_leaf("ledger", "/kamuee:state/ledger");
}

served_test(queues_are_told_by_port_client_and_class)
{
    fake_queue_shape("p0", "v40");
    assert_get("state", 200);
    assert_in_schema(reply.body.s);
    assert_gets("state/queue=p0",
                "\"rate\":\"1000000000\",\"configured-rate\":\"1000000000\",\"lowered\":false,"
                "\"core\":1,\"packets\":16384,\"waiting-packets\":7,\"dropped-port\":\"3\","
                "\"dropped-ring\":\"4\"");
    assert_said("{\"name\":\"default\",\"configured\":true,\"guarantee\":\"100000000\",\"maximum\":"
                "\"500000000\",\"weight\":10,\"limit\":1000000,\"reserve\":64,\"rate\":"
                "\"80000000\"");
    assert_said("{\"class\":0,\"strict-rate\":\"100000000\",\"discipline\":\"tail-drop\",\"ecn\":"
                "false");
    assert_said("\"delay-p50\":\"5000000\",\"delay-p99\":\"9000000\",\"delay-max\":\"12000000\","
                "\"dropped\":{\"class-full\":\"1\",\"client-full\":\"2\",\"share-full\":\"3\","
                "\"codel\":\"4\",\"old\":\"5\",\"flow\":\"6\"}");
    assert_gets_only("state/queue=p0/vport=v40/class=6/sent-packets",
                     "{\"kamuee:sent-packets\":\"100\"}\n");
    assert_get("state/queue=p1", 404);
    fake_queue_reset();
}

// Wraps {"kamuee:X": …} of a child of state into the whole tree.
static void assert_child_in_schema(void)
{
    struct text t = {0};

    text_printf(&t, "{\"kamuee:state\":%s}", reply.body.s);
    assert_in_schema(t.s);
    text_free(&t);
}

served_test(an_interface_says_who_samples_it)
{
    static const struct {
        uint8_t sample;
        const char *sflow, *ipfix;
    } cases[] = {{0, "\"sflow\":false", "\"ipfix\":false"},
                 {IFACE_SAMPLE_SFLOW, "\"sflow\":true", "\"ipfix\":false"},
                 {IFACE_SAMPLE_IPFIX, "\"sflow\":false", "\"ipfix\":true"},
                 {IFACE_SAMPLE_SFLOW | IFACE_SAMPLE_IPFIX, "\"sflow\":true", "\"ipfix\":true"}};
    struct iface *i = iface_find_name("p0");

    for (size_t n = 0; n < sizeof cases / sizeof *cases; n++) {
        i->policy.sample = cases[n].sample;
        assert_get("state/interface=p0", 200);
        assert_said(cases[n].sflow);
        assert_said(cases[n].ipfix);
        assert_child_in_schema();
    }
    i->policy.sample = 0;
}

served_test(each_part_of_state_can_be_asked_for)
{
    static const char *const parts[] = {"system",
                                        "port",
                                        "port=p0",
                                        "interface",
                                        "interface=p0",
                                        "thread",
                                        "thread=forwarder%2F0",
                                        "drop",
                                        "drop=ip4_no_route",
                                        "port-history",
                                        "port-history=p0",
                                        "punt",
                                        "punt=bfd",
                                        "icmp",
                                        "ledger",
                                        "vr",
                                        "vr=default",
                                        "label",
                                        "label=default,101",
                                        "neighbor",
                                        "neighbor=default,p0,10.0.0.1",
                                        "nexthop",
                                        "nexthop=6",
                                        "journal",
                                        "audit",
                                        "audit=default",
                                        "latency", "alarm",
                                        "alarm-history", "crash",
                                        "counted-prefix",
                                        "counted-prefix=default,192.0.2.0%2F24",
                                        "multicast"};
    char path[128];

    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        snprintf(path, sizeof path, DATA "state/%s", parts[i]);
        assert_int_equal(ask("GET", path, NULL), 200);
        assert_child_in_schema();
    }
    assert_gets_only("state/drop=ip4_no_route/sentence",
                     "{\"kamuee:sentence\":\"no route to the IPv4 destination\"}\n");
    assert_gets("state/port=p0/statistics/queue=1", "{\"kamuee:queue\":[{\"queue\":1,");
    assert_gets_only("state/vr=default/fib=ipv4/protocol=bgp/routes",
                     "{\"kamuee:routes\":\"901890\"}\n");
    assert_gets_only("state/thread=forwarder%2F0/queue=p0,1/remote", "{\"kamuee:remote\":true}\n");
    assert_gets_only("state/thread=forwarder%2F0/stage=ip4_fwd",
                     "{\"kamuee:stage\":[{\"name\":\"ip4_fwd\",\"calls\":\"0\","
                     "\"packets\":\"0\",\"cycles\":\"0\"}]}\n");
    assert_gets_only("state/thread=forwarder%2F0/burst-size=64/bursts",
                     "{\"kamuee:bursts\":\"0\"}\n");
    assert_gets_only("state/multicast/route=default,239.1.1.1,any/wrong-interface",
                     "{\"kamuee:wrong-interface\":\"2\"}\n");
    assert_gets_only("state/multicast/route=default,ff1e::1,2001:db8::1/by-kernel",
                     "{\"kamuee:by-kernel\":true}\n");
    assert_gets_only("state/counted-prefix=default,192.0.2.0%2F24/packets",
                     "{\"kamuee:packets\":\"7\"}\n");
    assert_get("state/port=p9", 404);
    assert_said("there is no port 'p9'");
    assert_get("state/port=p0/statistics/queue=7", 404);
    assert_gets_only("state/ledger?depth=1", "{\"kamuee:ledger\":{}}\n");
    assert_get("state/vr=nowhere", 404);
    assert_gets("state/interface=v40", "\"kind\":\"vport\",\"port\":\"p0\",\"vlan\":40");
}

// --- routes -------------------------------------------------------------------------------------

served_test(routes_are_streamed_as_the_schema_says)
{
    assert_get(ROUTES, 200);
    assert_child_in_schema();
    assert_said("{\"prefix\":\"1.0.0.0/"
                "24\",\"type\":\"unicast\",\"protocol\":\"bgp\",\"metric\":20,\"active\":true");
    fake_rib_routes = 0;
    assert_gets_only(
        "state/routes=default,ipv6",
        "{\"kamuee:routes\":[{\"vr\":\"default\",\"family\":\"ipv6\",\"route\":[]}]}\n");
    assert_get(ROUTES "?prefix=1.0.0.0/8&match=longer&protocol=bgp&type=unicast", 200);
    assert_get(ROUTES "?prefix=1.0.0.1/32&match=longest", 200);
    assert_get(ROUTES "?prefix=1.0.0.1/24", 400);
    assert_get(ROUTES "?prefix=2001:db8::/32", 400);
    assert_get(ROUTES "?prefix=1.0.0.0/8&match=nearest", 400);
    assert_get(ROUTES "?match=longer", 400);
    assert_get(ROUTES "?protocol=bpg", 400);
    assert_get(ROUTES "?type=multi", 400);
    assert_get("state/routes", 400);
    assert_get("state/routes=nowhere,ipv4", 404);
    assert_get("state/routes=default,ipv5", 400);
    assert_int_equal(fake_rib_walks, 0);
}

static size_t heap(void)
{
    return mallinfo2().uordblks;
}

served_test(a_million_routes_take_no_memory_and_pause_nobody)
{
    static const char request[] = "GET " DATA ROUTES " HTTP/1.1\r\nHost: x\r\n\r\n";
    char buf[65536];
    size_t before = heap(), most = 0, bytes = 0;
    uint64_t from = clock_now_ns(), slowest = 0;

    fake_rib_routes = 1000000;
    int fd = client_connect(sock);
    client_send(loop, fd, request, sizeof request - 1);
    for (char tail[6] = ""; memcmp(tail, "0\r\n\r\n", 5);) {
        uint64_t turn = clock_now_ns();

        event_base_loop(loop, EVLOOP_NONBLOCK);
        turn = clock_now_ns() - turn;
        slowest = turn > slowest ? turn : slowest;
        ssize_t n = recv(fd, buf, sizeof buf, 0);
        if (n >= 5)
            memcpy(tail, buf + n - 5, 5);
        bytes += n > 0 ? (size_t)n : 0;
        most = heap() > most ? heap() : most;
    }
    close(fd);
    print_message("1,000,000 routes: %zu bytes in %.2f s, %zu KiB of heap, slowest turn of the "
                  "loop %.1f ms\n",
                  bytes, (double)(clock_now_ns() - from) / 1e9, (most - before) / 1024,
                  (double)slowest / 1e6);
    assert_int_equal(fake_rib_rows, 1000000);
    assert_true(bytes > 100000000);
    assert_true(most - before < 2u << 20);
}

// kamuee-snmp asks like this.
served_test(in_http_1_0_a_stream_ends_with_its_connection)
{
    static const char request[] = "GET " DATA ROUTES " HTTP/1.0\r\nHost: x\r\n\r\n";
    struct text raw = {0};
    char buf[65536];
    ssize_t n = 1;

    fake_rib_routes = 20000;
    int fd = client_connect(sock);
    client_send(loop, fd, request, sizeof request - 1);
    while (n > 0 || (n < 0 && errno == EAGAIN)) {
        event_base_loop(loop, EVLOOP_NONBLOCK);
        n = recv(fd, buf, sizeof buf, 0);
        text_append(&raw, buf, n > 0 ? (size_t)n : 0);
    }
    assert_int_equal(n, 0);
    close(fd);
    const char *body = strstr(text_str(&raw), "\r\n\r\n");
    assert_non_null(body);
    json_t *root = json_loads(body, 0, NULL);
    assert_int_equal(
        json_array_size(json_object_get(json_array_get(json_object_get(root, "kamuee:routes"), 0),
                                        "route")),
        20000);
    json_decref(root);
    text_free(&raw);
}

served_test(stalled_readers_harm_nobody)
{
    static const char request[] = "GET " DATA ROUTES " HTTP/1.1\r\nHost: x\r\n\r\n";
    int fd[50];
    size_t before = heap();

    fake_rib_routes = 1000000;
    for (int i = 0; i < 50; i++) {
        fd[i] = client_connect(sock);
        client_send(loop, fd[i], request, sizeof request - 1);
    }
    for (int i = 0; i < 2000; i++)
        event_base_loop(loop, EVLOOP_NONBLOCK);
    assert_int_equal(fake_rib_walks, 50);
    uint64_t rows = fake_rib_rows;
    assert_true(rows < 50 * 10000); // each walk stopped when its socket and one block were full
    uint64_t from = clock_now_ns();
    assert_get("state/ledger", 200);
    print_message("50 stalled readers: %zu KiB of heap, another client waited %.2f ms\n",
                  (heap() - before) / 1024, (double)(clock_now_ns() - from) / 1e6);
    assert_true(heap() - before < 50u * (192u << 10));
    assert_int_equal(fake_rib_rows, rows);
    for (int i = 0; i < 25; i++)
        close(fd[i]);
    for (int i = 0; i < 100; i++)
        event_base_loop(loop, EVLOOP_NONBLOCK);
    assert_int_equal(fake_rib_walks, 25); // a leaving client closes its walk
    mgmt_stop();                          // and so does the end of the server
    for (int i = 0; i < 10; i++)
        event_base_loop(loop, EVLOOP_NONBLOCK);
    assert_int_equal(fake_rib_walks, 0);
    for (int i = 25; i < 50; i++)
        close(fd[i]);
    server_start(state);
}

served_test(answers_that_come_after_the_client_left_are_dropped)
{
    static const char *const targets[] = {"GET /restconf/data/kamuee:state",
                                          "GET /restconf/data/kamuee:state/neighbor",
                                          "POST /restconf/operations/kamuee:audit"};
    char request[256];

    for (size_t i = 0; i < 3; i++) {
        fake_rib_silent = true;
        int fd = client_connect(sock);
        snprintf(request, sizeof request, "%s HTTP/1.1\r\nHost: x\r\n\r\n", targets[i]);
        client_send(loop, fd, request, strlen(request));
        event_base_loop(loop, EVLOOP_NONBLOCK);
        close(fd);
        event_base_loop(loop, EVLOOP_NONBLOCK);
        fake_rib_silent = false;
        fake_rib_answer();
        for (int k = 0; k < 20; k++)
            event_base_loop(loop, EVLOOP_NONBLOCK);
    }
    assert_get("state/ledger", 200);
}

served_test(answers_that_come_after_the_server_stopped_are_dropped)
{
    static const char request[] =
        "POST /restconf/operations/kamuee:audit HTTP/1.1\r\nHost: x\r\n\r\n";
    int fd = client_connect(sock);

    fake_rib_silent = true;
    client_send(loop, fd, request, sizeof request - 1);
    for (int k = 0; k < 10; k++)
        event_base_loop(loop, EVLOOP_NONBLOCK);
    mgmt_stop();
    fake_rib_answer();
    for (int k = 0; k < 10; k++)
        event_base_loop(loop, EVLOOP_NONBLOCK);
    close(fd);
    server_start(state);
}
