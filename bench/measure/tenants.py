# SPDX-License-Identifier: BSD-3-Clause
"""Virtual routers with provisioned bandwidth through one port of a real kamueed: what each one's TCP gets.

    a1 ... aN -- swa (a bridge) -- p0 kamueed p1 (shaped) -- swb (a bridge) -- b1 ... bN       virtual router i: VLAN i

Each has a guarantee, and all send by TCP as fast as they can, with a slow UDP stream beside it whose jitter (RFC 3550) is that of
a call. This is what PL-VINI reported of its slices: throughput, jitter, utilization.
"""
from __future__ import annotations

import json
import subprocess
import time
from contextlib import contextmanager
from dataclasses import dataclass

from kamuee.lab import schema
from kamuee.lab.lab import Lab
from kamuee.lab.measure import client

RATE_BPS = 80_000_000
GUARANTEED = 0.9                # of the rate, in shares of 1 : 2 : … : N; what is left is shared alike
UDP_BPS = 64_000                # a call
UDP_BYTES = 160
SETTLE_S = 3                    # of TCP's slow start
MTU_WIRE, MTU_TCP = 1514 + 4 + 24, 1448     # bytes of a full segment: tag and overhead, as rates count; payload with timestamps


@dataclass
class Tenant:
    vr: str
    share_bps: float            # what the formula says it gets: guarantee and a share of the rest
    tcp_bps: float = 0.0        # payload, by its receiver
    jitter_ms: float = 0.0
    lost_percent: float = 0.0   # of the call

    @property
    def of_share(self) -> float:
        """Payload relative to the most that its share can carry."""
        return self.tcp_bps / (self.share_bps * MTU_TCP / MTU_WIRE)


@dataclass
class Measured:
    tenants: list[Tenant]
    link: float                 # share of the port's rate in use
    forwarder: float            # share of its time that a forwarder had packets


def lab_text(n: int) -> str:
    lines = ["nodes:"]
    for name in ("swa", "swb"):
        lines += [f"  {name}:", "    kind: host", "    interfaces: {" + ", ".join(f"e{i}: []" for i in range(n + 1)) + "}"]
    for i in range(1, n + 1):
        for name, net in ((f"a{i}", 1), (f"b{i}", 2)):
            lines += [f"  {name}:", "    kind: host", f"    vlan: {i}", f"    interfaces: {{eth0: [10.{net}.0.2/24]}}",
                      f"    routes: [default via 10.{net}.0.1]"]
    lines += ["  r:", "    kind: kamuee", "    vrs: {" + ", ".join(f"v{i}: {{}}" for i in range(1, n + 1)) + "}",
              "    interfaces:", "      p0: []", "      p1: []"]
    for i in range(1, n + 1):
        lines += [f"      i{i}: {{vlan: {i}, port: p0, vr: v{i}, addresses: [10.1.0.1/24]}}",
                  f"      o{i}: {{vlan: {i}, port: p1, vr: v{i}, addresses: [10.2.0.1/24]}}"]
    lines += ["links:", "  - [r:p0, swa:e0]", "  - [r:p1, swb:e0]"]
    lines += [f"  - [{end}{i}:eth0, sw{end}:e{i}]" for i in range(1, n + 1) for end in "ab"]
    return "\n".join(lines) + "\n"


@contextmanager
def running(n: int):
    lab = Lab.start(schema.load_text(lab_text(n), "tenants.yaml", "bench-tenants"), keep_broken=False)
    try:
        for name in ("swa", "swb"):
            lab[name].ip("link add br0 type bridge")
            for i in range(n + 1):
                lab[name].ip(f"link set dev e{i} master br0")
            lab[name].ip("link set dev br0 up")
        yield lab
    finally:
        lab.stop()


def shape(lab, n: int) -> list[Tenant]:
    rest, total = (1 - GUARANTEED) * RATE_BPS, sum(range(1, n + 1))
    tenants = [Tenant(f"v{i}", GUARANTEED * RATE_BPS * i / total + rest / n) for i in range(1, n + 1)]
    queue = "set port p1 queue"
    client(lab["r"]).call("configure", line=[f"{queue} rate {RATE_BPS}", *(
        f"{queue} vr v{i} guarantee {GUARANTEED * RATE_BPS * i / total:.0f}" for i in range(1, n + 1))])
    for i in range(1, n + 1):
        lab[f"a{i}"].run("ping -c 3 -i 0.2 -W 1 10.2.0.2", check=False)             # neighbors are known afterwards
    return tenants


def sent_bytes(lab) -> int:
    queue = next(q for q in client(lab["r"]).entries("queue") if q["port"] == "p1")
    return sum(int(k["sent-bytes"]) for vr in queue["vr"] for k in vr["class"])


def busy(lab) -> tuple[int, int]:
    """Cycles that forwarders were busy, and all."""
    threads = [t["statistics"] for t in client(lab["r"]).entries("thread") if "busy-cycles" in t.get("statistics", {})]
    return sum(int(t["busy-cycles"]) for t in threads), sum(int(t["busy-cycles"]) + int(t["idle-cycles"]) for t in threads)


def iperf(node, *words: str) -> subprocess.Popen:
    return node.popen(["iperf3", "-c", "10.2.0.2", "-J", *words], stdout=subprocess.PIPE)


def end_of(proc: subprocess.Popen, seconds: float) -> dict:
    said = json.loads(proc.communicate(timeout=seconds + 60)[0])
    if "error" in said:
        raise RuntimeError(f"iperf3: {said['error']}")
    return said["end"]


def measured(ctx, n: int = 8) -> Measured:
    seconds = 5 if ctx.quick else 15
    with running(n) as lab, ctx.step(f"{n} virtual routers, TCP and a call of each"):
        tenants = shape(lab, n)
        for i in range(1, n + 1):
            for port in ("5201", "5202"):
                lab[f"b{i}"].popen(["iperf3", "-s", "-p", port], stdout=subprocess.DEVNULL)
        time.sleep(0.5)
        tcp = [iperf(lab[f"a{i}"], "-p", "5201", "-P", "4", "-C", "cubic", "-O", str(SETTLE_S), "-t", str(seconds))
               for i in range(1, n + 1)]
        udp = [iperf(lab[f"a{i}"], "-p", "5202", "-u", "-b", str(UDP_BPS), "-l", str(UDP_BYTES), "-t", str(SETTLE_S + seconds - 1))
               for i in range(1, n + 1)]
        time.sleep(SETTLE_S)
        before, begun, busy_before = sent_bytes(lab), time.monotonic(), busy(lab)
        time.sleep(seconds - 2)
        link = (sent_bytes(lab) - before) * 8 / (time.monotonic() - begun) / RATE_BPS
        cycles = [now - then for now, then in zip(busy(lab), busy_before)]
        for tenant, one, call in zip(tenants, tcp, udp):
            tenant.tcp_bps = end_of(one, seconds)["sum_received"]["bits_per_second"]
            said = end_of(call, seconds)["sum"]
            tenant.jitter_ms, tenant.lost_percent = said["jitter_ms"], said["lost_percent"]
    return Measured(tenants, link, cycles[0] / max(1, cycles[1]))
