// SPDX-License-Identifier: BSD-3-Clause
// tap_delete_batch.h - deletes the TAPs of a change together
//
// To delete one device, the kernel waits some 20 ms for grace periods of its own; to delete many at
// once, it waits no longer. So iface_tap.c leaves each TAP here, and the end of the change
// deletes them all, aside (core/aside.h). Control role.
#ifndef PORT_TAP_DELETE_BATCH_H
#define PORT_TAP_DELETE_BATCH_H

#include "port/tap.h"

void tap_delete_batch_add(struct tap *t); // takes its descriptors, which must be the only ones open
bool tap_delete_batch_has(const char *name);
bool tap_delete_batch_runs(void); // a request to the kernel about any link would wait for it
void tap_delete_batch_run(void);  // returns when all are deleted; cheap when there are none

#endif
