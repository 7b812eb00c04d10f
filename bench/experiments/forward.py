# SPDX-License-Identifier: BSD-3-Clause
"""The forwarder's stages on packets in memory, by forward_bench: cycles a packet without any port.

The program has rounds of its own, with all cases in turns in each, so it is run once, on one core.
"""
from measure import machine

NAME = "forward"
IDEA = "Cycles per packet on one core in all stages, without the cost of a port."
NEEDS = ("forward_bench",)


def run(ctx) -> None:
    argv = ["taskset", "-c", str(machine.last_core()), ctx.program("forward_bench"), "--json", "--prefixes",
            ctx.prefixes()]
    with ctx.step("forward_bench"):
        found = ctx.run_json(argv + (["--quick"] if ctx.quick else []), timeout_s=1800)
    for entry in found["results"]:
        ctx.add(entry["what"], entry["variant"], entry["unit"], *entry["values"])
    for text in found.get("notes", []):
        ctx.note(text)
