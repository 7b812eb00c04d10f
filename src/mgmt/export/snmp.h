// SPDX-License-Identifier: BSD-3-Clause
// snmp.h - the AgentX session; between export.c and snmp.c
#ifndef EXPORT_SNMP_H
#define EXPORT_SNMP_H

struct event_base;

void snmp_start(struct event_base *loop);
void snmp_stop(void);

#endif
