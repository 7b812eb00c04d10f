# SPDX-License-Identifier: BSD-3-Clause
"""Leaves of state and operations that are 64 bits wide and so arrive as strings. Generated: see reference.py."""
WIDE = frozenset("""
    age ago audits batches below blocks bursts busy-cycles bytes calls cbs changes checked checksum-completed cir
    control-bytes counter-samples cpu-time cycles datagrams datagrams-lost diverged drop-packets drops ebs ended
    engine-faults engine-rebuilds errors fib-divergence flows flows-no-room forbidden get get-bulk get-next held
    held-packets idle-cycles imbalance inject inject-packets last-audit leaves limited lookups matched-bytes
    matched-packets max mean median members-ipv4 members-ipv6 messages missed neighbors nexthops no-way-packets
    nodes not-followed notifications notifications-lost offload-cut overruns p90 p99 p999 packets passed pbs peak
    pir policed polls polls-idle prefixes punt punt-packets queue-full reader-bytes records redirected-packets
    resyncs rib-bytes rib-routes room routes rss rules-ignored rx rx-bytes rx-errors rx-lacpdus rx-missed
    rx-no-buffer rx-packets samples samples-missed samples-no-ip seconds sent sent-bytes sent-packets sessions
    set-refused shared-bytes swept taken tx tx-bytes tx-errors tx-lacpdus tx-packets unmatched-bytes
    unmatched-packets updates uptime urpf-packets used value variables ways ways-cut wrong-interface
""".split())
