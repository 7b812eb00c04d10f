// SPDX-License-Identifier: BSD-3-Clause
// tap_delete_batch.h - deletes the TAPs of a change together
//
// To delete one device, the kernel waits some 20 ms for its own grace periods; deleting many at
// once takes no longer. So iface_tap.c leaves each TAP here, and the end of the change deletes them
// all together, aside (core/aside.h). Control role.
#ifndef TAP_TAP_DELETE_BATCH_H
#define TAP_TAP_DELETE_BATCH_H

#include "tap/tap.h"

void tap_delete_batch_add(struct tap *t); // takes its descriptors; no others may be open
bool tap_delete_batch_has(const char *name);
bool tap_delete_batch_runs(void); // meanwhile a kernel request about any link would wait
void tap_delete_batch_run(void);  // returns when all are deleted; cheap if there are none

#endif
