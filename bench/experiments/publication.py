# SPDX-License-Identifier: BSD-3-Clause
"""Forwarding while the routes change, by publish_bench: what 10,000 and 100,000 changes a second cost the forwarder.

The program takes turns with no changes and each rate within its rounds, so it is run once. The forwarder has the
last core, the manager core 0: on a machine with other work, both wait for it, and grace periods with them.
"""
NAME = "publication"
IDEA = "Cost of route changes during forwarding: throughput, packets lost, length of a grace period."
NEEDS = ("publish_bench",)
ALONE = "no changes"


def run(ctx) -> None:
    argv = [ctx.program("publish_bench"), "--json", "--prefixes", ctx.prefixes()] + (["--quick"] if ctx.quick else [])
    with ctx.step("publish_bench"):
        found = ctx.run_json(argv, timeout_s=900)
    flood = [row for row in found["rows"] if row["load"] == "flood"]
    part = [row for row in found["rows"] if row["load"] == "part"]
    for row in flood:
        throughput(ctx, row, flood[0])
    for row in part:
        lost(ctx, row, found["load_percent"])
    for row in flood + part:
        grace(ctx, row)
    ctx.add("packets unaccounted for", "all of the run", "packets", found["unaccounted"], goal="<= 0")
    ctx.note(f"{found['routes']:,} IPv4 routes, random addresses of their prefixes, 64 B; half of the changes move a "
             "prefix to another next hop, the others withdraw one and announce it again; committed every 100 µs")
    ctx.note("a grace period: from the commit until the memory it unlinked may be used again")


def variant(row: dict) -> str:
    return f"{row['changes_per_s']:,} changes/s" if row["changes_per_s"] else ALONE


def throughput(ctx, row: dict, alone: dict) -> None:
    name = variant(row)
    ctx.add("forwarded, flooded", name, "Mpps", *row["mpps"])
    ctx.add("CPU of a packet, flooded", name, "cycles/packet", *row["cycles"])
    if row is alone:
        return
    ctx.add("route changes reached", name, "changes/s", *row["reached"], goal=f">= {0.98 * row['changes_per_s']:.0f}")
    ctx.add("throughput that is left", f"{name}, by the clock", "%",
            *(100 * a / b for a, b in zip(row["mpps"], alone["mpps"])), goal=">= 97")
    ctx.add("throughput that is left", f"{name}, by CPU time", "%",
            *(100 * b / a for a, b in zip(row["cycles"], alone["cycles"])), goal=">= 97")
    ctx.add("packets dropped, flooded", name, "packets", *row["dropped"], goal="<= 0")


def lost(ctx, row: dict, percent: int) -> None:
    goal = "<= 0" if row["changes_per_s"] else ""      # what is lost without changes is the machine's doing
    ctx.add(f"packets lost at {percent} % of the flood's rate", variant(row), "packets", *row["lost"], goal=goal)
    ctx.add(f"packets dropped at {percent} % of the flood's rate", variant(row), "packets", *row["dropped"], goal=goal)


def grace(ctx, row: dict) -> None:
    if not row["changes_per_s"]:
        return
    name = f"{variant(row)}, {'flooded' if row['load'] == 'flood' else 'part load'}"
    ctx.add("grace period, median", name, "ms", *(us / 1000 for us in row["grace_p50_us"]))
    ctx.add("grace period, p99", name, "ms", *(us / 1000 for us in row["grace_p99_us"]), goal="<= 1")
    ctx.add("grace period, longest", name, "ms", *(us / 1000 for us in row["grace_max_us"]))
