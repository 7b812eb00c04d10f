// SPDX-License-Identifier: BSD-3-Clause
// routing_daemon.c - which routing daemons are expected, and with how many routes
#include "feature/routing_daemon.h"

#include "core/thread.h"

static struct routing_daemons expected;

void routing_daemon_set(const struct routing_daemons *d)
{
    thread_must_be(ROLE_CONTROL);
    expected = *d;
}

const struct routing_daemons *routing_daemon_get(void)
{
    return &expected;
}
