# SPDX-License-Identifier: BSD-3-Clause
"""The experiments, in the order in which they run. Each is a module with

    NAME      what --only calls it
    IDEA      one sentence: what it finds out
    NEEDS     programs of the build directory, or "kamueed"
    run(ctx)  measures; every number goes through ctx.add()
"""
from experiments import (api, failover, fib, forward, forward_memif, veth, full_table, idle, provider_loss, publication,
                         publication_daemon, route_change)

ALL = (fib, forward, full_table, route_change, failover, provider_loss, publication, publication_daemon, veth,
       forward_memif, api, idle)
