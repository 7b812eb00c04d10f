// SPDX-License-Identifier: BSD-3-Clause
// drop.c - returns the buffers of ended packets to their pools
#include "forwarder/drop.h"
#include "forwarder/watch.h"

#include "forwarder/forbidden.h"

void dead_flush(struct forwarder *f)
{
    if (unlikely(watch_bits(&watch_drop)))
        watch_dropped(f);
    rte_pktmbuf_free_bulk(f->dead.pkt, f->dead.n);
    f->dead.n = 0;
}
