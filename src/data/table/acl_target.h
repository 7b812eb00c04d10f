// SPDX-License-Identifier: BSD-3-Clause
// acl_target.h - targets of rules: mirror sessions, and addresses of redirects
//
// A session is known by its name. It may be created after the lists that name it, and removed
// before them; meanwhile its id leads nowhere. A redirect is an address, looked up for each packet
// in the FIB of the packet's virtual router (rib/acl_target_resolve.c keeps its neighbor resolved).
//
// Ids start at 1 and are reference-counted; contents of lists and packet programs hold them. A lock
// serializes writers. Forwarders read single words, and addresses that do not change while held.
#ifndef TABLE_ACL_TARGET_H
#define TABLE_ACL_TARGET_H

#include <stdbool.h>
#include <stdint.h>

#include "base/ip.h"
#include "table/acl.h"
#include "table/watch.h"

#define ACL_MIRROR_MAX 64
#define ACL_REDIRECT_MAX 1024

// --- acl_manager, control: take or drop a reference; 0 = none free. _put: after a grace period ---
uint16_t acl_mirror_get(const char *session);
void acl_mirror_put(uint16_t id);
uint16_t acl_redirect_get(const struct ip_addr *to);
void acl_redirect_put(uint16_t id);

// --- control: set the watch that copies for the session; WATCH_MAX: none. 0 or -ENOSPC
int acl_mirror_lead(const char *session, unsigned watch);

// --- any thread: addresses of all redirects; returns their number, at most ACL_REDIRECT_MAX ---
unsigned acl_redirect_all(struct ip_addr *to);

// --- any thread: packets by address; returns the number of rows, at most ACL_REDIRECT_MAX ---
struct acl_redirect_row {
    struct ip_addr to;
    uint64_t sent, no_way; // packets; no_way: unreachable, so the packet went its normal way
};
unsigned acl_redirect_rows(struct acl_redirect_row *row);

// --- forwarder, inside a burst ---
void acl_redirect_counted(uint16_t id, unsigned forwarder, bool sent);
unsigned acl_mirror_watch(uint16_t id); // WATCH_MAX: none
const struct ip_addr *acl_redirect_to(uint16_t id);

#endif
