# SPDX-License-Identifier: BSD-3-Clause
"""A lab: builds a Spec, step by step over all nodes, and takes it down again.

    lab = Lab.start(schema.load("triangle.yaml"))
    lab["h1"].run("ping -c 1 10.0.2.2")
    lab.stop()

Order of a start: state on disk, namespaces, links, addresses (kamuee nodes start kamueed here, since the
addresses go on its TAPs), daemons, feeds, routes. If a step fails, everything is taken down again.
"""
import dataclasses
import os
from collections.abc import Callable

from kamuee.lab import schema, state
from kamuee.lab.errors import LabError
from kamuee.lab.kamueenode import KamueeNode
from kamuee.lab.netns import Namespace
from kamuee.lab.nodes import BaseNode, FeedNode, Host, Router
from kamuee.lab.vmnode import VmNode

CLASSES: dict[str, type[BaseNode]] = {"host": Host, "router": Router, "kamuee": KamueeNode, "vm": VmNode,
                                      "feed": FeedNode}


class Lab:
    def __init__(self, spec: schema.Spec, on_disk: state.State):
        self.spec, self.state = spec, on_disk
        self.nodes: dict[str, BaseNode] = {}
        for node in spec.nodes.values():
            self.nodes[node.name] = CLASSES[node.kind](node, spec.name, on_disk.dir)
        for node in self.nodes.values():
            if isinstance(node, (KamueeNode, VmNode)):
                node.mtus = {port.name: spec.mtu_of(node.name, port.name)
                             for port in node.node.ports() if port.name != "lo"}

    def __getitem__(self, name: str) -> BaseNode:
        if name not in self.nodes:
            raise LabError(f"lab {self.spec.name} has no node '{name}'; there are: {', '.join(self.nodes)}")
        return self.nodes[name]

    # --- life ---

    @classmethod
    def start(cls, spec: schema.Spec, say: Callable[[str], None] = lambda text: None,
              keep_broken: bool = False) -> "Lab":
        """Build the lab; `say` gets a line for each step. `keep_broken` leaves a failed start standing."""
        if os.geteuid() != 0:
            raise LabError("a lab creates network namespaces, which needs root: use sudo")
        on_disk = state.State(spec.name, spec.file)
        lab = cls(spec, on_disk)
        on_disk.namespaces = [ns.name for node in lab.nodes.values() for ns in node.namespaces()]
        on_disk.pathspaces = [name for node in lab.nodes.values() for name in node.pathspaces()]
        lab._refuse_foreign_namespaces()
        for node in lab.nodes.values():
            node.check()
        on_disk.create(spec.text)
        try:
            lab._build(say)
        except BaseException:
            if not keep_broken:
                on_disk.remove()
            raise
        on_disk.state = state.RUNNING
        on_disk.save()
        return lab

    def _refuse_foreign_namespaces(self) -> None:
        """Before anything is written down as ours: a namespace of the same name may be somebody's."""
        for name in self.state.namespaces:
            if Namespace(name).exists():
                raise LabError(f"network namespace {name} already exists and belongs to no lab: choose another "
                               f"lab name with --name, or remove it (ip netns del {name})")

    def _build(self, say: Callable[[str], None]) -> None:
        nodes = list(self.nodes.values())
        for node in nodes:
            node.say = say
        say(f"{len(self.state.namespaces)} namespaces")
        for node in nodes:
            node.create()
        say(f"{len(self.spec.links)} links")
        for link in self.spec.links:
            # The TAP of a vm is the interface of the other end.
            (near, port), (far, far_port) = sorted(link.ends,
                                                   key=lambda end: not isinstance(self.nodes[end[0]], VmNode))
            self.nodes[near].cable(port, *self.nodes[far].link_end(far_port), link.mtu)
        say("addresses, kamueed")
        for node in nodes:
            node.address()
        # Routes of hosts and routers go in after all links are up, since their gateways must be reachable;
        # before the daemons, since one of these may depend on them.
        for node in nodes:
            node.add_routes()
        say("routing daemons and feeds")
        for node in nodes:
            node.start()
        for node in nodes:
            node.wait_ready()

    @classmethod
    def attach(cls, name: str, starting: bool = False) -> "Lab":
        """A lab that somebody else has started, or, with `starting`, is starting."""
        on_disk = state.load(name)
        text_file = on_disk.dir / "lab.yaml"
        condition = on_disk.condition()
        if condition != state.RUNNING and not (starting and condition == state.STARTING and text_file.exists()):
            raise LabError(f"lab {name} is {condition}: "
                           + (f"wait for it (kamuee lab show {name}), or " if condition == state.STARTING else "")
                           + f"stop it (kamuee lab stop {name})")
        spec = schema.load_text(text_file.read_text(encoding="utf-8"), on_disk.file, name)
        return cls(spec, on_disk)

    def stop(self) -> None:
        self.state.remove()

    # --- description ---

    def describe(self) -> dict:
        """Everything about the lab as plain data, for `show` and `-j`."""
        nodes = {}
        for node in self.nodes.values():
            interfaces = {interface.name: {key: value for key, value in
                                           dataclasses.asdict(interface).items() if value}
                          for interface in node.node.interfaces.values()}
            nodes[node.name] = {"kind": node.node.kind, "daemon": node.node.daemon,
                                "namespaces": [ns.name for ns in node.namespaces()],
                                "interfaces": interfaces, "processes": node.pids(),
                                "directory": str(node.run_dir), **node.described()}
        links = [{"ends": [f"{node}:{port}" for node, port in link.ends], "mtu": link.mtu}
                 for link in self.spec.links]
        return {"name": self.spec.name, "file": self.state.file, "state": self.state.condition(),
                "started": self.state.started, "nodes": nodes, "links": links}
