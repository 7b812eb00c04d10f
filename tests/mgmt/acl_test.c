// SPDX-License-Identifier: BSD-3-Clause
// acl_test.c - access lists seen by a RESTCONF client: commits refused by acl_manager; logged
// packets
#include <stdint.h>
#include <rte_ring.h>
#include <rte_ring_elem.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/ip.h"
#include "fake/fake_managers.h"
#include "feature/acl.h"
#include "test_server.h"
#include "table/acl.h"
#include "table/acl_log.h"

#define EDGE "set port p1 mtu 1400\nset acl edge rule 10 deny ip\nset interface p0 acl in edge"

static void state_of_all(struct text *t)
{
    text_clear(t);
    fake_state(t);
    fake_acl_state(t);
}

// Nothing of the commit takes effect, not even its other lines; the next commit starts afresh.
served_test(refused_commit_says_why_and_changes_nothing)
{
    static const char *const reasons[] = {
        "acl edge: needs about 310 MiB, and 120 of the 256 MiB for access lists and address sets "
        "are in use; 'set acl-limit memory 430' would do",
        "acl edge: building 4000000 rules takes about 80 s, more than the 60 s of 'set acl-limit "
        "build-time'",
    };
    struct text before = {0}, after = {0};
    char *running = strdup(running_text());

    state_of_all(&before);
    for (unsigned i = 0; i < 2; i++) {
        fake_acl_refuse(reasons[i]);
        assert_int_equal(configure(EDGE), 400);
        assert_said(reasons[i]);
        state_of_all(&after);
        assert_string_equal(after.s, before.s);
        assert_string_equal(running_text(), running);
    }
    fake_acl_refuse("acl edge: /x:3: unknown action 'permti'\nacl edge: a second sentence");
    assert_int_equal(configure(EDGE), 400);
    assert_said("/x:3: unknown action 'permti'");
    assert_said("a second sentence");
    fake_acl_refuse(NULL);
    assert_int_equal(configure(EDGE), 200);
    assert_has(running_text(), "set acl edge rule 10 deny ip");
    state_of_all(&after);
    assert_has(after.s, "interface p0 acl 1 0");
    text_free(&before);
    text_free(&after);
    free(running);
}

// --- logged packets ------------------------------------------------------------------------------

static void log_packets(unsigned n, uint8_t family)
{
    static const uint8_t src4[16] = {10, 0, 0, 1}, src6[16] = {0x20, 1, 0xd, 0xb8, [15] = 1};

    for (unsigned i = 0; i < n; i++) {
        struct acl_log_entry e = {.rule = 100 + i,
                                  .list = 1,
                                  .iface = 1,
                                  .len = 60,
                                  .family = family,
                                  .verb = ACL_REJECT};

        e.key.l4 = (struct acl_key_l4){.sport = 1024, .dport = 443, .proto = 6};
        memcpy(e.key.src, family == IP4 ? src4 : src6, 16);
        memcpy(e.key.dst, family == IP4 ? src4 : src6, 16);
        acl_log_put(&e);
    }
}

served_test(logged_packets_become_events)
{
    struct acl_log_entry e;
    int fd = start_listening("?filter=%2Fkamuee%3Aacl-match");

    log_packets(1, IP4);
    log_packets(1, IP6);
    acl_log_report();
    hear(fd, "2001:db8::1");
    assert_has(heard.s, "\"acl\":\"edge\",\"rule\":100,\"action\":\"reject\",\"direction\":\"in\","
                        "\"interface\":\"p0\",\"source\":\"10.0.0.1\","
                        "\"destination\":\"10.0.0.1\",\"protocol\":6,\"source-port\":1024,"
                        "\"destination-port\":443,\"length\":60");
    // Packets that exceed the ring are lost and counted; the others are reported in limited
    // numbers.
    uint64_t lost = acl_log_lost;
    log_packets(100, IP4);
    assert_int_equal(acl_log_lost - lost, 100 - 63);
    acl_log_report();
    unsigned left = 0;
    while (acl_log_take(&e, 1))
        left++;
    assert_int_equal(left, 63 - 32);
    leave(fd);
}

int unit_begin(void **state)
{
    int r = server_set_up(state);

    assert_int_equal(acl_table_init(), 0);
    snprintf(acl_table[1].name, sizeof acl_table[1].name, "edge");
    acl_log_ring =
        aligned_alloc(64, (size_t)rte_ring_get_memsize_elem(sizeof(struct acl_log_entry), 64));
    assert_non_null(acl_log_ring);
    assert_int_equal(rte_ring_init(acl_log_ring, "test", 64, RING_F_SC_DEQ), 0);
    return r;
}

int unit_end(void **state)
{
    free(acl_log_ring);
    acl_log_ring = NULL;
    acl_table_fini();
    return server_tear_down(state);
}
