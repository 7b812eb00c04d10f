// SPDX-License-Identifier: BSD-3-Clause
// tap_delete_batch.h - TAPs on their way out of the kernel, together
//
// To take a device away, the kernel waits for grace periods of its own, some
// 20 ms; to take many away at once, it waits no longer. So an interface
// that is deleted leaves its TAP here, and the end of the change deletes all
// of them, aside (core/aside.h). Control only.
#ifndef PORT_TAP_DELETE_BATCH_H
#define PORT_TAP_DELETE_BATCH_H

#include "port/tap.h"

void tap_delete_batch_add(
    struct tap *t); // takes its descriptors; nobody has another one that is open
bool tap_delete_batch_has(const char *name);
bool tap_delete_batch_runs(
    void); // the kernel deletes some; whoever asks it about a link now waits for that
void tap_delete_batch_run(
    void); // none of them is in the kernel when this returns; cheap when there are none

#endif
