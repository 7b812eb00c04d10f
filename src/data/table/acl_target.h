// SPDX-License-Identifier: BSD-3-Clause
// acl_target.h - where rules of access lists lead besides: mirror sessions, and next hops of
// redirects
//
// A session is known by its name. Lists that name it may come before it and stay after it: its id
// leads nowhere meanwhile. A redirect is an address; the way to it is asked of the FIB of the
// packet's virtual router, packet by packet, so that it is always what rib_manager knows of routes
// and neighbors (rib/acl_target_resolve.c keeps the neighbor resolved).
//
// Ids start at 1 and are counted by their holders, the contents of lists. A lock keeps writers
// apart; forwarders read single words, and addresses that do not change while anybody holds them.
#ifndef TABLE_ACL_TARGET_H
#define TABLE_ACL_TARGET_H

#include <stdbool.h>
#include <stdint.h>

#include "base/ip.h"
#include "table/acl.h"
#include "table/watch.h"

#define ACL_MIRROR_MAX 64
#define ACL_REDIRECT_MAX 1024

// --- acl_manager: one more holder, one less. 0 = all ids are taken. _put: no forwarder has it any
// more ---
uint16_t acl_mirror_get(const char *session);
void acl_mirror_put(uint16_t id);
uint16_t acl_redirect_get(const struct ip_addr *to);
void acl_redirect_put(uint16_t id);

// --- control: the watch that takes copies for the session; WATCH_MAX: there is none. 0 or -ENOSPC
int acl_mirror_lead(const char *session, unsigned watch);

// --- any thread: addresses of all redirects; how many, at most ACL_REDIRECT_MAX ---
unsigned acl_redirect_all(struct ip_addr *to);

// --- any thread: what rules sent to each address that one redirects to, since the first of them
// was there; how many, at most ACL_REDIRECT_MAX ---
struct acl_redirect_row {
    struct ip_addr to;
    uint64_t sent, no_way; // packets; no_way: there was no way to it, so they went where they went
                           // without the rule
};
unsigned acl_redirect_rows(struct acl_redirect_row *row);

// --- forwarder, inside a burst ---
void acl_redirect_counted(uint16_t id, unsigned forwarder, bool sent);
unsigned acl_mirror_watch(uint16_t id); // WATCH_MAX: there is none
const struct ip_addr *acl_redirect_to(uint16_t id);

#endif
