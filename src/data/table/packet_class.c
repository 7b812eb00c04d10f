// SPDX-License-Identifier: BSD-3-Clause
// packet_class.c - registers the buffer flag of packets with a class (packet_class.h)
#include "table/packet_class.h"

#include <rte_errno.h>
#include <rte_mbuf_dyn.h>

uint64_t packet_class_flag;

int packet_class_init(void)
{
    static const struct rte_mbuf_dynflag flag = {.name = "kamuee_packet_class"};
    int bit = rte_mbuf_dynflag_register(&flag);

    if (bit < 0)
        return -rte_errno;
    packet_class_flag = 1ull << bit;
    return 0;
}
