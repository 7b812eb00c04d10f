# SPDX-License-Identifier: BSD-3-Clause
"""BIRD 2 inside a namespace: configuration from a node's keys, start, birdc.

Configuration, control socket, pid file and log lie in the node's run directory.
"""
import os
import shutil
import time
from pathlib import Path

from kamuee.lab.errors import LabError
from kamuee.lab.frr import FEED_NETWORK
from kamuee.lab.netns import Namespace, is_running, sh, stop_processes
from kamuee.lab.schema import Neighbor, Node


def config_of(node: Node, run_dir: Path) -> str:
    """Configuration text from the keys of a node."""
    feeds = [f"bgp{i}" for i, neighbor in enumerate(node.neighbors)
             if neighbor.address.startswith(FEED_NETWORK)]
    # Own networks are announced without being in the kernel; a feed's routes are only passed on.
    not_installed = " || ".join(["source ~ [RTS_DEVICE, RTS_STATIC]"] + [f'proto = "{p}"' for p in feeds])
    parts = [f'log "{run_dir}/bird.log" {{ info, warning, error, fatal, remote, auth, bug }};',
             f"router id {node.router_id or node.first_address()};",
             "protocol device { scan time 2; }",
             f"filter installed {{ if {not_installed} then reject; accept; }}"]
    for family in ("ipv4", "ipv6"):
        parts.append(f"protocol kernel kernel_{family} {{ scan time 20; merge paths on; "
                     f"{family} {{ import none; export filter installed; }}; }}")
        routes = [f"route {prefix} blackhole;" for prefix in node.networks
                  if (":" in prefix) == (family == "ipv6")]
        if routes:
            parts.append(f"protocol static networks_{family} {{ {family}; {' '.join(routes)} }}")
    parts += [bgp_block(node, i, neighbor) for i, neighbor in enumerate(node.neighbors)]
    interfaces = "".join(f' interface "{name}" {{ hello 1; dead 4; }};' for name in node.ospf)
    if node.ospf:
        parts += [f"protocol ospf v2 ospf_ipv4 {{ ipv4; area 0 {{{interfaces} }}; }}",
                  f"protocol ospf v3 ospf_ipv6 {{ ipv6; area 0 {{{interfaces} }}; }}"]
    if node.rip:
        interfaces = "".join(f' interface "{name}" {{ update time 5; timeout time 15; }};'
                             for name in node.rip)
        for kind, family in (("rip", "ipv4"), ("rip ng", "ipv6")):
            parts.append(f"protocol direct direct_{family} {{ {family}; }}")
            parts.append(f"protocol {kind} rip_{family} {{ {family} {{ import all; export all; }};"
                         f"{interfaces} }}")
    return "\n".join(parts) + "\n"


def bgp_block(node: Node, index: int, neighbor: Neighbor) -> str:
    channels = " ".join(f"{family} {{ import all; export where source ~ [RTS_BGP, RTS_STATIC]; "
                        "next hop self; };" for family in neighbor.families)
    options = "".join(f" {option};" for option in neighbor.options)
    return (f"protocol bgp bgp{index} {{ local as {node.asn}; neighbor {neighbor.address} as "
            f"{neighbor.asn}; connect delay time 1; connect retry time 1; error wait time 1, 2; "
            f"hold time 90;{options} {channels} }}")


class Bird:
    def __init__(self, node: Node, namespace: Namespace, run_dir: Path):
        self.node, self.namespace, self.run_dir = node, namespace, run_dir
        self.config = node.config if node.config is not None else config_of(node, run_dir)
        self.control = run_dir / "bird.ctl"
        self.pid_file = run_dir / "bird.pid"

    def check(self) -> None:
        if shutil.which("bird", path=os.environ.get("PATH", "") + ":/usr/sbin") is None:
            raise LabError(f"{self.node.name}: BIRD is not installed: apt-get install bird2")

    def start(self) -> None:
        path = self.run_dir / "bird.conf"
        path.write_text(self.config)
        try:
            self.namespace.run(["bird", "-c", str(path), "-s", str(self.control), "-P", str(self.pid_file)])
        except LabError as error:
            raise self.node.where.error(f"BIRD did not start:\n{error}") from None
        end = time.monotonic() + 30
        while not self.control.exists():
            if time.monotonic() > end:
                raise LabError(f"{self.node.name}: BIRD has no control socket; see {self.run_dir}/bird.log")
            time.sleep(0.02)

    def pids(self) -> dict[str, int]:
        try:
            pid = int(self.pid_file.read_text())
        except (OSError, ValueError):
            return {}
        return {"bird": pid} if is_running(pid) else {}

    def stop(self) -> None:
        stop_processes(list(self.pids().values()))

    def birdc(self, command: str, timeout_s: float = 60) -> str:
        return sh(["birdc", "-s", str(self.control)] + command.split(), timeout_s=timeout_s)

    def sessions(self) -> dict[str, bool]:
        """Established or not, for each BGP neighbor."""
        peers = {}
        for i, neighbor in enumerate(self.node.neighbors):
            peers[neighbor.address] = "Established" in self.birdc(f"show protocols bgp{i}")
        return peers
