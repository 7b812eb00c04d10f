# SPDX-License-Identifier: BSD-3-Clause
"""FRR inside a namespace, without systemd: configuration from a node's keys, start, stop, vtysh.

Each instance has a pathspace of its own (`-N`): sockets and pid files under /var/run/frr/NAME, its
configuration under /etc/frr/NAME. `zebra -n` is never used: it would claim every namespace of the machine.
FRR allows no dot in a pathspace's name, so LAB-NODE.VR becomes LAB-NODE_VR.
"""
import json
import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

from kamuee.lab.errors import LabError
from kamuee.lab.netns import Namespace, is_running, sh, stop_processes
from kamuee.lab.schema import Node
from kamuee.routing import NETLINK_BUFFER_BYTES

BINARIES = Path("/usr/lib/frr")
RUN_DIR = Path("/var/run/frr")
CONFIG_DIR = Path("/etc/frr")
START_S = 60
FIRST = ("mgmtd", "zebra")  # FRR 10 configures zebra and staticd by mgmtd, which FRR 8 does not have
# FRR 10 refuses a daemon's part of the configuration while mgmtd gives it another part: ripngd's beside ripd's.
BUSY, TRIES = "locked by another session", 5
SHARED_FILES = ("ospf6d-at-seq-no.dat", "ospf6d-gr.json", "ospfd-gr.json")
FEED_NETWORK = "100.127."

# Words of a configuration text that require a daemon; the longer words first.
DAEMON_OF = (("router ospf6", "ospf6d"), ("router ospf", "ospfd"), ("router bgp", "bgpd"),
             ("router ripng", "ripngd"), ("router rip", "ripd"), ("router isis", "isisd"),
             ("bfd", "bfdd"))


def daemons_of(config: str) -> list[str]:
    """The daemons that a configuration needs besides zebra and staticd."""
    found = ["staticd"]
    for line in config.rstrip("\n").split("\n"):
        for words, daemon in DAEMON_OF:
            if line == words or line.startswith(words + " "):
                if daemon not in found:
                    found.append(daemon)
                break
    return found


def first_daemons() -> list[str]:
    return [name for name in FIRST if (BINARIES / name).exists()]


def config_of(node: Node) -> str:
    """Configuration text from the keys of a node."""
    lines = ["frr defaults traditional", f"hostname {node.name}"]
    for interface in dict.fromkeys(node.ospf):
        lines += [f"interface {interface}", " ip ospf area 0", " ip ospf hello-interval 1",
                  " ip ospf dead-interval 4", " ipv6 ospf6 area 0", " ipv6 ospf6 hello-interval 1",
                  " ipv6 ospf6 dead-interval 4", "exit"]
    router_id = node.router_id or node.first_address()
    if node.asn is not None:
        lines += bgp_lines(node, router_id)
    if node.ospf:
        lines += ["router ospf", f" ospf router-id {router_id}", "exit",
                  "router ospf6", f" ospf6 router-id {router_id}", "exit"]
    if node.rip:
        networks = [f" network {interface}" for interface in node.rip]
        lines += ["router rip", " timers basic 5 15 10", *networks, "exit",
                  "router ripng", " timers basic 5 15 10", *networks, "exit"]
    return "\n".join(lines) + "\n"


def bgp_lines(node: Node, router_id: str | None) -> list[str]:
    lines = [f"router bgp {node.asn}", f" bgp router-id {router_id}", " no bgp ebgp-requires-policy",
             " no bgp default ipv4-unicast", " no bgp network import-check",
             " bgp bestpath as-path multipath-relax"]
    for neighbor in node.neighbors:
        lines += [f" neighbor {neighbor.address} remote-as {neighbor.asn}",
                  f" neighbor {neighbor.address} timers connect 1",
                  f" neighbor {neighbor.address} advertisement-interval 0"]
        lines += [f" neighbor {neighbor.address} {option}" for option in neighbor.options]
    feeds = [neighbor.address for neighbor in node.neighbors if neighbor.address.startswith(FEED_NETWORK)]
    for family in ("ipv4", "ipv6"):
        lines.append(f" address-family {family} unicast")
        lines += [f"  network {prefix}" for prefix in node.networks if (":" in prefix) == (family == "ipv6")]
        lines += [f"  neighbor {neighbor.address} activate" for neighbor in node.neighbors
                  if family in neighbor.families]
        if feeds:
            lines.append("  table-map INSTALL")
        lines.append(" exit-address-family")
    lines.append("exit")
    # What a feed announces is passed on, but kept out of zebra and the kernel: installing a full table
    # there costs 20 s of a core, and a feed's router has a default route for it.
    for number, address in enumerate(feeds, 1):
        lines += [f"route-map INSTALL deny {number}", f" match peer {address}", "exit"]
    if feeds:
        lines += [f"route-map INSTALL permit {len(feeds) + 1}", "exit"]
    return lines


class Frr:
    def __init__(self, node: Node, namespace: Namespace, config: str | None = None):
        """The node's own, or with a configuration that of one of its virtual routers."""
        self.node, self.namespace = node, namespace
        self.pathspace = namespace.name.replace(".", "_")
        self.run_dir = RUN_DIR / self.pathspace
        self.config_dir = CONFIG_DIR / self.pathspace
        self.config = config or node.config or config_of(node)
        self.daemons = not config and node.daemons or daemons_of(self.config)

    def check(self) -> None:
        if not (BINARIES / "zebra").exists():
            raise LabError(f"{self.node.name}: FRR is not installed: apt-get install frr")

    def start(self) -> None:
        for parent in (RUN_DIR, CONFIG_DIR):
            parent.mkdir(parents=True, exist_ok=True)
        for directory in (self.run_dir, self.config_dir):
            directory.mkdir(exist_ok=True)
            shutil.chown(directory, "frr", "frr")
        self._write("frr.conf", self.config)
        self._write("vtysh.conf", "service integrated-vtysh-config\n")
        for daemon in [*first_daemons(), *self.daemons]:
            self._start_daemon(daemon)
        for _ in range(TRIES):
            said = sh(["vtysh", "-N", self.pathspace, "-b"], check=False, errors_too=True)
            if BUSY not in said:
                break
        if "%" in said:
            raise self.node.where.error(f"FRR rejected the configuration:\n{said.strip()}")

    def _write(self, name: str, text: str) -> None:
        path = self.config_dir / name
        path.write_text(text)
        shutil.chown(path, "frr", "frr")
        path.chmod(0o640)

    def _start_daemon(self, daemon: str) -> None:
        extra = ["-s", str(NETLINK_BUFFER_BYTES)] if daemon == "zebra" else []
        argv = [str(BINARIES / daemon), "-d", "-N", self.pathspace, "-P", "0", "--log", f"file:{self.run_dir}/{daemon}.log"] + extra
        said = self.run_dir / f"{daemon}.out"   # not a pipe: a daemon of FRR 10 never closes it
        said.unlink(missing_ok=True)
        try:
            status = self.namespace.popen(argv, log=str(said)).wait(START_S)
        except subprocess.TimeoutExpired:
            raise LabError(f"{' '.join(argv)}: did not finish within {START_S} s") from None
        if status:
            raise LabError(f"{' '.join(argv)}: status {status}\n{said.read_text()}".rstrip())

    def pids(self) -> dict[str, int]:
        """Process ids of the daemons that run, by name."""
        pids = {}
        for path in sorted(self.run_dir.glob("*.pid")):
            pid = int(path.read_text() or 0)
            if pid and is_running(pid):
                pids[path.stem] = pid
        return pids

    def kill(self) -> None:
        """Kill all daemons as a crash would."""
        for pid in self.pids().values():
            os.kill(pid, signal.SIGKILL)
        stop_processes(list(self.pids().values()))

    def stop(self) -> None:
        stop_processes(list(self.pids().values()))

    def vtysh(self, *commands: str, timeout_s: float = 60) -> str:
        argv = ["vtysh", "-N", self.pathspace]
        for command in commands:
            argv += ["-c", command]
        return sh(argv, timeout_s=timeout_s)

    def json(self, command: str) -> dict:
        return json.loads(self.vtysh(f"{command} json") or "{}")

    def sessions(self) -> dict[str, bool]:
        """Established or not, for each BGP neighbor."""
        peers: dict[str, bool] = {}
        for family in self.json("show bgp summary").values():
            for address, peer in family.get("peers", {}).items():
                peers[address] = peer.get("state") == "Established"
        return peers


def remove_shared_files() -> None:
    """Remove what FRR's OSPF daemons write beside all pathspaces, once no FRR is left to use it."""
    if not RUN_DIR.is_dir() or any(path.is_dir() or path.suffix in (".pid", ".vty")
                                   for path in RUN_DIR.iterdir()):
        return
    for name in SHARED_FILES:
        (RUN_DIR / name).unlink(missing_ok=True)


def remove_directories(pathspace: str) -> None:
    """FRR's files after its processes have ended."""
    for parent in (RUN_DIR, CONFIG_DIR):
        for _ in range(3):                        # a daemon may write its last words meanwhile
            shutil.rmtree(parent / pathspace, ignore_errors=True)
            if not (parent / pathspace).exists():
                break
            time.sleep(0.05)
