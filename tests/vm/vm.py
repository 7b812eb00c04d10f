#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A virtual machine with Debian's kernel, systemd, and PCI cards behind an IOMMU. Root; no hardware support needed: QEMU emulates the CPU.

    tests/vm/vm.py [CARD ...]          boots one with these kinds of card, e1000e e1000e by default, and gives a shell until Ctrl-D

The far end of card n is the TAP `c<n>` in network namespace <name>-c<n>, with the MAC that far_mac(n) tells.
Files are as the image has them again at the next boot: nothing that a machine writes is kept.
"""
from __future__ import annotations

import contextlib
import ctypes
import fcntl
import json
import os
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "cli"), str(ROOT / "tests/e2e")]

from kamuee.lab.netns import in_namespace                                        # noqa: E402
from kamuee.lab.vm.machine import CARDS, PATIENCE_S, Card, Machine, VmError, make_disk, make_image, open_tap, pci, sh    # noqa: E402

BUILD = Path(os.environ.get("BUILD", ROOT / "build")).resolve()
LIFE_S = int(os.environ.get("VM_LIFE_S", 1800))  # a machine ends by itself after this time

TUNSETQUEUE, IFF_ATTACH_QUEUE = 0x400454D9, 0x200
IFF_VNET_HDR = 0x4000
PR_SET_PDEATHSIG = 1
LIBC = ctypes.CDLL(None, use_errno=True)


def mac(card: int) -> str:
    return f"52:54:00:00:00:{card + 1:02x}"


def far_mac(card: int) -> str:
    return f"02:00:00:00:01:{card + 1:02x}"


class Far:
    """The other end of a card: a TAP in a namespace."""

    def __init__(self, vm: str, card: int, kind: str, queues: int):
        self.name, self.interface, self.mac = f"{vm}-c{card}", f"c{card}", far_mac(card)
        sh(f"ip netns add {self.name} && ip -n {self.name} link set lo up")
        # A virtio card gets frames with the header by which a sender leaves checksums and segments to others, as under libvirt.
        self.fds = in_namespace(self.name, lambda: open_tap(self.interface, queues, IFF_VNET_HDR if kind == "virtio" else 0))
        self.sh(f"sysctl -qw net.ipv6.conf.{self.interface}.accept_dad=0 net.ipv6.conf.{self.interface}.accept_ra=0; "
                f"ip link set {self.interface} address {self.mac} mtu 9200 && ip link set {self.interface} up mtu 1500")

    def sh(self, command: str, timeout_s: float = 120) -> str:
        return sh(f"exec nsenter --net=/run/netns/{self.name} sh -c '{command}'" if "'" not in command else
                  f"exec nsenter --net=/run/netns/{self.name} {command}", timeout=timeout_s)

    def popen(self, argv: list[str]) -> subprocess.Popen:
        return subprocess.Popen(["nsenter", f"--net=/run/netns/{self.name}", *argv])

    def attach(self) -> None:
        """All queues, of which the machine before may have detached some."""
        for fd in self.fds if len(self.fds) > 1 else ():
            with contextlib.suppress(OSError):
                fcntl.ioctl(fd, TUNSETQUEUE, struct.pack("16xH22x", IFF_ATTACH_QUEUE))

    def end(self) -> None:
        for fd in self.fds:
            os.close(fd)
        subprocess.run(["ip", "netns", "del", self.name])


class Vm(Machine):
    def __init__(self, name: str, cards: list[str], queues: int = 2, cpus: int = 2, log: Path | None = None, kernel: str = ""):
        """Boots; ready when it returns. `queues` of each virtio card; `kernel` as Machine has it."""
        self.name, self.cards = name, cards
        self.folder = Path(tempfile.mkdtemp(prefix=f"{name}-", dir=os.environ.get("TMPDIR", "/tmp")))
        self.console = log or self.folder / "console"
        self.console.unlink(missing_ok=True)
        self.far: list[Far] = []
        self.cpus, self.kernel = cpus, kernel
        self.qmp_port = self.proc = None
        try:
            self.image = make_image(BUILD / "vm")
            self.disk = make_disk(BUILD / "kamueed", self.folder)
            for number, kind in enumerate(cards):
                self.far.append(Far(name, number, kind, queues if kind == "virtio" else 1))
            sh(f"qemu-img create -q -f qcow2 -b {self.image}/root.ext4 -F raw {self.folder}/root.qcow2")
            self.nics = [Card(kind, mac(number), self.far[number].fds) for number, kind in enumerate(cards)]
            self.start()
            self.await_agent()
        except BaseException:
            self.end()
            raise

    # --- life ---

    def start(self) -> None:
        argv = ["timeout", "--foreground", "--kill-after=5", str(LIFE_S), *self.argv(f"file={self.folder}/root.qcow2,format=qcow2")]
        for far in self.far:
            far.attach()
        passed = [fd for far in self.far for fd in far.fds]
        errors = open(self.folder / "errors", "wb")
        self.proc = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=errors, stderr=errors, pass_fds=passed, cwd=self.folder,
                                     preexec_fn=lambda: LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGTERM))
        errors.close()

    def runs(self) -> bool:
        return self.proc.poll() is None

    def reboot(self) -> None:
        """By systemd; `down_s` is how long it took to shut down. Files stay."""
        begun = time.monotonic()
        self.run("systemctl reboot --no-block")
        try:
            self.proc.wait(PATIENCE_S)                  # instead of a reset, after which the firmware takes minutes
        except subprocess.TimeoutExpired:
            raise VmError(f"no shutdown within {PATIENCE_S} s") from None
        self.down_s = time.monotonic() - begun
        self.disconnect()
        self.start()
        self.await_agent()

    def disconnect(self) -> None:
        super().disconnect()
        if self.qmp_port:
            self.qmp_port.close()
        self.qmp_port = None

    def end(self) -> None:
        if self.proc and self.proc.poll() is None:
            self.proc.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.proc.wait(10)
            if self.proc.poll() is None:
                self.proc.kill()
                self.proc.wait()
        self.disconnect()
        for far in self.far:
            far.end()
        shutil.rmtree(self.folder, ignore_errors=True)

    # --- QEMU's monitor ---

    def qmp(self, command: str, **arguments) -> dict:
        if not self.qmp_port:
            self.qmp_port = self.connect("qmp")
            self.qmp_lines = self.qmp_port.makefile("r")
            self.qmp_lines.readline()
            self.qmp("qmp_capabilities")
        self.qmp_port.settimeout(30)
        self.qmp_port.sendall(json.dumps({"execute": command, "arguments": arguments}).encode())
        while True:
            answer = json.loads(self.qmp_lines.readline())
            if "error" in answer:
                raise VmError(f"{command} {arguments}: {answer['error']['desc']}")
            if "return" in answer:
                return answer["return"]

    def cable(self, card: int, up: bool) -> None:
        self.qmp("set_link", name=f"card{card}", up=up)

    def pull(self, card: int) -> None:
        self.qmp("device_del", id=f"card{card}")

    def plug(self, card: int) -> None:
        words = dict(word.split("=") for word in self.device(card).split(",")[1:])
        values = {"on": True, "off": False}
        self.qmp("device_add", driver=CARDS[self.cards[card]].split(",")[0],
                 **{name: values.get(value, int(value) if value.isdigit() else value) for name, value in words.items()})


def shell(vm: Vm) -> None:
    print(f"{vm.name}: {', '.join(f'{pci(n)} {kind}' for n, kind in enumerate(vm.cards))}; console {vm.console}; Ctrl-D ends it", file=sys.stderr)
    while True:
        try:
            command = input("vm# ")
        except EOFError:
            return
        done = vm.run(command, check=False, timeout_s=LIFE_S)
        sys.stdout.write(done.out)
        if done.rc:
            print(f"[{done.rc}]")


def main() -> int:
    cards = sys.argv[1:] or ["e1000e", "e1000e"]
    if unknown := [card for card in cards if card not in CARDS]:
        print(f"vm.py: no such card: {' '.join(unknown)}; there are {' '.join(CARDS)}", file=sys.stderr)
        return 2
    try:
        vm = Vm(f"vm{os.getpid()}", cards)
    except VmError as error:
        print(f"vm.py: {error}", file=sys.stderr)
        return 1
    try:
        shell(vm)
    finally:
        vm.end()
    return 0


if __name__ == "__main__":
    sys.exit(main())
