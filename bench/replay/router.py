# SPDX-License-Identifier: BSD-3-Clause
"""kamueed on replay ports, in network namespaces of its own, with a table in the kernel of each virtual router.

Neighbors are permanent and their MACs tell the next hop, so nothing has to be resolved and verification knows whom a
frame is for. Forwarders are pinned and never idle; everything else of the daemon is on the other cores.
"""
from __future__ import annotations

import json
import subprocess
from dataclasses import replace
from pathlib import Path

from kamuee.errors import DaemonError, Unreachable
from kamuee.lab.errors import LabError
from kamuee.lab.netns import Namespace
from measure.daemon import Kamueed
from measure.program import Unavailable, must_be_built, wait_until
from replay import table
from replay.program import Live, Program, Site

MEMORY_MIB = 512
VLAN = 100
COMPLETE_S = 300      # 16 full tables on one core take a while


class Router(Live):
    def __init__(self, name: str, site: Site, lines: tuple[str, ...]):
        case = site.case
        self.ns = Namespace(f"kr-{site.work.name}")
        self.vrs = {"default": self.ns}
        if case.vrs > 1:
            self.vrs = {f"r{k}": Namespace(f"{self.ns.name}-r{k}") for k in range(case.vrs)}
        self.daemon = Kamueed(self.ns, site.kamueed, site.work / "run", configuration(site, self.vrs, lines),
                              before=site.preload())
        super().__init__(name, site, None, self.daemon.log)

    def run(self) -> None:
        """Waits until it is ready to forward."""
        for ns in {ns.name: ns for ns in [self.ns, *self.vrs.values()]}.values():
            ns.create()
        self.daemon.start()
        self.proc = self.daemon.proc
        for k, ns in enumerate(self.vrs.values()):
            self.fill(k, ns)
        for vr in self.vrs:
            self.wait_complete(vr)
        self.wait_polling()

    def fill(self, k: int, ns: Namespace) -> None:
        """Addresses, neighbors and routes of virtual router k, whose prefix i has next hop (i + k) % hops."""
        case, site = self.site.case, self.site
        vias = []
        for family in case.families:
            hops = [(table.hop_address(hop, case.ports, family), link(case, hop % case.ports, k))
                    for hop in range(case.hops)]
            vias += [word for address, device in hops for word in ("--via", f"{address}%{device}")]
            ns.ip_batch([f"link set {link(case, port, k)} up" for port in range(case.ports)])
            ns.ip_batch([f"addr add {table.port_address(port, family)} dev "
                         f"{link(case, port, k)}{' nodad' if family == 6 else ''}"
                         for port in range(case.ports)], v6=family == 6)
            ns.ip_batch([f"neigh replace {address} lladdr {table.hop_mac(hop)} nud permanent dev {device}"
                         for hop, (address, device) in enumerate(hops)], v6=family == 6)
        argv = ["taskset", "-c", str(site.main_core), str(site.build / "bench/route_install"), "--mode", "add",
                "--shift", str(k), "--prefixes", str(site.prefixes), *vias]
        done = subprocess.run(ns.argv(argv), capture_output=True, text=True)
        answer = json.loads(done.stdout) if done.stdout.strip() else {}
        if done.returncode or answer.get("errors"):
            raise Unavailable(f"the kernel did not take the table of {ns.name}: {done.stderr.strip() or answer}")

    def wait_complete(self, vr: str) -> None:
        """Until the FIB of the virtual router holds every route."""
        wanted = self.site.routes
        have: dict[int, int] = {}

        def complete() -> bool:
            nonlocal have
            state = self.daemon.client.state(f"vr={vr}")
            fibs = (state[0] if isinstance(state, list) else state).get("fib", [])
            have = {6 if fib["family"] == "ipv6" else 4: fib.get("routes", 0) for fib in fibs}
            # Connected and local prefixes and the neighbors are in the FIB, too.
            return all(have.get(family, 0) >= n + self.site.case.ports for family, n in wanted.items())
        wait_until(complete, lambda: f"kamueed: the FIB of {vr} holds {have} routes, not {wanted}", COMPLETE_S,
                   Unavailable, self.proc, 0.05, self.log_end)

    def stop(self) -> None:
        try:
            if self.proc and self.proc.poll() is None:
                self.thaw()
            self.daemon.stop()
        finally:
            for ns in [*self.vrs.values(), self.ns]:
                ns.delete()


def link(case, port: int, k: int) -> str:
    return f"p{port}.{VLAN + k}" if case.vlan else f"p{port}"


def memory_mib(lines: tuple[str, ...]) -> int:
    """From the caller's configuration, or ours."""
    said = [line.split()[2] for line in lines if line.startswith("set memory ")]
    return int(said[-1]) if said else MEMORY_MIB


def configuration(site: Site, vrs: dict[str, Namespace], more: tuple[str, ...]) -> list[str]:
    case = site.case
    memory = memory_mib(more)
    lines = [f"set memory {memory}", "set forwarding idle performance"]
    if not site.huge(memory):
        lines.append("set huge-pages never")
    lines += [f"set vr {vr} namespace {ns.name}" for vr, ns in vrs.items() if vr != "default"]
    for port, devargs in enumerate(site.devargs):
        lines += [f"set port p{port} devargs {devargs}", f"set port p{port} rx-queues {len(site.cores)}",
                  f"set port p{port} tx-queues {len(site.cores)}"]
        lines += [f"set thread {core} forwarder port p{port} rx-queue {queue}" for queue, core in enumerate(site.cores)]
        for k, vr in enumerate(vrs if case.vlan else ()):
            name = link(case, port, k)
            lines += [f"set vport {name} port p{port}", f"set vport {name} vlan {VLAN + k}"]
            lines += [f"set interface {name} vr {vr}"] if vr != "default" else []
    return lines + list(more)


class RouterProgram(Program):
    routes = True

    def __init__(self, lines: tuple[str, ...], name: str, binary: Path | None = None):
        self.lines, self.name, self.binary = lines, name, binary

    def start(self, site: Site) -> Live:
        site = replace(site, kamueed=self.binary or site.kamueed)
        must_be_built(site.kamueed)
        router = Router(self.name, site, self.lines)
        try:
            router.run()
        except (RuntimeError, LabError, DaemonError, Unreachable) as error:
            router.stop()
            raise Unavailable(str(error)) from error
        except BaseException:
            router.stop()
            raise
        return router
