// SPDX-License-Identifier: BSD-3-Clause
// event_test.c - the event stream as a client reads it
//
// A client reads /restconf/streams/events while fake managers report changes. Each notification
// must be valid in the schema.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fake/fake_managers.h"
#include "event/event.h"
#include "test_server.h"
#include "yang/yang.h"

// Each received notification, parsed by libyang.
static void all_are_as_the_schema_says(unsigned at_least)
{
    unsigned n = 0;

    for (char *p = heard.s; (p = strstr(p, "data: ")); n++) {
        json_error_t why;
        json_t *event = json_loads(p + 6, JSON_DISABLE_EOF_CHECK, &why);
        json_t *inner = json_object_get(event, "ietf-restconf:notification");
        struct lyd_node *tree = NULL, *op = NULL;
        struct ly_in *in = NULL;

        if (!inner)
            fail_msg("not a notification: %s: %.200s", why.text, p);
        assert_true(json_is_string(json_object_get(inner, "eventTime")));
        json_object_del(inner, "eventTime");
        char *s = json_dumps(inner, 0);
        ly_in_new_memory(s, &in);
        if (lyd_parse_op(yang_ctx, NULL, in, LYD_JSON, LYD_TYPE_NOTIF_YANG, &tree, &op))
            fail_msg("%s: %s", ly_errmsg(yang_ctx), s);
        lyd_free_all(tree);
        ly_in_free(in, 0);
        free(s);
        json_decref(event);
        p++;
    }
    assert_true(n >= at_least);
}

served_test(links_neighbors_routes_and_commits_are_told)
{
    int fd = start_listening("");

    fake_link("p0", false);
    hear(fd, "{\"port\":\"p0\",\"status\":\"down\"}");
    fake_member("p1", "active", "");
    hear(fd,
         "\"kamuee:lag-member-change\":{\"lag\":\"lag0\",\"port\":\"p1\",\"status\":\"active\"}");
    fake_member("p1", "inactive", "link down");
    hear(fd, "\"status\":\"inactive\",\"reason\":\"link down\"}");
    hear(fd, "\"kamuee:neighbor-change\":{\"vr\":\"default\",\"interface\":\"p0\",\"address\":\"10."
             "0.0.1\",\"status\":\"resolved\"");
    hear(fd, "\"kamuee:route-change\":{\"time\":");
    hear(fd, "\"kamuee:events-missed\":{\"count\":\"3\"}");
    assert_int_equal(ask("PATCH", DATA "port=p0", "{\"kamuee:port\":[{\"mtu\":1400}]}"), 204);
    hear(fd, "\"change\":[\"set port p0 mtu 1400\"]");
    all_are_as_the_schema_says(7);
    leave(fd);
}

served_test(a_filter_lets_through_what_it_names)
{
    int fd = start_listening("?filter=%2Fkamuee%3Alink-change%5Bport%3D%27p1%27%5D");

    fake_link("p0", true);
    fake_link("p1", true);
    hear(fd, "\"p1\"");
    assert_null(strstr(heard.s, "\"p0\""));
    leave(fd);
}

served_test(what_is_no_filter_is_refused)
{
    assert_int_equal(ask("GET", "/restconf/streams/events?filter=%5B%5B", NULL), 400);
    assert_said("'filter': syntax error at '[['");
    assert_said("/kamuee:link-change[port='p0']");
    assert_int_equal(
        ask("GET", "/restconf/streams/events?start-time=2026-01-01T00%3A00%3A00Z", NULL), 400);
    assert_int_equal(ask("POST", "/restconf/streams/events", NULL), 405);
    assert_int_equal(ask("GET", "/restconf/data/ietf-restconf-monitoring:restconf-state", NULL),
                     200);
    assert_said("/restconf/streams/events");
    assert_false(event_wanted());
}

served_test(no_filter_is_evaluated_as_xpath)
{
    static const struct {
        const char *filter, *says;
    } refused[] = {
        {"%2Fkamuee%3Aroute-change%5B%2F%2F*%5Bcount(%2F%2F*)%3E99%5D%5D",
         "expected event names with tests"},
        {"%2F%2F*", "expected event names with tests"},
        {"%2Fkamuee%3Alink-change%5Bport!%3D'p0'%5D", "expected event names with tests"},
        {"%2Fkamuee%3Alink-change%5Bport%3D'p0'", "ends too early"},
        {"%2Fkamuee%3Aalarm", "there is no event 'alarm', expected one of link-change, "
                              "interface-change, lag-member-change, neighbor-change"},
        {"%2Fkamuee%3Alink-change%5Bprot%3D'p0'%5D",
         "has no leaf 'prot', expected one of port, status"},
        {"%2Fkamuee%3Alink-change%5Bstatus%3D'dwn'%5D", "'status' is 'dwn', expected up or down"},
        {"%2Fkamuee%3Aroute-change%5Bfrom%3D''%5D", "has no leaf 'from'"},
    };
    struct text t = {0};

    for (unsigned i = 0; i < sizeof refused / sizeof *refused; i++) {
        text_clear(&t);
        text_printf(&t, "/restconf/streams/events?filter=%s", refused[i].filter);
        assert_int_equal(ask("GET", t.s, NULL), 400);
        assert_said(refused[i].says);
    }
    text_clear(&t);
    text_printf(&t, "/restconf/streams/events?filter=%%2Fkamuee%%3Alink-change");
    for (unsigned i = 0; i < 33; i++)
        text_printf(&t, "%%5Bport%%3D'p%u'%%5D", i);
    assert_int_equal(ask("GET", t.s, NULL), 400);
    assert_said("too many leaves, expected at most 32");
    for (unsigned i = 0; i < 100; i++)
        text_printf(&t, "%%5Bport%%3D'p%u'%%5D", i);
    assert_int_equal(ask("GET", t.s, NULL), 400);
    assert_said("is too long, expected at most 1024 bytes");
    text_free(&t);
}

served_test(a_filter_of_several_events_and_leaves)
{
    int fd = start_listening(
        "?filter=%2Fkamuee%3Aconfiguration-change%5Blines%3D%221%22%5D%20%7C%20"
        "%2Fkamuee%3Alink-change%5B%20port%20%3D'p1'%20and%20kamuee%3Astatus%3D%22up%22%5D");

    fake_link("p0", true);
    fake_link("p1", false);
    assert_int_equal(ask("PATCH", DATA "port=p0", "{\"kamuee:port\":[{\"mtu\":1400}]}"), 204);
    hear(fd, "set port p0 mtu 1400");
    fake_link("p1", true);
    hear(fd, "\"status\":\"up\"");
    assert_null(strstr(heard.s, "\"p0\""));
    assert_null(strstr(heard.s, "\"down\""));
    leave(fd);
}

served_test(a_listener_that_does_not_read_is_told_what_it_missed)
{
    const unsigned many = 20000;
    int fd = start_listening("?filter=%2Fkamuee%3Alink-change");
    unsigned told = 0, missed = 0;

    for (unsigned i = 0; i < many; i++)
        fake_link("p0", i & 1);
    hear(fd, "\"count\":\"");
    hear(fd, "\"}}}\n\n\r\n");
    for (char *p = heard.s; (p = strstr(p, "link-change")); p++)
        told++;
    for (char *p = heard.s; (p = strstr(p, "\"count\":\"")); p++)
        missed += (unsigned)strtoul(p + 9, NULL, 10);
    assert_int_equal(told + missed, many);
    assert_true(missed > many / 2);
    leave(fd);
}

served_test(as_many_listeners_as_there_is_room_for)
{
    int fd[EVENT_LISTENERS_MAX];

    for (unsigned i = 0; i < EVENT_LISTENERS_MAX; i++)
        fd[i] = start_listening("");
    assert_int_equal(ask("GET", "/restconf/streams/events", NULL), 409);
    for (unsigned i = 1; i < EVENT_LISTENERS_MAX; i++)
        close(fd[i]);
    leave(fd[0]);
}

served_test(the_server_stops_while_somebody_listens)
{
    int fd = start_listening("");

    server_stop(state);
    assert_false(event_wanted());
    close(fd);
    server_start(state);
}
