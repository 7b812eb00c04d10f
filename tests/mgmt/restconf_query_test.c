// SPDX-License-Identifier: BSD-3-Clause
// restconf_query_test.c - parts of answers, pages, conditional requests
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "fake/fake_rib.h"
#include "test_server.h"
#include "restconf/fields.h"
#include "yang/yang.h"

#define PORT DATA "port"
#define TABLE "{\"kamuee:routes\":[{\"vr\":\"default\",\"family\":\"ipv4\",\"route\":"

// A request with more header lines, each ended by \r\n.
static int ask_with(const char *method, const char *target, const char *headers, const char *body)
{
    struct text t = {0};
    int fd = client_connect(sock);

    text_printf(&t,
                "%s %s HTTP/1.1\r\nHost: k\r\nConnection: close\r\n%sContent-Type: "
                "application/yang-data+json\r\n"
                "Content-Length: %zu\r\n\r\n%s",
                method, target, headers, strlen(body), body);
    reply.status = 0;
    client_send(loop, fd, t.s, t.n);
    assert_true(client_read(loop, fd, &reply));
    close(fd);
    text_free(&t);
    return reply.status;
}

static const char *header(const char *name)
{
    static char value[128];
    const char *at = strstr(reply.head.s, name);

    *value = 0;
    if (at)
        sscanf(at + strlen(name), ": %127[^\r]", value);
    return value;
}

// --- conditions ---------------------------------------------------------------------------------

served_test(an_edit_of_what_others_changed_is_refused)
{
    char tag[128], line[200], date[128];

    assert_int_equal(ask("GET", PORT "=p0", NULL), 200);
    snprintf(tag, sizeof tag, "%s", header("ETag"));
    snprintf(date, sizeof date, "%s", header("Last-Modified"));
    assert_true(strlen(tag) > 4 && strlen(date) == 29);
    snprintf(line, sizeof line, "If-Match: %s\r\n", tag);
    assert_int_equal(ask_with("PATCH", PORT "=p0", line, "{\"kamuee:port\":[{\"mtu\":1400}]}"),
                     204);
    assert_string_not_equal(header("ETag"), tag);
    assert_int_equal(ask_with("PATCH", PORT "=p0", line, "{\"kamuee:port\":[{\"mtu\":1401}]}"),
                     412);
    assert_said("\"operation-failed\"");
    snprintf(line, sizeof line, "If-Match: \"x\", %s\r\n", header("ETag"));
    assert_int_equal(ask_with("PUT", PORT "=p0/mtu", line, "{\"kamuee:mtu\":1402}"), 204);
    assert_int_equal(ask_with("DELETE", PORT "=p0/mtu", "If-Match: *\r\n", ""), 204);
    assert_int_equal(ask_with("PUT", PORT "=p0/mtu", "If-Match: *\r\n", "{\"kamuee:mtu\":1402}"),
                     412);
    assert_int_equal(
        ask_with("PUT", PORT "=p0/mtu", "If-None-Match: *\r\n", "{\"kamuee:mtu\":1402}"), 201);
    assert_int_equal(
        ask_with("PUT", PORT "=p0/mtu", "If-None-Match: *\r\n", "{\"kamuee:mtu\":1403}"), 412);
    assert_int_equal(ask_with("PUT", PORT "=p0/mtu",
                              "If-Unmodified-Since: Sun, 06 Nov 1994 08:49:37 GMT\r\n",
                              "{\"kamuee:mtu\":1403}"),
                     412);
    assert_int_equal(ask_with("PUT", PORT "=p0/mtu",
                              "If-Unmodified-Since: Fri, 06 Nov 2294 08:49:37 GMT\r\n",
                              "{\"kamuee:mtu\":1403}"),
                     204);
    assert_int_equal(ask_with("PUT", PORT "=p0/mtu", "If-Unmodified-Since: yesterday\r\n",
                              "{\"kamuee:mtu\":1404}"),
                     204);
}

served_test(what_has_not_changed_is_not_sent_again)
{
    char line[200];

    assert_int_equal(ask("GET", PORT, NULL), 200);
    snprintf(line, sizeof line, "If-None-Match: W/%s\r\n", header("ETag"));
    assert_int_equal(ask_with("GET", PORT, line, ""), 304);
    assert_int_equal(reply.body.n, 0);
    assert_int_equal(ask_with("GET", "/restconf/data?content=config", line, ""), 304);
    assert_int_equal(ask_with("GET", "/restconf/data", line, ""), 200); // including state
    assert_int_equal(ask_with("GET", DATA "state/ledger", line, ""), 200);
    assert_int_equal(
        ask_with("GET", PORT, "If-Modified-Since: Fri, 06 Nov 2294 08:49:37 GMT\r\n", ""), 304);
    assert_int_equal(ask("PUT", PORT "=p0/mtu", "{\"kamuee:mtu\":1403}"), 204);
    assert_int_equal(ask_with("GET", PORT, line, ""), 200);
}

// --- fields -------------------------------------------------------------------------------------

served_test(only_the_fields_that_are_wanted_come)
{
    assert_int_equal(ask("GET", PORT "=p0?fields=mtu", NULL), 200);
    assert_string_equal(reply.body.s, "{\"kamuee:port\":[{\"name\":\"p0\",\"mtu\":9000}]}\n");
    assert_get("state/"
               "interface?fields=statistics(rx-packets%3Btx-packets)%3Bkind",
               200);
    assert_string_equal(reply.body.s, "{\"kamuee:interface\":[{\"name\":\"p0\",\"kind\":\"port\","
                                      "\"statistics\":{\"rx-packets\":\"0\",\"tx-packets\":\"0\"}},"
                                      "{\"name\":\"v40\",\"kind\":\"vport\",\"statistics\":{\"rx-"
                                      "packets\":\"0\",\"tx-packets\":\"0\"}}]}\n");
    assert_int_equal(ask("GET", "/restconf/data?fields=kamuee:port/mtu&content=config", NULL), 200);
    assert_string_equal(reply.body.s, "{\"ietf-restconf:data\":{\"kamuee:port\":[{\"name\":\"p0\","
                                      "\"mtu\":9000},{\"name\":\"p1\"}]}}\n");
    assert_gets_only(ROUTES "?fields=route(prefix%3Bhop/gateway)&limit=1", TABLE
                     "[{\"prefix\":\"1.0.0.0/24\",\"hop\":[{\"gateway\":\"10.0.0.1\"}]}]}]}\n");
}

served_test(wrong_fields_are_refused)
{
    static const char *const wrong[] = {
        "nonsense",         "mtu(",         "mtu(x", "mtu)", "mtu;", "%3Bmtu", "mtu/x", "(mtu)",
        "mirror(direction", "mtu%3B%3Bname"};
    char target[100];

    for (unsigned i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        snprintf(target, sizeof target, PORT "?fields=%s", wrong[i]);
        assert_int_equal(ask("GET", target, NULL), 400);
        assert_said("'fields'");
    }
}

// Random expressions neither crash nor are misread: an accepted one keeps at most the nodes that it
// names.
unit_test(expressions_at_random)
{
    static const char alphabet[] = "ab/;()";
    char text[24];

    srand(7);
    for (unsigned i = 0; i < 100000; i++) {
        struct text why = {0};
        unsigned n = (unsigned)rand() % (sizeof text - 1);
        json_t *v =
            json_pack("{s:{s:i, s:i}, s:{s:i}, s:i}", "a", "a", 1, "b", 2, "b", "a", 3, "c", 4);

        for (unsigned k = 0; k < n; k++)
            text[k] = alphabet[(unsigned)rand() % 6];
        text[n] = 0;
        struct field *f = fields_parse(text, NULL, true, &why);
        assert_true(f || why.n);
        if (f) {
            fields_keep(v, f);
            assert_null(json_object_get(v, "c"));
            assert_true(!json_object_get(v, "a") || strchr(text, 'a'));
            assert_true(!json_object_get(v, "b") || strchr(text, 'b'));
        }
        fields_free(f);
        json_decref(v);
        text_free(&why);
    }
}

// --- pages --------------------------------------------------------------------------------------

served_test(lists_come_in_pages)
{
    assert_int_equal(ask("GET", PORT "?limit=1&fields=name", NULL), 200);
    assert_string_equal(reply.body.s, "{\"kamuee:port\":[{\"name\":\"p0\"}]}\n");
    assert_int_equal(ask("GET", PORT "?offset=1&fields=name", NULL), 200);
    assert_string_equal(reply.body.s, "{\"kamuee:port\":[{\"name\":\"p1\"}]}\n");
    assert_int_equal(ask("GET", PORT "?offset=5", NULL), 200);
    assert_string_equal(reply.body.s, "{\"kamuee:port\":[]}\n");
    assert_gets_only("state/interface?limit=1&fields=name",
                     "{\"kamuee:interface\":[{\"name\":\"p0\"}]}\n");
    assert_int_equal(ask("GET", PORT "=p0?limit=1", NULL), 400);
    assert_int_equal(ask("GET", PORT "?limit=0", NULL), 400);
    assert_int_equal(ask("GET", PORT "?offset=-1", NULL), 400);
}

served_test(a_page_of_a_long_table_is_no_walk_of_all_of_it)
{
    fake_rib_routes = 1000000;
    assert_gets_only(ROUTES "?offset=300&limit=2&fields=route/prefix",
                     TABLE "[{\"prefix\":\"1.1.44.0/24\"},{\"prefix\":\"1.1.45.0/24\"}]}]}\n");
    assert_true(fake_rib_rows < 1000);
    assert_int_equal(fake_rib_walks, 0);
}

served_test(a_query_that_cannot_be_is_refused_whatever_is_read)
{
    static const char *const resource[] = {
        "/restconf",
        "/restconf/yang-library-version",
        "/restconf/operations",
        "/restconf/data",
        PORT,
        DATA "state/port",
        DATA ROUTES "/route",
        "/restconf/data/ietf-restconf-monitoring:restconf-state",
        "/restconf/data/ietf-yang-library:yang-library",
        "/restconf/data/ietf-yang-library:modules-state",
        "/restconf/data/ietf-interfaces:interfaces",
    };
    static const char *const query[] = {"offset=-1", "limit=x", "depth=0", "fields=a(",
                                        "nonsense=1"};
    char target[128];

    for (size_t r = 0; r < sizeof resource / sizeof *resource; r++)
        for (size_t q = 0; q < sizeof query / sizeof *query; q++) {
            snprintf(target, sizeof target, "%s?%s", resource[r], query[q]);
            if (ask("GET", target, NULL) != 400)
                fail_msg("%s: %d %s", target, reply.status, reply.body.s);
        }
}

// --- models of the IETF --------------------------------------------------------------------------

served_test(state_is_there_in_the_models_of_the_ietf)
{
    assert_int_equal(ask("GET", "/restconf/data/ietf-interfaces:interfaces", NULL), 200);
    assert_said("{\"ietf-interfaces:interfaces\":{\"interface\":[{\"name\":\"p0\",\"type\":\"iana-"
                "if-type:ethernetCsmacd\"");
    assert_int_equal(
        ask("GET", "/restconf/data/ietf-interfaces:interfaces/interface=v40/statistics/in-octets",
            NULL),
        200);
    assert_string_equal(reply.body.s, "{\"ietf-interfaces:in-octets\":\"0\"}\n");
    assert_int_equal(
        ask("GET", "/restconf/data/ietf-interfaces:interfaces/interface=v40?fields=name%3Btype",
            NULL),
        200);
    assert_string_equal(
        reply.body.s,
        "{\"ietf-interfaces:interface\":[{\"name\":\"v40\",\"type\":\"iana-if-type:l2vlan\"}]}\n");
    assert_int_equal(
        ask("GET", "/restconf/data/ietf-interfaces:interfaces/interface=p0/ietf-ip:ipv4", NULL),
        200);
    assert_said("{\"ietf-ip:ipv4\":{\"forwarding\":true,\"mtu\":");
    assert_said("\"address\":[{\"ip\":\"10.0.0.254\",\"prefix-length\":24}]");
    assert_said("\"neighbor\":[{\"ip\":\"10.0.0.1\",\"link-layer-address\":\"02:00:00:00:00:09\","
                "\"origin\":\"dynamic\"}]");
    assert_int_equal(ask("GET",
                         "/restconf/data/ietf-interfaces:interfaces/interface=p0/ietf-ip:ipv6/"
                         "address=fe80%3A%3A1",
                         NULL),
                     200);
    assert_string_equal(reply.body.s, "{\"ietf-ip:address\":[{\"ip\":\"fe80::1\",\"prefix-length\":"
                                      "64,\"status\":\"preferred\"}]}\n");
    assert_int_equal(ask("GET",
                         "/restconf/data/ietf-interfaces:interfaces/interface=p0/ietf-ip:ipv6/"
                         "address=2001%3Adb8%3A%3A1/status",
                         NULL),
                     200);
    assert_string_equal(reply.body.s, "{\"ietf-ip:status\":\"tentative\"}\n");
    assert_int_equal(
        ask("GET",
            "/restconf/data/ietf-interfaces:interfaces/interface=p0/ietf-ip:ipv4/address=10.0.0.9",
            NULL),
        404);
    assert_int_equal(
        ask("GET", "/restconf/data/ietf-interfaces:interfaces/interface=v40/ietf-ip:ipv4", NULL),
        404);
    fake_rib_error = -EAGAIN;
    assert_int_equal(ask("GET", "/restconf/data/ietf-interfaces:interfaces", NULL), 429);
    fake_rib_error = 0;
    assert_int_equal(ask("GET", "/restconf/data/ietf-interfaces:interfaces/interface=v41", NULL),
                     404);
    assert_int_equal(ask("GET", "/restconf/data/ietf-interfaces:interfaces/interface/x", NULL),
                     404);
    assert_int_equal(ask("PUT", "/restconf/data/ietf-interfaces:interfaces", "{}"), 405);
    assert_int_equal(ask("GET", "/restconf/data/ietf-routing:routing/ribs/rib=default-ipv6", NULL),
                     200);
    assert_string_equal(reply.body.s, "{\"ietf-routing:rib\":[{\"name\":\"default-ipv6\",\"address-"
                                      "family\":\"ietf-routing:ipv6\",\"default-rib\":true}]}\n");
    assert_int_equal(ask("GET",
                         "/restconf/data/ietf-routing:routing/ribs/rib=default-ipv4/routes?limit=1",
                         NULL),
                     200);
    assert_string_equal(reply.body.s,
                        "{\"ietf-routing:routes\":{\"route\":[{\"ietf-ipv4-unicast-routing:"
                        "destination-prefix\":\"1.0.0.0/24\","
                        "\"route-preference\":20,\"next-hop\":{\"outgoing-interface\":\"p0\","
                        "\"ietf-ipv4-unicast-routing:next-hop-address\":\"10.0.0.1\"},"
                        "\"source-protocol\":\"kamuee-routing:bgp\",\"active\":[null]}]}}\n");
    assert_int_equal(
        ask("GET", "/restconf/data/ietf-routing:routing/ribs/rib=nowhere-ipv4/routes", NULL), 404);
    assert_int_equal(ask("GET", "/restconf/data/ietf-routing:routing/ribs/rib=x/routes", NULL),
                     404);
    assert_int_equal(ask("GET", "/restconf/data/ietf-yang-library:yang-library", NULL), 200);
    assert_said("ietf-ipv4-unicast-routing");
}

// --- a large configuration ----------------------------------------------------------------------

static json_t *got(const char *target)
{
    assert_int_equal(ask("GET", target, NULL), 200);
    json_t *j = json_loads(text_str(&reply.body), 0, NULL);
    if (!j)
        fail_msg("%s: no JSON: %.300s", target, text_str(&reply.body));
    return j;
}

static void same(json_t *a, json_t *b, const char *what)
{
    if (!json_equal(a, b)) {
        char *x = json_dumps(a, JSON_COMPACT | JSON_ENCODE_ANY),
             *y = json_dumps(b, JSON_COMPACT | JSON_ENCODE_ANY);
        fail_msg("%s: %.500s\nis not %.500s", what, x, y);
    }
    json_decref(a);
    json_decref(b);
}

static json_t *entry(json_t *all, const char *list, size_t i)
{
    return json_array_get(json_object_get(all, list), i);
}

// It is printed aside: the answer is complete, for the whole and for any part.
served_test(a_large_configuration_comes_whole_and_in_parts)
{
    struct text t = {0};

    text_printf(&t, "{\"kamuee:input\":{\"line\":[");
    for (unsigned i = 0; i < 3000; i++)
        text_printf(&t,
                    "%s\"set address-set s prefix 198.18.%u.%u\",\"set acl big rule %u permit tcp "
                    "from 10.0.0.0/8 to any port %u\"",
                    i ? "," : "", i >> 8, i & 255, i + 1, i + 1);
    text_printf(&t, ",\"set acl small rule 1 deny udp from any to any\"]}}");
    assert_int_equal(ask("POST", "/restconf/operations/kamuee:configure", t.s), 200);
    assert_int_equal(call("configuration", "\"format\":\"json\""), 200);
    json_t *out = json_loads(reply.body.s, 0, NULL),
           *text = json_object_get(json_object_get(out, "kamuee:output"), "text");
    json_t *all = json_loads(json_string_value(text), 0, NULL),
           *config = got("/restconf/data?content=config");
    assert_int_equal(json_array_size(json_object_get(entry(all, "kamuee:acl", 0), "rule")), 3000);
    same(json_incref(json_object_get(config, "ietf-restconf:data")), json_incref(all),
         "the datastore");
    same(got(DATA "acl"), json_pack("{s:O}", "kamuee:acl", json_object_get(all, "kamuee:acl")),
         "a list");
    same(got(DATA "acl=big"), json_pack("{s:[O]}", "kamuee:acl", entry(all, "kamuee:acl", 0)),
         "an entry");
    same(got(DATA "acl=big/rule"),
         json_pack("{s:O}", "kamuee:rule", json_object_get(entry(all, "kamuee:acl", 0), "rule")),
         "rules");
    same(got(DATA "acl=big/rule?offset=2998&limit=5"),
         json_pack("{s:[O,O]}", "kamuee:rule", entry(entry(all, "kamuee:acl", 0), "rule", 2998),
                   entry(entry(all, "kamuee:acl", 0), "rule", 2999)),
         "a page");
    same(got(DATA "acl?offset=1"), json_pack("{s:[O]}", "kamuee:acl", entry(all, "kamuee:acl", 1)),
         "the second");
    same(got(DATA "acl?offset=7"), json_pack("{s:[]}", "kamuee:acl"), "none");
    same(got(DATA "acl?fields=name"),
         json_pack("{s:[{s:s},{s:s}]}", "kamuee:acl", "name", "big", "name", "small"), "names");
    json_t *numbers = got(DATA "acl=big?fields=rule(number)");
    assert_int_equal(json_array_size(json_object_get(entry(numbers, "kamuee:acl", 0), "rule")),
                     3000);
    same(json_incref(entry(entry(numbers, "kamuee:acl", 0), "rule", 1234)),
         json_pack("{s:i}", "number", 1235), "a number");
    same(got(DATA "acl=big?depth=1"), json_pack("{s:[{}]}", "kamuee:acl"), "a level");
    json_t *two = got(DATA "acl=big?depth=2");
    same(json_incref(entry(entry(two, "kamuee:acl", 0), "rule", 2999)), json_object(),
         "the second level");
    same(got("/restconf/data?depth=1&content=config"), json_pack("{s:{}}", "ietf-restconf:data"),
         "nothing of the datastore");
    json_decref(out), json_decref(all), json_decref(config), json_decref(numbers), json_decref(two);
    text_free(&t);
}

served_test(a_large_configuration_is_read_as_it_was)
{
    struct text t = {0};
    int fd;

    text_printf(&t, "{\"kamuee:input\":{\"line\":[");
    for (unsigned i = 0; i < 6000; i++)
        text_printf(&t, "%s\"set acl big rule %u permit tcp from 10.0.0.0/8 to any port %u\"",
                    i ? "," : "", i + 1, i + 1);
    text_printf(&t, "]}}");
    assert_int_equal(ask("POST", "/restconf/operations/kamuee:configure", t.s), 200);
    text_clear(&t);
    fd = client_connect(sock);
    text_printf(&t,
                "GET /restconf/data/kamuee:acl HTTP/1.1\r\nHost: k\r\nConnection: close\r\n\r\n");
    client_send(loop, fd, t.s, t.n);
    event_base_loop(loop, EVLOOP_NONBLOCK);
    assert_int_equal(ask("DELETE", DATA "acl=big", NULL),
                     204); // answered in between
    assert_true(client_read(loop, fd, &reply));
    json_t *j = json_loads(reply.body.s, 0, NULL);
    assert_int_equal(json_array_size(json_object_get(entry(j, "kamuee:acl", 0), "rule")), 6000);
    json_decref(j);
    close(fd);
    for (unsigned i = 0; i < 3; i++) { // a client that leaves in between leaves nothing behind
        fd = client_connect(sock);
        client_send(loop, fd, t.s, t.n);
        event_base_loop(loop, EVLOOP_NONBLOCK);
        close(fd);
    }
    assert_get("acl", 200);
    text_free(&t);
}
