# SPDX-License-Identifier: BSD-3-Clause
"""Network namespaces, and running things in them.

Namespaces are named in /run/netns as `ip netns` does it. Commands enter with nsenter, which changes the
network namespace and nothing else: the caller's mounts stay, so a lab inside a private mount namespace
(the end-to-end tests) sees its own /run/netns and FRR directories.
"""
import ctypes
import json
import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import IO, TypeVar

from kamuee.lab.errors import LabError

NETNS_DIR = Path("/run/netns")
CLONE_NEWNET = 0x40000000
LIBC = ctypes.CDLL(None, use_errno=True)
Made = TypeVar("Made")

# The nodes around the router under test start from the same settings on every machine: no duplicate
# address detection (addresses work at once), no router advertisements, no reverse-path filter, room for
# a full table. IPv6 addresses are kept over link down: setting a host's link down stands for pulling the cable, which
# does not remove addresses. The namespaces of a kamuee node get none of these settings: kamueed has to make its own, as
# if started by hand.
SYSCTL = {
    "net.ipv4.ip_forward": "0",
    "net.ipv4.conf.all.rp_filter": "0",
    "net.ipv4.conf.default.rp_filter": "0",
    "net.ipv4.ping_group_range": "0 2147483647",
    "net.ipv6.conf.all.forwarding": "0",
    "net.ipv6.conf.all.accept_dad": "0",
    "net.ipv6.conf.default.accept_dad": "0",
    "net.ipv6.conf.all.accept_ra": "0",
    "net.ipv6.conf.default.accept_ra": "0",
    "net.ipv6.conf.all.keep_addr_on_down": "1",
    "net.ipv6.conf.default.keep_addr_on_down": "1",
    "net.ipv6.route.max_size": "2147483647",
}


def sh(argv: list[str], check: bool = True, timeout_s: float = 60, stdin: str | None = None,
       errors_too: bool = False) -> str:
    """Run a command and return what it printed (`errors_too`: on stderr as well); LabError with command and
    output if it fails."""
    try:
        done = subprocess.run(argv, capture_output=True, text=True, timeout=timeout_s, input=stdin,
                              stdin=subprocess.DEVNULL if stdin is None else None)
    except FileNotFoundError:
        raise LabError(f"{argv[0]}: not installed") from None
    except subprocess.TimeoutExpired:
        raise LabError(f"{' '.join(argv)}: did not finish within {timeout_s} s") from None
    if check and done.returncode:
        raise LabError(f"{' '.join(argv)}: status {done.returncode}\n{done.stdout}{done.stderr}".rstrip())
    return done.stdout + done.stderr if errors_too else done.stdout


class Namespace:
    def __init__(self, name: str):
        self.name = name

    @property
    def path(self) -> Path:
        return NETNS_DIR / self.name

    def exists(self) -> bool:
        return self.path.exists()

    # --- life ---

    def create(self) -> None:
        if self.exists():
            raise LabError(f"network namespace {self.name} already exists and is not this lab's: choose "
                           f"another lab name, or remove it (ip netns del {self.name})")
        sh(["ip", "netns", "add", self.name])
        self.ip("link set lo up")

    def pids(self) -> list[int]:
        return [int(pid) for pid in sh(["ip", "netns", "pids", self.name], check=False).split()]

    def delete(self) -> None:
        if self.exists():
            sh(["ip", "netns", "del", self.name], check=False)

    # --- running in it ---

    def argv(self, argv: list[str]) -> list[str]:
        return ["nsenter", f"--net={self.path}", "--"] + argv

    def run(self, command: str | list[str], check: bool = True, timeout_s: float = 60) -> str:
        """Run a command (a text is split at blanks) and return what it printed."""
        words = command.split() if isinstance(command, str) else command
        return sh(self.argv(words), check, timeout_s)

    def popen(self, argv: list[str], log: str | None = None, env: dict[str, str] | None = None,
              stdin: int = subprocess.DEVNULL, stdout: int | IO | None = None,
              pass_fds: tuple[int, ...] = ()) -> subprocess.Popen:
        """Start a process in a session of its own, so that it outlives the lab command."""
        out = open(log, "ab") if log else None
        try:
            return subprocess.Popen(self.argv(argv), stdin=stdin, start_new_session=True, pass_fds=pass_fds,
                                    stdout=out if out else stdout or subprocess.DEVNULL,
                                    stderr=subprocess.STDOUT if out or stdout else subprocess.DEVNULL,
                                    env={**os.environ, **(env or {})})
        finally:
            if out:
                out.close()

    def ip(self, command: str) -> str:
        return sh(["ip", "-n", self.name] + command.split())

    def ip_json(self, command: str) -> list[dict]:
        return json.loads(sh(["ip", "-n", self.name, "-j"] + command.split()) or "[]")

    def ip_batch(self, commands: list[str], v6: bool = False) -> None:
        """Many `ip` commands in one process."""
        family = ["-6"] if v6 else []
        sh(["ip"] + family + ["-n", self.name, "-batch", "-"], stdin="\n".join(commands) + "\n")

    def sysctl(self, settings: dict[str, str]) -> None:
        """Set kernel parameters of this namespace; those the kernel does not have are left out."""
        if not settings:
            return
        self.run(["sysctl", "-qew"] + [f"{key}={value}" for key, value in settings.items()])

    # --- interfaces ---

    def has_link(self, interface: str) -> bool:
        return bool(sh(["ip", "-n", self.name, "-o", "link", "show", "dev", interface], check=False))

    def add_addresses(self, interface: str, addresses: list[str]) -> None:
        """Add addresses; existing ones stay."""
        for address in addresses:
            nodad = ["nodad"] if ":" in address else []
            sh(["ip", "-n", self.name, "addr", "replace", address, "dev", interface] + nodad)

    def add_route(self, route: str) -> None:
        """Add a route given in iproute2's words; the family is that of the addresses in it."""
        family = ["-6"] if ":" in route else []
        sh(["ip"] + family + ["-n", self.name, "route", "add"] + route.split())

    def no_offloads(self, interface: str) -> None:
        """Real checksums and real segment sizes on the wire, as with a card."""
        self.run(["ethtool", "-K", interface, "tx", "off", "tso", "off", "gso", "off", "gro", "off"])


def add_veth(a: Namespace, a_interface: str, b: Namespace, b_interface: str, mtu: int) -> None:
    """A cable between two namespaces, created in place so that the caller's namespace never sees it."""
    sh(["ip", "link", "add", "name", a_interface, "mtu", str(mtu), "netns", a.name, "type", "veth",
        "peer", "name", b_interface, "mtu", str(mtu), "netns", b.name])


def in_namespace(name: str, make: Callable[[], Made]) -> Made:
    """Result of make() inside a network namespace; only its own thread enters it."""
    result: list[Made] = []
    errors: list[Exception] = []

    def enter() -> None:
        fd = os.open(NETNS_DIR / name, os.O_RDONLY)
        try:
            if LIBC.setns(fd, CLONE_NEWNET):
                raise OSError(ctypes.get_errno(), f"setns {name}")
            result.append(make())
        except Exception as error:
            errors.append(error)
        finally:
            os.close(fd)

    thread = threading.Thread(target=enter)
    thread.start()
    thread.join()
    if errors:
        raise errors[0]
    return result[0]


def stop_processes(pids: list[int], timeout_s: float = 4) -> None:
    """SIGTERM, and SIGKILL for processes that are left after `timeout_s`."""
    pids = [pid for pid in pids if pid != os.getpid()]
    for number, patience_s in ((signal.SIGTERM, timeout_s), (signal.SIGKILL, 2.0)):
        for pid in pids:
            try:
                os.kill(pid, number)
            except ProcessLookupError:
                pass
        end = time.monotonic() + patience_s
        while pids and time.monotonic() < end:
            pids = [pid for pid in pids if is_running(pid)]
            time.sleep(0.02)
        if not pids:
            return


def is_running(pid: int) -> bool:
    """Whether the process exists and is not a zombie. (A child of ours is a zombie until it is waited for.)"""
    try:
        os.waitpid(pid, os.WNOHANG)
    except ChildProcessError:
        pass
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] not in "ZX"
