# SPDX-License-Identifier: BSD-3-Clause
"""Forwarding between memif ports: shared memory between two processes, no system call per burst.

So the forwarder itself is what limits, on one core, with its whole path. testpmd in the router's place,
moving packets without looking at them, shows what the two memifs and the tester carry. Devices and tester are those of
`kamuee bench throughput`, which says more about one device; here two are measured in turns.
"""
import subprocess

from measure import search
from measure.program import Unavailable
from throughput import device
from throughput.tester import Tester

NAME = "forward-memif"
IDEA = "Throughput of one forwarder core between two memif ports, compared with testpmd in io mode."
NEEDS = ("kamueed", "tester")
DEVICES = (("testpmd io", device.TestpmdDevice), ("kamueed", device.KamueedDevice))


def run(ctx) -> None:
    if subprocess.run(["sh", "-c", "command -v dpdk-testpmd"], capture_output=True).returncode:
        raise Unavailable("dpdk-testpmd is not installed: apt-get install dpdk-dev")
    for number in ctx.each_round():
        for router, kind in DEVICES:
            work = ctx.work / f"memif-{kind.name}{number}"
            work.mkdir()
            with ctx.step(router):
                found = measure(ctx, kind(device.Setting(ctx.build, ctx.kamueed, work, device.cores())))
            ctx.add("64 B without loss", router, "Mpps", found["strict"] / 1e6)
            ctx.add("64 B with at most 0.1 % loss", router, "Mpps", found["tolerant"] / 1e6)
            ctx.add("64 B received when flooded", router, "Mpps", found["flood"] / 1e6)
            ctx.add("offered when flooding", router, "Mpps", found["flood-offered"] / 1e6)


def measure(ctx, under_test: device.Device) -> dict:
    setting, tester = under_test.setting, None
    try:
        under_test.start()
        tester = Tester(ctx.program("tester"), under_test.devargs, setting.cores[0], setting.work / "tester.log")
        destinations = setting.work / "destinations.txt"
        destinations.write_text("\n".join(under_test.destinations(0)) + "\n")
        tester.port(0, under_test.macs[0], device.ours(0), destinations)
        under_test.ready()
        counts(tester, 10000, 0.3)                       # warms up
        return search.throughput(lambda rate, seconds: counts(tester, rate, seconds), 0.3 if ctx.quick else 1.0)
    finally:
        if tester:
            tester.stop()
        under_test.stop()


def counts(tester: Tester, rate: float, seconds: float) -> dict:
    """What the search wants to know. A packet that was due and found no room in the router's ring is lost; a flood only
    fills the ring."""
    d = tester.trial(rate=f"{rate:.0f}", seconds=seconds)["directions"][0]
    refused = d["refused"] if rate else 0
    return {"offered_pps": d["offered_pps"] * (d["sent"] + refused) / max(1, d["sent"]),
            "received_pps": d["received_pps"], "sent": d["sent"] + refused, "lost": d["lost"] + refused}
