// SPDX-License-Identifier: BSD-3-Clause
// rib_reply.h - what the files that answer control share; private to rib_manager
#ifndef MANAGER_RIB_REPLY_H
#define MANAGER_RIB_REPLY_H

// Runs fn(arg) on the control loop, now or (its mailbox is full) a little later. `arg` is heap memory that fn owns.
void rib_reply(void (*fn)(void *arg), void *arg);

#endif
