#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Measures what Kamuee claims, and writes the numbers down together with the machine they belong to.

    bench/run.py --build build                      everything (root: it makes network namespaces)
    bench/run.py --build build --only route-change idle --rounds 5
    bench/run.py --list
    bench/run.py --markdown bench/results/FILE.json     an earlier result as a table

Peers are measured in the same run, in turns with us. A busy machine is refused (--force measures anyway,
and the result says so). All traffic stays in network namespaces inside a private mount namespace, which
vanish with this process.
"""
import argparse
import json
import os
import signal
import sys
import tempfile
import time
import traceback
from datetime import datetime, timezone
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "cli")]

from measure import machine, report                              # noqa: E402
from measure.context import Context                              # noqa: E402
from measure.program import Unavailable                          # noqa: E402
from measure.topology import own_namespaces                      # noqa: E402
import experiments                                               # noqa: E402


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", default="build", type=Path, help="build directory (build)")
    parser.add_argument("--list", action="store_true", help="list the experiments and what each measures")
    parser.add_argument("--only", nargs="+", metavar="NAME", help="run only these experiments")
    parser.add_argument("--rounds", type=int, metavar="N", help="rounds per comparison (default: 3; 1 with --quick)")
    parser.add_argument("--quick", action="store_true", help="small table, short trials: a smoke test")
    parser.add_argument("--prefixes", metavar="FILE", help="routing table, one prefix per line (may be gzipped)")
    parser.add_argument("--json", type=Path, metavar="FILE",
                        help="file for the result (default: bench/results/TIME.json)")
    parser.add_argument("--force", action="store_true", help="measure even if the machine is busy")
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="print an earlier result as Markdown")
    return parser.parse_args()


def chosen(only: list[str] | None) -> list:
    by_name = {e.NAME: e for e in experiments.ALL}
    unknown = [name for name in only or [] if name not in by_name]
    if unknown:
        raise SystemExit(f"no experiment '{unknown[0]}', expected one of {' '.join(by_name)}")
    return [by_name[name] for name in only] if only else list(experiments.ALL)


def run_one(experiment, ctx: Context) -> report.Outcome:
    outcome = ctx.outcome = report.Outcome(experiment.NAME, experiment.IDEA)
    begun = time.monotonic()
    try:
        for needed in experiment.NEEDS:
            ctx.need_kamueed() if needed == "kamueed" else ctx.program(needed)
        machine.settle()
        outcome.load_before = machine.load()
        begun = time.monotonic()
        experiment.run(ctx)
        outcome.load_after = machine.load()
    except Unavailable as why:
        outcome.skipped = str(why)
        ctx.say(f"skipped: {why}")
    except Exception as error:      # one experiment that fails must not lose the numbers of the others
        outcome.failed = f"{type(error).__name__}: {error}"
        ctx.console.print(traceback.format_exc(), markup=False, soft_wrap=True)
    outcome.seconds = round(time.monotonic() - begun, 1)
    return outcome


def measure(given: argparse.Namespace) -> int:
    wanted = chosen(given.only)
    if os.geteuid():
        raise SystemExit("needs root for network namespaces: sudo make bench")
    started = datetime.now(timezone.utc)
    path = given.json or HERE / "results" / f"{started:%Y%m%d-%H%M%S}.json"
    try:
        machine.must_be_quiet(given.force, 2.0)
    except Unavailable as why:
        raise SystemExit(str(why)) from None
    own_namespaces()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("stopped by SIGTERM"))
    with tempfile.TemporaryDirectory(prefix="kb-") as work:
        ctx = Context(given.build.resolve(), Path(os.environ.get("KAMUEED", given.build / "kamueed")).resolve(),
                      given.rounds or (1 if given.quick else 3), given.quick, given.prefixes, Path(work))
        result = {"started": f"{started:%Y-%m-%d %H:%M} UTC", "machine": machine.facts(), "forced": given.force,
                  "quick": given.quick, "rounds": ctx.rounds, "experiments": []}
        for experiment in wanted:
            result["experiments"].append(report.as_dict(run_one(experiment, ctx)))
            report.write(result, path)
    print(report.markdown(result))
    print(f"written to {path}", file=sys.stderr)
    return any(e["failed"] for e in result["experiments"])


def main() -> int:
    given = options()
    if given.list:
        width = max(len(e.NAME) for e in experiments.ALL)
        print(*(f"{e.NAME:{width}}  {e.IDEA}" for e in experiments.ALL), sep="\n")
        return 0
    if given.markdown:
        print(report.markdown(json.loads(given.markdown.read_text())))
        return 0
    return measure(given)


if __name__ == "__main__":
    sys.exit(main())
