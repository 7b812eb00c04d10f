// SPDX-License-Identifier: BSD-3-Clause
// queue_drops.c - see queue_drops.h; reads all interfaces together, at most once a second
#include "feature/queue_drops.h"

#include <string.h>

#include "base/clock.h"
#include "port_queue/port_queue_manager.h"
#include "table/iface.h"

static uint64_t read_ns, drops[IFACE_MAX];

static uint64_t client_drops(const struct port_queue_client_state *c)
{
    uint64_t n = 0;

    for (unsigned k = 0; k < QUEUE_CLASSES; k++) {
        const struct queue_class_stats *t = &c->class[k].total;

        n += t->refused_class + t->refused_client + t->refused_share + t->dropped_codel +
             t->dropped_old + t->dropped_flow;
    }
    return n;
}

static void add_drops(const char *iface, uint64_t n)
{
    const struct iface *i = iface_find_name(iface);

    if (i)
        drops[i->id] += n;
}

static void read_drops(void)
{
    struct port_queue_client_state c;
    struct port_queue_state q;

    memset(drops, 0, sizeof drops);
    for (unsigned i = 0; port_queue_manager_at(i, &q); i++) {
        uint64_t all = q.refused_port + q.refused_ring;

        for (unsigned k = 0; port_queue_manager_client(q.port, k, &c); k++) {
            all += client_drops(&c);
            if (c.vport[0])
                add_drops(c.vport, client_drops(&c));
        }
        add_drops(q.port, all);
    }
}

uint64_t queue_drops_of(uint16_t iface)
{
    uint64_t now = clock_now_ns();

    if (!read_ns || now - read_ns > NS_PER_SECOND) {
        read_ns = now;
        read_drops();
    }
    return drops[iface];
}
