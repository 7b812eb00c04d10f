# SPDX-License-Identifier: BSD-3-Clause
"""The command: options, running the checks, printing, fixing."""
from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path

from kamuee import plain
from kamuee.client import Client
from kamuee.context import terminal_width
from kamuee.doctor import cpu, kernel, memory, network, pci, rights
from kamuee.doctor.facts import Facts
from kamuee.doctor.finding import STATUSES, Finding
from kamuee.doctor.host import Host
from kamuee.errors import KamueeError, UsageError
from kamuee.render import wrapped

CHECKS = memory.CHECKS + cpu.CHECKS + pci.CHECKS + network.CHECKS + kernel.CHECKS + rights.CHECKS
CONFIG = "/etc/kamuee/kamuee.conf"
MARKS = {"good": "ok", "absent": "-", "advice": "advice", "wrong": "WRONG"}


def parse(argv: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="kamuee doctor",
                                     description="Checks whether this host is set up for fast routing, and says what "
                                                 "to fix.",
                                     epilog="Exit code: 0 nothing is wrong (advice may remain); 2 usage error; 4 "
                                            "something does not work.")
    parser.add_argument("check", nargs="*", help=f"run only these checks: {' '.join(check.name for check in CHECKS)}")
    parser.add_argument("--fix", action="store_true", help="run the safe fixes (root); none of them survives a reboot")
    parser.add_argument("-a", "--all", action="store_true", help="also show what is good")
    parser.add_argument("-j", "--json", action="store_true", help="print JSON")
    parser.add_argument("--config", metavar="FILE",
                        help=f"configuration to check against; default: the running one, else {CONFIG}")
    parser.add_argument("--root", metavar="DIR", default="/",
                        help="check a recorded copy of the kernel's files instead of this host")
    parser.add_argument("--record", metavar="FILE",
                        help="save the files that were read as a .tar.gz, for use with --root elsewhere")
    found = parser.parse_args(argv)
    known = [check.name for check in CHECKS]
    for name in found.check:
        if name not in known:
            raise UsageError(f"there is no check '{name}'\nexpected: {' '.join(known)}")
    if found.fix and found.root != "/":
        parser.error("--fix works on this host only, not with --root")
    if not Path(found.root).is_dir():
        parser.error(f"--root: {found.root} is not a directory; expected an unpacked record")
    return found


def gather(options: argparse.Namespace, client: Client) -> Facts:
    """The machine, the configuration, and kamueed's state where it runs here."""
    host = Host(options.root)
    state, lines = None, None
    if host.live:
        try:
            state = {name: client.state(name) for name in ("system", "port", "interface", "thread", "audit", "queue")}
            lines = plain.lines(client.call("configuration").get("text", ""))
        except KamueeError:
            state = None
    if options.config:
        try:
            lines = plain.lines(Path(options.config).read_bytes().decode())
        except (OSError, UnicodeDecodeError) as error:
            raise KamueeError(f"{options.config}: {getattr(error, 'strerror', None) or error}") from None
    elif lines is None:
        lines = plain.lines(host.text(CONFIG) or "")
    return Facts(host, lines, state)


def findings(facts: Facts, names: list[str]) -> list[Finding]:
    return [finding for check in CHECKS if not names or check.name in names for finding in check.run(facts)]


def shown(found: list[Finding], everything: bool, width: int):
    """Worst first, in the order of the checks."""
    for status in reversed(STATUSES):
        for finding in found:
            if finding.status == status and (everything or status in ("advice", "wrong")):
                yield from told(finding, width)
    counts = {status: sum(finding.status == status for finding in found) for status in STATUSES}
    yield (f"{counts['wrong']} wrong, {counts['advice']} to improve, {counts['good']} good, "
           f"{counts['absent']} absent or unknown" + ("" if everything else "   (--all shows these)"))


def told(finding: Finding, width: int):
    yield from wrapped(f"{MARKS[finding.status]:7}{finding.check}: {finding.subject}: {finding.found}", width, 0, 7)
    for what, text in (("wanted", finding.wanted), ("effect", finding.effect)):
        if text:
            yield from wrapped(f"{what}: {text}", width, 7, 9)
    for n, command in enumerate(finding.fix):
        if n == 4 and len(finding.fix) > 5:
            yield f"       fix: … and {len(finding.fix) - n} more (--json has all)"
            break
        yield f"       fix: {command}"


def repair(found: list[Finding]) -> list[tuple[str, str]]:
    """Runs the safe fixes; (command, what went wrong or '') of each."""
    done = []
    for finding in found:
        for command in finding.fix if finding.safe else ():
            ran = subprocess.run(["sh", "-c", command], capture_output=True, text=True)
            done.append((command, "" if ran.returncode == 0 else (ran.stderr.strip() or f"exit code {ran.returncode}")))
    return done


def main(argv: list[str], client: Client) -> int:
    options = parse(argv)
    facts = gather(options, client)
    found = findings(facts, options.check)
    done: list[tuple[str, str]] = []
    if options.fix:
        done = repair(found)
        found = findings(gather(options, client), options.check)
    if options.record:
        try:
            facts.host.record(options.record)
        except OSError as error:
            raise KamueeError(f"{options.record}: {error.strerror}") from None
    if options.json:
        print(json.dumps({"finding": [finding.json() for finding in found],
                          "fixed": [{"command": command, "error": error} for command, error in done]}, indent=2))
    else:
        for command, error in done:
            print(plain.line(f"{'failed' if error else 'done':7}{command}" + (f": {error}" if error else "")))
        for line in shown(found, options.all, terminal_width()):
            print(plain.line(line))
    sys.stdout.flush()
    statuses = {finding.status for finding in found}
    return 4 if "wrong" in statuses else 0
