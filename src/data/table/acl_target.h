// SPDX-License-Identifier: BSD-3-Clause
// acl_target.h - other places that rules lead to: mirror sessions, and addresses of redirects
//
// A session is known by its name, and may come after the lists that name it and go before them: its
// id leads nowhere meanwhile. A redirect is an address, looked up in the FIB of the packet's
// virtual router for each packet (rib/acl_target_resolve.c keeps its neighbor resolved).
//
// Ids start at 1; their holders, the contents of lists and packet programs, are counted. A lock
// separates writers; forwarders read single words, and addresses that do not change while they are
// held.
#ifndef TABLE_ACL_TARGET_H
#define TABLE_ACL_TARGET_H

#include <stdbool.h>
#include <stdint.h>

#include "base/ip.h"
#include "table/acl.h"
#include "table/watch.h"

#define ACL_MIRROR_MAX 64
#define ACL_REDIRECT_MAX 1024

// --- acl_manager, control: one more holder, one less. 0 = all ids are taken. _put: after a grace
// period ---
uint16_t acl_mirror_get(const char *session);
void acl_mirror_put(uint16_t id);
uint16_t acl_redirect_get(const struct ip_addr *to);
void acl_redirect_put(uint16_t id);

// --- control: the watch that takes copies for the session; WATCH_MAX: there is none. 0 or -ENOSPC
int acl_mirror_lead(const char *session, unsigned watch);

// --- any thread: addresses of all redirects; how many, at most ACL_REDIRECT_MAX ---
unsigned acl_redirect_all(struct ip_addr *to);

// --- any thread: packets that rules have sent to each address; how many, at most ACL_REDIRECT_MAX
// ---
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
