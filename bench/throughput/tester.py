# SPDX-License-Identifier: BSD-3-Clause
"""The program `tester` (bench/throughput/tester.c) as an object: DPDK starts once, trials follow."""
from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

from measure.program import DIE_WITH_US

EAL = ["--no-huge", "--no-shconf", "--no-pci", "--no-telemetry", "--log-level", "lib.*:error"]
EAL_PCI = ["--no-telemetry", "--log-level", "lib.*:error"]
MEMORY_MB, MEMORY_JUMBO_MB = 256, 768
# where managers share the tester's core they get about a fifth of it, and do not interrupt it at every packet
NICE = -10

_serial = 0


class TesterError(Exception):
    """The tester ended or refused; the text has the reason."""


def prefer(pid: int, nice: int) -> None:
    """Where the kernel shares cores out by session (autogroup), niceness counts among the processes of one only: the
    session gets it too."""
    try:
        os.setpriority(os.PRIO_PROCESS, pid, nice)
        Path(f"/proc/{pid}/autogroup").write_text(str(nice))
    except OSError:
        pass                                        # it runs all the same, and is away more often


class Tester:
    def __init__(self, program: Path, devargs: Sequence[str], core: int, log: Path, frame_max: int = 1518,
                 enter: Sequence[str] = (), nice: int = 0, queues: int = 1):
        """`devargs`: of the two ports, a PCI address or a virtual device; `enter`: words before the command (a
        namespace)."""
        global _serial
        _serial += 1
        self.log = log
        pci = [d for d in devargs if not d.startswith("net_")]
        ports = [word for d in devargs for word in (("-a", d) if d in pci else ("--vdev", d))]
        memory = ["-m", str(MEMORY_MB if frame_max <= 2048 else MEMORY_JUMBO_MB)]
        self.proc = subprocess.Popen(
            [*enter, *DIE_WITH_US, str(program), *(EAL_PCI if pci else EAL + memory), "--file-prefix",
             f"kb-tester-{os.getpid()}-{_serial}", "-l", str(core), *ports, "--", "--frame-max",
             str(max(1518, frame_max)), "--queues", str(queues)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log.open("wb"), text=True,
            start_new_session=True)
        prefer(self.proc.pid, nice)
        self.ready = self._answer()

    def port(self, number: int, to: str, sources: Sequence[str], destinations: Path) -> dict:
        words = [f"to={to}", *(f"source={a}" for a in sources), f"destinations={destinations}"]
        self._say(f"port {number} {' '.join(words)}")
        return self._answer()

    def trial(self, live: Callable[[dict], None] | None = None, **words) -> dict:
        """Words as in tester.c. The result's member `directions` has one entry for each port that sends."""
        self.begin(**words, **({"live": 1} if live else {}))
        return self.end(live)

    def begin(self, **words) -> None:
        self._say("trial " + " ".join(f"{name}={value}" for name, value in words.items()))

    def end(self, live: Callable[[dict], None] | None = None) -> dict:
        while "live" in (answer := self._answer()):
            if live:
                live(answer)
        return answer

    def stop(self) -> None:
        if self.proc.poll() is None:
            self.proc.stdin.close()
            try:
                self.proc.wait(10)
            except subprocess.TimeoutExpired:
                self.proc.kill()
                self.proc.wait()

    def _say(self, line: str) -> None:
        try:
            self.proc.stdin.write(line + "\n")
            self.proc.stdin.flush()
        except BrokenPipeError:
            raise TesterError(self._last_words()) from None

    def _answer(self) -> dict:
        """The next line of JSON; drivers print other lines to the same place."""
        for line in self.proc.stdout:
            if line.startswith("{"):
                answer = json.loads(line)
                if "error" in answer:
                    raise TesterError(f"the tester refuses: {answer['error']}")
                return answer
        raise TesterError(self._last_words())

    def _last_words(self) -> str:
        self.proc.wait(10)
        said = self.log.read_text(errors="replace").strip().splitlines()[-4:]
        return f"the tester ended with status {self.proc.returncode}: {' / '.join(said)}"
