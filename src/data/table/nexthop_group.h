// SPDX-License-Identifier: BSD-3-Clause
// nexthop_group.h - private to nexthop.c and nexthop_group.c; rib_manager
#ifndef TABLE_NEXTHOP_GROUP_H
#define TABLE_NEXTHOP_GROUP_H

#include "table/nexthop.h"

int nexthop_group_init(void); // 0 or -ENOMEM
void nexthop_group_fini(void);
void nexthop_group_free(uint32_t id); // retires its buckets; the caller frees the id
int nexthop_group_check(uint32_t id, char *why, unsigned n);

uint32_t nexthop_id_new(enum nexthop_kind kind, uint16_t iface); // any kind; 0 when full
bool nexthop_is_live(uint32_t id);
void nexthop_keep(uint32_t id); // before a change: a copy for nexthop_was()

#endif
