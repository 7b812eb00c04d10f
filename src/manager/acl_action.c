// SPDX-License-Identifier: BSD-3-Clause
// acl_action.c - from what a rule says to what forwarders do
#include "manager/acl_action.h"

struct acl_action acl_action_of(uint32_t number, uint8_t verb, const struct acl_more *more)
{
    struct acl_action a = {.verb = verb, .number = number};

    if (!more)
        return a;
    a.extra = more->extra;
    a.log_every = more->log_every;
    return a;
}
