// SPDX-License-Identifier: BSD-3-Clause
// ipfix.h - interface between export.c and ipfix.c
#ifndef EXPORT_IPFIX_H
#define EXPORT_IPFIX_H

struct event_base;

void ipfix_start(struct event_base *loop);
void ipfix_stop(void); // reports the flows in the cache

#endif
