# SPDX-License-Identifier: BSD-3-Clause
"""`kamuee bench qualify`: a report about two ports of a network card, for others to check.

    kamuee bench qualify 0000:03:00.0 0000:03:00.1      two ports, joined by a cable
    kamuee bench qualify eth2 eth3                      the same through the kernel's driver
    kamuee bench qualify --check FILE                   is the report complete, unchanged, signed?

A software tester sends by memif to kamueed, which sends each packet out of the first card, receives it by the second, and returns it to the tester.
It takes about 25 minutes. The page bench-qualify.md says what it does to the machine.
"""
from __future__ import annotations

import argparse
import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console

from commands import restart, throughput
from kamuee import render
from kamuee.context import terminal_width
from kamuee.device import card_at
from kamuee.doctor.host import Host
from kamuee.doctor.pci import BIFURCATED
from kamuee.errors import DaemonError, KamueeError, Unreachable
from kamuee.lab.errors import LabError
from kamuee.render import Column
from measure import machine
from measure.program import Unavailable, bench_program, daemon, must_be_built, run_command
from measure.topology import own_namespaces
from throughput import device, frames, report, soak
from throughput.tester import TesterError
from throughput.tests import Bench, latency_at, reset, throughput as find_throughput

IDEA = "a report about two ports of a network card, for others to check: throughput, latency, route changes, restart, upgrade, soak (root)"
FORMAT = 1
NAMESPACE = "kamuee-qualify"                    # of the signature
SIZES = ("64", "512", "1518", "imix")
TABLES = ("", "full")                           # 1,020 test networks, and the full table
FAMILIES = {"IPv4": 0, "IPv6": 100}             # percent of IPv6
HALF = 50                                       # percent of the throughput, for latency
SECONDS, QUICK_SECONDS = 1.0, 0.2               # of a trial
QUICK_SOAK_MIN = 0.1
CHANGES_PER_S = 10_000
CHANGES = 1_000_000                             # under load, before the audit
FOR_DPDK = ("vfio-pci", "uio_pci_generic", "igb_uio", *BIFURCATED)
FORBIDDEN = ("serial", "uuid", "hostname", "mac")       # names of facts that are personal, or the machine's own
NOT_TRIED = ("link flaps and pulled cables", "other MTUs than 1500", "several queues and forwarders", "VLANs and offloads that kamueed does not ask for",
             "bursts and overload (kamuee bench throughput)", "days of traffic")
TABLE = (Column("Check"), Column("Result"), Column("Found"))


def parser() -> argparse.ArgumentParser:
    given = argparse.ArgumentParser(prog="kamuee bench qualify", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    given.add_argument("card", nargs="*", metavar="CARD", help="PCI address of a card that DPDK has (kamuee device bind), or kernel interface: two")
    given.add_argument("--report", type=Path, default=Path("kamuee-qualify.json"), metavar="FILE", help="the report (default: kamuee-qualify.json)")
    given.add_argument("--key", type=Path, metavar="FILE", help="SSH key that signs the report, into FILE.sig")
    given.add_argument("--prefixes", metavar="FILE", help="full routing table, one prefix per line (may be gzipped)")
    given.add_argument("--quick", action="store_true", help="short trials, 64 bytes only: proves that it works here, in 3 minutes")
    given.add_argument("--force", action="store_true", help="measure even if the machine is busy; the report says so")
    given.add_argument("--check", type=Path, metavar="FILE", help="check a report")
    given.add_argument("--signers", type=Path, metavar="FILE", help="with --check: keys to accept, as in ssh-keygen(1), ALLOWED SIGNERS")
    given.add_argument("--json", "-j", action="store_true", help="print JSON")
    return given


def main(argv: list[str]) -> int:
    given = parser().parse_args(argv)
    console = Console(stderr=True, highlight=False)
    return run_command("qualify", lambda: check(given) if given.check else qualify(given, console), frames.BadFrames, device.DeviceError, TesterError,
                       LabError, KamueeError, DaemonError, Unreachable, OSError, RuntimeError)


# --- facts about cards ---

def told(*command: str) -> str:
    if not shutil.which(command[0]):
        return ""
    return subprocess.run(command, capture_output=True, text=True).stdout.strip()


def card_facts(name: str) -> dict:
    """Model, driver and firmware, from /sys, lspci and ethtool; no addresses of its own."""
    host, facts = Host(), {"name": name}
    address = name if ":" in name else os.path.basename(os.path.realpath(f"/sys/class/net/{name}/device"))
    if ":" in address:
        card = card_at(host, address)
        facts |= {"model": card.model, "kernel-driver": card.driver, "numa-node": card.numa_node}
        facts |= {key.lower(): value for key, _, value in (line.partition(":\t") for line in told("lspci", "-vmm", "-s", address).splitlines())
                  if key in ("Vendor", "Device", "SVendor", "SDevice", "Rev")}
        facts |= {f"link-{name}": host.text(f"/sys/bus/pci/devices/{address}/current_link_{name}") for name in ("speed", "width")}
    if ":" not in name:
        facts |= {key: value for key, _, value in (line.partition(": ") for line in told("ethtool", "-i", name).splitlines())
                  if key in ("driver", "version", "firmware-version")}
    return {key: value for key, value in facts.items() if value not in (None, "")}


PORT_FACTS = ("name", "driver", "status", "speed", "duplex", "mtu", "rx-mode", "rx-queues", "tx-queues", "rx-descriptors", "tx-descriptors",
              "offload", "rss", "socket")


def port_facts(port: dict) -> dict:
    return {key: port[key] for key in PORT_FACTS if key in port}


def program_sums() -> dict[str, str]:
    """SHA-256 of each program that the result depends on."""
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in (daemon(), bench_program("tester"), bench_program("route_install"))}


# --- the run ---

def qualify(given: argparse.Namespace, console: Console) -> int:
    if len(given.card) != 2 or given.card[0] == given.card[1]:
        raise Unavailable("name two different ports, joined by a cable: kamuee bench qualify 0000:03:00.0 0000:03:00.1\n"
                          "('kamuee device' lists the cards)")
    if os.geteuid():
        raise Unavailable("needs root for network namespaces and DPDK: sudo kamuee bench qualify")
    must_be_built(daemon(), bench_program("tester"), bench_program("route_install"))
    busy, _ = machine.must_be_quiet(given.force)
    outside = {card: must_be_free(card) for card in given.card}
    own_namespaces()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("stopped by SIGTERM"))
    found = {"format": FORMAT, "started": time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime()), "quick": given.quick,
             "busy-percent": round(busy, 1), "machine": machine.facts(), "programs": program_sums(), "cards": outside, "ports": [],
             "version": "", "cores": "", "rows": [], "checks": [], "not-tried": list(NOT_TRIED), "explained": []}
    say = throughput.Voice(console, found["explained"])
    for routes in TABLES:
        with bench_of(given, routes, say) as bench:
            found |= {"version": bench.device.facts()["version"], "cores": device.describe(bench.device.setting),
                      "ports": [port_facts(port) for port in bench.device.cards()]}
            rates(bench, given, found["rows"])
            if routes:
                found["checks"] += last(bench, given, found["rows"], console)
    found["checks"] = [*of_rates(found["rows"]), *found["checks"]]
    write(given, found)
    show(given, found)
    return 0 if all(each["passed"] for each in found["checks"]) else 1


def must_be_free(card: str) -> dict:
    """Facts of the card. Refused: a kernel interface that is in use, a card that its kernel driver has."""
    if ":" not in card:
        link = json.loads(told("ip", "-j", "addr", "show", "dev", card) or "[]")
        if not link:
            raise Unavailable(f"there is no kernel interface {card}: 'ip link' lists them")
        if [one for one in link[0].get("addr_info", ()) if one.get("scope") == "global"] or link[0].get("master"):
            raise Unavailable(f"{card} is in use (it has an address or a master): take another port, or 'ip addr flush dev {card}' first")
    facts = card_facts(card)
    if ":" in card and facts.get("kernel-driver", "") not in FOR_DPDK:
        raise Unavailable(f"{card} belongs to {facts.get('kernel-driver') or 'no driver'}: 'kamuee device bind {card}' first")
    return facts


@contextmanager
def bench_of(given: argparse.Namespace, routes: str, say: Callable[[str], None]) -> Iterable[Bench]:
    words = ["--peer", "cards", "--duration", str(QUICK_SECONDS if given.quick else SECONDS), *(["--quick"] if given.quick else ["--precision", "0.02"])]
    parsed = throughput.parser().parse_args(words)
    sizes = frames.of_list("64")
    with tempfile.TemporaryDirectory(prefix="ht-") as work:
        setting = throughput.setting_of(parsed, Path(work), sizes)
        setting.cards, setting.prefixes, setting.churn = tuple(given.card), given.prefixes, bool(routes)
        setting.routes = "10000" if routes and given.quick else routes
        try:
            with throughput.connected(parsed, setting, sizes, throughput.plan_of(parsed), say) as bench:
                yield bench
        finally:
            restart.end_upgraded()
            os.sched_setaffinity(0, setting.allowed)        # connected() took the device's core away: the next one needs two again


def rates(bench: Bench, given: argparse.Namespace, rows: list[dict]) -> None:
    """Throughput, and latency at half of it, of each size and family. The bench keeps the throughput of IPv4 with 64 bytes."""
    kept = {}
    for family, percent6 in FAMILIES.items():
        bench.plan.percent6 = percent6
        for some in frames.of_list("64" if given.quick else ",".join(SIZES)):
            bench.say(f"{family}, {some.name} bytes, {bench.device.n_routes:,} routes")
            rows += find_throughput(bench, some)
            if rate := bench.throughput[some.name]["rate"]:
                rows.append(latency_at(bench, some, HALF, rate * HALF / 100))
        kept = kept or dict(bench.throughput)
        bench.throughput.clear()
    bench.plan.percent6, bench.throughput = 0, kept


def last(bench: Bench, given: argparse.Namespace, rows: list[dict], console: Console) -> list[dict]:
    """A soak with route changes, an audit, the ledger, a restart and an upgrade: verdicts."""
    some, kamueed = frames.of_list("64")[0], bench.device.daemon
    minutes = QUICK_SOAK_MIN if given.quick else CHANGES / CHANGES_PER_S / 60
    soaked = soak.run(bench, some, argparse.Namespace(soak=minutes, load=HALF, churn=CHANGES_PER_S, rate=True), console)
    audit, imbalance = kamueed.client.call("audit")["diverged"], bench.device.ledger()
    again = reset(bench, some)
    restart.upgrade(kamueed)
    blocked = {port["name"]: port["blocked"] / 1000 for port in kamueed.client.state("upgrade")["port"] if "blocked" in port}
    rows += [*soaked, *again]
    return [
        verdict("soak without loss", bool(soaked) and not soaked[0]["lost_otherwise"], report.outcome(soaked[0]) if soaked else "not run"),
        verdict("route changes while packets flow", bool(soaked) and not soaked[0]["changes_failed"],
                f"{soaked[0]['changes_per_s'] or 0:,.0f} a second for {minutes:.1f} min" if soaked else "not run"),
        verdict("audit after route changes", not audit, f"{audit} differences"),
        verdict("ledger", not imbalance, f"{imbalance} packets unaccounted for"),
        verdict("restart after kill -9", bool(again) and again[0]["reset_ms"] is not None,
                f"{report.outcome(again[0])}; the routes were installed again" if again else "not run"),
        verdict("upgrade", {"c0", "c1"} <= blocked.keys(),
                ", ".join(f"{name}: {ms:.1f} ms blocked" for name, ms in blocked.items()) or "no link afterwards")]


def verdict(name: str, passed: bool, found: str) -> dict:
    return {"check": name, "passed": passed, "found": found}


def of_rates(rows: list[dict]) -> list[dict]:
    measured = [row for row in rows if row["test"] == "throughput"]
    return [verdict(f"throughput, {'IPv6' if row['percent6'] else 'IPv4'}, {row['size']} bytes, {row['routes']:,} routes", row["mpps"] > 0,
                    f"{row['mpps']:.4g} Mpps, {row['gbps']:.4g} Gb/s; limit: {row['limit']}") for row in measured]


# --- the report ---

def canonical(found: dict) -> bytes:
    return (json.dumps(found, indent=1, sort_keys=True) + "\n").encode()


def write(given: argparse.Namespace, found: dict) -> None:
    given.report.write_bytes(canonical(found))
    if given.key:
        signature = Path(f"{given.report}.sig")
        signature.unlink(missing_ok=True)
        done = subprocess.run(["ssh-keygen", "-q", "-Y", "sign", "-n", NAMESPACE, "-f", str(given.key), str(given.report)])
        if done.returncode:
            raise Unavailable(f"{given.key} does not sign: is it an SSH key? The report is in {given.report}")


def show(given: argparse.Namespace, found: dict) -> None:
    if given.json:
        print(json.dumps(found, indent=1))
        return
    rows = [[each["check"], "pass" if each["passed"] else "FAIL", each["found"]] for each in found["checks"]]
    print(*render.table(TABLE, rows, terminal_width()), sep="\n")
    print(f"report: {given.report}{f', {given.report}.sig' if given.key else ', not signed'}")


# --- a report of somebody else ---

KEYS = {"format": int, "started": str, "quick": bool, "busy-percent": float, "machine": dict, "programs": dict, "cards": dict, "ports": list,
        "version": str, "cores": str, "rows": list, "checks": list, "not-tried": list, "explained": list}


def faults(data: bytes) -> tuple[dict, list[str]]:
    """The report, and what is wrong with it."""
    try:
        found = json.loads(data)
    except ValueError as error:
        return {}, [f"it is not JSON: {error}"]
    if not isinstance(found, dict) or found.get("format") != FORMAT:
        return {}, [f"it is no report of format {FORMAT}"]
    wrong = [f"'{key}' is missing or of another type" for key, kind in KEYS.items() if not isinstance(found.get(key), kind)]
    if wrong:
        return found, wrong
    if canonical(found) != data:
        wrong.append("it was written by another program, or changed since")
    try:
        expected = {each["check"]: each for each in of_rates(found["rows"])}
        told_checks = {each["check"]: each for each in found["checks"]}
    except (KeyError, TypeError) as error:
        return found, [*wrong, f"a row or check lacks {error}"]
    wrong += [f"the check '{name}' does not follow from its row" for name, each in expected.items() if told_checks.get(name) != each]
    wrong += [f"it gives away '{key}'" for key in (*found["machine"], *(key for facts in found["cards"].values() for key in facts))
              if any(word in key.lower() for word in FORBIDDEN)]
    missing = {"soak without loss", "audit after route changes", "ledger", "restart after kill -9", "upgrade"} - told_checks.keys()
    wrong += [f"the check '{name}' is missing" for name in sorted(missing)]
    return found, wrong


def signer(given: argparse.Namespace, data: bytes) -> tuple[str, bool]:
    """Who signed it, in words; is that as it should be?"""
    signature = Path(f"{given.check}.sig")
    if not signature.exists():
        return "not signed", given.signers is None
    if given.signers is None:
        done = subprocess.run(["ssh-keygen", "-Y", "check-novalidate", "-n", NAMESPACE, "-s", str(signature)], input=data, capture_output=True)
        return (done.stdout or done.stderr).decode(errors="replace").strip(), done.returncode == 0
    who = subprocess.run(["ssh-keygen", "-Y", "find-principals", "-f", str(given.signers), "-s", str(signature)], capture_output=True, text=True).stdout.split()
    done = subprocess.run(["ssh-keygen", "-Y", "verify", "-n", NAMESPACE, "-f", str(given.signers), "-I", who[0] if who else "nobody", "-s", str(signature)],
                          input=data, capture_output=True)
    return (f"signed by {who[0]}" if done.returncode == 0 else "signed by a key that is not accepted, or changed since"), done.returncode == 0


def check(given: argparse.Namespace) -> int:
    data = given.check.read_bytes()
    found, wrong = faults(data)
    by, genuine = signer(given, data)
    wrong += [] if genuine else [by]
    failed = [each["check"] for each in found.get("checks", []) if isinstance(each, dict) and not each.get("passed")]
    if given.json:
        print(json.dumps({"valid": not wrong, "wrong": wrong, "signature": by, "failed": failed}, indent=1))
    else:
        total = len(found.get("checks", []))
        print(*(f"{given.check}: {line}" for line in wrong or [f"complete and unchanged; {by}; {total - len(failed)} of {total} checks passed"]),
              *(f"failed: {name}" for name in failed), sep="\n")
    return 1 if wrong else 0
