# SPDX-License-Identifier: BSD-3-Clause
"""Leaves of state and operations that are 64 bits wide and so arrive as strings. Generated: see reference.py."""
WIDE = frozenset("""
    age ago all-classes-bytes audits batches below blocks bursts busy-cycles bytes calls cbs changed-bytes changes
    checked checksum-completed cir class-full client-full codel configured-rate control-bytes copied counter-samples
    cpu-time cycles datagrams datagrams-lost delay-max delay-p50 delay-p99 device-refused diverged drop-packets
    dropped-port dropped-ring drops ebs ended engine-faults engine-rebuilds entered fault-packets faults
    fib-divergence flow flows flows-no-room forbidden guarantee guaranteed-bytes held held-packets idle-cycles
    imbalance inject inject-packets key label-updates last-audit leaves left limit limited lookups marked-packets
    matched-bytes matched-packets max maximum mean median members-ipv4 members-ipv6 memory messages missed
    mpls-labels neighbors nexthops no-way no-way-packets nodes not-followed offload-cut old overruns p90 p99 p999
    packets passed pbs peak pir place policed polls polls-idle prefixes punt punt-packets queue-drop-packets
    queue-full rate reader-bytes records redirected-packets refused resyncs revision rib-bytes rib-routes room
    routes rss rules-ignored rx rx-bytes rx-errors rx-lacpdus rx-missed rx-no-buffer rx-packets sampled samples
    samples-missed samples-no-ip seconds sent sent-bytes sent-packets share-full shared-bytes strict-rate swept
    taken tx tx-bytes tx-errors tx-lacpdus tx-packets unmatched-bytes unmatched-packets updates uptime urpf-packets
    used value vlan-unknown-packets waiting waiting-bytes waiting-packets ways ways-cut wrong wrong-interface
""".split())
