// SPDX-License-Identifier: BSD-3-Clause
// notify.h - linkUp and linkDown (RFC 2863), and virtual routers that come and go
//
// kamueed's events say when to look; what is told follows from the interfaces themselves, so that
// nothing is told twice, or missed while kamueed or the events were away.
#ifndef SNMP_NOTIFY_H
#define SNMP_NOTIFY_H

void notify_start(void);
void notify_work(void); // once a round of the loop

#endif
