# SPDX-License-Identifier: BSD-3-Clause
"""A router whose forwarding is done by kamueed.

Three kinds of namespaces:

    LAB-NODE        kamueed, its TAPs with the addresses, and an unmodified FRR or BIRD
    LAB-NODE.VR     the TAPs of a virtual router
    LAB-NODE.wire   the router's ends of the links; no addresses, so what crosses the router has crossed kamueed

Their kernel parameters are the kernel's own, and those of the lab file: a kamueed started by hand has no others.
kamueed opens the links' ends in the wire namespace (`set port P namespace LAB-NODE.wire`).
"""
import contextlib
import os
import re
import signal
import socket
import subprocess
import time
from pathlib import Path

from kamuee.lab import rights
from kamuee.lab.errors import LabError
from kamuee.lab.netns import Namespace, is_running, stop_processes
from kamuee.lab.nodes import PACKAGE_ROOT, Router
from kamuee.lab.schema import Node

READY_TIMEOUT_S = 90         # as under systemd, and as there a start that makes progress extends it
STOP_TIMEOUT_S = 20          # on a busy machine; test_life.py bounds it
STATES = {"R": "runs", "S": "sleeps", "D": "waits for the kernel", "T": "is stopped", "Z": "has ended"}    # proc(5)


def find_kamueed() -> Path:
    """$KAMUEED, the build tree of this checkout, or the installed daemon."""
    named = os.environ.get("KAMUEED")
    candidates = [Path(named)] if named else [PACKAGE_ROOT.parent / "build/kamueed",
                                              Path("/usr/sbin/kamueed"), Path("/usr/local/sbin/kamueed")]
    for path in candidates:
        if os.access(path, os.X_OK):
            return path.resolve()
    raise LabError(f"no kamueed at {' or '.join(map(str, candidates))}: build it (make build), or set "
                   "the environment variable KAMUEED")


class KamueeNode(Router):
    def __init__(self, node: Node, lab_name: str, lab_dir: Path):
        super().__init__(node, lab_name, lab_dir)
        self.wire = Namespace(f"{self.namespace.name}.wire")
        self.mtus: dict[str, int] = {}      # of the ports; set by the lab from the links
        self.proc: subprocess.Popen | None = None
        self.socket = self.run_dir / "kamuee.sock"
        self.log = self.run_dir / "kamueed.log"
        self.config_file = self.run_dir / "kamuee.conf"
        self.pid_file = self.run_dir / "kamueed.pid"

    def namespaces(self) -> list[Namespace]:
        return super().namespaces() + [self.wire]

    def link_end(self, interface: str) -> tuple[Namespace, str]:
        return self.wire, wire_name(interface)

    def settings(self) -> dict[str, str]:
        return {}       # the kernel's; kamueed sets the others that a router needs

    def check(self) -> None:
        super().check()
        find_kamueed()

    # --- coming up ---

    def address(self) -> None:
        """Start kamueed and put the addresses on its TAPs."""
        for interface in self.node.ports():
            if interface.name == "lo":
                continue
            name = wire_name(interface.name)
            if interface.mac:
                self.wire.ip(f"link set dev {name} address {interface.mac}")
            self.wire.ip(f"link set dev {name} up")
        self.start_kamueed()

    def config_lines(self) -> list[str]:
        """The daemon's configuration."""
        lines = [f"set memory {self.node.memory_mib}"]
        lines += [f"set vr {vr} namespace {namespace.name}" for vr, namespace in self.vrs.items()]
        ports = [interface for interface in self.node.ports() if interface.name != "lo"]
        for interface in ports:
            lines += [f"set port {interface.name} kernel-interface {wire_name(interface.name)}",
                      f"set port {interface.name} namespace {self.wire.name}",
                      f"set port {interface.name} mtu {self.mtus[interface.name]}"]
        return lines + interface_lines(self.node, self.mtus) + self.node.set_lines

    def start_kamueed(self) -> None:
        """Start the daemon, wait until it is ready, and set up its interfaces."""
        self.config_file.write_text("\n".join(self.config_lines()) + "\n")
        notify = self.run_dir / "notify.sock"
        notify.unlink(missing_ok=True)
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sock:
            sock.bind(str(notify))
            sock.settimeout(0.1)
            rights.give(self.run_dir)
            self.proc = self.namespace.popen(rights.restricted(
                [str(find_kamueed()), "--config", str(self.config_file), "--run-dir", str(self.run_dir),
                 "--file-dir", "/tmp", "--device-dir", str(self.run_dir), "--device-dir", "/tmp"]),
                log=str(self.log), env={"NOTIFY_SOCKET": str(notify), "KAMUEE_NAME": self.name})
            self.pid_file.write_text(str(self.proc.pid))
            self._wait_ready(sock)
        self.set_up_interfaces()

    def _wait_ready(self, sock: socket.socket) -> None:
        begun, status = time.monotonic(), "starting"
        end = begun + READY_TIMEOUT_S
        while True:
            said = {}
            with contextlib.suppress(TimeoutError):
                said = dict(line.partition("=")[::2] for line in sock.recv(4096).decode(errors="replace").split("\n"))
            if "READY" in said:
                return
            status = said.get("STATUS", status)
            if "EXTEND_TIMEOUT_USEC" in said:
                end = max(end, time.monotonic() + int(said["EXTEND_TIMEOUT_USEC"]) / 1e6)
            if self.proc.poll() is not None:
                raise self._failure(f"kamueed exited during startup with status {self.proc.returncode}")
            if time.monotonic() > end:
                raise self._failure(f"kamueed is not ready after {time.monotonic() - begun:.0f} s: {status}; threads: "
                                    f"{activity_of(self.proc.pid)}")

    def _failure(self, text: str) -> LabError:
        lines = self.log.read_text(errors="replace").rstrip("\n").split("\n")
        said = [line for line in lines if re.match(r"\d\d:\d\d:|kamueed: |[A-Z_]+: ", line)]    # not DPDK's list of its options
        tail = "\n".join((said or lines)[-20:])
        return self.node.where.error(f"{text}; configuration {self.config_file}, end of {self.log}:\n{tail}")

    def set_up_interfaces(self) -> None:
        members = self.node.members()
        for interface in self.node.interfaces.values():
            if interface.name in members:
                continue
            namespace = self.namespace_of(interface.name)
            self._wait_tap(namespace, interface.name)
            if interface.name != "lo":
                namespace.ip(f"link set dev {interface.name} up")
            namespace.add_addresses(interface.name, interface.addresses)

    def _wait_tap(self, namespace: Namespace, name: str) -> None:
        end = time.monotonic() + READY_TIMEOUT_S
        while not namespace.has_link(name):
            if time.monotonic() > end:
                raise self._failure(f"kamueed did not create the TAP {name} in namespace {namespace.name}")
            time.sleep(0.02)

    # --- life of the daemon ---

    def kamueed_pid(self) -> int | None:
        for file in (self.run_dir / "kamueed.lock", self.pid_file):     # after an upgrade the lock has the pid
            try:
                pid = int(file.read_text())
            except (OSError, ValueError):
                continue
            if is_running(pid):
                return pid
        return None

    def kill_kamueed(self) -> None:
        """Kill the daemon as a crash would."""
        pid = self.kamueed_pid()
        if pid is not None:
            os.kill(pid, signal.SIGKILL)
            stop_processes([pid])

    def stop_kamueed(self) -> float:
        """Stop the daemon in order; returns how long that took in seconds."""
        begun = time.monotonic()
        pid = self.kamueed_pid()
        if pid is not None:
            os.kill(pid, signal.SIGTERM)
            while is_running(pid):
                if time.monotonic() - begun > STOP_TIMEOUT_S:
                    raise self._failure(f"kamueed did not stop within {STOP_TIMEOUT_S} s of SIGTERM")
                time.sleep(0.01)
        return time.monotonic() - begun

    def why_silent(self) -> str:
        """What is known of a kamueed that does not answer, for the message."""
        pid = self.kamueed_pid()
        load = os.getloadavg()[0]
        return f"load {load:.1f}; threads: {activity_of(pid)}" if pid else f"kamueed has ended; load {load:.1f}"

    def pids(self) -> dict[str, int]:
        pid = self.kamueed_pid()
        return {**({"kamueed": pid} if pid else {}), **super().pids()}


def activity_of(pid: int) -> str:
    """What each thread of a process does: its name, its state, and the kernel's function in which it waits."""
    found = []
    for task in sorted(Path(f"/proc/{pid}/task").glob("*"), key=lambda task: int(task.name)):
        with contextlib.suppress(OSError):
            name, state, waits = ((task / file).read_text().strip() for file in ("comm", "stat", "wchan"))
            state = state.rpartition(")")[2].split()[0]
            found.append(f"{name} {STATES.get(state, state)}" + (f" in {waits}" if waits not in ("", "0") else ""))
    return ", ".join(found) or "none"


def interface_lines(node: Node, mtus: dict[str, int]) -> list[str]:
    """The configuration above the ports: LAGs, sub-interfaces, virtual routers."""
    lines = []
    for interface in node.interfaces.values():
        for member in interface.members:
            lines += [f"set port {interface.name} lag member {member}", f"set port {interface.name} mtu {mtus[member]}"]
        if interface.vlan is not None:
            outer = f" outer-vlan {interface.outer_vlan} tpid {interface.tpid}" if interface.outer_vlan else ""
            lines.append(f"set vport {interface.name} port {interface.port} vlan {interface.vlan}{outer}")
        if interface.vr is not None:
            lines.append(f"set interface {interface.name} vr {interface.vr}")
    return lines


def wire_name(interface: str) -> str:
    """The name of the link's end that belongs to an interface."""
    return "w" + interface
