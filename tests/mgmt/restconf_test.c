// SPDX-License-Identifier: BSD-3-Clause
// restconf_test.c - configuration, operations and HTTP from a client's side, managers faked
#include <jansson.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fake/fake_managers.h"
#include "fake/fake_rib.h"
#include "interface/kernel_state.h"
#include "server/mgmt.h"
#include "test_server.h"

// --- configuration ------------------------------------------------------------------------------

served_test(configuration_is_read_at_every_depth)
{
    assert_gets_only(
        "port=p0",
        "{\"kamuee:port\":[{\"name\":\"p0\",\"devargs\":\"net_null0\",\"mtu\":9000}]}\n");
    assert_gets_only("port=p0/mtu", "{\"kamuee:mtu\":9000}\n");
    assert_gets_only("thread=1/forwarder/port=p0/rx-queue", "{\"kamuee:rx-queue\":[0]}\n");
    assert_gets("vport?content=config", "\"v40\"");
    assert_get("port=p1/mtu", 404);
    assert_gets_only("port=p1/mtu?with-defaults=report-all", "{\"kamuee:mtu\":1500}\n");
    assert_gets_only("port=p0?depth=1", "{\"kamuee:port\":[{}]}\n");
}

served_test(wrong_paths_are_404_with_the_nearest_name)
{
    assert_get("prot", 404);
    assert_said("did you mean 'port'?");
    assert_said("\"ietf-restconf:errors\"");
    assert_get("state/neigbor", 404);
    assert_said("there is no 'neigbor' in state, did you mean 'neighbor'?");
    assert_int_equal(ask("PUT", DATA "api/tls", "{}"), 404);
    assert_said("there is no 'tls' in api: package kamuee-proxy has replaced it");
    assert_int_equal(ask("GET", "/restconf/data/port", NULL), 404);
    assert_int_equal(ask("GET", "/restconf/dataset", NULL), 404);
    assert_int_equal(ask("GET", "/", NULL), 404);
    assert_get("port=p9", 404);
    assert_said("there is no port 'p9'");
    assert_get("port/mtu", 400);
    assert_said("name an entry");
    assert_get("thread=x", 400);
    assert_said("expected 0..65535");
    assert_get("port=p%00", 400);
    assert_get("port=p%zz", 400);
    assert_get("port=p0,p1", 400);
    assert_get("port=p0?nonsense=1", 400);
    assert_get("port=p0?content=most", 400);
    assert_get("port=p0?depth=0", 400);
}

served_test(edits_are_transactions)
{
    assert_int_equal(ask("PUT", DATA "port=p2",
                         "{\"kamuee:port\":[{\"name\":\"p2\",\"devargs\":\"net_null2\"}]}"),
                     201);
    assert_has(reply.head.s, "Location: /restconf/data/kamuee:port=p2");
    assert_int_equal(
        ask("PUT", DATA "port=p2",
            "{\"kamuee:port\":[{\"name\":\"p2\",\"devargs\":\"net_null2\",\"mtu\":2000}]}"),
        204);
    assert_int_equal(ask("PATCH", DATA "port=p2", "{\"kamuee:port\":{\"promiscuous\":false}}"),
                     204);
    assert_int_equal(ask("PUT", DATA "port=p2/mtu", "{\"kamuee:mtu\":3000}"), 204);
    assert_int_equal(ask("POST", "/restconf/data",
                         "{\"kamuee:thread\":[{\"core\":2,\"forwarder\":{\"port\":[{\"name\":"
                         "\"p2\",\"rx-queue\":[0,1]}]}}]}"),
                     201);
    assert_has(reply.head.s, "Location: /restconf/data/kamuee:thread=2");
    assert_int_equal(ask("POST", DATA "thread=2/forwarder/port=p2", "{\"kamuee:rx-queue\":[2]}"),
                     201);
    assert_int_equal(ask("DELETE", DATA "thread=2/forwarder/port=p2/rx-queue=1", NULL), 204);
    char *text = running_text();
    assert_non_null(strstr(
        text,
        "set port p2 devargs net_null2\\nset port p2 mtu 3000\\nset port p2 promiscuous false\\n"));
    assert_has(text, "set thread 2 forwarder port p2 rx-queue 0\\nset thread 2 "
                     "forwarder port p2 rx-queue 2\\n");
    assert_int_equal(ask("DELETE", DATA "thread=2", NULL), 204);
    assert_int_equal(ask("DELETE", DATA "port=p2", NULL), 204);
    assert_int_equal(ask("DELETE", DATA "port=p2", NULL), 404);
}

served_test(wrong_edits_change_nothing_and_say_why)
{
    char *before = strdup(running_text());

    assert_int_equal(
        ask("PUT", DATA "port=p2", "{\"kamuee:port\":[{\"name\":\"p3\",\"devargs\":\"x\"}]}"), 400);
    assert_said("'name' in the body differs from 'p2' in the path");
    assert_int_equal(ask("PUT", DATA "port=p2", "{\"kamuee:port\":[{\"name\":\"p2\"}]}"), 400);
    assert_said("port p2: 'kernel-interface' or 'devargs' or 'lag' is required");
    assert_int_equal(ask("PATCH", DATA "port=p0", "{\"kamuee:port\":[{\"mtu\":99999}]}"), 400);
    assert_said("port p0: 'mtu' is '99999', expected 68..9600 (bytes)");
    assert_int_equal(ask("PATCH", DATA "port=p0", "{\"kamuee:port\":[{\"mut\":1}]}"), 400);
    assert_said("mut");
    assert_int_equal(ask("PATCH", DATA "port=p7", "{\"kamuee:port\":[{\"mtu\":1500}]}"), 404);
    assert_int_equal(
        ask("POST", "/restconf/data", "{\"kamuee:port\":[{\"name\":\"p0\",\"devargs\":\"x\"}]}"),
        409);
    assert_said("data-exists");
    assert_int_equal(ask("POST", "/restconf/data", "{\"kamuee:prot\":[{}]}"), 400);
    assert_int_equal(ask("POST", "/restconf/data", "{\"kamuee:port\":[{\"devargs\":\"x\"}]}"), 400);
    assert_int_equal(ask("PUT", DATA "port=p0", "{nonsense"), 400);
    assert_said("the body is not JSON");
    assert_int_equal(ask("PUT", DATA "port=p0", "[]"), 400);
    assert_int_equal(ask("PUT", DATA "port", "{\"kamuee:port\":[]}"), 400);
    assert_int_equal(ask("DELETE", DATA "port=p0", NULL), 400);
    assert_said("vport v40: 'port' refers to port 'p0', which is not configured (");
    assert_int_equal(ask("DELETE", DATA "port=p0/name", NULL), 400);
    assert_int_equal(ask("PUT", DATA "port=p0/name", "{\"kamuee:name\":\"p1\"}"), 400);
    assert_int_equal(ask("PATCH", DATA "port=p0/name", "{\"kamuee:name\":\"p1\"}"), 400);
    assert_int_equal(ask("DELETE", "/restconf/data", NULL), 405);
    assert_int_equal(ask("TRACE", DATA "port=p0/mtu", NULL), 405);
    assert_int_equal(ask("TRACE", DATA "port", NULL), 405);
    assert_int_equal(ask("TRACE", "/restconf/operations/kamuee:shutdown", NULL), 405);
    assert_in_range(ask("CONNECT", "k:443", NULL), 400, 499);
    assert_int_equal(ask("PUT", DATA "state/port=p0", "{}"), 405);
    assert_has(reply.head.s, "Allow: GET, HEAD, OPTIONS\r\n");
    assert_string_equal(running_text(), before);
    free(before);
}

served_test(refusal_of_a_manager_is_told_and_undone)
{
    struct text before = {0}, after = {0};

    fake_state(&before);
    fake_fail_at = 3; // the MTU of v40 and of p0 have been lowered by then
    assert_int_equal(configure("set port p0 mtu 1600\nset port p7 devargs net_bad"), 409);
    assert_said("line 2: port p7: the device p7 refuses to attach");
    fake_state(&after);
    assert_string_equal(after.s, before.s);
    assert_null(strstr(running_text(), "1600"));
    text_free(&before);
    text_free(&after);
}

served_test(whole_datastore_can_be_read_and_put_back)
{
    assert_int_equal(ask("GET", "/restconf/data?content=config", NULL), 200);
    char *body = strdup(reply.body.s), *text = strdup(running_text());
    assert_int_equal(
        ask("PATCH", "/restconf/data", "{\"ietf-restconf:data\":{\"kamuee:log-level\":\"error\"}}"),
        204);
    assert_has(running_text(), "set log-level error");
    assert_int_equal(ask("PUT", "/restconf/data", body), 204);
    assert_string_equal(running_text(), text);
    free(body);
    free(text);
}

// --- operations ---------------------------------------------------------------------------------

served_test(configure_applies_all_lines_or_none)
{
    assert_int_equal(configure("set port p1 mtu 1400\nset memory 512"), 200);
    assert_string_equal(reply.body.s, "{\"kamuee:output\":{\"change\":[\"set memory 512\",\"set "
                                      "port p1 mtu 1400\"],\"note\":[\"'memory' takes effect when "
                                      "kamueed is restarted\"]}}\n");
    assert_int_equal(configure("set port p1 mtu 1300\nset port p1 mut 1"), 400);
    assert_said("line 2: port p1: unknown word 'mut', did you mean 'mtu'?");
    assert_null(strstr(running_text(), "1300"));
    assert_int_equal(configure("set port p1 mtu 1"), 400);
    assert_said("\"port p1: 'mtu' is '1', expected 68..9600 (bytes)\"");
    assert_int_equal(call("configure", "\"line\":[\"set port p1 mtu 1300\"],\"check\":true"), 200);
    assert_said("set port p1 mtu 1300");
    assert_null(strstr(running_text(), "1300"));
    assert_int_equal(call("configure", "\"lines\":[]"), 400);
    assert_int_equal(ask("POST", "/restconf/operations/kamuee:configur", "{}"), 404);
    assert_said("did you mean 'kamuee:configure'?");
    assert_int_equal(ask("GET", "/restconf/operations/kamuee:configure", NULL), 405);
    assert_int_equal(ask("GET", "/restconf/operations", NULL), 200);
    assert_said("\"kamuee:audit\":[null]");
}

served_test(port_operations_edit_the_configuration)
{
    assert_int_equal(
        call("port-attach", "\"name\":\"p8\",\"devargs\":\"net_null8\",\"namespace\":\"x\""), 204);
    assert_has(running_text(), "set port p8 devargs net_null8\\nset port p8 namespace x\\n");
    assert_int_equal(call("port-attach", "\"name\":\"p8\",\"devargs\":\"net_null8\""), 409);
    assert_int_equal(call("port-attach", "\"name\":\"p9\""), 400);
    assert_int_equal(call("port-stop", "\"name\":\"p8\""), 204);
    assert_has(running_text(), "set port p8 enabled false");
    assert_int_equal(call("port-start", "\"name\":\"p8\""), 204);
    assert_int_equal(call("port-start", "\"name\":\"p9\""), 404);
    assert_int_equal(call("port-detach", "\"name\":\"p0\""), 204);
    assert_string_equal(
        running_text(),
        "{\"kamuee:output\":{\"text\":\"set port p1 devargs net_null1\\nset port p8 devargs "
        "net_null8\\nset port p8 namespace x\\nset port p8 enabled true\\n"
        "set vr red table 7\\n\"}}\n");
}

served_test(save_writes_what_reload_reads)
{
    char err[256];

    assert_int_equal(configure("set port p1 mtu 1400"), 200);
    assert_int_equal(ask("POST", "/restconf/operations/kamuee:save-configuration", NULL), 200);
    assert_said(file);
    char *text = strdup(running_text());
    text_clear(&fake_calls);
    assert_int_equal(mgmt_reload(err, sizeof err), 0);
    assert_string_equal(text_str(&fake_calls), "change acl\n"); // its files are read again
    assert_string_equal(running_text(), text);
    write_config("set port p1 devargs net_null1 mtu 1300\n");
    assert_int_equal(mgmt_reload(err, sizeof err), 0);
    assert_has(running_text(), "set port p1 mtu 1300");
    write_config("set port p1 devargs net_null1\nset port p1 mtu 1\n");
    assert_int_equal(mgmt_reload(err, sizeof err), -EINVAL);
    assert_has(err, ":2: port p1: 'mtu' is '1', expected 68..9600 (bytes)");
    assert_has(running_text(), "set port p1 mtu 1300");
    free(text);
}

static void complete(const char *line)
{
    struct text t = {0};

    text_printf(&t, "\"line\":\"%s\"", line);
    assert_int_equal(call("complete", t.s), 200);
    text_free(&t);
}

served_test(completion_knows_schema_and_names)
{
    complete("");
    assert_said("\"word\":\"set\"");
    complete("set port p0 m");
    assert_said(
        "{\"word\":\"mtu\",\"help\":\"Largest layer-3 packet, in and out\"},{\"word\":\"mac\"");
    assert_null(strstr(reply.body.s, "devargs"));
    complete("set port p0 mtu ");
    assert_said("\"expect\":\"68..9600 (bytes)\"");
    complete("set log-level ");
    assert_said("\"word\":\"debug\"");
    complete("set port ");
    assert_said("{\"word\":\"p0\",\"help\":\"net_null0\"},{\"word\":\"p1\"");
    complete("set interface v40 vr ");
    assert_said("\"word\":\"default\"");
    assert_said("\"word\":\"red\"");
    complete("set vport v41 port p");
    assert_said("\"word\":\"p0\"");
    complete("set thread ");
    assert_said("\"word\":\"0\"");
    complete("set port p5 devargs ");
    assert_said("\"expect\":\"a DPDK device");
    complete("delete port p1 ");
    assert_said("\"word\":\"devargs\"");
    assert_null(strstr(reply.body.s, "\"mtu\"")); // a default cannot be deleted
    complete("delete ");
    assert_null(strstr(reply.body.s, "\"memory\""));
    complete("set nonsense ");
    assert_string_equal(reply.body.s, "{\"kamuee:output\":{\"candidate\":[]}}\n");
}

served_test(journal_tells_what_changed_and_what_was)
{
    assert_int_equal(call("route-changes", "\"vr\":\"default\",\"ago\":\"5000\""), 200);
    assert_string_equal(
        reply.body.s,
        "{\"kamuee:output\":{\"since\":\"2026-11-21T22:05:00.000Z\",\"complete\":true,\"cut\":"
        "false,\"change\":["
        "{\"time\":\"2026-11-21T22:05:10.123Z\",\"vr\":\"default\",\"prefix\":\"10.1.0.0/"
        "16\",\"cause\":\"kernel\","
        "\"from\":{\"protocol\":\"bgp\",\"kind\":\"adjacency\",\"nexthop\":7,\"hop\":[{"
        "\"interface\":\"p0\",\"gateway\":\"10.0.0.1\",\"weight\":1}]},"
        "\"to\":{\"protocol\":\"static\",\"kind\":\"blackhole\",\"nexthop\":3,\"hop\":[]}},"
        "{\"time\":\"2026-11-21T22:05:10.120Z\",\"vr\":\"default\",\"cause\":\"link\","
        "\"to\":{\"protocol\":\"unspec\",\"kind\":\"adjacency\",\"nexthop\":7,\"hop\":[{"
        "\"interface\":\"p0\",\"gateway\":\"10.0.0.1\",\"weight\":1}]}}]}}\n");
    assert_int_equal(call("route-changes", "\"limit\":1"), 200);
    assert_int_equal(call("route-changes", "\"limit\":0"), 400);
    assert_int_equal(call("route-changes", "\"vr\":\"blue\""), 404);
    assert_int_equal(call("route-at", "\"address\":\"10.1.2.3\",\"ago\":\"1000\""), 200);
    assert_said(
        "\"known\":true,\"prefix\":\"10.1.0.0/16\",\"protocol\":\"bgp\",\"kind\":\"adjacency\"");
    assert_int_equal(call("route-at", "\"ago\":\"1\""), 400);
    assert_said("expected either 'address' or 'prefix'");
    assert_int_equal(call("route-at", "\"prefix\":\"9.9.9.9/32\",\"ago\":\"1\""), 409);
    assert_said("set journal size 64");
    assert_int_equal(call("route-at", "\"address\":\"10.1.2.3\""), 400);
}

served_test(audit_and_lookup_answer_when_rib_manager_has)
{
    kernel_state_set("p0", "master", true, "its TAP is part of br0");
    assert_int_equal(call("audit", ""), 200);
    kernel_state_forget("p0");
    assert_string_equal(
        reply.body.s,
        "{\"kamuee:output\":{\"checked\":\"1062046\",\"prefixes\":\"1062050\",\"lookups\":"
        "\"4000000\","
        "\"blocks\":\"1\",\"diverged\":\"2\",\"took\":1500,\"longest-pause\":4100,"
        "\"finding\":[{\"prefix\":\"10.1.0.0/16\",\"what\":\"missing from the FIB\"}],"
        "\"not-followed\":\"0\",\"unfollowed\":[],"
        "\"kernel-state\":[{\"subject\":\"p0\",\"attribute\":\"master\",\"what\":\"its TAP is part "
        "of br0\"}]}}\n");
    assert_int_equal(call("audit", "\"vr\":\"blue\""), 404);
    // The empty name is not a virtual router either.
    assert_int_equal(call("audit", "\"vr\":\"\""), 404);
    assert_int_equal(call("lookup", "\"vr\":\"\",\"address\":[\"192.0.2.1\"]"), 404);
    assert_int_equal(call("lookup", "\"address\":[\"192.0.2.1\",\"2001:db8::1\"]"), 200);
    assert_said(
        "{\"address\":\"192.0.2.1\",\"prefix\":\"1.0.0.0/"
        "24\",\"nexthop\":0,\"kind\":\"none\",\"interface\":\"p0\",\"gateway\":\"10.0.0.1\"");
    assert_said("{\"address\":\"2001:db8::1\"");
    assert_int_equal(call("lookup", "\"address\":[\"nowhere\"]"), 400);
    assert_int_equal(ask("POST", "/restconf/operations/kamuee:test-tap", NULL), 200);
    assert_string_equal(reply.body.s,
                        "{\"kamuee:output\":{\"result\":[{\"interface\":\"p0\",\"family\":\"ipv4\","
                        "\"socket\":\"udp\",\"passed\":true,\"reason\":\"\"},{\"interface\":\"p0\","
                        "\"family\":\"ipv6\",\"socket\":\"tcp\",\"passed\":false,"
                        "\"reason\":\"nothing came back\"}]}}\n");
    assert_int_equal(call("test-tap", "\"interface\":\"x9\""), 404);
    assert_said("there is no interface 'x9'");
    fake_rib_error = -EAGAIN;
    assert_int_equal(ask("POST", "/restconf/operations/kamuee:audit", NULL), 429);
    assert_int_equal(call("lookup", "\"address\":[\"192.0.2.1\"]"), 429);
    assert_get("state/vr", 429);
}

// --- HTTP ---------------------------------------------------------------------------------------

static int raw(const char *bytes, size_t n)
{
    int fd = client_connect(sock);

    reply.status = 0;
    client_send(loop, fd, bytes, n);
    if (!client_read(loop, fd, &reply))
        reply.status = 0;
    close(fd);
    return reply.status;
}

served_test(evhttps_own_errors_are_json)
{
    static const char too_large[] =
        "POST /restconf/data HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999\r\n\r\n";

    assert_int_equal(raw("BREW /pot HTTP/1.1\r\nHost: x\r\n\r\n", 31), 501);
    assert_said("\"error-tag\":\"operation-not-supported\"");
    assert_int_equal(raw("nonsense\r\n\r\n", 12), 400);
    assert_said("\"error-tag\":\"malformed-message\"");
    assert_null(strstr(text_str(&reply.body), "HTML"));
    assert_has(reply.head.s, "Content-Type: application/yang-data+json");
    assert_int_equal(raw(too_large, sizeof too_large - 1), 413);
    assert_said("\"error-tag\":\"too-big\"");
}

served_test(content_negotiation_is_json_only)
{
    static const char xml[] = "GET /restconf/data/kamuee:port HTTP/1.1\r\nHost: x\r\nAccept: "
                              "application/yang-data+xml\r\n\r\n";
    static const char body[] = "PUT /restconf/data/kamuee:port=p0 HTTP/1.1\r\nHost: "
                               "x\r\nContent-Type: text/xml\r\nContent-Length: 4\r\n\r\n<x/>";
    struct text t = {0};

    assert_int_equal(raw(xml, sizeof xml - 1), 406);
    assert_int_equal(raw(body, sizeof body - 1), 415);
    text_printf(&t, "GET /restconf/data/%05000d HTTP/1.1\r\nHost: x\r\n\r\n", 0);
    assert_int_equal(raw(t.s, t.n), 414);
    assert_said("too-big");
    text_free(&t);
    assert_int_equal(ask("OPTIONS", DATA "port=p0", NULL), 200);
    assert_has(reply.head.s, "Allow: GET, HEAD, OPTIONS, POST, PUT, PATCH, DELETE");
}

served_test(the_server_tells_about_itself)
{
    assert_int_equal(ask("GET", "/restconf", NULL), 200);
    assert_string_equal(reply.body.s, "{\"ietf-restconf:restconf\":{\"data\":{},\"operations\":{},"
                                  "\"yang-library-version\":\"2019-01-04\"}}\n");
    assert_int_equal(ask("GET", "/.well-known/host-meta", NULL), 200);
    assert_said("href='/restconf'");
    assert_int_equal(ask("GET", "/restconf/data/ietf-yang-library:yang-library", NULL), 200);
    assert_said("\"name\":\"kamuee\"");
    assert_int_equal(ask("GET", "/restconf/data/ietf-restconf-monitoring:restconf-state", NULL),
                     200);
    assert_said("capability:depth:1.0");
    assert_int_equal(ask("POST", "/restconf", NULL), 405);
}

served_test(modules_are_had_where_the_library_says)
{
    json_t *library, *modules, *m;
    size_t i;

    assert_int_equal(ask("GET", "/restconf/data/ietf-yang-library:yang-library", NULL), 200);
    library = json_loads(reply.body.s, 0, NULL);
    modules = json_object_get(
        json_array_get(json_object_get(json_object_get(library, "ietf-yang-library:yang-library"),
                                       "module-set"),
                       0),
        "module");
    unsigned n = 0;
    json_array_foreach(modules, i, m)
    {
        const char *where = json_string_value(json_array_get(json_object_get(m, "location"), 0));
        char head[100];

        if (!where)
            continue;
        n++;
        assert_int_equal(ask("GET", where, NULL), 200);
        assert_has(reply.head.s, "Content-Type: application/yang");
        snprintf(head, sizeof head, "module %s {", json_string_value(json_object_get(m, "name")));
        assert_said(head);
    }
    assert_true(n >= 3);
    json_decref(library);
    assert_int_equal(ask("GET", "/restconf/yang/kamuee.yang", NULL), 200);
    assert_int_equal(ask("GET", "/restconf/yang/kamuee@1999-01-01.yang", NULL), 404);
    assert_int_equal(ask("GET", "/restconf/yang/../../etc/passwd", NULL), 404);
    assert_int_equal(ask("GET", "/restconf/yang/nowhere.yang", NULL), 404);
}

served_test(head_has_the_length_of_get_and_no_body)
{
    static const char *const targets[] = {DATA "port=p0/mtu", "/nowhere", DATA ROUTES};
    char request[256], buf[4096];

    for (int i = 0; i < 3; i++) {
        int fd = client_connect(sock);
        ssize_t n = -1, all = 0;

        snprintf(request, sizeof request,
                 "HEAD %s HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", targets[i]);
        client_send(loop, fd, request, strlen(request));
        for (int k = 0; k < 1000 && n; k++) {
            event_base_loop(loop, EVLOOP_NONBLOCK);
            n = recv(fd, buf + all, sizeof buf - 1 - (size_t)all, 0);
            all += n > 0 ? n : 0;
        }
        assert_int_equal(n, 0); // the server has closed
        buf[all] = 0;
        assert_string_equal(strstr(buf, "\r\n\r\n"), "\r\n\r\n");
        if (!i)
            assert_has(buf, "Content-Length: 20\r\n");
        close(fd);
    }
    assert_int_equal(fake_rib_walks, 0);
}

served_test(one_connection_carries_many_requests)
{
    static const char request[] =
        "GET /restconf/data/kamuee:port=p0/mtu HTTP/1.1\r\nHost: x\r\n\r\n";
    static const char routes[] = "GET " DATA ROUTES " HTTP/1.1\r\nHost: x\r\n\r\n";
    int fd = client_connect(sock);

    for (int i = 0; i < 3; i++) {
        client_send(loop, fd, request, sizeof request - 1);
        assert_true(client_read(loop, fd, &reply));
        assert_string_equal(reply.body.s, "{\"kamuee:mtu\":9000}\n");
        client_send(loop, fd, routes, sizeof routes - 1);
        assert_true(client_read(loop, fd, &reply));
        assert_said("\"prefix\":\"1.0.9.0/24\"");
    }
    close(fd);
}

// --- an upgrade ---------------------------------------------------------------------------------

// Forks a new kamueed that reads this file when it is told to, as in an upgrade from a former
// version, whose digest is another one because it includes its retired settings.
static pid_t new_kamueed(const char *text, int told)
{
    char run_dir[sizeof sock], word, err[1024] = "";
    struct mgmt_start s;
    pid_t pid = fork();

    if (pid)
        return pid;
    snprintf(run_dir, sizeof run_dir, "%s", sock);
    *strrchr(run_dir, '/') = 0;
    strcpy(strrchr(file, '/'), "/new.conf");
    write_config(text);
    bool ready = read(told, &word, 1) == 1;
    int r = mgmt_load(&(struct mgmt_files){.config = file, .digest = 1, .run_dir = run_dir}, &s,
                      err, sizeof err);
    unlink(file);
    _exit(!ready ? 2 : !r ? 0 : strstr(err, "is another one than this") ? 1 : 3);
}

// Returns its exit status.
static int upgraded_with(void **state, const char *text)
{
    int told[2], status = -1;

    assert_int_equal(pipe(told), 0);
    pid_t pid = new_kamueed(text, told[0]);
    assert_int_equal(server_start(state), 0);
    assert_int_equal(write(told[1], "x", 1), 1);
    while (!waitpid(pid, &status, WNOHANG)) {
        event_base_loop(loop, EVLOOP_NONBLOCK);
        usleep(1000);
    }
    assert_int_equal(server_stop(state), 0);
    close(told[0]);
    close(told[1]);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

#define HAND_WRITTEN                                                                               \
    "set snmp agentx /run/agentx\nset vr red table 7\nset port p1 devargs net_null1\n"            \
    "set port p0 mtu 9000 devargs net_null0\nset api listen 127.0.0.1 port 8443 tls false\n"      \
    "set interface v40 vr red\nset vport v40 vlan 40 port p0\n"

unit_test(an_upgrade_passes_over_retired_settings_of_a_file)
{
    assert_int_equal(
        upgraded_with(state, HAND_WRITTEN "set thread 1 forwarder port p0 rx-queue 0\n"), 0);
    assert_int_equal(upgraded_with(state, HAND_WRITTEN), 1);
}
