// SPDX-License-Identifier: BSD-3-Clause
// tunnel_table_test.c - a full table of tunnels
#include <stdint.h>

#include <arpa/inet.h>
#include <string.h>

#include "core/rcu.h"
#include "core/thread.h"
#include "table/counter.h"
#include "table/iface.h"
#include "table/nexthop_count.h"
#include "table/tunnel.h"
#include "tests/unit.h"

static uint16_t number_of[TUNNEL_MAX];

static int close_table(void **state)
{
    rcu_barrier();
    tunnel_table_fini();
    return 0;
}

// Three tunnels per local address.
static struct tunnel_settings settings_of(unsigned i)
{
    struct tunnel_settings s = {.id = {.kind = TUNNEL_GRE, .family = IP4, .key = i % 3}};

    memcpy(s.id.local, (uint8_t[4]){192, 0, (uint8_t)(i / 3 >> 8), (uint8_t)(i / 3)}, 4);
    memcpy(s.id.remote, (uint8_t[4]){198, 51, (uint8_t)(i >> 8), (uint8_t)i}, 4);
    return s;
}

static uint16_t found(unsigned i)
{
    struct tunnel_settings s = settings_of(i);

    return tunnel_find(tunnel_index, &s.id);
}

static bool ends(unsigned i)
{
    struct tunnel_settings s = settings_of(i);

    memset(s.id.remote, 0, sizeof s.id.remote);
    return tunnel_ends(tunnel_index, &s.id);
}

static void make(unsigned i)
{
    struct tunnel_settings s = settings_of(i);
    uint16_t taken;

    number_of[i] = tunnel_new(&s, &taken);
    assert_int_not_equal(number_of[i], 0);
    tunnel_publish(number_of[i], (uint16_t)(i + 1), (uint8_t[6]){2});
}

static void fill(void)
{
    for (unsigned i = 0; i < TUNNEL_MAX; i++)
        make(i);
    assert_true(tunnel_index_update());
    assert_false(tunnel_index_update());
}

#define table_test(name) unit_test_of(name, NULL, close_table)

table_test(every_tunnel_has_a_vlan_of_its_own_and_is_found)
{
    static uint8_t seen[TUNNEL_PORTS][4096];

    fill();
    for (unsigned i = 0; i < TUNNEL_MAX; i++) {
        uint16_t port = tunnel_port(number_of[i]), vlan = tunnel_vlan(number_of[i]);

        assert_true(tunnel_is_port(port) && vlan >= 1 && vlan <= 4094);
        assert_int_equal(seen[port - PORT_TUNNEL][vlan]++, 0);
        assert_int_equal(tunnel_number(port, vlan), number_of[i]);
        assert_int_equal(found(i), number_of[i]);
        assert_int_equal(tunnel_get(number_of[i])->iface, i + 1);
        assert_true(ends(i));
    }
    assert_int_equal(found(TUNNEL_MAX), 0);
}

table_test(one_too_many_and_the_same_again_are_refused)
{
    struct tunnel_settings s = settings_of(TUNNEL_MAX);
    uint16_t taken = 1;

    fill();
    assert_int_equal(tunnel_new(&s, &taken), 0);
    assert_int_equal(taken, 0);
    s = settings_of(5000);
    assert_int_equal(tunnel_new(&s, &taken), 0);
    assert_int_equal(taken, number_of[5000]);
}

table_test(a_hidden_tunnel_is_found_no_longer_and_its_number_comes_back)
{
    fill();
    for (unsigned i = 0; i < 3; i++) {
        tunnel_hide(number_of[6000 + i]);
        assert_int_equal(found(6000 + i), 0); // the index has not changed yet
        assert_true(tunnel_index_update());
        assert_int_equal(ends(6000), i < 2);
    }
    tunnel_free(number_of[6001]);
    uint16_t was = number_of[6001];
    rcu_barrier();
    make(6001);
    assert_int_equal(number_of[6001], was);
    assert_int_equal(found(6001), 0);
    tunnel_index_update();
    assert_int_equal(found(6001), was);
}

table_test(what_no_tunnel_of_linux_takes_is_the_kernels)
{
    struct tunnel_settings s = settings_of(0);
    uint16_t taken, number;

    s.by_linux = true;
    s.only = IP4;
    number = tunnel_new(&s, &taken);
    tunnel_publish(number, 1, (uint8_t[6]){2});
    tunnel_index_update();
    assert_int_equal(found(0), number);
    assert_false(ends(0));
    assert_int_equal(tunnel_get(number)->refuses_be, htons(0x86dd));
    make(1); // same local end
    tunnel_index_update();
    assert_true(ends(0));
}

// For a tunnel of each port: packets come in by another virtual router than they leave by.
table_test(an_interface_may_leave_the_router_of_its_tunnel)
{
    struct iface *i = iface_new("t1");

    assert_non_null(i);
    fill();
    for (unsigned k = 0; k < TUNNEL_MAX; k += TUNNEL_MAX / TUNNEL_PORTS) {
        i->port = tunnel_port(number_of[k]);
        i->vlan = tunnel_vlan(number_of[k]);
        assert_int_equal(i->port, PORT_TUNNEL + k / (TUNNEL_MAX / TUNNEL_PORTS));
        nexthop_count_fini();
        iface_set_vr(i, 0);
        assert_int_equal(nexthop_counting[0], 0);
        iface_set_vr(i, 1);
        assert_int_equal(nexthop_counting[0], NEXTHOP_CROSS);
    }
    nexthop_count_fini();
    iface_free(i);
}

int main(void)
{
    rcu_init();
    thread_adopt(ROLE_CONTROL, THREAD_SLOT_CONTROL);
    int r = counter_init() || iface_table_init() ? 1 : unit_tests_run(NULL, NULL);
    iface_table_fini();
    counter_fini();
    rcu_fini();
    return r;
}
