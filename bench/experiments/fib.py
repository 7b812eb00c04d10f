# SPDX-License-Identifier: BSD-3-Clause
"""Lookups, updates and memory of the FIB structures, by fib_bench.

The program has rounds of its own, interleaves the engines in each and pins its threads, so it is run once.
"""
NAME = "fib"
IDEA = "FIB lookups and updates per second on one core, and memory, compared with DPDK's."
NEEDS = ("fib_bench",)


def run(ctx) -> None:
    argv = [ctx.program("fib_bench"), "--json", "--prefixes", ctx.prefixes()] + (["--quick"] if ctx.quick else [])
    with ctx.step("fib_bench"):
        found = ctx.run_json(argv, timeout_s=3600)
    for entry in found["results"]:
        ctx.add(entry["what"], entry["variant"], entry["unit"], *entry["values"])
    for row in found["rows"]:
        table = f"IPv{row['family']} {row['table']}, {row['next_hops']} next hops"
        if row["updates_per_s"]:
            ctx.add(f"{table}: withdraw + announce", row["engine"], "updates/s", row["updates_per_s"])
            ctx.add(f"{table}: slowest 1 % of updates", row["engine"], "µs", row["update_p99_us"])
        if row["pattern"] == "uniform" and row["kernel"] != "single":
            keep_once(ctx, f"{table}: memory that lookups read", row["engine"], "MB", row["bytes"] / 1e6)
            keep_once(ctx, f"{table}: build", row["engine"], "ms", row["build_ms"])
    ctx.note("the ratio of two engines holds within this run; patterns: addresses drawn uniformly, in random prefixes, "
             "by popularity 1/rank, in sequence")


def keep_once(ctx, what: str, variant: str, unit: str, value: float) -> None:
    """Kernels of one engine share the table."""
    if not any((s.what, s.variant) == (what, variant) for s in ctx.outcome.series):
        ctx.add(what, variant, unit, value)
