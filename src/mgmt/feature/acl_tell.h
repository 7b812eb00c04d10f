// SPDX-License-Identifier: BSD-3-Clause
// acl_tell.h - packets that access lists log become lines of the log and events (table/acl_log.h);
// control role
#ifndef MGMT_ACL_TELL_H
#define MGMT_ACL_TELL_H

void acl_tell_start(void); // the HTTP loop is there
void acl_tell_stop(void);
void acl_tell_now(void); // what the ring has, without waiting for the timer: tests

#endif
