// SPDX-License-Identifier: BSD-3-Clause
// tunnel_linux_test.c - tunnels that Linux made fill the tables, and make room for configured ones
//
// Real tables, tunnel_ends.c and iface_manager.c. The link wraps the functions that reach the
// kernel or other threads, so a device is only what Linux reports of it.
#include <stdint.h>

#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "core/rcu.h"
#include "core/thread.h"
#include "interface/iface_manager.h"
#include "rib/rib_manager.h"
#include "table/acl.h"
#include "table/counter.h"
#include "table/nexthop.h"
#include "table/port.h"
#include "table/tunnel.h"
#include "table/vr.h"
#include "tunnel/tunnel_linux.h"
#include "tests/unit.h"

#define IN_DEFAULT 4000u // the other tunnels are in blue
#define TOO_MANY 10u

static void (*tell)(const struct iface_tunnel_event *e);
static uint16_t blue;
static char err[256];

void __wrap_rib_iface_set_tunnel_event(void (*fn)(const struct iface_tunnel_event *e));
void __wrap_rib_iface_set_tunnel_event(void (*fn)(const struct iface_tunnel_event *e))
{
    tell = fn;
}

// All that a device needs of them is that they succeed.
#define SUCCEEDS(name)                                                                             \
    int __wrap_##name(void);                                                                       \
    int __wrap_##name(void)                                                                        \
    {                                                                                              \
        return 0;                                                                                  \
    }
SUCCEEDS(iface_tap_attach)
SUCCEEDS(iface_tap_detach)
SUCCEEDS(iface_tap_list_changed)
SUCCEEDS(iface_tap_list_save)
SUCCEEDS(iface_tap_start)
SUCCEEDS(iface_tap_start_later)
SUCCEEDS(iface_tap_start_waiting)
SUCCEEDS(netlink_has_ipsec)
SUCCEEDS(rib_manager_iface_add)
SUCCEEDS(rib_manager_iface_del)
SUCCEEDS(rib_manager_tunnels_changed)
SUCCEEDS(tap_delete_batch_run)
SUCCEEDS(watch_manager_port_changed)

// --- what Linux and the operator do --------------------------------------------------------------

static void linux_makes(unsigned first, unsigned n, uint16_t vr)
{
    for (unsigned k = first; k < first + n; k++) {
        struct iface_tunnel_event e = {.vr = vr, .link.ifindex = (int)k + 10};
        struct netlink_tunnel *t = &e.link.tunnel;
        const uint8_t remote[4] = {10, 2, (uint8_t)(k >> 8), (uint8_t)k};

        snprintf(e.link.name, sizeof e.link.name, "t%u", k);
        t->kind = NETLINK_TUNNEL_GRE;
        t->family = IP4;
        strcpy(t->word, "gre");
        memcpy(t->local, (uint8_t[4]){10, 1, 0, 1}, 4);
        memcpy(t->remote, remote, 4);
        tell(&e);
    }
}

static void fill_with_tunnels(void)
{
    linux_makes(0, IN_DEFAULT, 0);
    linux_makes(IN_DEFAULT, TUNNEL_MAX + TOO_MANY - IN_DEFAULT, blue);
    iface_manager_end_change();
}

static int configure_tunnel(const char *name)
{
    struct tunnel_settings s = {.id = {.kind = TUNNEL_IPIP, .family = IP4}};

    memcpy(s.id.local, (uint8_t[4]){10, 1, 0, 1}, 4);
    memcpy(s.id.remote, (uint8_t[4]){10, 9, 0, 1}, 4);
    return iface_manager_add_tunnel(name, "default", &s, 0, "default", err, sizeof err);
}

static int configure_vport(const char *name)
{
    struct iface wish = {.port = 1, .vlan = 5};

    snprintf(wish.name, sizeof wish.name, "%s", name);
    return iface_add(&wish, IFACE_VPORT, 0, "default", err, sizeof err);
}

static unsigned taken_over(uint16_t vr)
{
    unsigned n = 0;

    iface_each (i)
        n += i->vr == vr && tunnel_is_by_linux(i);
    return n;
}

static void count_left(void *ctx, const struct tunnel_left *t)
{
    assert_non_null(strstr(t->reason, "too many"));
    ++*(unsigned *)ctx;
}

static unsigned left_to_linux(void)
{
    unsigned n = 0;

    tunnel_linux_each_left(count_left, &n);
    return n;
}

// `fewer` of them were given back, by the virtual router that has the most.
static void assert_gave(unsigned fewer)
{
    for (unsigned again = 0; again < 2; again++) { // nor are they taken over again
        assert_int_equal(taken_over(0), IN_DEFAULT);
        assert_int_equal(taken_over(blue), TUNNEL_MAX - IN_DEFAULT - fewer);
        iface_manager_end_change();
    }
    assert_int_equal(left_to_linux(), TOO_MANY + fewer);
}

// --- tests ---------------------------------------------------------------------------------------

static int set_up(void **state)
{
    thread_adopt(ROLE_CONTROL, THREAD_SLOT_CONTROL);
    log_set_level(LOG_LEVEL_WARNING);
    rcu_init();
    rcu_thread_register();
    rcu_offline();
    if (counter_init() || port_table_init() || iface_table_init() || nexthop_table_init() ||
        vr_table_init() || acl_table_init() || iface_manager_init(NULL) || !vr_new("default"))
        return -1;
    tunnel_linux_init();
    struct vr *v = vr_new("blue");
    blue = v ? v->id : 0;
    return !blue;
}

static int tear_down(void **state)
{
    tunnel_linux_fini();
    iface_manager_fini();
    rcu_barrier();
    acl_table_fini();
    vr_table_fini();
    nexthop_table_fini();
    iface_table_fini();
    tunnel_table_fini();
    port_table_fini();
    counter_fini();
    rcu_thread_unregister();
    rcu_fini();
    return 0;
}

#define full_test(name) unit_test_of(name, set_up, tear_down)

full_test(a_configured_tunnel_has_precedence_in_a_full_table)
{
    fill_with_tunnels();
    assert_gave(0);
    assert_int_equal(configure_tunnel("configured"), 0);
    assert_gave(1);
    assert_int_equal(iface_manager_del("configured", err, sizeof err), 0);
    iface_manager_end_change();
    assert_gave(0);
}

full_test(a_configured_interface_has_precedence_in_a_full_table)
{
    char name[16];

    for (unsigned k = 0; k < IFACE_TRIAL - 1 - TUNNEL_MAX; k++) {
        snprintf(name, sizeof name, "x%u", k);
        assert_non_null(iface_new(name));
    }
    fill_with_tunnels();
    assert_gave(0);
    assert_null(iface_new("one-more"));
    assert_int_equal(configure_vport("configured"), 0);
    assert_gave(1);
}

full_test(a_configured_name_has_precedence)
{
    fill_with_tunnels();
    assert_true(tunnel_is_by_linux(iface_find_name("t9000")));
    assert_int_equal(configure_vport("t9000"), 0);
    assert_int_equal(iface_find_name("t9000")->kind, IFACE_VPORT);
    iface_manager_end_change();
    assert_int_equal(taken_over(0) + taken_over(blue), TUNNEL_MAX);
}
