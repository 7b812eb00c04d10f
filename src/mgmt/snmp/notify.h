// SPDX-License-Identifier: BSD-3-Clause
// notify.h - linkUp and linkDown (RFC 2863), and contexts of virtual routers that come and go
//
// kamueed's events only say when to look; notifications follow from the interfaces themselves. So
// no notification is sent twice, or missed while kamueed or the event connection was away.
#ifndef SNMP_NOTIFY_H
#define SNMP_NOTIFY_H

void notify_start(void);
void notify_work(void); // once per round of the loop

#endif
