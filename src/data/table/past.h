// SPDX-License-Identifier: BSD-3-Clause
// past.h - earlier contents of table entries, for `explain … at TIME`
//
// Before its only writer changes an entry, it keeps a copy here. So the content at time T is the
// first copy made after T or, without one, the entry itself. Memory is bounded: the oldest copies
// go. A mutex guards it; forwarders never come here.
#ifndef TABLE_PAST_H
#define TABLE_PAST_H

#include <stddef.h>
#include <stdint.h>

enum past_table { PAST_NEXTHOP, PAST_IFACE, PAST_TABLES }; // table/nexthop.h, table/iface.h

void past_limit(enum past_table t, size_t bytes); // 0 = keeps nothing; the table's writer
void past_keep(enum past_table t, uint32_t id, const void *entry, size_t n);
// Any thread. 1, with the copy in `to` (at most `size` bytes); 0: no change since then; -ENODATA:
// it is not known.
int past_find(enum past_table t, uint32_t id, uint64_t at_ns, void *to, size_t size);

#endif
