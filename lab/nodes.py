# SPDX-License-Identifier: BSD-3-Clause
"""The nodes of a running lab: hosts, routers on the kernel's forwarding, feeds.

Each node class knows its namespaces, where the ends of its links go, and how it comes up, in steps that
the lab runs for all nodes in turn: create() -> [links] -> address() -> start() -> add_routes().
`kamueenode.py` holds the node whose forwarding is done by kamueed; to the outside it behaves as Router.
"""
import subprocess
import sys
import time
from pathlib import Path

import kamuee
from kamuee.feed.command import tell
from kamuee.lab import vlan
from kamuee.lab.bird import Bird
from kamuee.lab.errors import LabError
from kamuee.lab.frr import Frr
from kamuee.lab.netns import SYSCTL, Namespace, add_veth
from kamuee.lab.schema import Node

PACKAGE_ROOT = Path(kamuee.__file__).resolve().parents[1]


class BaseNode:
    def __init__(self, node: Node, lab_name: str, lab_dir: Path):
        self.node = node
        self.lab_name = lab_name
        self.run_dir = lab_dir / node.name
        self.namespace = Namespace(f"{lab_name}-{node.name}")
        self.procs: list[subprocess.Popen] = []

    @property
    def name(self) -> str:
        return self.node.name

    # --- what it consists of ---

    def namespaces(self) -> list[Namespace]:
        return [self.namespace]

    def pathspaces(self) -> list[str]:
        return []

    def namespace_of(self, interface: str) -> Namespace:
        """The namespace of an interface with its addresses."""
        return self.namespace

    def link_end(self, interface: str) -> tuple[Namespace, str]:
        """The namespace and name of a link's end at an interface."""
        return self.namespace_of(interface), interface

    # --- coming up ---

    def settings(self) -> dict[str, str]:
        """Initial kernel parameters of its namespaces."""
        return SYSCTL

    def say(self, text: str) -> None:
        """Shows a line during the start; the lab replaces it."""

    def check(self) -> None:
        """LabError if a required program is not installed; before anything is built."""

    def create(self) -> None:
        self.run_dir.mkdir()
        for namespace in self.namespaces():
            namespace.create()
            namespace.sysctl(self.settings() | self.node.sysctl)

    def cable(self, interface: str, far: Namespace, far_interface: str, mtu: int) -> None:
        """The link at an interface, to its end in another namespace."""
        add_veth(*self.link_end(interface), far, far_interface, mtu)

    def address(self) -> None:
        for interface in self.node.interfaces.values():
            namespace = self.namespace_of(interface.name)
            if interface.mac:
                namespace.ip(f"link set dev {interface.name} address {interface.mac}")
            if interface.name != "lo":
                namespace.ip(f"link set dev {interface.name} up")
            namespace.add_addresses(interface.name, interface.addresses)

    def start(self) -> None:
        """Start the daemons, if the node has any."""

    def wait_ready(self) -> None:
        """Waits until it works; all nodes have started by then."""

    def add_routes(self) -> None:
        for route in self.node.routes:
            try:
                self.namespace.add_route(route)
            except LabError as error:
                raise self.node.where.error(f"route '{route}': {error}") from None

    # --- use ---

    def pids(self) -> dict[str, int]:
        """The daemons that run, by name."""
        return {}

    def described(self) -> dict:
        """Output of `show` for this kind only."""
        return {}

    def run(self, command: str | list[str], check: bool = True, timeout_s: float = 60) -> str:
        return self.namespace.run(command, check, timeout_s)

    def popen(self, argv: list[str], **options) -> subprocess.Popen:
        proc = self.namespace.popen(argv, **options)
        self.procs.append(proc)
        return proc

    def ip(self, command: str) -> str:
        return self.namespace.ip(command)

    def ip_json(self, command: str) -> list[dict]:
        return self.namespace.ip_json(command)

    def sub_namespace(self, name: str) -> Namespace:
        """A further namespace of the node, by the part after the dot."""
        for namespace in self.namespaces():
            if namespace.name == f"{self.namespace.name}.{name}":
                return namespace
        raise LabError(f"node {self.name} has no namespace '{name}'")


class Host(BaseNode):
    def address(self) -> None:
        if self.node.vlan is not None:
            for interface in self.node.ports():
                if interface.name != "lo":
                    cache = self.run_dir.parent.parent / ".cache"
                    tags = vlan.Tags(self.node.vlan, self.node.outer_vlan, self.node.tpid)
                    vlan.put_on_vlan(self.namespace, interface.name, tags, cache)
        super().address()


class Router(BaseNode):
    """A router on the kernel's own forwarding; the oracle that a kamuee node is compared with."""

    def __init__(self, node: Node, lab_name: str, lab_dir: Path):
        super().__init__(node, lab_name, lab_dir)
        self.vrs = {vr: Namespace(f"{self.namespace.name}.{vr}") for vr in node.vrs}
        self.frr = Frr(node, self.namespace) if node.daemon == "frr" else None
        self.bird = Bird(node, self.namespace, self.run_dir) if node.daemon == "bird" else None
        self.vr_frr = {vr: Frr(node, self.vrs[vr], entry.config) for vr, entry in node.vrs.items() if entry.config}

    def namespaces(self) -> list[Namespace]:
        return [self.namespace] + list(self.vrs.values())

    def pathspaces(self) -> list[str]:
        return [frr.pathspace for frr in [self.frr, *self.vr_frr.values()] if frr]

    def namespace_of(self, interface: str) -> Namespace:
        vr = self.node.interfaces[interface].vr
        return self.vrs[vr] if vr else self.namespace

    @property
    def daemon(self) -> Frr | Bird | None:
        return self.frr or self.bird

    @property
    def daemons(self) -> list[Frr | Bird]:
        """The daemon of the node, and of its virtual routers."""
        return [*([self.daemon] if self.daemon else []), *self.vr_frr.values()]

    def check(self) -> None:
        for daemon in self.daemons:
            daemon.check()

    def settings(self) -> dict[str, str]:
        return {**super().settings(),
                "net.ipv4.ip_forward": "1", "net.ipv6.conf.all.forwarding": "1",
                "net.ipv6.conf.default.forwarding": "1", "net.ipv4.fib_multipath_hash_policy": "1",
                "net.ipv6.fib_multipath_hash_policy": "1", "net.ipv4.icmp_ratelimit": "0",
                "net.ipv6.icmp.ratelimit": "0"}

    def address(self) -> None:
        self.add_sub_interfaces()
        super().address()

    def add_sub_interfaces(self) -> None:
        for interface in self.node.interfaces.values():
            if interface.vlan is None:
                continue
            if not vlan.kernel_has_vlan(self.namespace):
                raise self.node.where.error(f"{interface.name}: this kernel has no vlan device, so only a "
                                            "node of kind kamuee can have sub-interfaces")
            vlan.add_devices(self.namespace, interface.port, interface.name,
                             vlan.Tags(interface.vlan, interface.outer_vlan, interface.tpid))
            if interface.vr:
                self.namespace.ip(f"link set dev {interface.name} netns {self.vrs[interface.vr].name}")

    def start(self) -> None:
        for daemon in self.daemons:
            daemon.start()

    def add_routes(self) -> None:
        super().add_routes()
        for vr, entry in self.node.vrs.items():
            for route in entry.routes:
                self.vrs[vr].add_route(route)

    def pids(self) -> dict[str, int]:
        return {**(self.daemon.pids() if self.daemon else {}),
                **{f"{name}.{vr}": pid for vr, frr in self.vr_frr.items() for name, pid in frr.pids().items()}}

    def vtysh(self, *commands: str) -> str:
        if self.frr is None:
            raise LabError(f"node {self.name} does not run FRR")
        return self.frr.vtysh(*commands)


class FeedNode(BaseNode):
    """Announces a table to a neighbor (kamuee.feed)."""

    def argv(self) -> list[str]:
        node, source = self.node, self.node.feed
        family_v6 = ":" in node.peer
        local = node.first_address(family_v6)
        if local is None:
            raise node.where.error("a feed needs an interface with an address in the peer's network")
        argv = [sys.executable, "-m", "kamuee.feed", "run", "--local", local, "--peer", node.peer,
                "--asn", str(node.asn), "--hold", str(node.hold_s), "--seed", str(source.seed),
                "--control", str(self.control), "--share", str(source.share)]
        next_hop_v6 = node.next_hop_v6 or node.first_address(v6=True)
        if next_hop_v6:
            argv += ["--nh6", next_hop_v6]
        if family_v6 and node.first_address():
            argv += ["--nh4", node.first_address()]
        if source.n_routes is not None:
            argv += ["--routes", str(source.n_routes)]
        if source.mrt:
            argv += ["--mrt", source.mrt]
        elif source.prefixes:
            argv += ["--prefixes", source.prefixes]
        elif source.generate:
            argv.append("--generate")
        return argv

    @property
    def control(self) -> Path:
        return self.run_dir / "feed.sock"

    def start(self) -> None:
        self.popen(self.argv(), log=str(self.run_dir / "feed.log"),
                   env={"PYTHONPATH": str(PACKAGE_ROOT)})

    def wait_ready(self, timeout_s: float = 60) -> None:
        """Wait until the table is encoded and commands are accepted."""
        end = time.monotonic() + timeout_s
        while not self.control.exists():
            if self.procs and self.procs[-1].poll() is not None or time.monotonic() > end:
                log = (self.run_dir / "feed.log").read_text()[-2000:]
                raise self.node.where.error(f"the feed did not start:\n{log.strip()}")
            time.sleep(0.05)

    def tell(self, *words: str) -> dict:
        """Command the speaker: status, churn PER_SECOND SECONDS, flap ... (kamuee.feed.command)."""
        reply = tell(str(self.control), *words)
        if "error" in reply:
            raise LabError(f"feed {self.name}: {reply['error']}")
        return reply

    def pids(self) -> dict[str, int]:
        pids = self.namespace.pids()
        return {"feed": pids[0]} if pids else {}
