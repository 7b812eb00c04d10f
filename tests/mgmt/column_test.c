// SPDX-License-Identifier: BSD-3-Clause
// column_test.c - a table of columns: JSON, metrics and saved numbers of a struct
#include <stdint.h>
#include <stdlib.h>

#include "restconf/column.h"
#include "tests/unit.h"

struct row {
    uint64_t rx_missed, cycles, since_ns;
    int64_t imbalance;
    uint32_t limit;
    uint16_t mtu;
    uint8_t flags;
    int core;
    bool up, slow;
    char name[8];
    const char *why;
    uint8_t mac[6];
    struct ip_addr gateway;
    struct prefix prefix;
};

static const char *const rates[] = {"fast", "slow"};
static const struct column columns[] = {
    COLUMN(struct row, name, "name"),
    COLUMN(struct row, why, "why", .any = true),
    COUNTER(struct row, rx_missed, "rx-missed", "packets", "Missed."),
    COUNTER(struct row, cycles, "busy", "seconds", "Busy.", .family = "busy_seconds",
            .per_unit = 1e9, .any = true),
    COLUMN(struct row, since_ns, "since", .time = true),
    GAUGE(struct row, imbalance, "imbalance", "", "Difference."),
    GAUGE(struct row, limit, NULL, "", "Limit.", .family = "limit"),
    COLUMN(struct row, mtu, "mtu", .wide = true),
    COLUMN(struct row, cycles, "cycles", .narrow = true),
    COLUMN(struct row, flags, "sflow", .bit = 2),
    COLUMN(struct row, flags, "ipfix", .bit = 4),
    COLUMN(struct row, core, "core"),
    COLUMN(struct row, up, "up"),
    COLUMN_WORD(struct row, slow, "rate", rates),
    COLUMN(struct row, mac, "mac"),
    COLUMN(struct row, gateway, "gateway", .any = true),
    COLUMN(struct row, prefix, "prefix"),
    {0}};

static const struct row one = {.rx_missed = 7,
                               .imbalance = -3,
                               .limit = 9,
                               .mtu = 1500,
                               .flags = 4,
                               .core = -1,
                               .slow = true,
                               .name = "p\"0",
                               .why = "",
                               .mac = {2, 0, 0, 0, 0, 1},
                               .prefix = {.family = IP4, .len = 8, .b = {10}}};

unit_test(each_type_is_written_as_the_schema_wants_it)
{
    struct text t = {0};

    columns_object(&(struct jwrite){.t = &t}, NULL, columns, &one);
    assert_string_equal(t.s, "{\"name\":\"p\\\"0\",\"rx-missed\":\"7\",\"since\":"
                             "\"1970-01-01T00:00:00.000Z\",\"imbalance\":\"-3\",\"mtu\":\"1500\","
                             "\"cycles\":0,\"sflow\":false,\"ipfix\":true,\"core\":-1,\"up\":false,"
                             "\"rate\":\"slow\",\"mac\":\"02:00:00:00:00:01\",\"prefix\":"
                             "\"10.0.0.0/8\"}");
    text_free(&t);
}

unit_test(a_family_is_named_by_prefix_leaf_and_unit)
{
    static const struct row busy = {.cycles = 2500000000, .imbalance = -3, .limit = 9};
    struct metrics m = {0};

    for (const struct column *c = columns; (c = column_family(&m, "port", c)); c++) {
        column_metric(&m, c, &one, "port", "p0", NULL);
        column_metric(&m, c, &busy, "port", "p1", NULL);
    }
    assert_string_equal(m.text.s,
                        "# TYPE kamuee_port_rx_missed_packets_total counter\n"
                        "# HELP kamuee_port_rx_missed_packets_total Missed.\n"
                        "kamuee_port_rx_missed_packets_total{port=\"p0\"} 7\n"
                        "kamuee_port_rx_missed_packets_total{port=\"p1\"} 0\n"
                        "# TYPE kamuee_port_busy_seconds_total counter\n"
                        "# HELP kamuee_port_busy_seconds_total Busy.\n"
                        "kamuee_port_busy_seconds_total{port=\"p1\"} 2.5\n"
                        "# TYPE kamuee_port_imbalance gauge\n"
                        "# HELP kamuee_port_imbalance Difference.\n"
                        "kamuee_port_imbalance{port=\"p0\"} -3\n"
                        "kamuee_port_imbalance{port=\"p1\"} -3\n"
                        "# TYPE kamuee_port_limit gauge\n# HELP kamuee_port_limit Limit.\n"
                        "kamuee_port_limit{port=\"p0\"} 9\nkamuee_port_limit{port=\"p1\"} 9\n");
    text_free(&m.text);
}

unit_test(saved_words_and_texts_come_back_and_unknown_or_long_ones_are_refused)
{
    static const struct column saved[] = {COLUMN(struct row, name, "name"),
                                          COLUMN_WORD(struct row, slow, "rate", rates),
                                          COLUMN(struct row, gateway, "gateway"),
                                          COLUMN(struct row, prefix, "prefix"),
                                          {0}};
    static const char *const wrong[] = {
        "{\"name\":\"12345678\",\"rate\":\"slow\",\"gateway\":\"\",\"prefix\":\"\"}",
        "{\"name\":7,\"rate\":\"slow\",\"gateway\":\"\",\"prefix\":\"\"}",
        "{\"name\":\"p0\",\"rate\":\"slower\",\"gateway\":\"\",\"prefix\":\"\"}",
        "{\"name\":\"p0\",\"rate\":2,\"gateway\":\"\",\"prefix\":\"\"}",
        "{\"name\":\"p0\",\"rate\":\"slow\",\"gateway\":\"10.0.0\",\"prefix\":\"\"}",
        "{\"name\":\"p0\",\"rate\":\"slow\",\"gateway\":\"\"}"};
    struct row back = {0};
    json_t *o = columns_save(saved, &one);
    char *text = json_dumps(o, JSON_COMPACT);

    assert_string_equal(text, "{\"name\":\"p\\\"0\",\"rate\":\"slow\",\"gateway\":\"\","
                              "\"prefix\":\"10.0.0.0/8\"}");
    assert_true(columns_restore(o, saved, &back));
    assert_string_equal(back.name, one.name);
    assert_true(back.slow);
    assert_int_equal(back.gateway.family, 0);
    assert_memory_equal(&back.prefix, &one.prefix, sizeof one.prefix);
    free(text);
    json_decref(o);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        o = json_loads(wrong[i], 0, NULL);
        assert_false(columns_restore(o, saved, &back));
        json_decref(o);
    }
}

unit_test(saved_numbers_come_back_and_impossible_ones_are_refused)
{
    static const struct column saved[] = {
        COLUMN(struct row, rx_missed, "rx-missed"),
        COLUMN(struct row, limit, "limit", .saved = "old-name"),
        COLUMN(struct row, cycles, "cycles", .later = true),
        {0}};
    struct row back = {.cycles = 7};
    json_t *o = columns_save(saved, &one);

    assert_int_equal(json_integer_value(json_object_get(o, "old-name")), 9);
    assert_true(columns_restore(o, saved, &back));
    assert_int_equal(back.rx_missed, 7);
    assert_int_equal(back.limit, 9);
    assert_int_equal(back.cycles, 0);
    json_object_del(o, "cycles");
    back.cycles = 7;
    assert_true(columns_restore(o, saved, &back));
    assert_int_equal(back.cycles, 0);
    json_object_set_new(o, "old-name", json_integer(1ll << 32));
    assert_false(columns_restore(o, saved, &back));
    json_object_set_new(o, "old-name", json_integer(-1));
    assert_false(columns_restore(o, saved, &back));
    json_object_set_new(o, "old-name", json_string("9"));
    assert_false(columns_restore(o, saved, &back));
    json_object_del(o, "old-name");
    assert_false(columns_restore(o, saved, &back));
    json_decref(o);
}
