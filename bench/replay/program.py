# SPDX-License-Identifier: BSD-3-Clause
"""DPDK programs on replay ports: how each is started, and how it is told to end."""
from __future__ import annotations

import os
import shlex
import shutil
import signal
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from measure.program import DIE_WITH_US, Unavailable, end, last_lines, wait_until
from replay import build, table
from replay.page import Page, Pages

READY_S = 180        # DPDK's LPM is slow to fill
STOP_S = 8
MEMORY_MIB = {"testpmd": 256, "l3fwd lpm": 1024, "l3fwd fib": 2048, "command": 1024}


@dataclass
class Site:
    """The settings for a program's start."""
    case: "Case"                # of measure.replay
    build: Path
    kamueed: Path
    work: Path                  # a directory of its own, on tmpfs
    plugin: Path
    devargs: Sequence[str]      # of the ports
    pages: Sequence[Path]
    cores: Sequence[int]        # that forward
    main_core: int              # for everything else
    prefixes: Path              # the routes of the case, one a line; prefix i of a family has next hop i % hops
    routes: dict[int, int]      # how many of each family
    huge: Callable[[int], bool]      # (MiB) -> whether so many are now free on huge pages
    say: Callable[[str], None]

    def preload(self) -> list[str]:
        return ["env", f"LD_PRELOAD={self.plugin}"]

    def eal(self, memory_mib: int, main_forwards: bool = False) -> list[str]:
        """DPDK's own options: cores, memory, ports. main_forwards: the main lcore is the first of the measured ones."""
        pages = ["--in-memory"] if self.huge(memory_mib) else ["--no-huge", "--no-shconf"]
        lcores = [*self.cores] if main_forwards else [self.main_core, *self.cores]
        return ["-l", ",".join(map(str, lcores)), "--main-lcore", str(lcores[0]), *pages,
                "-m", str(memory_mib), "--file-prefix", f"kr-{os.getpid()}-{self.work.name}", "--no-pci",
                "--no-telemetry", *(word for one in self.devargs for word in ("--vdev", one))]


class Live:
    """A started program. Frozen between freeze() and thaw()."""

    def __init__(self, name: str, site: Site, proc: subprocess.Popen, log: Path):
        self.name, self.site, self.proc, self.log = name, site, proc, log
        self.pages: Pages | None = None

    def wait_polling(self) -> None:
        """Waits until every port has its page and is polled."""
        def polled() -> bool:
            try:
                pages = [Page(path) for path in self.site.pages]
            except (OSError, ValueError):
                return False
            self.pages = Pages(pages)
            return all(page.counters()["rx_calls"] for page in pages)
        wait_until(polled, f"{self.name} polls no port", READY_S, Unavailable, self.proc, log_end=self.log_end)

    def log_end(self) -> str:
        return last_lines(self.log, 12)

    def alive(self) -> None:
        if self.proc.poll() is not None:
            raise Unavailable(f"{self.name} ended with status {self.proc.returncode}:\n{self.log_end()}")

    def freeze(self) -> None:
        if self.proc.poll() is None:
            os.kill(self.proc.pid, signal.SIGSTOP)

    def thaw(self) -> None:
        self.alive()
        os.kill(self.proc.pid, signal.SIGCONT)

    def stop(self) -> None:
        if self.proc.poll() is None:
            os.kill(self.proc.pid, signal.SIGCONT)
            end(self.proc, signal.SIGINT, STOP_S)


class Program:
    """A program that forwards between replay ports."""
    name = ""
    routes = False      # whether it forwards by the table, to the next hop's MAC: whether verifying makes sense
    looks = True        # whether it looks at where a packet goes

    def argv(self, site: Site) -> list[str]:
        raise NotImplementedError

    def start(self, site: Site) -> Live:
        log = site.work / "log"
        with open(log, "wb") as out:
            proc = subprocess.Popen([*DIE_WITH_US, *site.preload(), *self.argv(site)], stdin=subprocess.DEVNULL,
                                    stdout=out, stderr=subprocess.STDOUT, start_new_session=True)
        live = Live(self.name, site, proc, log)
        try:
            live.wait_polling()
        except BaseException:
            live.stop()
            raise
        return live


class Testpmd(Program):
    looks = False

    def __init__(self, mode: str):
        self.mode, self.name = mode, f"testpmd {mode}"

    def argv(self, site: Site) -> list[str]:
        queues = len(site.cores)
        if not shutil.which("dpdk-testpmd"):
            raise Unavailable("dpdk-testpmd is not installed: apt-get install dpdk-dev")
        return ["dpdk-testpmd", *site.eal(MEMORY_MIB["testpmd"]), "--", f"--forward-mode={self.mode}", "--auto-start",
                f"--nb-cores={queues}", f"--rxq={queues}", f"--txq={queues}", "--rxd=1024", "--txd=1024",
                f"--total-num-mbufs={8192 + len(site.devargs) * queues * 2500}", "--stats-period=3600"]


class L3fwd(Program):
    def __init__(self, lookup: str):
        self.lookup, self.name = lookup, f"l3fwd {lookup}"

    def argv(self, site: Site) -> list[str]:
        ports, queues = len(site.devargs), len(site.cores)
        config = ",".join(f"({port},{queue},{site.cores[queue]})" for port in range(ports) for queue in range(queues))
        rules = table.write_rules(site.prefixes, site.case.hops, ports)
        destinations = [f"--eth-dest={port},{table.hop_mac(port)}" for port in range(ports)]
        return [str(build.l3fwd(site.build, site.say)), *site.eal(MEMORY_MIB[self.name]), "--", "-p",
                hex((1 << ports) - 1), "-P",
                f"--lookup={self.lookup}", f"--config={config}", f"--rule_ipv4={rules[0]}", f"--rule_ipv6={rules[1]}",
                *destinations]


class Command(Program):
    """Words in braces are replaced: see measure.replay.command."""

    def __init__(self, text: str):
        self.text, self.name = text, Path(shlex.split(text)[0]).name

    def argv(self, site: Site) -> list[str]:
        rules = table.write_rules(site.prefixes, site.case.hops, len(site.devargs))
        values = {"ports": str(len(site.devargs)), "cores": ",".join(map(str, site.cores)),
                  "routes": str(table.write_hops(site.prefixes, site.case.hops)), "rules4": str(rules[0]),
                  "rules6": str(rules[1]), "hops": str(site.case.hops)}
        argv = []
        for word in shlex.split(self.text):
            if word in ("{eal}", "{eal-main}"):
                argv += site.eal(MEMORY_MIB["command"], main_forwards=word == "{eal-main}")
            else:
                for name, value in values.items():
                    word = word.replace(f"{{{name}}}", value)
                argv.append(word)
        return argv
