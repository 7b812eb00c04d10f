// SPDX-License-Identifier: BSD-3-Clause
// event_source.h - where events come from that control does not make itself; control role
//
// Links by a call of port_manager, neighbors by a ring that rib_manager fills, routes by the end
// of the journal: all of it only while somebody listens, and bounded.
#ifndef MGMT_EVENT_SOURCE_H
#define MGMT_EVENT_SOURCE_H

void event_source_start(void); // somebody listens
void event_source_stop(void);

#endif
