// SPDX-License-Identifier: BSD-3-Clause
// lag_port.c - the list of LAGs
#include "lag/lag_port.h"

struct lag_port lag_ports[LAG_MAX];

struct lag_port *lag_port_find(const char *name)
{
    for_each_lag (l)
        if (!strcmp(l->wish.name, name))
            return l;
    return NULL;
}
