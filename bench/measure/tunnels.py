# SPDX-License-Identifier: BSD-3-Clause
"""Thousands of tunnels in one commit of a kamueed without ports: how long it takes, and what each costs.

Most of the time is the kernel's, which makes a TAP for each; the same number of bare TAPs tells how much.
"""
from __future__ import annotations

import ctypes
import fcntl
import os
import resource
import socket
import struct
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from kamuee.lab.netns import CLONE_NEWNET, Namespace

from measure.daemon import Kamueed
from measure.program import Unavailable, daemon, end, must_be_built, wait_until
from measure.topology import own_namespaces

T = TypeVar("T")
MEMORY_MIB = 128
SPARE_FILES = 500           # descriptors besides those of TAPs
STOP_S, SETTLED_S = 120, 60
REST_S, REST_OF, REST_LOOK_S = 150, 10000, 0.5
VPORTS = 4000               # VLANs of a port
VRS = 10
TUNSETIFF, TUNSETPERSIST, IFF_TAP, IFF_NO_PI, IFF_VNET_HDR = 0x400454CA, 0x400454CB, 0x2, 0x1000, 0x4000
SIOCSIFFLAGS, IFF_UP = 0x8914, 0x1


def lines(n: int) -> list[str]:
    return [f"set tunnel t{k} kind gre local 192.0.2.1 remote 198.{18 + (k >> 16)}.{k >> 8 & 255}.{k & 255}" for k in range(n)]


def measured(n: int) -> dict[str, float]:
    """Seconds of the commit, of one divided over virtual routers, of the deletion and of bare TAPs; bytes of kamueed for each tunnel,
    and for a sub-interface, which has a TAP, too."""
    if resource.getrlimit(resource.RLIMIT_NOFILE)[1] < n + SPARE_FILES:
        raise Unavailable(f"{n} TAPs need a limit of open files of {n + SPARE_FILES}: ulimit -Hn {n + SPARE_FILES}")
    must_be_built(daemon())
    own_namespaces()
    said = with_kamueed("kb-tunnel", lambda kamueed: life(kamueed, n))
    kernel_rests(n)
    said["interface"] = with_kamueed("kb-vport", lambda kamueed: vport_bytes(kamueed, n))
    kernel_rests(n)
    said["divided"] = with_kamueed("kb-divided", lambda kamueed: divided(kamueed, n))
    kernel_rests(n)
    said["taps"] = bare_taps(n)
    return said


def kernel_rests(n: int) -> None:
    """Waits for earlier cleanup: Linux deletes the routes of n TAPs long after their namespace, in a time that grows with n²."""
    end = time.monotonic() + REST_S * (n / REST_OF) ** 2    # a busy machine never rests
    idle_s = all_s = 0
    while idle_s <= 0.95 * all_s and time.monotonic() < end:
        before = idle_and_all()
        time.sleep(REST_LOOK_S)
        idle_s, all_s = (now - then for now, then in zip(idle_and_all(), before))


def idle_and_all() -> tuple[int, int]:
    """Ticks of all CPUs since the start."""
    ticks = [int(word) for word in Path("/proc/stat").read_text(encoding="ascii").split("\n", 1)[0].split()[1:9]]
    return ticks[3], sum(ticks)


def with_kamueed(namespace: str, then: Callable[[Kamueed], T]) -> T:
    ns = Namespace(namespace)
    ns.create()
    with tempfile.TemporaryDirectory(prefix="kb-") as work:
        kamueed = Kamueed(ns, daemon(), Path(work) / "run", [f"set memory {MEMORY_MIB}", "set huge-pages never"])
        kamueed.start()
        try:
            return then(kamueed)
        finally:
            end(kamueed.proc, patience_s=STOP_S)


def vport_bytes(kamueed: Kamueed, n: int) -> float:
    kamueed.client.call("configure", line=[f"set port p{p} devargs net_null{p},no-rx=1" for p in range(-(-n // VPORTS))])
    before = memory_kib(kamueed)
    at = [(k // VPORTS, 1 + k % VPORTS) for k in range(n)]
    kamueed.client.call("configure", line=[f"set vport p{p}.{vlan} port p{p} vlan {vlan}" for p, vlan in at])
    wait_until(lambda: settled(kamueed), "kamueed is still busy", SETTLED_S, pause_s=0)
    return (memory_kib(kamueed) - before) * 1024 / n


def memory_kib(kamueed: Kamueed) -> int:
    return kamueed.status_kib("VmRSS") + kamueed.status_kib("VmPTE")


def life(kamueed: Kamueed, n: int) -> dict[str, float]:
    timed(kamueed, lines(1))     # tables that the first one needs are not each one's
    before = memory_kib(kamueed)
    set_up = timed(kamueed, lines(n)[1:])
    wait_until(lambda: settled(kamueed), "kamueed is still busy", SETTLED_S, pause_s=0)
    memory = memory_kib(kamueed) - before
    there = len(kamueed.client.entries("tunnel"))
    if there != n:
        raise RuntimeError(f"{there} of {n} tunnels are there:\n{kamueed.log_end()}")
    return {"set-up": set_up, "memory": memory * 1024 / n, "delete": timed(kamueed, [f"delete tunnel t{k}" for k in range(n)])}


def divided(kamueed: Kamueed, n: int) -> float:
    """Seconds of a commit of tunnels whose interfaces are divided over virtual routers; the outer packets are all the default one's."""
    names = [f"kb-d{k}" for k in range(VRS)]
    for name in names:
        Namespace(name).create()
    kamueed.client.call("configure", line=[f"set vr {name} namespace {name}" for name in names])
    return timed(kamueed, lines(n) + [f"set interface t{k} vr {names[k % VRS]}" for k in range(n)])


def timed(kamueed: Kamueed, commit: list[str]) -> float:
    begun = time.monotonic()
    kamueed.client.call("configure", line=commit)
    return time.monotonic() - begun


def settled(kamueed: Kamueed, pause_s: float = 0.5) -> bool:
    """Whether it has processed the kernel's messages about the TAPs. A forwarder polls all the time."""
    def used() -> float:
        return sum(cpu for thread, cpu in kamueed.cpu_s().items() if not thread.startswith("forwarder"))
    begun = used()
    time.sleep(pause_s)
    return used() - begun < 0.1 * pause_s


def bare_taps(n: int) -> float:
    """Seconds that the kernel takes to make so many TAPs and set them up, in a namespace that goes with this process' child."""
    into, out = os.pipe()
    if not (child := os.fork()):
        os.close(into)
        ctypes.CDLL(None).unshare(CLONE_NEWNET)
        os.write(out, str(make_taps(n)).encode())
        os._exit(0)
    os.close(out)
    said = os.read(into, 100)
    os.close(into)
    os.waitpid(child, 0)
    return float(said)


def make_taps(n: int) -> float:
    resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
    asking = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    begun = time.monotonic()
    for k in range(n):
        name = f"t{k}".encode()
        tap = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
        fcntl.ioctl(tap, TUNSETIFF, struct.pack("16sH22x", name, IFF_TAP | IFF_NO_PI | IFF_VNET_HDR))
        fcntl.ioctl(tap, TUNSETPERSIST, 1)      # so that they end together, with the namespace
        fcntl.ioctl(asking, SIOCSIFFLAGS, struct.pack("16sH22x", name, IFF_UP))
    return time.monotonic() - begun
