// SPDX-License-Identifier: BSD-3-Clause
// metalink.c - registers the buffer flag of packets that have passed a metalink (metalink.h)
#include "table/metalink.h"

#include <rte_errno.h>
#include <rte_mbuf_dyn.h>

uint64_t metalink_flag;

_Static_assert(METALINK_VLAN_FIRST + 2 * METALINK_MAX <= 4095, "VLANs of PORT_METALINK");

int metalink_init(void)
{
    static const struct rte_mbuf_dynflag flag = {.name = "kamuee_metalink"};
    int bit = rte_mbuf_dynflag_register(&flag);

    if (bit < 0)
        return -rte_errno;
    metalink_flag = 1ull << bit;
    return 0;
}
