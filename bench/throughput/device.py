# SPDX-License-Identifier: BSD-3-Clause
"""Devices under test: what lies between the tester's two ports.

                 198.18.0.2  ┌────────┐  198.19.0.2          tester
     2001:2:0:100::2 ─ port 0 ┤ device ├ port 1 ─ 2001:2:0:200::2
                   .1 and ::1 └────────┘ .1 and ::1

Addresses are those reserved for benchmarks (RFC 2544, C.2.2; RFC 5180, 8). Behind port 0 of the tester lie
198.18.1.0/24 to 198.18.255.0/24 and 2001:2:0:101::/64 to 1ff, behind port 1 198.19.… and 201 to 2ff: 255 networks of
each family and side (RFC 2544, 12, asks for 256), or the table that --routes names. Neighbors are permanent: what is
measured is forwarding, not resolution.
"""
from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from kamuee.lab.netns import Namespace, add_veth, sh
from measure import machine
from measure.daemon import Kamueed
from measure.program import DIE_WITH_US, bench_program, end, wait_until, write_table
from throughput import frames

SIDES = (0, 1)
OURS4, OURS6 = ("198.18.0.2", "198.19.0.2"), ("2001:2:0:100::2", "2001:2:0:200::2")
THEIRS4, THEIRS6 = ("198.18.0.1", "198.19.0.1"), ("2001:2:0:100::1", "2001:2:0:200::1")
OUR_MAC = ("02:00:00:18:00:02", "02:00:00:19:00:02")
THEIR_MAC = ("02:00:00:18:00:01", "02:00:00:19:00:01")
NOBODY = "02:00:00:00:00:01"                    # where nothing looks at MAC addresses
RING = 10                                       # of a memif: 2^10 descriptors
START_S = 20


class DeviceError(Exception):
    """The device does not start or cannot be used; the text has a remedy."""


@dataclass
class Setting:
    """The user's settings of the device."""
    build: Path
    kamueed: Path
    work: Path
    cores: tuple[int, int]                      # of the tester, of the device
    allowed: frozenset[int] = frozenset(os.sched_getaffinity(0))
    link: str = "memif"                         # or vhost
    ring: int = RING
    queues: int = 1                             # by which the tester sends, and the device receives, on each port
    mtu: int = 1500
    idle: str = "performance"
    both: bool = False
    routes: str = ""                            # "" = the networks above, "full" or a number
    prefixes: str | None = None
    churn: bool = False                         # the table will change while packets flow
    cards: tuple[str, str] = ("", "")           # PCI addresses or kernel interfaces, for the device "cards"
    ports: tuple[str, str] = ("", "")           # of the tester, for an external device
    macs: tuple[str, str] = ("", "")
    prefix_file: Path | None = field(default=None, repr=False)

    def holds(self) -> int:
        """Most packets that wait for the device at one port."""
        return self.queues << self.ring


def ours(side: int) -> list[str]:
    return [OURS4[side], OURS6[side]]


def networks(side: int) -> list[str]:
    return [f"198.{18 + side}.{i}.0/24" for i in range(1, 256)] + [f"2001:2:0:{0x100 * (side + 1) + i:x}::/64"
                                                                   for i in range(1, 256)]


class Device:
    """`devargs` are the tester's ports; `macs[i]` is where the tester's port i sends to."""
    name, idea = "", ""
    enter: Sequence[str] = ()                   # words before the tester's command
    proc: subprocess.Popen | None = None
    refused_is_lost = True                      # a full ring at the tester's port is the device's receive queue

    def __init__(self, setting: Setting):
        self.setting = setting
        self.macs = [NOBODY, NOBODY]
        self.devargs = ["", ""]
        self.n_routes = 0

    def start(self) -> None:
        """Returns when it is ready to be connected."""

    def ready(self) -> None:
        """After the tester has connected: returns when everything is forwarded."""

    def stop(self) -> None:
        end(self.proc)

    def destinations(self, side: int) -> list[str]:
        """Destinations of the tester's port `side`: addresses on the other side."""
        return [net.rpartition("/")[0].replace("::", "::9") if ":" in net else net.replace(".0/24", ".9")
                for net in networks(1 - side)]

    def losses(self) -> dict[str, int]:
        """Losses that the device itself counts, by reason."""
        return {}

    def facts(self) -> dict:
        return {"peer": self.name, "routes": self.n_routes}

    def pid(self) -> int | None:
        return self.proc.pid if self.proc else None


def wait_for(condition, what: str, proc: subprocess.Popen | None = None) -> None:
    wait_until(condition, what, START_S, DeviceError, proc)


class Linked(Device):
    """Connected by memif or vhost-user; the device listens, the tester connects."""

    def socket(self, side: int) -> Path:
        return self.setting.work / (f"{self.name}-{side}.sock" if self.setting.link == "vhost" else f"{self.name}.sock")

    def memif(self, side: int, role: str, mac: str) -> str:
        return (f"net_memif{side},role={role},id={side},socket={self.socket(side)},socket-abstract=no,"
                f"rsize={self.setting.ring},mac={mac}")

    def listening(self, side: int) -> str:
        if self.setting.link == "vhost":
            return f"net_vhost{side},iface={self.socket(side)},queues={self.setting.queues}"
        return self.memif(side, "server", THEIR_MAC[side])

    def connecting(self, side: int) -> str:
        if self.setting.link == "vhost":
            return (f"net_virtio_user{side},path={self.socket(side)},queues={self.setting.queues},"
                    f"queue_size={1 << self.setting.ring},mac={OUR_MAC[side]}")
        return self.memif(side, "client", OUR_MAC[side])

    def wait_sockets(self) -> None:
        self.devargs = [self.connecting(side) for side in SIDES]
        wait_for(lambda: all(self.socket(side).exists() for side in SIDES),
                 f"{self.name} makes no {self.setting.link} socket", self.proc)


class KamueedDevice(Linked):
    name, idea = "kamueed", "the router itself, one forwarder on the device's core"

    def __init__(self, setting: Setting):
        super().__init__(setting)
        self.ns = Namespace(f"ht-dut{os.getpid()}")
        self.daemon: Kamueed | None = None
        self.groups: list[list] = []

    def lines(self) -> list[str]:
        """Its configuration."""
        core = self.setting.cores[1]
        lines = [f"set forwarding idle {self.setting.idle}"]
        for side in SIDES:
            lines += [f"set port m{side} devargs {self.listening(side)}",
                      f"set port m{side} rx-queues {self.setting.queues}", f"set port m{side} mtu {self.setting.mtu}"]
            lines += [f"set thread {core} forwarder port m{side} rx-queue {queue}"
                      for queue in range(self.setting.queues)]
        return lines

    def start(self) -> None:
        self.ns.create()
        self.daemon = Kamueed(self.ns, self.setting.kamueed, self.setting.work / "dut", self.lines())
        self.daemon.start()
        self.proc = self.daemon.proc
        if self.setting.routes:
            self._make_table()
        self._configure()
        self.wait_sockets()

    def _configure(self) -> None:
        """State in the kernel that disappears with the interfaces: addresses, neighbors, routes."""
        for side in SIDES:
            self._address(side)
        self._install_networks()
        if self.setting.routes:
            self._install_table()

    def namespace(self, side: int) -> Namespace:
        return self.ns

    def _address(self, side: int) -> None:
        device, ns = f"m{side}", self.namespace(side)
        ns.ip(f"link set {device} up")
        ns.add_addresses(device, [f"{THEIRS4[side]}/24", f"{THEIRS6[side]}/64"])
        for address in ours(side):
            ns.ip(f"neigh replace {address} lladdr {OUR_MAC[side]} dev {device} nud permanent")
        self.macs[side] = ns.ip_json(f"link show dev {device}")[0]["address"]

    def _install_networks(self) -> None:
        for side in SIDES:
            for v6 in (False, True):
                via = ours(side)[v6]
                self.ns.ip_batch([f"route replace {net} via {via}" for net in networks(side) if (":" in net) == v6], v6)
        self.n_routes = sum(len(networks(side)) for side in SIDES)

    def hops(self) -> list[str]:
        """One direction: everything leads to port 1. Both: the prefixes take turns."""
        return [f"{address}%m{side}" for side in (SIDES if self.setting.both else (1,)) for address in ours(side)]

    def _install_table(self) -> None:
        """The table, and a default route: a withdrawn prefix still has a path (with one direction, the same one)."""
        for v6 in (False, True):
            self.ns.ip_batch([f"route replace default via {self.hops()[v6 - 2].partition('%')[0]}"], v6)
        done = json.loads(self.ns.run([str(a) for a in self.route_install("replace")], timeout_s=300))
        self.n_routes = 2 + sum(len(networks(side)) for side in SIDES) + done["routes4"] + done["routes6"]

    def _make_table(self) -> None:
        routes = None if self.setting.routes == "full" else self.setting.routes
        file = write_table(self.setting.work / "prefixes.txt", self.setting.prefixes, routes)
        self.setting.prefix_file = file
        self.groups = frames.split(file.read_text().splitlines(), len(SIDES) if self.setting.both else 1)

    def route_install(self, mode: str, *more: str) -> list:
        vias = [word for hop in self.hops() for word in ("--via", hop)]
        return [bench_program("route_install", self.setting.build), "--mode", mode, "--prefixes", self.setting.prefix_file,
                *vias, *more]

    def destinations(self, side: int) -> list[str]:
        if not self.groups or (self.setting.both and self.setting.churn):
            return super().destinations(side)
        return frames.addresses(self.groups, 1 - side if self.setting.both else 0)

    def ready(self) -> None:
        for address in [self.destinations(side)[0] for side in (SIDES if self.setting.both else (0,))]:
            wait_for(lambda: self.daemon.gateway_of(address), f"kamueed has no route to {address}", self.proc)
        expected = self.n_routes
        wait_for(lambda: self.daemon.routes()[0] >= expected, f"kamueed has fewer than {expected} routes", self.proc)

    def restart(self) -> None:
        """Killed and started anew (RFC 2544, 26.6). Its TAPs went with it, and all routes with them: they are installed
        again."""
        self.proc.kill()
        self.proc.wait()
        for side in SIDES:
            self.socket(side).unlink(missing_ok=True)
        os.sched_setaffinity(0, self.setting.allowed)
        self.daemon.start()
        keep_off(self.setting)
        self.proc = self.daemon.proc
        self._configure()

    def losses(self) -> dict[str, int]:
        return self.daemon.losses()

    def ledger(self) -> int:
        """Packets that are unaccounted for; 0 at rest."""
        return self.daemon.client.state("ledger")["imbalance"]

    def stop(self) -> None:
        if self.daemon:
            self.daemon.stop()
        self.ns.delete()

    def facts(self) -> dict:
        system = self.daemon.client.state("system")
        return {**super().facts(), "version": system.get("version"), "lookup-kernel": system.get("lookup-kernel"),
                "pages": system.get("pages"), "idle": self.setting.idle,
                "forwarder-cores": sorted(self.daemon.forwarder_cores())}


CABLE4, CABLE6 = ("192.0.2.0", "192.0.2.1"), ("2001:db8::", "2001:db8::1")     # ends of the cable
LINK_S = 30                                     # for two cards to train their link


class CardsDevice(KamueedDevice):
    """Two virtual routers, `default` with port 0 of the tester and the first card, `far` with the second card and port 1 of the tester."""
    name, idea = "cards", "kamueed, which sends each packet out of one card and receives it by the other, so that it forwards each packet twice"

    def __init__(self, setting: Setting):
        super().__init__(setting)
        self.far, self.here = Namespace(f"ht-far{os.getpid()}"), Namespace(f"ht-here{os.getpid()}")

    def namespace(self, side: int) -> Namespace:
        return (self.ns, self.far)[side]

    def lines(self) -> list[str]:
        lines = [*super().lines(), f"set vr far namespace {self.far.name}", "set interface m1 vr far", "set interface c1 vr far"]
        for side, card in enumerate(self.setting.cards):
            lines += [f"set port c{side} devargs {card}"] if ":" in card else \
                [f"set port c{side} kernel-interface {card}", f"set port c{side} namespace {self.here.name}"]
            lines += [f"set port c{side} mtu {self.setting.mtu}",
                      f"set thread {self.setting.cores[1]} forwarder port c{side} rx-queue 0"]
        return lines

    def start(self) -> None:
        self.far.create()
        sh(["ip", "netns", "attach", self.here.name, str(os.getpid())])     # a name for the namespace of kernel interfaces
        for card in self.setting.cards:
            if ":" not in card:
                sh(["ip", "link", "set", card, "up"])
        super().start()

    def _configure(self) -> None:
        for side in SIDES:
            self.namespace(side).ip(f"link set c{side} up")
            self.namespace(side).add_addresses(f"c{side}", [f"{CABLE4[side]}/31", f"{CABLE6[side]}/127"])
        for side in SIDES:
            mac = self.namespace(1 - side).ip_json(f"link show dev c{1 - side}")[0]["address"]
            for address in (CABLE4[1 - side], CABLE6[1 - side]):
                self.namespace(side).ip(f"neigh replace {address} lladdr {mac} dev c{side} nud permanent")
        super()._configure()

    def _install_networks(self) -> None:
        for side in SIDES:
            for v6 in (False, True):
                vias = {side: ours(side)[v6], 1 - side: (CABLE6 if v6 else CABLE4)[1 - side]}
                self.namespace(side).ip_batch([f"route replace {net} via {via}" for end, via in vias.items()
                                               for net in networks(end) if (":" in net) == v6], v6)
        for v6 in (False, True):                # the table is in `default` alone
            self.far.ip_batch([f"route replace default via {ours(1)[v6]}"], v6)
        self.n_routes = sum(len(networks(side)) for side in SIDES)

    def hops(self) -> list[str]:
        return [f"{end[1]}%c0" for end in (CABLE4, CABLE6)]

    def ready(self) -> None:
        end = time.monotonic() + LINK_S
        while down := [port for port in self.cards() if port["status"] != "up"]:
            if time.monotonic() > end:
                raise DeviceError(f"{down[0]['name']}: no link within {LINK_S} s ({down[0].get('why', 'is the cable plugged in at both ends?')})")
            time.sleep(0.1)
        super().ready()

    def cards(self) -> list[dict]:
        """State of the two ports."""
        return [port for port in self.daemon.client.entries("port") if port["name"] in ("c0", "c1")]

    def stop(self) -> None:
        super().stop()
        for ns in (self.far, self.here):
            ns.delete()


class TestpmdDevice(Linked):
    name, idea = "testpmd", "DPDK's testpmd moves packets from port to port without looking at them (io): no routing"

    def start(self) -> None:
        core, other = self.setting.cores[1], self.setting.cores[0]
        log = self.setting.work / "testpmd.log"
        argv = ["dpdk-testpmd", "--no-huge", "-m", "512", "--no-shconf", "--no-pci", "--no-telemetry", "--log-level",
                "lib.*:error", "--file-prefix", f"ht-io-{os.getpid()}", "--lcores", f"0@{other},1@{core}"]
        argv += [word for side in SIDES for word in ("--vdev", self.listening(side))]
        argv += ["--", "--forward-mode=io", "--auto-start", "--no-lsc-interrupt", "--stats-period=3600",
                 "--total-num-mbufs=32768"]
        try:
            self.proc = subprocess.Popen([*DIE_WITH_US, *argv], stdin=subprocess.DEVNULL, stdout=log.open("wb"),
                                         stderr=subprocess.STDOUT)
        except FileNotFoundError:
            raise DeviceError("dpdk-testpmd is not installed: apt-get install dpdk-dev") from None
        # It listens before its ports are ready, and refuses a peer in the meantime.
        wait_for(lambda: "io packet forwarding" in log.read_text(errors="replace"), "testpmd does not start forwarding",
                 self.proc)
        self.wait_sockets()


class LinuxDevice(Device):
    name, idea = "linux", "the kernel's own forwarding between two veths; the tester's ports are af_packet"
    refused_is_lost = False

    def __init__(self, setting: Setting):
        super().__init__(setting)
        self.ns, self.outside = Namespace(f"ht-lin{os.getpid()}"), Namespace(f"ht-out{os.getpid()}")
        self.enter = ("nsenter", f"--net={self.outside.path}", "--")
        self.devargs = [f"net_af_packet{side},iface=t{side}" for side in SIDES]

    def start(self) -> None:
        for ns in (self.ns, self.outside):
            ns.create()
        self.ns.sysctl({"net.ipv4.ip_forward": "1", "net.ipv6.conf.all.forwarding": "1"})
        self.outside.sysctl({"net.ipv6.conf.all.disable_ipv6": "1", "net.ipv6.conf.default.disable_ipv6": "1"})
        for side in SIDES:
            add_veth(self.outside, f"t{side}", self.ns, f"p{side}", self.setting.mtu)
            self.outside.ip(f"link set t{side} address {OUR_MAC[side]}")
            for ns, device in ((self.outside, f"t{side}"), (self.ns, f"p{side}")):
                ns.no_offloads(device)
                ns.ip(f"link set {device} up")
            self.ns.add_addresses(f"p{side}", [f"{THEIRS4[side]}/24", f"{THEIRS6[side]}/64"])
            for address in ours(side):
                self.ns.ip(f"neigh replace {address} lladdr {OUR_MAC[side]} dev p{side} nud permanent")
            for v6 in (False, True):
                self.ns.ip_batch([f"route add {net} via {ours(side)[v6]}" for net in networks(side)
                                  if (":" in net) == v6], v6)
            self.macs[side] = self.ns.ip_json(f"link show dev p{side}")[0]["address"]
            # Packets handed to the device's core (RPS), as a NIC would: otherwise the sender's core forwards them.
            sh(["ip", "netns", "exec", self.ns.name, "sh", "-c",
                f"echo {1 << self.setting.cores[1]:x} > /sys/class/net/p{side}/queues/rx-0/rps_cpus"])
        self.n_routes = sum(len(networks(side)) for side in SIDES)

    def stop(self) -> None:
        for ns in (self.ns, self.outside):
            ns.delete()


class Cable(Device):
    name, idea = "cable", "no device: the tester's two ports are the ends of one memif; shows the tester's own limit"

    def start(self) -> None:
        ends = (("server", 0), ("client", 0))
        self.devargs = [f"net_memif{side},role={role},id={id},socket={self.setting.work}/cable.sock,socket-abstract=no,"
                        f"rsize={self.setting.ring},mac={OUR_MAC[side]}" for side, (role, id) in enumerate(ends)]


class External(Device):
    name, idea = "external", "a device that you run, between the ports of --ports"

    def start(self) -> None:
        self.devargs = list(self.setting.ports)
        self.refused_is_lost = all(port.startswith(("net_memif", "net_virtio_user")) for port in self.devargs)
        self.macs = [mac or NOBODY for mac in self.setting.macs]


PEERS = {kind.name: kind for kind in (KamueedDevice, CardsDevice, TestpmdDevice, LinuxDevice, Cable, External)}


def siblings(core: int) -> set[int]:
    """The hardware threads of the core that this one is a thread of."""
    text = machine.read(f"/sys/devices/system/cpu/cpu{core}/topology/thread_siblings_list", str(core))
    ends = [part.split("-") for part in text.split(",")]
    return {cpu for end in ends for cpu in range(int(end[0]), int(end[-1]) + 1)}


def cores() -> tuple[int, int]:
    """(tester's, device's): the device has the last one, farthest from interrupts, the tester the last that is another
    core."""
    last = machine.last_core()
    allowed = sorted(os.sched_getaffinity(0) - {last})
    others = [core for core in allowed if core not in siblings(last)] or allowed or [last]
    return others[-1], last


def keep_off(setting: Setting) -> None:
    """From now on this process and what it starts stay off the device's core. The device has been started: it inherits
    its cores."""
    others = setting.allowed - {setting.cores[1]}
    if others:
        os.sched_setaffinity(0, others)


def describe(setting: Setting) -> str:
    """The assignment of cores."""
    tester, device = setting.cores
    allowed = sorted(setting.allowed)
    if tester == device:
        return f"one core: tester and device share core {device}, so the numbers mean little"
    one = " (two threads of one core: they slow each other down)" if tester in siblings(device) else ""
    rest = [core for core in allowed if core not in (tester, device)]
    managers = f"managers and everything else on core {', '.join(map(str, rest))}" if rest else \
        f"managers and everything else share the tester's core {tester}, because there are only two"
    return f"tester on core {tester}, device on core {device}{one}, {managers}"
