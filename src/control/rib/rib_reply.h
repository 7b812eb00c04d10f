// SPDX-License-Identifier: BSD-3-Clause
// rib_reply.h - what the files that answer control share; private to rib_manager
#ifndef RIB_RIB_REPLY_H
#define RIB_RIB_REPLY_H

// Control asks: runs fn(arg) on rib_manager. `arg` is heap memory, fn's from now on; it is freed
// when the question cannot be put. 0, -ENOMEM (arg is NULL), or what mailbox_post says.
int rib_ask(void (*fn)(void *arg), void *arg);

// rib_manager answers: runs fn(arg) on the control loop, now or (its mailbox is full) a little
// later. `arg` is heap memory that fn owns.
void rib_reply(void (*fn)(void *arg), void *arg);
void rib_reply_retry(void); // every tick
void rib_reply_fini(void);

#endif
