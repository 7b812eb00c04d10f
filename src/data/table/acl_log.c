// SPDX-License-Identifier: BSD-3-Clause
// acl_log.c - the ring of log records (acl_log.h)
//
// A DPDK ring of elements with many writers, the forwarders, and one reader, control.
#include "table/acl_log.h"

#include <errno.h>
#include <rte_errno.h>
#include <rte_ring.h>
#include <rte_ring_elem.h>

#include "core/thread.h"

struct rte_ring *acl_log_ring;
uint64_t acl_log_lost;

_Static_assert(sizeof(struct acl_log_entry) % 4 == 0, "of a ring's element");

int acl_log_init(void)
{
    acl_log_ring = rte_ring_create_elem("acl_log", sizeof(struct acl_log_entry), ACL_LOG_SIZE,
                                        SOCKET_ID_ANY, RING_F_SC_DEQ);
    return acl_log_ring ? 0 : -rte_errno;
}

void acl_log_fini(void)
{
    rte_ring_free(acl_log_ring);
    acl_log_ring = NULL;
}

void acl_log_put(const struct acl_log_entry *e)
{
    if (rte_ring_mp_enqueue_elem(acl_log_ring, (void *)(uintptr_t)e, sizeof *e))
        __atomic_fetch_add(&acl_log_lost, 1, __ATOMIC_RELAXED);
}

unsigned acl_log_take(struct acl_log_entry *e, unsigned n)
{
    thread_must_be(ROLE_CONTROL);
    return acl_log_ring ? rte_ring_sc_dequeue_burst_elem(acl_log_ring, e, sizeof *e, n, NULL)
                        : 0; // a server without forwarders counts none
}
