// SPDX-License-Identifier: BSD-3-Clause
// saved_state_test.c - saved state is restored; a file with a valid checksum but impossible
// contents is refused as a whole
#include <stdint.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/hash.h"
#include "saved/saved_state.h"
#include "table/counter.h"
#include "table/iface.h"
#include "test_server.h"

static char dir[] = "/tmp/saved-state-test-XXXXXX", path[64];

static void write_saved(const char *json)
{
    FILE *f = fopen(path, "w");

    assert_non_null(f);
    fprintf(f, "%s\n# end %016" PRIx64 "\n", json, hash_bytes(json, strlen(json), 1));
    fclose(f);
}

static uint64_t received(void)
{
    struct ledger l;

    ledger_read(&l, 5);
    assert_int_equal(l.imbalance, 0);
    return l.rx;
}

served_test(what_is_saved_comes_back_once)
{
    uint16_t p0 = iface_find_name("p0")->id;
    struct counter_iface sum;

    counter_mine()->rx += 30;
    counter_mine()->drop[DROP_IP4_NO_ROUTE] += 30;
    counter_mine()->iface[p0].rx_packets += 30;
    saved_state_write(dir);
    saved_state_restore(dir); // like in another process: it adds up
    assert_int_equal(received(), 60);
    assert_int_equal(counter_sum_drop(DROP_IP4_NO_ROUTE), 60);
    counter_sum_iface(p0, &sum);
    assert_int_equal(sum.rx_packets, 60);
    assert_int_equal(access(path, F_OK), -1);
    saved_state_restore(dir);
    assert_int_equal(received(), 60);
    counter_mine()->rx -= 60;
    counter_mine()->drop[DROP_IP4_NO_ROUTE] -= 60;
}

// After a ledger that would be accepted.
#define GOOD                                                                                       \
    "{\"kamuee-saved-state\":1,\"forwarding\":{\"rx\":7,\"inject\":0,\"tx\":7,\"punt\":0,"       \
    "\"drop\":{}}"

served_test(what_cannot_be_is_refused_as_a_whole)
{
    static const char *const wrong[] = {
        "", "[]", "7", "{}", "{\"kamuee-saved-state\":2}", "{\"kamuee-saved-state\":0}",
        "{\"kamuee-saved-state\":\"1\"}",
        GOOD ",\"forwarding\":{}}", // twice
        GOOD ",\"interface\":7}", GOOD ",\"interface\":{\"p0\":{}}}",
        GOOD ",\"interface\":{\"p0\":{\"rx-packets\":-1}}}",
        GOOD ",\"port\":{\"p0\":{\"history\":[]}}}", GOOD ",\"punt\":{\"bfd\":{\"passed\":1}}}",
        GOOD ",\"icmp\":{\"sent\":1.5,\"limited\":0,\"forbidden\":0}}",
        GOOD ",\"alarm\":{\"history\":7}}",
        GOOD ",\"alarm\":{\"history\":[{\"name\":\"nothing\",\"subject\":\"\",\"value\":1,"
             "\"peak\":1,\"raised\":1,\"cleared\":1,\"count\":1}]}}",
        GOOD ",\"alarm\":{\"history\":[{\"name\":\"ledger\",\"subject\":\"a subject that is longer "
             "than any, which may have as many letters as an IPv6 address and its names\","
             "\"value\":1,\"peak\":1,\"raised\":1,\"cleared\":1,\"count\":1}]}}",
        GOOD ",\"journal\":{\"nexthop\":[],\"change\":[{\"time\":1,\"vr\":\"default\","
             "\"prefix\":\"10.0.0.0/8\",\"cause\":0,\"was-protocol\":0,\"protocol\":0,\"was\":0,"
             "\"is\":1}]}}",
        GOOD ",\"journal\":{\"nexthop\":[{\"nexthop\":1,\"kind\":99,\"more\":0,\"leg\":[]}],"
             "\"change\":[]}}",
        "{\"kamuee-saved-state\":1,\"forwarding\":{\"rx\":7,\"inject\":0,\"tx\":6,\"punt\":0,"
        "\"drop\":{}}}",
        "{\"kamuee-saved-state\":1,\"forwarding\":{\"rx\":7,\"inject\":0,\"tx\":7,\"punt\":0,"
        "\"drop\":{\"ip4_no_route\":\"x\"}}}",
    };

    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        write_saved(wrong[i]);
        saved_state_restore(dir);
        if (received())
            fail_msg("it was taken over: %s", wrong[i]);
        assert_int_equal(access(path, F_OK), -1);
    }
    write_saved(GOOD "}"); // without an error it is accepted
    saved_state_restore(dir);
    assert_int_equal(received(), 7);
}

// It has none of the counters that came later.
served_test(what_an_older_version_saved_is_taken)
{
    uint16_t p0 = iface_find_name("p0")->id;
    struct counter_iface before, now;

    counter_sum_iface(p0, &before);
    write_saved(GOOD ",\"interface\":{\"p0\":{\"rx-packets\":5,\"rx-bytes\":300,\"tx-packets\":0,"
                     "\"tx-bytes\":0,\"drop-packets\":0,\"punt-packets\":0,\"inject-packets\":0,"
                     "\"urpf-packets\":0,\"since\":1}}}");
    saved_state_restore(dir);
    counter_sum_iface(p0, &now);
    assert_int_equal(now.rx_packets - before.rx_packets, 5);
    assert_int_equal(now.vlan_unknown_packets, before.vlan_unknown_packets);
}

int unit_begin(void **state)
{
    if (!mkdtemp(dir))
        return -1;
    snprintf(path, sizeof path, "%s/saved-state", dir);
    return server_set_up(state);
}

int unit_end(void **state)
{
    return rmdir(dir) | server_tear_down(state);
}
