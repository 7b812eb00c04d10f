#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A virtual machine with Debian's kernel, systemd, and PCI cards behind an IOMMU. Root; no hardware support needed: QEMU emulates the CPU.

    tests/vm/vm.py [CARD ...]          boots one with these kinds of card, e1000e e1000e by default, and gives a shell until Ctrl-D

The far end of card n is the TAP `c<n>` in network namespace <name>-c<n>, with the MAC that far_mac(n) tells.
Files are as the image has them again at the next boot: nothing that a machine writes is kept.
"""
from __future__ import annotations

import base64
import contextlib
import ctypes
import fcntl
import json
import os
import select
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(ROOT / "cli"), str(ROOT / "tests/e2e")]

from wire import in_namespace                                                   # noqa: E402

BUILD = Path(os.environ.get("BUILD", ROOT / "build")).resolve()
PATIENCE_S = 180               # for a boot; 30 s on two idle cores
LIFE_S = int(os.environ.get("VM_LIFE_S", 900))  # a machine ends by itself after this time
MEMORY_MIB = 1536

TUNSETQUEUE, IFF_ATTACH_QUEUE = 0x400454D9, 0x200
TUNSETIFF, IFF_TAP, IFF_NO_PI, IFF_VNET_HDR, IFF_MULTI_QUEUE = 0x400454CA, 0x2, 0x1000, 0x4000, 0x100
PR_SET_PDEATHSIG = 1
LIBC = ctypes.CDLL(None, use_errno=True)

# Options of QEMU's devices. disable-legacy: else the card cannot be behind an IOMMU.
CARDS = {
    "e1000e": "e1000e",
    "e1000": "e1000",
    "vmxnet3": "vmxnet3",
    "virtio": "virtio-net-pci,disable-legacy=on,iommu_platform=on,ats=on,rss=on",
}


class VmError(Exception):
    pass


@dataclass
class Done:
    rc: int
    out: str


def mac(card: int) -> str:
    return f"52:54:00:00:00:{card + 1:02x}"


def far_mac(card: int) -> str:
    return f"02:00:00:00:01:{card + 1:02x}"


def pci(card: int) -> str:
    """The address in the guest: each card is alone behind a root port, that is, alone in its IOMMU group, and can be pulled out."""
    return f"0000:{card + 1:02x}:00.0"


def open_tap(name: str, queues: int, flags: int = 0) -> list[int]:
    """File descriptors, one a queue."""
    fds = []
    for _ in range(queues):
        fd = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
        fcntl.ioctl(fd, TUNSETIFF, struct.pack("16sH22x", name.encode(), IFF_TAP | IFF_NO_PI | flags | (IFF_MULTI_QUEUE if queues > 1 else 0)))
        fds.append(fd)
    return fds


def sh(command: str, **more) -> str:
    done = subprocess.run(command, shell=True, text=True, capture_output=True, **more)
    if done.returncode:
        raise VmError(f"{command}: {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


class Far:
    """What a card is connected to: a TAP in a namespace."""

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

    def attach(self) -> None:
        """All queues, of which the machine before may have detached some."""
        for fd in self.fds if len(self.fds) > 1 else ():
            with contextlib.suppress(OSError):
                fcntl.ioctl(fd, TUNSETQUEUE, struct.pack("16xH22x", IFF_ATTACH_QUEUE))

    def end(self) -> None:
        for fd in self.fds:
            os.close(fd)
        subprocess.run(["ip", "netns", "del", self.name])


class Disk:
    """The second disk: kamueed as `make install` puts it, and the agent."""

    @staticmethod
    def make(folder: Path) -> Path:
        tree, image = folder / "tree", folder / "kamueed.ext4"
        sh(f"meson install -C {BUILD} --no-rebuild --quiet --destdir {tree}")
        shutil.copy(HERE / "agent.py", tree)
        shutil.copy(ROOT / "deploy" / "kamuee.sysusers", tree)
        sh(f"chown -R 0:0 {tree} && mke2fs -q -t ext4 -O ^has_journal -d {tree} {image} 96M")
        shutil.rmtree(tree)
        return image


class Vm:
    def __init__(self, name: str, cards: list[str], queues: int = 2, cpus: int = 2, log: Path | None = None):
        """Boots; ready when it returns. `queues` of each virtio card."""
        self.name, self.cards = name, cards
        self.folder = Path(tempfile.mkdtemp(prefix=f"{name}-", dir=os.environ.get("TMPDIR", "/tmp")))
        self.console = log or self.folder / "console"
        self.console.unlink(missing_ok=True)
        self.far: list[Far] = []
        self.number = 0
        self.received = b""
        self.port = self.qmp_port = self.proc = None
        try:
            image = Path(sh(f"{HERE}/image {BUILD}/vm").strip())
            disk = Disk.make(self.folder)
            for number, kind in enumerate(cards):
                self.far.append(Far(name, number, kind, queues if kind == "virtio" else 1))
            sh(f"qemu-img create -q -f qcow2 -b {image}/root.ext4 -F raw {self.folder}/root.qcow2")
            self.image, self.disk, self.cpus = image, disk, cpus
            self.start()
            self.await_agent()
        except BaseException:
            self.end()
            raise

    # --- life ---

    def start(self) -> None:
        image = self.image
        argv = ["timeout", "--foreground", "--kill-after=5", str(LIFE_S),
                "qemu-system-x86_64", "-name", self.name, "-nodefaults", "-no-user-config", "-no-reboot", "-display", "none",
                "-accel", "tcg,thread=multi", "-cpu", "max", "-machine", "q35,kernel-irqchip=split", "-smp", str(self.cpus), "-m", str(MEMORY_MIB),
                "-device", "intel-iommu,intremap=on,caching-mode=on,device-iotlb=on",
                "-kernel", str(image / "vmlinuz"), "-initrd", str(image / "initrd.img"),
                "-append", "root=/dev/vda rw console=ttyS0 intel_iommu=on quiet mitigations=off nokaslr "
                           "tsc=reliable nowatchdog cryptomgr.notests no_timer_check random.trust_cpu=on "
                           "systemd.show_status=false net.ifnames=0 panic=5",
                "-drive", f"file={self.folder}/root.qcow2,if=none,id=root,format=qcow2,cache=unsafe", "-device", "virtio-blk-pci,drive=root,addr=2",
                "-drive", f"file={self.disk},if=none,id=kamueed,format=raw,readonly=on", "-device", "virtio-blk-pci,drive=kamueed,addr=3",
                "-object", "rng-random,id=random,filename=/dev/urandom", "-device", "virtio-rng-pci,rng=random,addr=4",
                "-chardev", f"file,id=console,path={self.console},append=on", "-serial", "chardev:console",
                "-device", "virtio-serial-pci,addr=5", "-chardev", f"socket,id=tests,path={self.folder}/agent,server=on,wait=off",
                "-device", "virtserialport,chardev=tests,name=tests",
                "-qmp", f"unix:{self.folder}/qmp,server=on,wait=off"]
        passed = []
        for number, kind in enumerate(self.cards):
            self.far[number].attach()
            fds = self.far[number].fds
            passed += fds
            argv += ["-device", f"pcie-root-port,id=slot{number},chassis={number + 1},bus=pcie.0,addr={8 + number:x}",
                     "-netdev", f"tap,id=net{number}," + (f"fds={':'.join(map(str, fds))}" if len(fds) > 1 else f"fd={fds[0]}"),
                     "-device", self.device(number)]
        errors = open(self.folder / "errors", "wb")
        self.proc = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=errors, stderr=errors, pass_fds=passed, cwd=self.folder,
                                     preexec_fn=lambda: LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGTERM))
        errors.close()

    def device(self, number: int) -> str:
        kind, fds = self.cards[number], self.far[number].fds
        many = f",mq=on,vectors={2 * len(fds) + 2}" if len(fds) > 1 else ""
        return f"{CARDS[kind]}{many},id=card{number},netdev=net{number},mac={mac(number)},bus=slot{number}"

    def connect(self, socket_name: str) -> socket.socket:
        end = time.monotonic() + 20
        while True:
            try:
                sock = socket.socket(socket.AF_UNIX)
                sock.connect(str(self.folder / socket_name))
                return sock
            except OSError:
                sock.close()
                if self.proc.poll() is not None or time.monotonic() > end:
                    raise VmError(f"QEMU does not run:\n{(self.folder / 'errors').read_text()}") from None
                time.sleep(0.1)

    def await_agent(self, timeout_s: float = PATIENCE_S) -> None:
        """Until systemd has come up; a request that nobody has read yet waits in the port."""
        begun = time.monotonic()
        self.port = self.port or self.connect("agent")
        while True:
            try:
                self.run("true", timeout_s=5, waits=False)
                break
            except VmError:
                if self.proc.poll() is not None or time.monotonic() > begun + timeout_s:
                    raise VmError(f"no answer from the machine within {timeout_s} s; its console ends with:\n"
                                  + self.console.read_text(errors="replace")[-3000:]) from None
        self.run("systemctl is-system-running --wait; true", timeout_s=timeout_s)

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
        for sock in filter(None, (self.port, self.qmp_port)):
            sock.close()
        self.port = self.qmp_port = None
        self.received = b""

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

    # --- the agent ---

    def ask(self, request: dict, timeout_s: float) -> dict:
        self.number += 1
        self.port.settimeout(timeout_s)
        try:
            self.port.sendall(json.dumps({"id": self.number, **request}).encode() + b"\n")
            end = time.monotonic() + timeout_s
            while True:
                while b"\n" not in self.received:
                    if not select.select([self.port], [], [], max(0, end - time.monotonic()))[0]:
                        raise VmError(f"no answer within {timeout_s} s: {request}")
                    got = self.port.recv(1 << 16)
                    if not got:
                        raise VmError("the machine has ended")
                    self.received += got
                line, _, self.received = self.received.partition(b"\n")
                with contextlib.suppress(json.JSONDecodeError):
                    answer = json.loads(line)
                    if answer["id"] == self.number:
                        return answer
        except OSError as error:
            raise VmError(f"{request}: {error}") from None

    def run(self, command: str, check: bool = True, timeout_s: float = 120, stdin: str = "", waits: bool = True) -> Done:
        answer = self.ask({"run": command, "timeout": timeout_s, "stdin": stdin}, timeout_s + (30 if waits else 0))
        if check and answer["rc"]:
            raise VmError(f"{command}: {answer['rc']}\n{answer['out']}")
        return Done(answer["rc"], answer["out"])

    def out(self, command: str, **more) -> str:
        return self.run(command, **more).out

    def json(self, command: str):
        return json.loads(self.out(command))

    def put(self, path: str, text: str | bytes, mode: int = 0o644) -> None:
        data = text.encode() if isinstance(text, str) else text
        answer = self.ask({"put": path, "data": base64.b64encode(data).decode(), "mode": mode}, 60)
        if answer["rc"]:
            raise VmError(f"{path}: {answer['out']}")

    def get(self, path: str) -> bytes:
        answer = self.ask({"get": path}, 60)
        if answer["rc"]:
            raise VmError(f"{path}: {answer['out']}")
        return base64.b64decode(answer["data"])


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
