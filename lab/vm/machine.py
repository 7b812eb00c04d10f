# SPDX-License-Identifier: BSD-3-Clause
"""A virtual machine in QEMU: image, disk with kamueed, QEMU's command line, and the agent that runs commands in it.

Each card is alone behind a root port, and so in an IOMMU group of its own, and connected to a TAP that the caller has
opened. Each start resets the files to the image's: nothing that a machine writes is kept.
"""
from __future__ import annotations

import base64
import contextlib
import fcntl
import json
import os
import select
import shutil
import socket
import struct
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from kamuee.errors import KamueeError

HERE = Path(__file__).resolve().parent
PATIENCE_S = 300               # for a boot; 30 s on two idle cores
MEMORY_MIB = 1536
EMULATED_CPU = "max,-avx2"      # QEMU 7.2 reads AVX2's gathers with index register 4 as if they had no index
AGENT_PORTS = 4                # that many commands can run at once

TUNSETPERSIST = 0x400454CB
TUNSETIFF, IFF_TAP, IFF_NO_PI, IFF_MULTI_QUEUE = 0x400454CA, 0x2, 0x1000, 0x100

# Options of QEMU's devices. disable-legacy: else the card cannot be behind an IOMMU.
CARDS = {
    "e1000e": "e1000e",
    "e1000": "e1000",
    "vmxnet3": "vmxnet3",
    "virtio": "virtio-net-pci,disable-legacy=on,iommu_platform=on,ats=on,rss=on",
}
TOOLS = {"qemu-system-x86_64": "qemu-system-x86", "mke2fs": "e2fsprogs"}


class VmError(KamueeError):
    pass


@dataclass
class Done:
    rc: int
    out: str


@dataclass
class Card:
    kind: str
    mac: str
    fds: list[int]              # of its TAP, one a queue


def pci(card: int) -> str:
    """The address of a card in the machine."""
    return f"0000:{card + 1:02x}:00.0"


def sh(command: str | list, **more) -> str:
    done = subprocess.run(command, shell=isinstance(command, str), text=True, capture_output=True, **more)
    if done.returncode:
        words = command if isinstance(command, str) else " ".join(map(str, command))
        raise VmError(f"{words}: {done.returncode}\n{done.stdout}{done.stderr}".rstrip())
    return done.stdout


def open_tap(name: str, queues: int, flags: int = 0, persist: bool = False) -> list[int]:
    """File descriptors, one a queue. `persist`: the TAP stays when all are closed, without carrier."""
    fds = []
    for _ in range(queues):
        fd = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
        fcntl.ioctl(fd, TUNSETIFF,
                    struct.pack("16sH22x", name.encode(),
                                IFF_TAP | IFF_NO_PI | flags | (IFF_MULTI_QUEUE if queues > 1 else 0)))
        fds.append(fd)
        if persist:
            fcntl.ioctl(fd, TUNSETPERSIST, 1)
    return fds


# --- the machine's parts ---

def missing_tools() -> str | None:
    """The packages to install so that a machine can start."""
    path = os.environ.get("PATH", "") + ":/usr/sbin:/sbin"
    if missing := [tool for tool in TOOLS if not shutil.which(tool, path=path)]:
        return f"{', '.join(missing)} not installed: apt-get install {' '.join(TOOLS[tool] for tool in missing)}"
    return None


def image_there(folder: Path) -> bool:
    return not subprocess.run([HERE / "image", "--there", folder], stdout=subprocess.DEVNULL).returncode


def cannot_make_image(folder: Path) -> str | None:
    """The missing tools to make it, unless it exists."""
    if shutil.which("mmdebstrap") or image_there(folder):
        return None
    return "mmdebstrap: apt-get install mmdebstrap debian-archive-keyring"


def make_image(folder: Path) -> Path:
    """The directory of the root file system below `folder`, which is made once; messages go to stderr."""
    done = subprocess.run([HERE / "image", folder], stdout=subprocess.PIPE, text=True)
    if done.returncode:
        raise VmError("could not create the machine's root file system; see the messages above")
    return Path(done.stdout.strip())


def make_disk(kamueed: Path, folder: Path) -> Path:
    """The second disk: kamueed with its installed files, and the agent."""
    tree, image = folder / "tree", folder / "kamueed.ext4"
    install(kamueed, tree)
    shutil.copy(HERE / "agent.py", tree)
    sh(f"chown -R 0:0 {tree} && PATH=$PATH:/usr/sbin:/sbin mke2fs -q -t ext4 -O ^has_journal -d {tree} {image} 96M")
    shutil.rmtree(tree)
    return image


def install(kamueed: Path, tree: Path) -> None:
    """As `make install DESTDIR=tree`, from a build directory or from where it is installed."""
    if (kamueed.parent / "meson-info").is_dir():
        sh(["meson", "install", "-C", kamueed.parent, "--no-rebuild", "--quiet", "--destdir", tree])
        return
    prefix = kamueed.parents[1]
    parts = ("sbin/kamueed", "bin/kamuee", "share/kamuee", "lib/systemd/system/kamueed.service",
             "lib/systemd/system/kamueed.service.d/namespaces.conf", "lib/sysusers.d/kamuee.conf",
             "lib/tmpfiles.d/kamuee.conf", "lib/udev/rules.d/70-kamuee.rules")
    if missing := [str(prefix / part) for part in parts if not (prefix / part).exists()]:
        raise VmError(f"{kamueed} is neither in a build directory nor installed with the rest of Kamuee, which the "
                      f"machine needs; not found: "
                      f"{', '.join(missing)}")
    for part in parts:
        here, there = prefix / part, tree / str(prefix / part).lstrip("/")
        there.parent.mkdir(parents=True, exist_ok=True)
        shutil.copytree(here, there) if here.is_dir() else shutil.copy(here, there)


class Machine:
    """QEMU and the folder of its sockets. The caller runs argv() with the cards' file descriptors open."""

    name: str
    folder: Path
    console: Path
    image: Path
    disk: Path
    nics: list[Card]
    memory_mib = MEMORY_MIB
    cpus = 2
    kernel = ""             # Debian's own; "-newer": that of its backports
    port: socket.socket | None = None
    received = b""
    number = 0

    # --- life ---

    def argv(self, root: str, accel: str = "tcg,thread=multi", cpu: str = EMULATED_CPU) -> list[str]:
        """`root`: the drive with the root file system, in QEMU's words."""
        argv = ["qemu-system-x86_64", "-name", self.name, "-nodefaults", "-no-user-config", "-no-reboot", "-display",
                "none", "-accel", accel, "-cpu", cpu, "-machine", "q35,kernel-irqchip=split", "-smp", str(self.cpus),
                "-m", str(self.memory_mib), "-device", "intel-iommu,intremap=on,caching-mode=on,device-iotlb=on",
                "-kernel", str(self.image / f"vmlinuz{self.kernel}"), "-initrd",
                str(self.image / f"initrd.img{self.kernel}"),
                "-append", "root=/dev/vda rw console=ttyS0 intel_iommu=on quiet mitigations=off nokaslr "
                           "tsc=reliable nowatchdog cryptomgr.notests no_timer_check random.trust_cpu=on "
                           "systemd.show_status=false net.ifnames=0 panic=5",
                "-drive", f"{root},if=none,id=root,cache=unsafe", "-device", "virtio-blk-pci,drive=root,addr=2",
                "-drive", f"file={self.disk},if=none,id=kamueed,format=raw,readonly=on", "-device",
                "virtio-blk-pci,drive=kamueed,addr=3",
                "-object", "rng-random,id=random,filename=/dev/urandom", "-device", "virtio-rng-pci,rng=random,addr=4",
                "-chardev", f"file,id=console,path={self.console},append=on", "-serial", "chardev:console",
                "-device", "virtio-serial-pci,addr=5",
                "-qmp", f"unix:{self.folder}/qmp,server=on,wait=off"]
        for number in range(AGENT_PORTS):
            argv += ["-chardev", f"socket,id=agent{number},path={self.folder}/agent{number},server=on,wait=off",
                     "-device", f"virtserialport,chardev=agent{number},name=agent{number}"]
        for number, card in enumerate(self.nics):
            argv += ["-device", f"pcie-root-port,id=slot{number},chassis={number + 1},bus=pcie.0,addr={8 + number:x}",
                     "-netdev",
                     f"tap,id=net{number},"
                     + (f"fds={':'.join(map(str, card.fds))}" if len(card.fds) > 1 else f"fd={card.fds[0]}"),
                     "-device", self.device(number)]
        return argv

    def device(self, number: int) -> str:
        card = self.nics[number]
        many = f",mq=on,vectors={2 * len(card.fds) + 2}" if len(card.fds) > 1 else ""
        return f"{CARDS[card.kind]}{many},id=card{number},netdev=net{number},mac={card.mac},bus=slot{number}"

    def runs(self) -> bool:
        """Whether QEMU runs."""
        raise NotImplementedError

    def connect(self, socket_name: str, timeout_s: float = 20) -> socket.socket:
        end = time.monotonic() + timeout_s
        while True:
            try:
                sock = socket.socket(socket.AF_UNIX)
                sock.connect(str(self.folder / socket_name))
                return sock
            except OSError:
                sock.close()
                if not self.runs() or time.monotonic() > end:
                    said = self.folder / "errors"
                    raise VmError(f"{self.name}: QEMU does not run: "
                                  f"{said.read_text(errors='replace').strip() if said.exists() else 'it has exited'}"
                                  ) from None
                time.sleep(0.1)

    def connect_agent(self) -> socket.socket:
        """Connects to a port of the agent that nothing else uses."""
        for number in range(AGENT_PORTS):
            lock = os.open(self.folder / f"agent{number}.lock", os.O_RDWR | os.O_CREAT, 0o600)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                os.close(lock)
                continue
            try:
                port = self.connect(f"agent{number}")
                port.sendall(b"\n")             # ends a request that an earlier client left incomplete
                self.lock = lock
                return port
            except BaseException:
                os.close(lock)
                raise
        raise VmError(f"{self.name}: {AGENT_PORTS} commands are already running in the machine: end one of them")

    def await_agent(self, timeout_s: float = PATIENCE_S, each: Callable[[float], None] = lambda seconds: None) -> None:
        """Until systemd has come up; a request that nobody has read yet waits in the port. `each` is told now and then
        how long it has been."""
        begun = time.monotonic()
        self.port = self.port or self.connect_agent()
        while True:
            try:
                self.run("true", timeout_s=5, waits=False)
                break
            except VmError:
                if not self.runs() or time.monotonic() > begun + timeout_s:
                    why = f"no answer from the machine within {timeout_s} s" if self.runs() else "QEMU has exited"
                    raise VmError(f"{self.name}: {why}; its console ({self.console}) ends with:\n"
                                  + self.console_end()) from None
            each(time.monotonic() - begun)
        self.run("systemctl is-system-running --wait; true", timeout_s=timeout_s)

    def console_end(self) -> str:
        errors = self.folder / "errors"
        return "".join(path.read_text(errors="replace")[-3000:] for path in (errors, self.console) if path.exists())

    def disconnect(self) -> None:
        if self.port:
            self.port.close()
            os.close(self.lock)
        self.port = None
        self.received = b""

    # --- the agent ---

    def ask(self, request: dict, timeout_s: float) -> dict:
        self.port = self.port or self.connect_agent()
        self.number += 1
        mark = f"{os.getpid()}-{self.number}"
        self.port.settimeout(timeout_s)
        try:
            self.port.sendall(json.dumps({"id": mark, **request}).encode() + b"\n")
            end = time.monotonic() + timeout_s
            while True:
                while b"\n" not in self.received:
                    if not select.select([self.port], [], [], max(0, end - time.monotonic()))[0]:
                        raise VmError(f"no answer within {timeout_s} s: {request}")
                    got = self.port.recv(1 << 16)
                    if not got:
                        raise VmError("the machine has stopped")
                    self.received += got
                line, _, self.received = self.received.partition(b"\n")
                with contextlib.suppress(json.JSONDecodeError):
                    answer = json.loads(line)
                    if answer.get("id") == mark:
                        return answer
        except OSError as error:
            raise VmError(f"{request}: {error}") from None

    def run(self, command: str, check: bool = True, timeout_s: float = 120, stdin: str = "",
            waits: bool = True) -> Done:
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
