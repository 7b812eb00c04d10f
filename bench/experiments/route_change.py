# SPDX-License-Identifier: BSD-3-Clause
"""One route changes in the kernel; when does the first packet follow it?

The kernel as its own router is the peer: it forwards by the table that was just changed, so what it shows is
the part of the figure that belongs to the measurement (a packet every 50 µs) and to the veths.
"""
from measure.topology import Star, star

NAME = "route-change"
IDEA = "Time from a route change in the kernel to the first packet that follows it."
NEEDS = ("kamueed", "route_latency", "route_install")
PREFIX = "198.51.100.0/24"       # documentation space: no full table has it


def run(ctx) -> None:
    tables = ("empty table",) if ctx.quick else ("empty table", "full table")
    for _ in ctx.each_round():
        for table in tables:
            for router in ("linux", "kamueed"):
                with star(router, ctx) as s:
                    if table == "full table":
                        fill(ctx, s)
                    with ctx.step(f"{router}, {table}"), s.losses_noted():
                        change(ctx, s, router, table)


def fill(ctx, s: Star) -> None:
    with ctx.step("installing the full table"):
        before = s.kamueed.routes() if s.kamueed else (0, 0)
        result = s.install("add")
        n = result["routes4"] + result["routes6"]
        if s.kamueed:
            s.kamueed.wait_routes(before[0] + n, before[1] + n)


def change(ctx, s: Star, router: str, table: str) -> None:
    hosts = s.hosts
    result = ctx.run_json([
        ctx.program("route_latency"), "--router", s.router.name, "--send", f"{hosts['src'].name}%e0", "--to",
        s.router_mac("p0"),
        "--source", "10.90.0.2", "--prefix", PREFIX, "--via", "10.90.1.2%p1", "--via", "10.90.2.2%p2",
        "--receive", f"{hosts['a'].name}%e0", "--receive", f"{hosts['b'].name}%e0",
        "--changes", "60" if ctx.quick else "300", "--cpu", str(s.load_core)])
    variant = f"{router}, {table}"
    ctx.add("route change sent → first packet follows", variant, "ms", *(us / 1000 for us in result["from_send_us"]))
    ctx.add("kernel's acknowledgement → first packet follows", variant, "ms",
            *(us / 1000 for us in result["from_ack_us"]), goal="<= 2" if router == "kamueed" else "")
    ctx.add("changes not followed within 5 s", variant, "count", result["missed"], goal="<= 0")
    ctx.add("packets lost meanwhile", variant, "% of sent", 100 * result["lost"] / max(1, result["sent"]))
    ctx.add("packets on the old way half a gap later", variant, "count", result["strays"], goal="<= 0")
    ctx.note("a packet every 50 µs; a negative time is a packet that followed before the acknowledgement was read")
