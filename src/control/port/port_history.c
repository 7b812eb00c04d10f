// SPDX-License-Identifier: BSD-3-Clause
// port_history.c - the points of each port
//
// A timer reads the statistics of all ports, LAGs included, and adds a point to each history. The
// histories of ports that are no longer listed are freed at the same moment, so a port that is
// attached again starts without a past.
#include "port/port_manager.h"

#include <errno.h>
#include <event2/event.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/vec.h"
#include "core/manager.h"
#include "core/thread.h"
#include "port/port_state.h"
#include "table/limits.h"

struct history {
    char port[16];
    unsigned n;
    struct port_point point[PORT_HISTORY_POINTS]; // oldest first
};

static VEC(struct history *) histories;
static struct event *timer;

static struct history *find_history(const char *port)
{
    vec_foreach (&histories, h)
        if (!strcmp((*h)->port, port))
            return *h;
    return NULL;
}

static struct history *add_history(const char *port)
{
    struct history *h = calloc(1, sizeof *h);

    bug_on(!h);
    memcpy(h->port, port, strnlen(port, sizeof h->port - 1));
    *vec_push(&histories) = h;
    return h;
}

void port_history_add(const char *port, const struct port_point *p)
{
    thread_must_be(ROLE_CONTROL);
    struct history *h = find_history(port);
    h = h ? h : add_history(port);
    if (h->n == PORT_HISTORY_POINTS)
        memmove(h->point, h->point + 1, --h->n * sizeof *h->point);
    h->point[h->n++] = *p;
}

void port_history_each(const char *port, void (*fn)(void *ctx, const struct port_point *p),
                       void *ctx)
{
    const struct history *h = find_history(port);

    thread_must_be(ROLE_CONTROL);
    for (unsigned i = 0; h && i < h->n; i++)
        fn(ctx, &h->point[i]);
}

// --- the timer ---

static bool is_listed(const char *port, char (*name)[16], unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        if (!strcmp(name[i], port))
            return true;
    return false;
}

static void forget_removed_ports(char (*name)[16], unsigned n)
{
    for (size_t i = histories.n; i-- > 0;)
        if (!is_listed(histories.item[i]->port, name, n)) {
            free(histories.item[i]);
            vec_del_swap(&histories, i);
        }
}

void port_history_sample(void)
{
    char name[PORT_MAX][16];
    unsigned n = port_manager_list(name, PORT_MAX);
    uint64_t now = clock_wall_ns();
    struct port_state s;

    for (unsigned i = 0; i < n; i++) {
        if (port_manager_state(name[i], &s))
            continue;
        const struct port_statistics *c = &s.statistics;
        port_history_add(name[i], &(struct port_point){.wall_ns = now,
                                                       .rx_packets = c->rx_packets,
                                                       .rx_bytes = c->rx_bytes,
                                                       .tx_packets = c->tx_packets,
                                                       .tx_bytes = c->tx_bytes,
                                                       .rx_missed = c->rx_missed});
    }
    forget_removed_ports(name, n);
}

static void on_history_timer(evutil_socket_t fd, short what, void *ctx)
{
    port_history_sample();
}

int port_history_init(struct event_base *loop)
{
    timer = loop ? event_new(loop, -1, EV_PERSIST, on_history_timer, NULL) : NULL;
    return !loop || (timer && !event_add(timer, &(struct timeval){.tv_sec = PORT_HISTORY_EVERY_S}))
               ? 0
               : -ENOMEM;
}

void port_history_fini(void)
{
    drop_event(&timer);
    forget_removed_ports(NULL, 0);
    vec_free(&histories);
}
