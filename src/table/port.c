// SPDX-License-Identifier: BSD-3-Clause
// port.c - DPDK ports as forwarders see them: one fixed array, mapped at start
#include "table/port.h"

#include <errno.h>

#include "core/mem.h"

struct port *port_table;

int port_table_init(void)
{
    port_table = mem_map("ports", PORT_MAX * sizeof *port_table);
    return port_table ? 0 : -errno;
}

void port_table_fini(void)
{
    mem_unmap(port_table, PORT_MAX * sizeof *port_table);
    port_table = NULL;
}
