# SPDX-License-Identifier: BSD-3-Clause
"""The demo loses its preferred provider: how long its customer gets no answers.

The remedies are those of docs/quickstart/frr-edge.md: floating default routes to both providers, and fast-reroute. Each
is measured with the full table of `kamuee demo`, by pings of both families; a measurement begins when the table rests, and
ends when FRR has replaced the routes.
"""
import argparse
import json
import os
import subprocess
import sys
import time

from kamuee.lab import demoplan, measure, pinger
from kamuee.lab.demorun import Demo

from measure.program import wait_until

NAME = "provider-loss"
IDEA = "How long a customer of the demo gets no answers when the preferred provider's link fails, with the full table."
NEEDS = ("kamueed",)
INTERVAL_S, PATIENCE_S = 0.02, 300
DEFAULTS = ("ip route 0.0.0.0/0 10.0.1.1 200", "ip route 0.0.0.0/0 10.0.2.1 200", "ipv6 route ::/0 fd00:1::1 200",
            "ipv6 route ::/0 fd00:2::1 200")
VARIANTS = {"default routes and fast-reroute": (True, True), "default routes": (True, False), "neither": (False, False)}


def run(ctx) -> None:
    os.environ["KAMUEED"] = str(ctx.kamueed)
    options = argparse.Namespace(name="bench-provider", router="kamueed", json=True, prefixes=str(ctx.prefixes()), mrt=None,
                                 routes=None, second=None)
    demo = Demo(options, ctx.console)
    table = demo.load_table()
    try:
        demo.start_lab(table)
        demo.follow_table(table)
        targets = demoplan.sample_addresses(table, 30)
        chosen = {"IPv4": targets[0], "IPv6": targets[-1]}
        for _ in ctx.each_round():
            for variant, (defaults, reroute) in VARIANTS.items():
                prepare(demo, defaults, reroute)
                note(ctx, variant, cut(ctx, demo, chosen))
                demo.lab["isp1"].ip("link set dev edge up")
                await_way(demo, chosen, "p0")
                demo.settle()
    finally:
        if demo.lab:
            demo.lab.stop()


def note(ctx, variant: str, answers: dict[str, dict]) -> None:
    for family, answer in answers.items():
        lost = [at for _, at in answer["lost"]]
        ctx.add(f"{family}: first to last ping lost", variant, "s", max(lost) - min(lost) + INTERVAL_S if lost else 0.0,
                goal="<= 1" if "fast-reroute" in variant else "")
        ctx.add(f"{family}: pings lost, one each {1000 * INTERVAL_S:.0f} ms", variant, "pings", len(lost))


def prepare(demo: Demo, defaults: bool, reroute: bool) -> None:
    word = "true" if reroute else "false"
    measure.client(demo.edge).call("configure", line=[f"set interface {port} fast-reroute {word}" for port in ("p0", "p1")])
    demo.edge.vtysh("configure terminal", *(line if defaults else f"no {line}" for line in DEFAULTS), "end")
    for family in ("-4", "-6"):
        wait_until(lambda: bool(demo.edge.ip(f"{family} route show default")) == defaults, "FRR has not changed the default routes", 30)


def cut(ctx, demo: Demo, targets: dict[str, str]) -> dict[str, dict]:
    """What pingers say, who send before the link goes down and until FRR has replaced the routes."""
    senders = {family: demo.customer.popen([sys.executable, pinger.__file__, target, str(INTERVAL_S)],
                                           stdin=subprocess.PIPE, stdout=subprocess.PIPE)
               for family, target in targets.items()}
    for sender in senders.values():
        sender.stdout.readline()
    time.sleep(2)
    with ctx.step("the preferred provider's link goes down"):
        demo.lab["isp1"].ip("link set dev edge down")
        await_way(demo, targets, "p1")
        demo.settle()
    return {family: json.loads(sender.communicate(timeout=60)[0]) for family, sender in senders.items()}


def await_way(demo: Demo, targets: dict[str, str], port: str) -> None:
    """The routes of the addresses, not the default route, lead out of the port."""
    def lead_there() -> bool:
        said = measure.client(demo.edge).call("lookup", address=list(targets.values()))["result"]
        return all(one.get("interface") == port and not one["prefix"].endswith("/0") for one in said)
    wait_until(lead_there, f"the routes do not lead to {port}", PATIENCE_S, pause_s=0.2)
