// SPDX-License-Identifier: BSD-3-Clause
// collector.h - UDP sockets to collectors: a datagram is sent or lost, and both are counted
//
// Nothing waits. A collector that has no route or refuses datagrams is tried again with the next
// datagram. Control role.
#ifndef EXPORT_COLLECTOR_H
#define EXPORT_COLLECTOR_H

#include "export/export.h"

struct collector {
    struct collector_state state;
    int fd; // -1 = no socket
};
struct collectors {
    unsigned n;
    struct collector item[EXPORT_COLLECTORS];
};

void collectors_open(struct collectors *c, const struct export_collector *config, unsigned n);
void collectors_close(struct collectors *c);
void collectors_send(struct collectors *c, const void *p, size_t n); // to every collector
// Source address that the first collector sees; family 0 if there is none.
struct ip_addr collectors_source(const struct collectors *c);

#endif
