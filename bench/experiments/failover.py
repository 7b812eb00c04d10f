# SPDX-License-Identifier: BSD-3-Clause
"""One of four ways loses its carrier, with few and with a million prefixes behind the group.

Flows of both families go from a host through kamueed and one of four links to another host, whose end of one link is
taken down. Every packet is accounted for: what the dead way still got is what its flows lost. The group is a
multipath route's or a next-hop object's; with the first, Linux says nothing and keeps the routes, with the second it
shrinks the group.
"""
import ipaddress
import os
import sys
import time

from kamuee.lab import flows, measure, schema
from kamuee.lab.lab import Lab

from measure import group_routes
from measure.program import wait_until

NAME = "failover"
IDEA = ("How long flows over one of four links lose packets when the link loses carrier, with 10 and with 1,000,000 "
        "prefixes behind it.")
NEEDS = ("kamueed",)
WAYS, FLOWS, PER_S, SECONDS = 4, 128, 8000, 4
MANY, MANY6 = 1_000_000, 100_000
TARGETS = ("198.51.100.1", "2001:db8:100::1")


def run(ctx) -> None:
    many = 20_000 if ctx.quick else MANY
    with_lab = Fourway(ctx)
    try:
        for n in (10, many):
            with ctx.step(f"{n:,} prefixes into the kernel"):
                with_lab.routes(n, min(n, MANY6))
            for _ in ctx.each_round():
                for group in ("multipath", "next-hop group"):
                    with_lab.group(group, n, min(n, MANY6))
                    note(ctx, f"{group}, {n:,} prefixes", with_lab.pull("p2"))
                    with_lab.put_back("p2")
    finally:
        with_lab.lab.stop()


def note(ctx, variant: str, seen: flows.Pulled) -> None:
    ctx.add("carrier lost → last packet to the dead way", variant, "ms", seen.lost_ms, goal="<= 50")
    ctx.add("packets lost of the dead way's flows", variant, "packets", seen.lost)
    ctx.add("flows of the dead way", variant, "flows", seen.flows)
    ctx.add("packets lost of other flows", variant, "packets", seen.others_lost, goal="<= 0")
    ctx.add("other flows that changed their way", variant, "flows", seen.others_moved, goal="<= 0")


def text() -> str:
    def addresses(i: int, host: int) -> str:
        return f'p{i}: [10.12.{i}.{host}/24, "fd00:{i}::{host}/64"]'
    ways = range(1, WAYS + 1)
    return f"""
nodes:
  src:
    kind: host
    interfaces: {{eth0: [10.1.0.2/24, "fd00:100::2/64"]}}
    routes: [default via 10.1.0.1, "default via fd00:100::1"]
  r:
    kind: kamuee
    interfaces: {{p0: [10.1.0.1/24, "fd00:100::1/64"], {", ".join(addresses(i, 1) for i in ways)}}}
  far:
    kind: host
    interfaces: {{{", ".join(addresses(i, 2) for i in ways)}, lo: [{TARGETS[0]}/32, "{TARGETS[1]}/128"]}}
    routes: [default via 10.12.1.1, "default via fd00:1::1"]
links: [[src:eth0, r:p0], {", ".join(f"[r:p{i}, far:p{i}]" for i in ways)}]
"""


def last_of(n4: int, n6: int) -> str:
    """An address of the prefix that group_routes.py installs last."""
    return str(ipaddress.ip_address(int(ipaddress.ip_address("2400::")) + (n6 - 2 << 80)))


class Fourway:
    def __init__(self, ctx):
        self.ctx = ctx
        os.environ["KAMUEED"] = str(ctx.kamueed)
        self.lab = Lab.start(schema.load_text(text(), "failover.yaml", "bench-failover"))
        self.router = self.lab["r"]
        self.n = (0, 0)
        for family in (4, 6):
            for i in range(1, WAYS + 1):
                self.router.ip(f"nexthop add id {family}{i} via {self.via(family, i)} dev p{i}")
            self.router.ip(f"nexthop add id {family} group {'/'.join(f'{family}{i}' for i in range(1, WAYS + 1))}")

    @staticmethod
    def via(family: int, i: int) -> str:
        return f"10.12.{i}.2" if family == 4 else f"fd00:{i}::2"

    def routes(self, n4: int, n6: int) -> None:
        self.group("multipath", n4, n6)

    def group(self, group: str, n4: int, n6: int) -> None:
        """Every prefix leads to this kind of group, and the router has all prefixes."""
        ways = ["nhid", "4", "6"] if group == "next-hop group" else ["legs"] + [
            f"{self.via(family, i)}%p{i}" for family in (4, 6) for i in range(1, WAYS + 1)]
        took = self.router.run([sys.executable, group_routes.__file__, str(n4), str(n6), *ways], timeout_s=300).strip()
        begun = time.monotonic()
        last, kind = last_of(n4, n6), "multipath" if group == "multipath" else "object"
        wait_until(lambda: self.fib() >= (n4, n6) and self.has_group(last, kind),
                  f"the FIB has not {n4:,} and {n6:,} prefixes", 120, pause_s=0.1)
        self.ctx.say(f"{group}: {n4:,} + {n6:,} prefixes: {took} s for the kernel, {time.monotonic() - begun:.1f} s "
                     "more for the FIB")
        for family in (4, 6):
            for i in range(1, WAYS + 1):
                wait_until(lambda: self.reaches(self.via(family, i)), f"way {i} does not answer", 120, pause_s=0.1)

    def fib(self) -> tuple[int, int]:
        fibs = {fib["family"]: fib["routes"] for vr in measure.client(self.router).entries("vr") for fib in vr["fib"]}
        return fibs["ipv4"], fibs["ipv6"]

    def has_group(self, address: str, kind: str) -> bool:
        """Whether the address leads to the group of the object, or to a group of its own."""
        result = measure.client(self.router).call("lookup", address=[address])["result"][0]
        rows = {row["id"]: row for row in measure.client(self.router).entries("nexthop")}
        row = rows.get(result["nexthop"], {})
        return row.get("kind") == "group" and ("kernel-id" in row) == (kind == "object")

    def reaches(self, target: str) -> bool:
        return " 1 received" in self.lab["src"].run(f"ping -n -c 1 -W 1 {target}", check=False)

    def pull(self, interface: str) -> flows.Pulled:
        return flows.pull(flows.Traffic(self.lab["src"], self.lab["far"], list(TARGETS), FLOWS, PER_S, SECONDS),
                          self.lab["far"], interface)

    def put_back(self, interface: str) -> None:
        """The work of a routing daemon when the link is back."""
        self.lab["far"].ip(f"link set dev {interface} up")
        i = interface[1:]
        for family in (4, 6):
            wait_until(lambda: "rror" not in self.router.run(f"ip nexthop replace id {family}{i} via "
                                                            f"{self.via(family, int(i))} dev {interface}", check=False)
                      and self.router.run(f"ip nexthop get id {family}{i}", check=False),
                      f"{interface} takes no next hops", 120, pause_s=0.1)
            self.router.ip(f"nexthop replace id {family} group {'/'.join(f'{family}{k}' for k in range(1, WAYS + 1))}")
