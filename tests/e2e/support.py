# SPDX-License-Identifier: BSD-3-Clause
"""What the end-to-end tests share: waiting, labs, ping, streams of numbered packets."""
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from kamuee.lab import schema
from kamuee.lab.lab import Lab
from kamuee.lab.nodes import BaseNode

KEEP = bool(os.environ.get("KEEP"))
STREAM = Path(__file__).with_name("stream.py")
PINGER = Path(__file__).with_name("pinger.py")


def eventually(true: Callable[[], object], timeout_s: float = 10,
               what: str | Callable[[], str] = "", step_s: float = 0.05) -> object:
    """Wait until `true()` is; the last value or error and `what` stand in the failure."""
    end = time.monotonic() + timeout_s
    while True:
        error = None
        try:
            value = true()
            if value:
                return value
        except Exception as caught:                  # it may well fail until it is up
            value, error = None, caught
        if time.monotonic() > end:
            said = what() if callable(what) else what
            raise AssertionError(f"not within {timeout_s} s: {said or 'a condition'}; last: {error or value!r}")
        time.sleep(step_s)


class Labs:
    """The labs of one test module."""

    def __init__(self, prefix: str):
        self.prefix = "e2e-" + prefix.replace("_", "-")[:16]
        self.running: list[Lab] = []

    def __call__(self, text: str, kind: str = "kamuee") -> Lab:
        name = f"{self.prefix}-{len(self.running)}"
        spec = schema.load_text(text.replace("$ROUTER", kind), f"{name}.yaml", name)
        lab = Lab.start(spec, keep_broken=KEEP)
        self.running.append(lab)
        return lab

    def stop(self) -> None:
        for lab in reversed(self.running):
            if not KEEP:
                lab.stop()
        self.running.clear()


# --- ping ---

@dataclass
class Pinged:
    sent: int
    received: int
    said: str

    @property
    def lost(self) -> int:
        return self.sent - self.received


def ping(node: BaseNode, target: str, count: int = 3, interval_s: float = 0.02, extra: str = "") -> Pinged:
    said = node.run(f"ping -n -c {count} -i {interval_s} -W 1 {extra} {target}", check=False,
                    timeout_s=count * max(interval_s, 0.01) + 30)
    found = re.search(r"(\d+) packets transmitted, (\d+) received", said)
    return Pinged(int(found[1]), int(found[2]), said) if found else Pinged(count, 0, said)


def reaches(node: BaseNode, target: str) -> bool:
    return ping(node, target, 1).received == 1


def assert_reaches(node: BaseNode, target: str, timeout_s: float = 10) -> None:
    eventually(lambda: reaches(node, target), timeout_s, f"{node.name} reaches {target}")


class Pinging:
    """Pings in the background; stop() gives the result, with number and time of each lost one."""

    def __init__(self, node: BaseNode, target: str, interval_s: float = 0.005):
        self.proc = node.popen([sys.executable, str(PINGER), target, str(interval_s)],
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert self.proc.stdout.readline().strip() == b"ready"

    def stop(self) -> Pinged:
        said = json.loads(self.proc.communicate(timeout=20)[0])
        return Pinged(said["sent"], said["received"],
                      f"{said['sent']} sent, lost (number, seconds since the start): {said['lost'][:20]}")


# --- numbered packets ---

def receiver(node: BaseNode, port: int = 7000) -> subprocess.Popen:
    """Start counting UDP packets at a node; finish with `received()`."""
    proc = node.popen([sys.executable, str(STREAM), "receive", str(port)], stdout=subprocess.PIPE)
    assert proc.stdout.readline().strip() == b"ready"
    return proc


def received(proc: subprocess.Popen) -> dict:
    """{'packets': n, 'distinct': n, 'sources': {address: n}}"""
    time.sleep(0.3)
    proc.send_signal(signal.SIGTERM)
    return json.loads(proc.communicate(timeout=10)[0])


def send(node: BaseNode, targets: list[str], count: int, flows: int = 1, per_s: int = 2000,
         port: int = 7000, size: int = 64) -> None:
    """Send `count` numbered UDP packets, spread over `targets` and `flows` source ports."""
    node.run([sys.executable, str(STREAM), "send", str(port), str(count), str(flows), str(per_s), str(size),
              *targets], timeout_s=60 + count / per_s)


def rx_packets(node: BaseNode, interface: str) -> int:
    return node.ip_json(f"-s link show dev {interface}")[0]["stats64"]["rx"]["packets"]


def kernel_has(node: BaseNode, prefix: str, namespace=None) -> bool:
    """Does the kernel's main table have this prefix?"""
    family = "-6" if ":" in prefix else "-4"
    return bool((namespace or node.namespace).ip_json(f"{family} route show exact {prefix}"))
