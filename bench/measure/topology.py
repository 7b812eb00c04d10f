# SPDX-License-Identifier: BSD-3-Clause
"""The star that most experiments measure in, with either router in its middle.

    host src ──── p0 ┌────────┐ p1 ──── host a        10.90.N.1 and fd90:N::1 on pN,
   10.90.0.2         │ router │         10.90.1.2…    the host(s) behind it from .2 on
                     └────────┘ p2 ──── host b
                                        10.90.2.2…

`star("kamueed")` forwards with kamueed on packet sockets (their kernel ends lie in a namespace of their
own, so that the kernel cannot answer), `star("linux")` with the kernel itself on the same veths, and
`star("linux, 2 cores")` has the kernel hand packets to the second core (RPS), as it does on a NIC with one queue.
Offloads are off everywhere: real packets of real size. With `offloads` they are as Linux sets them: TCP passes in
segments of up to 64 KB.
"""
import ctypes
import os
import re
import subprocess
from contextlib import contextmanager
from pathlib import Path

from kamuee.lab.netns import Namespace, add_veth, sh

from measure import machine
from measure.daemon import Kamueed
from measure.program import DIE_WITH_US, end, wait_until

LINKS = ("p0", "p1", "p2")
HOSTS = ("src", "a", "b")
GATEWAYS = 8              # addresses of hosts a and b: next hops for a full table
CLONE_NEWNS, MS_REC, MS_PRIVATE = 0x20000, 0x4000, 0x40000

_serial = 0


def own_namespaces() -> None:
    """Give this process a private /run/netns: namespaces named there die with it, however it ends."""
    libc = ctypes.CDLL(None, use_errno=True)
    Path("/run/netns").mkdir(exist_ok=True)

    def must(result: int, what: str) -> None:
        if result:
            raise OSError(ctypes.get_errno(), f"{what}: {os.strerror(ctypes.get_errno())} (needs root)")
    must(libc.unshare(CLONE_NEWNS), "unshare")
    must(libc.mount(b"none", b"/", None, MS_REC | MS_PRIVATE, None), "mount --make-rprivate /")
    must(libc.mount(b"kb", b"/run/netns", b"tmpfs", 0, None), "mount tmpfs on /run/netns")


class Star:
    """The hosts and a router; `router.ns` is where its addresses, routes and interfaces p0, p1, p2 are."""

    def __init__(self, kind: str, ctx, offloads: bool = False):
        global _serial
        _serial += 1
        self.kind, self.ctx, self.offloads = kind, ctx, offloads
        self.router = Namespace(f"kb-r{_serial}")
        self.wire = Namespace(f"kb-r{_serial}.wire")
        self.hosts = {name: Namespace(f"kb-{name}{_serial}") for name in HOSTS}
        self.kamueed: Kamueed | None = None
        self.procs: list[subprocess.Popen] = []

    # --- building ---

    def build(self) -> None:
        for ns in (self.router, *self.hosts.values()):
            ns.create()
        if self.is_kamueed:
            self.wire.create()
            self.wire.sysctl({"net.ipv6.conf.all.disable_ipv6": "1", "net.ipv6.conf.default.disable_ipv6": "1"})
        self.router.sysctl({"net.ipv4.ip_forward": str(int(not self.is_kamueed)),
                            "net.ipv6.conf.all.forwarding": str(int(not self.is_kamueed)),
                            "net.ipv4.icmp_ratelimit": "0"})
        for number, (host, link) in enumerate(zip(HOSTS, LINKS)):
            self._cable(number, self.hosts[host], link)
        if self.is_kamueed:
            self._start_kamueed()
        for number, link in enumerate(LINKS):
            self.router.ip(f"link set {link} up")
            self.router.add_addresses(link, [f"10.90.{number}.1/24", f"fd90:{number}::1/64"])
        if self.kind == "linux, 2 cores":
            self._spread()
        for host in HOSTS:
            self.ping(self.hosts[host], f"10.90.{HOSTS.index(host)}.1")
        self.ping(self.hosts["src"], "10.90.1.2")
        self.ping(self.hosts["src"], "10.90.2.2")
        wait_until(lambda: not any(link.get("addr_info") for link in self.router.ip_json("addr show tentative")),
                   f"{self.kind}: duplicate address detection has not ended", 10)

    @property
    def is_kamueed(self) -> bool:
        return self.kind.startswith("kamueed")

    def _cable(self, number: int, host: Namespace, link: str) -> None:
        end, name = (self.wire, f"w{number}") if self.is_kamueed else (self.router, link)
        add_veth(host, "e0", end, name, 1500)
        for ns, device in ((host, "e0"), (end, name)):
            if not self.offloads:
                ns.no_offloads(device)
            ns.ip(f"link set {device} up")
        last = GATEWAYS + 1 if number else 2
        host.ip_batch([f"addr add 10.90.{number}.{i}/24 dev e0" for i in range(2, last + 1)]
                      + [f"route add default via 10.90.{number}.1"])
        host.ip_batch([f"addr add fd90:{number}::{i:x}/64 dev e0 nodad" for i in range(2, last + 1)]
                      + [f"route add default via fd90:{number}::1"], v6=True)

    def _start_kamueed(self) -> None:
        lines = []
        for number, link in enumerate(LINKS):
            lines += [f"set port {link} devargs net_af_packet{number},iface=w{number}",
                      f"set port {link} namespace {self.wire.name}"]
        self.kamueed = Kamueed(self.router, self.ctx.need_kamueed(), self.ctx.work / self.router.name, lines)
        self.kamueed.start()

    def _spread(self) -> None:
        """Receive packet steering: core 1 forwards packets received on a port."""
        for link in LINKS:
            sh(["ip", "netns", "exec", self.router.name, "sh", "-c",
                f"echo 2 > /sys/class/net/{link}/queues/rx-0/rps_cpus"])

    # --- using ---

    @property
    def load_core(self) -> int:
        """The core for the program that sends and counts packets: one that forwards none."""
        forwarding = self.kamueed.forwarder_cores() if self.kamueed else {1}
        free = [core for core in sorted(os.sched_getaffinity(0)) if core not in forwarding]
        return free[0] if free else 0

    def router_mac(self, link: str) -> str:
        return self.router.ip_json(f"link show dev {link}")[0]["address"]

    def via(self, family: int) -> list[str]:
        """Next hops for route_install: the addresses of hosts a and b."""
        form = "10.90.{}.{}" if family == 4 else "fd90:{}::{:x}"
        return [f"{form.format(n, i)}%p{n}" for i in range(2, GATEWAYS + 2) for n in (1, 2)]

    def ping(self, host: Namespace, address: str, count: int = 3) -> None:
        """Waits until it answers: neighbors are resolved afterwards."""
        for _ in range(10):
            if " 0% packet loss" in host.run(["ping", "-q", "-c", str(count), "-i", "0.01", "-W", "1", address],
                                             check=False):
                return
        raise RuntimeError(f"{self.kind}: no answer to ping from {host.name} to {address}")

    def rtts_ms(self, address: str, seconds: float, interval_s: float = 0.005) -> list[float]:
        """Round-trip times from host src, one for each answer, in ms."""
        out = self.hosts["src"].run(["ping", "-n", "-i", str(interval_s), "-c", str(int(seconds / interval_s)), "-W",
                                     "1", address], check=False, timeout_s=seconds * 3 + 10)
        return [float(t) for t in re.findall(r"time=([\d.]+)", out)]

    def install(self, mode: str, *more: str, prefixes: Path | None = None) -> dict:
        """Routes into the router's kernel (route_install), from the core where kamueed's managers are not."""
        argv = ["taskset", "-c", str(machine.last_core()), self.ctx.program("route_install"), "--mode", mode, *more]
        if mode not in ("count", "listen"):
            argv += ["--prefixes", prefixes or self.ctx.prefixes()]
        for via in self.via(4) + self.via(6):
            argv += ["--via", via]
        return self.ctx.run_json(self.router.argv([str(a) for a in argv]))

    @contextmanager
    def losses_noted(self):
        """Notes afterwards where kamueed and its ports lost packets meanwhile."""
        before = self.kamueed.losses() if self.kamueed else {}
        yield
        after = self.kamueed.losses() if self.kamueed else {}
        lost = [f"{where} {n - before.get(where, 0):,}" for where, n in after.items() if n > before.get(where, 0)]
        if lost:
            self.ctx.note(f"{self.kind}, lost and dropped: {', '.join(lost)}")

    def popen(self, ns: Namespace, argv: list, **more) -> subprocess.Popen:
        proc = ns.popen([*DIE_WITH_US, *(str(a) for a in argv)], **more)
        self.procs.append(proc)
        return proc

    def stop(self) -> None:
        for proc in self.procs:
            end(proc)
        if self.kamueed:
            self.kamueed.stop()
        for ns in (self.router, self.wire, *self.hosts.values()):
            ns.delete()


@contextmanager
def star(kind: str, ctx, offloads: bool = False):
    s = Star(kind, ctx, offloads)
    try:
        s.build()
        yield s
    finally:
        s.stop()
