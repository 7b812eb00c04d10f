# SPDX-License-Identifier: BSD-3-Clause
"""Virtual routers are made and deleted under traffic while system calls fail, one at a time: all or nothing, and nothing is left.

KAMUEE_FAULTS=10000 makes that many rounds; in CI they are fewer, and each call that a creation makes fails at least once.
"""
import mmap
import os
import socket
import struct
import subprocess
import threading
from pathlib import Path

import pytest

from kamuee.errors import DaemonError
from kamuee.lab.netns import in_namespace
from support import eventually, small_pages

pytestmark = pytest.mark.fault

ROUNDS = int(os.environ.get("KAMUEE_FAULTS", "150"))
CALLS = 75            # a creation makes fewer; the rest are those of its dumps
PATIENCE_S = 30
LEFT_KIB = 6 << 10    # resident memory that may have been added, of all rounds together
HERE = Path(__file__).resolve().parent
NAMES = ("fault0", "fault1")


class Fault:
    """The n-th call fails, once."""

    def __init__(self, directory: Path):
        self.library, self.file = directory / "failing.so", directory / "failing"
        subprocess.run(["gcc", "-O1", "-fPIC", "-shared", "-o", self.library, HERE / "failing.c", "-ldl"], check=True)
        self.file.write_bytes(bytes(8))
        with self.file.open("r+b") as file:
            self.until = mmap.mmap(file.fileno(), 8)

    def words(self) -> list[str]:
        return ["env", f"LD_PRELOAD={self.library}", f"KAMUEE_FAILING={self.file}"]

    def arm(self, n: int) -> None:
        self.until[:] = struct.pack("q", n)

    def end(self) -> bool:
        """Whether a call has failed; none will from now on."""
        failed = struct.unpack("q", self.until[:])[0] == -1
        self.arm(0)
        return failed


@pytest.fixture
def fault(tmp_path, monkeypatch):
    monkeypatch.setenv("KAMUEED_USER", "root")      # the library that makes calls fail lies in a folder of root's
    return Fault(tmp_path)


@pytest.fixture
def namespaces():
    for name in NAMES:
        subprocess.run(["ip", "netns", "add", name], check=True)
        for line in ("link set lo up", "link add d0 type veth peer name d1", "link set d1 up", "link set d0 up", "addr add 10.0.0.1/24 dev d0",
                     "route add 10.1.0.0/16 via 10.0.0.2", "route add 10.2.0.0/16 via 10.0.0.3"):
            subprocess.run(["ip", "-n", name, *line.split()], check=True)
    yield NAMES
    for name in NAMES:
        subprocess.run(["ip", "netns", "del", name], check=True)


class Flood(threading.Thread):
    """Frames for port p0, of all sorts of destinations, until stop()."""

    def __init__(self, daemon):
        super().__init__()
        self.socket = in_namespace(daemon.name, lambda: socket.socket(socket.AF_PACKET, socket.SOCK_RAW))
        in_namespace(daemon.name, lambda: self.socket.bind(("b0", 0)))
        mac = bytes.fromhex(daemon.client.state("interface=p0")[0]["mac"].replace(":", ""))
        ip = bytes.fromhex("4500001c00000000401100000a090002")
        self.frames = [mac + bytes.fromhex("0200000000010800") + self.header(ip + bytes([10, i, 0, 9])) + bytes(8) for i in range(200)]
        self.ends = threading.Event()
        self.start()

    @staticmethod
    def header(ip: bytes) -> bytes:
        total = sum(struct.unpack("!10H", ip))
        total = (total & 0xffff) + (total >> 16)
        return ip[:10] + struct.pack("!H", ~((total & 0xffff) + (total >> 16)) & 0xffff) + ip[12:]

    def run(self) -> None:
        while not self.ends.wait(0.01):
            for frame in self.frames:
                self.socket.send(frame)

    def stop(self) -> None:
        self.ends.set()
        self.join()
        self.socket.close()


def held(daemon) -> dict[str, int]:
    """Resources of the process that a virtual router could leak."""
    proc = Path(f"/proc/{daemon.process.pid}")
    return {"descriptors": len(list((proc / "fd").iterdir())), "threads": len(list((proc / "task").iterdir()))}


def resident_kib(daemon) -> int:
    return next(int(line.split()[1]) for line in Path(f"/proc/{daemon.process.pid}/status").read_text().splitlines() if line.startswith("VmRSS"))


def vrs(daemon) -> set[str]:
    return {vr["name"] for vr in daemon.client.entries("vr")}


def has_routes(daemon, name: str) -> bool:
    found = daemon.client.state(f"vr={name}")[0]
    return found["synced"] and found["fib"][0]["routes"] >= 3


def tried(daemon, fault: Fault, n: int, line: str) -> tuple[bool, bool]:
    """Whether the commit succeeded, its n-th call failing, and whether that call was made."""
    fault.arm(n)
    try:
        daemon.configure(line)
        done = True
    except DaemonError as refused:
        assert str(refused).strip()
        done = False
    return done, fault.end()


def one_round(daemon, fault: Fault, i: int) -> bool:
    """Makes a virtual router and deletes it, a call of each failing; whether one did when it was made."""
    name, n = NAMES[i % len(NAMES)], 1 + i % CALLS
    done, failed = tried(daemon, fault, n, f"set vr {name} namespace {name}")
    assert (name in vrs(daemon)) == done
    assert done or failed
    if not done:
        daemon.configure(f"set vr {name} namespace {name}")
    eventually(lambda: has_routes(daemon, name), PATIENCE_S, f"{name} has its routes though call {n} failed")
    done, failed_too = tried(daemon, fault, 1 + i % 12, f"delete vr {name}")
    assert (name in vrs(daemon)) != done
    assert done or failed_too
    if not done:
        daemon.configure(f"delete vr {name}")
    return failed


def test_what_fails_once_leaves_nothing_behind(daemon, fault, namespaces):
    command = daemon.command
    daemon.command = lambda *more: [*fault.words(), *command(*more)]
    with small_pages():
        daemon.start("set port p0 devargs net_af_packet0,iface=a0\nset port p1 devargs net_af_packet1,iface=a1\n")
    for name in namespaces:
        one_round(daemon, fault, namespaces.index(name) + 10 * CALLS - 1)
    before, memory = held(daemon), resident_kib(daemon)
    flood = Flood(daemon)
    try:
        n_failed = sum(one_round(daemon, fault, i) for i in range(ROUNDS))
    finally:
        flood.stop()
    assert n_failed >= ROUNDS // 3
    assert vrs(daemon) == {"default"}
    eventually(lambda: held(daemon) == before, 10, lambda: f"{held(daemon)}, not {before}")
    assert resident_kib(daemon) < memory + LEFT_KIB
    assert not [line for line in subprocess.run(["ip", "-n", namespaces[0], "-o", "link"], capture_output=True, text=True).stdout.splitlines()
                if "tun" in line]
