// SPDX-License-Identifier: BSD-3-Clause
// store_fixture.h - for tests: a virtual router's RIB and FIB without threads and without a kernel
#ifndef RIB_TEST_STORE_FIXTURE_H
#define RIB_TEST_STORE_FIXTURE_H

#include "core/rcu.h"
#include "core/thread.h"
#include "rib/neigh.h"
#include "rib/vr.h"
#include "table/counter.h"
#include "table/iface.h"

static struct rib_vr *v;
static struct vr *store_vr;

// Then interfaces may be made: control has the role. 0 or -1.
static int store_tables_open(void)
{
    rcu_init();
    thread_adopt(ROLE_CONTROL, THREAD_SLOT_CONTROL);
    rcu_thread_register();
    rcu_offline();
    if (counter_init() || iface_table_init() || nexthop_table_init() || vr_table_init())
        return -1;
    store_vr = vr_new("default");
    return 0;
}

// From here on the calling thread is rib_manager. 0 or -1.
static int store_managers_open(void)
{
    thread_adopt(ROLE_RIB_MANAGER, THREAD_SLOT_RIB_MANAGER);
    if (nexthop_manager_init() ||
        neigh_manager_init(&(struct neigh_routes){rib_is_connected, rib_host_set, rib_detour}))
        return -1;
    v = rib_vr_new(store_vr->id, -1, RIB_TABLE_MAIN);
    if (!v)
        return -1;
    v->no_managed = true;
    return 0;
}

static int close_store(void **state)
{
    rib_vr_free(v);
    nexthop_manager_fini();
    neigh_manager_fini();
    thread_adopt(ROLE_CONTROL, THREAD_SLOT_CONTROL);
    vr_free(store_vr);
    rcu_barrier();
    vr_table_fini();
    nexthop_table_fini();
    iface_table_fini();
    counter_fini();
    rcu_thread_unregister();
    rcu_fini();
    return 0;
}

#endif
