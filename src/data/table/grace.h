// SPDX-License-Identifier: BSD-3-Clause
// grace.h - numbering grace periods
//
// A writer that has unlinked an object takes a ticket; the object may be reused when the ticket's
// grace period is over. The writer polls in its next call, so that every table keeps a single
// writer:
//
//     unlink(x); ticket = grace_ticket();
//     ... later ...
//     if (grace_over(ticket)) reuse(x);
//
// Tickets are ordered: when one is over, all older ones are. Any manager.
#ifndef TABLE_GRACE_H
#define TABLE_GRACE_H

#include <stdbool.h>
#include <stdint.h>

uint64_t grace_ticket(void); // for a grace period that starts now or later
bool grace_over(uint64_t ticket);
void grace_wait(void); // returns when all tickets so far are over: milliseconds

#endif
