// SPDX-License-Identifier: BSD-3-Clause
// show_port_history.c - what each port counted during the last hour, for graphs
#include <string.h>

#include "port/port_history.h"
#include "port/port_manager.h"
#include "restconf/state.h"
#include "table/limits.h"

static void write_point(void *ctx, const struct port_point *p)
{
    struct jwrite *j = ctx;

    jwrite_begin(j, NULL, '{');
    jwrite_time(j, "time", p->wall_ns);
    jwrite_u64(j, "rx-packets", p->rx_packets);
    jwrite_u64(j, "rx-bytes", p->rx_bytes);
    jwrite_u64(j, "tx-packets", p->tx_packets);
    jwrite_u64(j, "tx-bytes", p->tx_bytes);
    jwrite_u64(j, "rx-missed", p->rx_missed);
    jwrite_end(j, '}');
}

static void write_port(struct jwrite *j, const char *port)
{
    jwrite_begin(j, NULL, '{');
    jwrite_string(j, "name", port);
    jwrite_int(j, "interval", PORT_HISTORY_EVERY_S);
    jwrite_begin(j, "point", '[');
    port_history_each(port, write_point, j);
    jwrite_end(j, ']');
    jwrite_end(j, '}');
}

int show_port_history(struct show *s)
{
    char name[PORT_MAX][16];
    unsigned n = port_manager_list(name, PORT_MAX);

    jwrite_begin(&s->out, s->name, '[');
    for (unsigned i = 0; i < n; i++)
        if (!s->key[0] || !strcmp(s->key[0], name[i]))
            write_port(&s->out, name[i]);
    jwrite_end(&s->out, ']');
    return SHOW_NOW;
}
