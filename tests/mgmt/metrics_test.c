// SPDX-License-Identifier: BSD-3-Clause
// metrics_test.c - GET /metrics from a client's side: formats, escapes, contents
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "acl_manager/acl_query.h"
#include "mgmt/feature.h"
#include "restconf/metric.h"
#include "restconf/metrics.h"
#include "fake/fake_managers.h"
#include "fake/fake_queue.h"
#include "fake/fake_rib.h"
#include "test_server.h"
#include "table/counter.h"

unit_test(the_client_chooses_the_format)
{
    static const struct {
        const char *accept;
        bool openmetrics;
    } row[] = {
        {NULL, false},
        {"*/*", false},
        {"text/plain", false},
        {"application/openmetrics-text", true},
        {"application/openmetrics-text;version=1.0.0,application/"
         "openmetrics-text;version=0.0.1;q=0.75,"
         "text/plain;version=0.0.4;q=0.5,*/*;q=0.1",
         true}, // Prometheus 2.42
        {"text/plain;q=0.9, application/openmetrics-text; version=1.0.0; q=0.8", false},
        {"text/html, application/openmetrics-text;q=0", false},
        {"Application/OpenMetrics-Text ; q=0.3, text/*;q=0.2", true},
        {"application/openmetrics-textual", false},
        {";;,,q=1,;q", false},
    };

    for (size_t i = 0; i < sizeof row / sizeof *row; i++)
        if (metrics_prefers_openmetrics(row[i].accept) != row[i].openmetrics)
            fail_msg("Accept: %s", row[i].accept ? row[i].accept : "(none)");
}

unit_test(labels_are_escaped_and_types_named)
{
    struct metrics m = {.openmetrics = true};

    metric_family(&m, METRIC_COUNTER, "x_packets", "packets", "Help.");
    metric_u64(&m, UINT64_MAX, "a", "q\"b\\n\nz", NULL);
    metric_family(&m, METRIC_GAUGE, "y", "", "Help.");
    metric_real(&m, -0.5, NULL);
    metric_end(&m);
    assert_string_equal(m.text.s,
                        "# TYPE kamuee_x_packets counter\n# UNIT kamuee_x_packets packets\n# HELP "
                        "kamuee_x_packets Help.\n"
                        "kamuee_x_packets_total{a=\"q\\\"b\\\\n\\\\u000az\"} 18446744073709551615\n"
                        "# TYPE kamuee_y gauge\n# HELP kamuee_y Help.\nkamuee_y -0.5\n# EOF\n");
    text_clear(&m.text);
    m.openmetrics = false;
    metric_family(&m, METRIC_COUNTER, "x_packets", "packets", "Help.");
    metric_u64(&m, 1, NULL);
    metric_family(&m, METRIC_INFO, "z", "", "Help.");
    metric_u64(&m, 1, "a", "b", NULL);
    metric_end(&m);
    assert_string_equal(
        m.text.s,
        "# TYPE kamuee_x_packets_total counter\n# HELP kamuee_x_packets_total "
        "Help.\nkamuee_x_packets_total 1\n"
        "# TYPE kamuee_z_info gauge\n# HELP kamuee_z_info Help.\nkamuee_z_info{a=\"b\"} 1\n");
    text_free(&m.text);
}

// A list with a rule of its own and a file, and a set.
unit_test(lists_and_sets_have_metrics)
{
    struct acl_list_row list = {.name = "edge",
                                .otherwise = ACL_DENY,
                                .bytes = 4096,
                                .unmatched = {5, 300},
                                .rules = 1000001,
                                .total = {[ACL_DENY] = {1, 60},
                                          [ACL_REJECT] = {7, 420},
                                          [ACL_REDIRECTS] = {2, 2000},
                                          [ACL_DEFAULT] = {5, 300}}};
    struct acl_set_row set = {.name = "bad", .members = {3, 4}, .bytes = 128};
    struct acl_counter_row rule = {0, 10, ACL_REJECT, {7, 420}};
    struct acl_answer a = {
        .list = {&list, 1, 1}, .set = {&set, 1, 1}, .counter = {&rule, 1, 1}, .rules = 1};
    static const char *const said[] = {
        "kamuee_acl_building 0\n",
        "kamuee_acl_packets_total{acl=\"edge\",verdict=\"permit\"} 0\n",
        "kamuee_acl_packets_total{acl=\"edge\",verdict=\"deny\"} 1\n",
        "kamuee_acl_packets_total{acl=\"edge\",verdict=\"reject\"} 7\n",
        "kamuee_acl_packets_total{acl=\"edge\",verdict=\"default\"} 5\n",
        "kamuee_acl_bytes_total{acl=\"edge\",verdict=\"redirect\"} 2000\n",
        "kamuee_acl_rules{acl=\"edge\"} 1000001\n",
        "kamuee_acl_memory_bytes{acl=\"edge\"} 4096\n",
        "kamuee_acl_unmatched_packets_total{acl=\"edge\",action=\"deny\"} 5\n",
        "kamuee_acl_unmatched_bytes_total{acl=\"edge\",action=\"deny\"} 300\n",
        "kamuee_acl_rule_packets_total{acl=\"edge\",rule=\"10\",action=\"reject\"} 7\n",
        "kamuee_acl_rule_bytes_total{acl=\"edge\",rule=\"10\",action=\"reject\"} 420\n",
        "kamuee_acl_rules_left_out 0\n",
        "kamuee_address_set_members{set=\"bad\",family=\"ipv6\"} 4\n",
        "kamuee_address_set_memory_bytes{set=\"bad\"} 128\n",
    };
    static struct acl_counter_row many[ACL_COUNTED_MAX];
    struct metrics m = {0};

    features[FEATURE_acl]->metrics->write(&m, &a);
    for (size_t i = 0; i < sizeof said / sizeof *said; i++)
        assert_has(m.text.s, said[i]);
    text_clear(&m.text);
    a = (struct acl_answer){.list = {&list, 1, 1},
                            .counter = {many, ACL_COUNTED_MAX, ACL_COUNTED_MAX},
                            .rules = ACL_COUNTED_MAX + 9};
    features[FEATURE_acl]->metrics->write(&m, &a);
    assert_has(m.text.s, "kamuee_acl_rules_left_out 9\n");
    assert_null(strstr(m.text.s, "kamuee_address_set"));
    text_clear(&m.text);
    features[FEATURE_acl]->metrics->write(&m, NULL);
    assert_has(m.text.s, "kamuee_acl_building 1\n");
    assert_null(strstr(m.text.s, "kamuee_acl_rules"));
    text_free(&m.text);
}

served_test(members_of_a_lag_have_their_states)
{
    static const char *const said[] = {
        "kamuee_lag_members{lag=\"lag0\"} 2\n",
        "kamuee_lag_active_members{lag=\"lag0\"} 1\n",
        "kamuee_lag_member_status{lag=\"lag0\",port=\"p0\",status=\"active\"} 1\n",
        "kamuee_lag_member_status{lag=\"lag0\",port=\"p1\",status=\"active\"} 0\n",
        "kamuee_lag_member_status{lag=\"lag0\",port=\"p1\",status=\"inactive\"} 1\n",
        "kamuee_lag_member_changes_total{lag=\"lag0\",port=\"p1\"} 7\n",
        "kamuee_lag_member_lacp_receive{lag=\"lag0\",port=\"p0\",receive=\"current\"} 1\n",
        "kamuee_lag_member_lacp_receive{lag=\"lag0\",port=\"p1\",receive=\"disabled\"} 1\n",
        "kamuee_lag_member_lacp_mux{lag=\"lag0\",port=\"p1\",mux=\"detached\"} 1\n",
    };
    struct metrics m = {0};

    fake_lag = true;
    fake_missing = 1;
    features[FEATURE_lag]->metrics->write(&m, NULL);
    fake_lag = false;
    fake_missing = 0;
    for (size_t i = 0; i < sizeof said / sizeof *said; i++)
        assert_has(m.text.s, said[i]);
    text_free(&m.text);
}

// Unused classes have no series.
served_test(queues_have_metrics_of_what_was_used)
{
    static const char *const said[] = {
        "kamuee_queue_rate_bytes_per_second{port=\"p0\"} 125000000\n",
        "kamuee_queue_configured_rate_bytes_per_second{port=\"p0\"} 125000000\n",
        "kamuee_queue_lowered{port=\"p0\"} 0\n",
        "kamuee_queue_limit_packets{port=\"p0\"} 16384\n",
        "kamuee_queue_device_refused_bursts_total{port=\"p0\"} 5\n",
        "kamuee_queue_guarantee_bytes_per_second{port=\"p0\",vr=\"default\"} 12500000\n",
        "kamuee_queue_maximum_bytes_per_second{port=\"p0\",vr=\"default\"} 62500000\n",
        "kamuee_queue_guaranteed_bytes_total{port=\"p0\",vport=\"v40\"} 9000\n",
        "kamuee_queue_sent_packets_total{port=\"p0\",vr=\"default\",class=\"1\"} 1099511627776\n",
        "kamuee_queue_sent_bytes_total{port=\"p0\",vport=\"v40\",class=\"6\"} 100000\n",
        "kamuee_queue_marked_packets_total{port=\"p0\",vr=\"default\",class=\"6\"} 6\n",
        "kamuee_queue_waiting_packets{port=\"p0\",vr=\"default\",class=\"6\"} 7\n",
        "kamuee_queue_waiting_bytes{port=\"p0\",vr=\"default\",class=\"6\"} 7000\n",
        "kamuee_queue_delay_median_seconds{port=\"p0\",vr=\"default\",class=\"6\"} 0.005\n",
        "kamuee_queue_delay_p99_seconds{port=\"p0\",vr=\"default\",class=\"6\"} 0.009",
        "kamuee_queue_delay_max_seconds{port=\"p0\",vr=\"default\",class=\"6\"} 0.012\n",
        "kamuee_queue_dropped_packets_total{port=\"p0\",reason=\"port-full\"} 3\n",
        "kamuee_queue_dropped_packets_total{port=\"p0\",reason=\"ring-full\"} 4\n",
        "kamuee_queue_dropped_packets_total{port=\"p0\",vr=\"default\",class=\"6\","
        "reason=\"class-full\"} 1\n",
        "kamuee_queue_dropped_packets_total{port=\"p0\",vr=\"default\",class=\"6\","
        "reason=\"codel\"} 4\n",
        "kamuee_queue_dropped_packets_total{port=\"p0\",vport=\"v40\",class=\"6\","
        "reason=\"flow\"} 6\n",
    };
    struct metrics m = {0};

    features[FEATURE_queue]->metrics->write(&m, NULL);
    assert_null(m.text.s); // no port has one
    fake_queue_shape("p0", "v40");
    features[FEATURE_queue]->metrics->write(&m, NULL);
    fake_queue_reset();
    for (size_t i = 0; i < sizeof said / sizeof *said; i++)
        assert_has(m.text.s, said[i]);
    assert_null(strstr(m.text.s, "class=\"2\""));
    text_free(&m.text);
}

served_test(every_thing_has_its_metric)
{
    static const char *const said[] = {
        "kamuee_port_rx_packets_total{port=\"p0\"} 1099511627776\n",
        "kamuee_queue_rx_packets_total{port=\"p0\",queue=\"1\"} 0\n",
        "kamuee_interface_rx_bytes_total{interface=\"v40\",vr=\"default\"} 0\n",
        "kamuee_thread_polls_total{thread=\"forwarder/0\"} 0\n",
        "kamuee_thread_burst_packets_bucket{thread=\"forwarder/0\",le=\"+Inf\"} 0\n",
        "kamuee_stage_cycles_total{thread=\"forwarder/0\",stage=\"ip4_fwd\"} 0\n",
        "kamuee_drop_packets_total{reason=\"ip4_no_route\",severity=\"normal\"} 3\n",
        "kamuee_punt_passed_packets_total{class=\"bfd\"} 0\n",
        "kamuee_icmp_errors_total{result=\"sent\"} 0\n",
        "kamuee_ledger_imbalance_packets -3\n",
        "kamuee_fib_routes{vr=\"default\",family=\"ipv4\"} ",
        "kamuee_rib_protocol_routes{vr=\"default\",family=\"ipv4\",protocol=\"bgp\"} 901890\n",
        "kamuee_netlink_overruns_total{vr=\"default\"} ",
        "kamuee_fib_divergence_prefixes_total 7\n",
        "kamuee_nexthops_max 65536\n",
        "kamuee_prefix_packets_total{vr=\"default\",prefix=\"192.0.2.0/24\"} 7\n",
        "kamuee_prefix_bytes_total{vr=\"default\",prefix=\"2001:db8::/32\"} 0\n",
    };

    counter_mine()->drop[DROP_IP4_NO_ROUTE] = 3;
    assert_int_equal(ask("GET", "/metrics", NULL), 200);
    counter_mine()->drop[DROP_IP4_NO_ROUTE] = 0;
    for (size_t i = 0; i < sizeof said / sizeof *said; i++)
        assert_said(said[i]);
    assert_has(reply.head.s, "text/plain; version=0.0.4; charset=utf-8");
    assert_null(strstr(reply.body.s, "# EOF"));
    assert_int_equal(ask("POST", "/metrics", NULL), 405);
}

served_test(a_busy_rib_manager_is_an_error_and_a_client_that_leaves_none)
{
    static const char request[] = "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n";

    fake_rib_error = -11;
    assert_int_equal(ask("GET", "/metrics", NULL), 429);
    fake_rib_error = 0;
    fake_rib_silent = true;
    int fd = client_connect(sock);
    client_send(loop, fd, request, sizeof request - 1);
    event_base_loop(loop, EVLOOP_NONBLOCK);
    close(fd);
    event_base_loop(loop, EVLOOP_NONBLOCK);
    fake_rib_silent = false;
    fake_rib_answer();
    for (int k = 0; k < 20; k++)
        event_base_loop(loop, EVLOOP_NONBLOCK);
    assert_int_equal(ask("GET", "/metrics", NULL), 200);
}
