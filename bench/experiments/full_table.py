# SPDX-License-Identifier: BSD-3-Clause
"""A full table into the kernel, with and without kamueed following it.

Three followers in turns: nobody; a reader that takes every announcement and throws it away (what the
kernel charges the installer for any follower at all); kamueed. The difference between the last two is
kamueed's own. Completion is when RIB and FIB hold every route, asked every few milliseconds; the
time counts from the kernel's acknowledgement of the last route, on the same clock.
"""
import signal
import time

from measure.program import wait_until
from measure.topology import Star, star

NAME = "full-table"
IDEA = ("Time to load a full table, in the kernel alone and with kamueed until RIB and FIB are complete, and its CPU "
        "and memory cost.")
NEEDS = ("kamueed", "route_install")
MODES = (("add", ()), ("replace", ("--shift", "1")), ("delete", ()))


def run(ctx) -> None:
    for _ in ctx.each_round():
        alone = kernel(ctx, "kernel alone", listener=False)
        read = kernel(ctx, "kernel + a reader", listener=True)
        followed = with_kamueed(ctx)
        for mode, _ in MODES:
            added = 100.0 * (followed[mode] / alone[mode] - 1)
            ctx.add(f"{mode}: added to the kernel's time", "kamueed", "%", added, goal="<= 10" if mode == "add" else "")
            ctx.add(f"{mode}: added to the kernel's time with a reader", "kamueed", "%",
                    100.0 * (followed[mode] / read[mode] - 1))


def note_size(ctx, s: Star, result: dict) -> None:
    if not ctx.outcome.notes:
        ctx.note(f"{result['routes4']:,} IPv4 and {result['routes6']:,} IPv6 routes, {len(s.via(4))} next hops of each "
                 "family on two interfaces, batches of 256 messages")


def kernel(ctx, variant: str, listener: bool) -> dict[str, float]:
    took = {}
    with star("linux", ctx) as s:
        proc = None
        if listener:
            proc = s.popen(s.router, ["taskset", "-c", "0", ctx.program("route_install"), "--mode", "listen"])
            time.sleep(0.3)
        for mode, more in MODES:
            with ctx.step(f"{variant}: {mode}"):
                result = s.install(mode, *more)
            note_size(ctx, s, result)
            took[mode] = result["seconds"]
            ctx.add(f"{mode}: the kernel's time", variant, "s", took[mode])
        if proc:
            proc.send_signal(signal.SIGTERM)
            proc.wait(10)
    return took


def with_kamueed(ctx) -> dict[str, float]:
    took = {}
    with star("kamueed", ctx) as s:
        k = s.kamueed
        rib, fib = k.routes()
        before = k.rss_mb()
        for mode, more in MODES:
            if mode == "delete":
                while_full(ctx, s)
            with ctx.step(f"kamueed: {mode}"):
                cpu = k.cpu_s()
                result = s.install(mode, *more)
                n = result["routes4"] + result["routes6"]
                if mode == "replace":
                    wait_replaced(ctx, s)
                else:
                    k.wait_routes(rib + n * (mode == "add"), fib + n * (mode == "add"))
                follow_s = (time.monotonic_ns() - result["end_ns"]) / 1e9
            took[mode] = result["seconds"]
            ctx.add(f"{mode}: the kernel's time", "kamueed", "s", took[mode])
            ctx.add(f"{mode}: the kernel's last route → RIB and FIB hold all", "kamueed", "s", follow_s, goal="<= 2")
            ctx.add(f"{mode}: CPU of the thread rib_manager", "kamueed", "s", spent(cpu, k.cpu_s(), "rib"))
            if mode == "add":
                sizes(ctx, s, before)
        vr = k.vr()
        ctx.add("netlink overruns", "kamueed", "count", vr.get("overruns", 0))
    return took


def wait_replaced(ctx, s: Star) -> None:
    """Netlink keeps its order: when the last route has moved, all have."""
    with open(ctx.prefixes(), "rb") as f:
        lines = f.read().decode().split()
    for family, mark in ((4, "."), (6, ":")):
        mine = [line for line in lines if mark in line and (family == 6 or ":" not in line)]
        via = [v.partition("%")[0] for v in s.via(family)]
        wanted = via[(len(mine) - 1 + 1) % len(via)]
        address = mine[-1].partition("/")[0]
        wait_until(lambda: s.kamueed.gateway_of(address) == wanted,
                   lambda: f"the FIB sends {mine[-1]} to {s.kamueed.gateway_of(address)}, not {wanted}", 60,
                   pause_s=0.005)


def spent(before: dict, after: dict, thread: str) -> float:
    return sum(t - before.get(name, 0.0) for name, t in after.items() if thread in name)


def sizes(ctx, s: Star, rss_before: float) -> None:
    k = s.kamueed
    fibs = k.fib()
    for family in ("ipv4", "ipv6"):
        ctx.add(f"FIB of {family}", "kamueed", "MB", fibs[family]["bytes"] / 1e6, goal="<= 6" if family == "ipv4"
                else "")
    ctx.add("RSS with the full table", "kamueed", "MB", k.rss_mb(), goal="<= 700")
    ctx.add("highest RSS so far", "kamueed", "MB", k.status_kib("VmHWM") * 1024 / 1e6)
    ctx.add("RSS before", "kamueed", "MB", rss_before)


def while_full(ctx, s: Star) -> None:
    """Measurements that need a full table: an audit, steady churn, a restart."""
    k = s.kamueed
    with ctx.step("kamueed: audit"):
        begun = time.monotonic()
        audit = k.client.call("audit")
        ctx.add("audit of RIB and FIB against the kernel", "kamueed", "s", time.monotonic() - begun)
        ctx.add("audit: differences", "kamueed", "count", audit["diverged"], goal="<= 0")
    seconds = 2 if ctx.quick else 5
    with ctx.step("kamueed: 10,000 changes/s"):
        cpu = k.cpu_s()
        result = s.install("flap", "--rate", "10000", "--seconds", str(seconds))
        used = spent(cpu, k.cpu_s(), "rib") / result["seconds"]
        ctx.add("CPU of rib_manager at 10,000 changes/s", "kamueed", "% of a core", 100 * used)
    restart(ctx, s)


def restart(ctx, s: Star) -> None:
    k = s.kamueed
    rib, fib = k.routes()
    kept = s.install("count")
    with ctx.step("kamueed: restart"):
        stop_s = k.stop()
        left = s.install("count")
        if (left["routes4"], left["routes6"]) != (kept["routes4"], kept["routes6"]):
            ctx.note(f"restart: the kernel lost routes with the TAPs ({left['routes4']:,} of {kept['routes4']:,} IPv4 "
                     "left); they are put back before the start is timed")
            put_back(ctx, s, k)
            return
        begun = time.monotonic()
        k.start()
        k.wait_routes(rib, fib)
        start_s = time.monotonic() - begun
    ctx.add("restart: stop", "kamueed", "s", stop_s)
    ctx.add("restart: start → FIB holds the kernel's full table", "kamueed", "s", start_s)


def put_back(ctx, s: Star, k) -> None:
    """The TAPs went with the daemon: start it again, and restore addresses and routes for the next steps."""
    k.start()
    for number, link in enumerate(("p0", "p1", "p2")):
        s.router.ip(f"link set {link} up")
        s.router.add_addresses(link, [f"10.90.{number}.1/24", f"fd90:{number}::1/64"])
    rib, fib = k.routes()
    result = s.install("add", "--shift", "1")
    n = result["routes4"] + result["routes6"]
    k.wait_routes(rib + n, fib + n)
