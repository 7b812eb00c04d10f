// SPDX-License-Identifier: BSD-3-Clause
// grace.h - numbering grace periods
//
// A writer that has unlinked something takes a ticket; when the ticket's grace period is over, the
// thing may be used again. The writer polls on its next call, so that every table keeps one writer:
//
//     unlink(x); ticket = grace_ticket();
//     ... later ...
//     if (grace_over(ticket)) reuse(x);
//
// Tickets grow; all older tickets are over when a newer one is. Any manager.
#ifndef TABLE_GRACE_H
#define TABLE_GRACE_H

#include <stdbool.h>
#include <stdint.h>

uint64_t grace_ticket(void); // of a grace period that starts now or later
bool grace_over(uint64_t ticket);
void grace_wait(void); // all tickets so far are over when it returns: milliseconds

#endif
