# SPDX-License-Identifier: BSD-3-Clause
"""A kamueed under measurement: its life, its state, what it costs.

Time and memory are read from /proc, not from the daemon: what is measured does not measure itself.
"""
import os
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path

from kamuee.client import Client
from kamuee.errors import DaemonError, Unreachable
from kamuee.lab.measure import losses
from kamuee.lab.netns import Namespace

from measure.program import DIE_WITH_US, end, last_lines, wait_until

READY_S = 30
STOP_S = 10
NEIGHBORS = 64     # resolved hosts are entries of the FIB, too
TICKS = os.sysconf("SC_CLK_TCK")


class Kamueed:
    def __init__(self, ns: Namespace, binary: Path, run_dir: Path, lines: list[str], before: Sequence[str] = ()):
        """before: words in front of the binary, e.g. env NAME=VALUE."""
        self.ns, self.binary, self.run_dir, self.lines = ns, binary, run_dir, lines
        self.before = before
        self.socket = run_dir / "kamuee.sock"
        self.log = run_dir / "kamueed.log"
        self.client = Client(str(self.socket))
        self.proc: subprocess.Popen | None = None

    # --- life ---

    def start(self, patience_s: float = READY_S) -> None:
        """Returns when the daemon answers and has read the kernel's tables once."""
        self.run_dir.mkdir(exist_ok=True)
        config = self.run_dir / "kamuee.conf"
        config.write_text("\n".join(self.lines) + "\n")
        self.proc = self.ns.popen([*DIE_WITH_US, *self.before, str(self.binary), "--config", str(config), "--from-file",
                                   "--run-dir", str(self.run_dir), "--file-dir", "/", "--device-dir", "/"],
                                  log=str(self.log))
        wait_until(self.is_synced, "kamueed is not ready", patience_s, proc=self.proc, pause_s=0.01, log_end=self.log_end)

    def is_synced(self) -> bool:
        try:
            return bool(self.vr().get("synced"))
        except (Unreachable, DaemonError):
            return False

    def stop(self) -> float:
        """Duration of a clean stop in seconds."""
        begun = time.monotonic()
        if not end(self.proc, patience_s=STOP_S):
            raise RuntimeError(f"kamueed does not stop within {STOP_S} s of SIGTERM:\n{self.log_end()}")
        return time.monotonic() - begun

    def log_end(self) -> str:
        return last_lines(self.log)

    # --- state ---

    def vr(self) -> dict:
        entry = self.client.state("vr=default")
        return entry[0] if isinstance(entry, list) else entry

    def fib(self) -> dict[str, dict]:
        """State of the two FIBs, by family."""
        return {f["family"]: f for f in self.vr().get("fib", [])}

    def routes(self) -> tuple[int, int]:
        """(in the RIB, in the FIB), both families together."""
        fibs = self.fib().values()
        return sum(f.get("rib-routes", 0) for f in fibs), sum(f.get("routes", 0) for f in fibs)

    def wait_routes(self, rib: int, fib: int, timeout_s: float = 60) -> None:
        """Waits until the RIB has `rib` routes and the FIB `fib`, plus or minus changed neighbors."""
        now = (0, 0)

        def complete() -> bool:
            nonlocal now
            now = self.routes()
            return now[0] == rib and abs(now[1] - fib) <= NEIGHBORS
        wait_until(complete, lambda: f"RIB and FIB hold {now[0]} and {now[1]} routes, not {rib} and {fib}", timeout_s,
                   pause_s=0.005)

    def gateway_of(self, address: str) -> str:
        """The FIB's gateway for an address."""
        hops = [hop for result in self.client.call("lookup", address=[address]).get("result", [])
                for hop in result.get("hop", [])]
        return hops[0].get("gateway", "") if hops else ""

    def losses(self) -> dict[str, int]:
        return losses(self.client)

    def forwarder_cores(self) -> set[int]:
        return {t["core"] for t in self.client.entries("thread") if t.get("role") == "forwarder"
                and t.get("core", -1) >= 0}

    # --- cost ---

    def status_kib(self, field: str) -> int:
        """A size in /proc/PID/status, 0 if the field is missing."""
        for line in Path(f"/proc/{self.proc.pid}/status").read_text().splitlines():
            if line.startswith(field + ":"):
                return int(line.split()[1])
        return 0

    def rss_mb(self) -> float:
        """Resident memory with huge pages, in 10^6 bytes."""
        return (self.status_kib("VmRSS") + self.status_kib("HugetlbPages")) * 1024 / 1e6

    def cpu_s(self) -> dict[str, float]:
        """CPU seconds used so far, by thread name."""
        used: dict[str, float] = {}
        for task in Path(f"/proc/{self.proc.pid}/task").iterdir():
            try:
                head, _, tail = (task / "stat").read_text().rpartition(")")
            except OSError:
                continue                           # it ended meanwhile
            fields = tail.split()
            name = head.partition("(")[2]
            used[name] = used.get(name, 0.0) + (int(fields[11]) + int(fields[12])) / TICKS
        return used
