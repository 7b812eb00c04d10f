# SPDX-License-Identifier: BSD-3-Clause
"""A router in a virtual machine: kamueed by systemd on PCI cards under vfio, and FRR beside it.

QEMU runs in namespace LAB-NODE, where `kamuee lab stop` finds it. A link of the node is a TAP that is the interface of
the node at the link's other end: no bridge stands between. In the machine everything is as on a router of metal: cards
are bound to vfio-pci, the configuration is /etc/kamuee/kamuee.conf, FRR's is /etc/frr/frr.conf, and both are started by
systemctl.
"""
import hashlib
import json
import os
import shlex
import time
from collections.abc import Callable
from pathlib import Path

from kamuee.lab import frr
from kamuee.lab.errors import LabError
from kamuee.lab.kamueenode import find_kamueed, interface_lines
from kamuee.lab.netns import Namespace, in_namespace, is_running, stop_processes
from kamuee.lab.nodes import BaseNode
from kamuee.lab.schema import Node
from kamuee.lab.vm import machine
from kamuee.lab.vm.machine import Card, Machine, VmError

IMAGES = Path("/var/cache/kamuee/vm")       # of an installed Kamuee; a checkout has them below its build directory
IMAGE_FILES = ("root.ext4", "vmlinuz", "initrd.img")
KVM_PATIENCE_S = 30                         # it boots in a few seconds, or it does not serve
SAY_EACH_S = 15
SHELL = "/bin/bash"
BOOTING, READY, ENDED = "booting", "ready", "ended"
# (format of its name, QEMU's words)
KVM = ("KVM", {"accel": "kvm", "cpu": "host"})
EMULATION = ("emulation", {})


def accelerators() -> list[tuple[str, dict[str, str]]]:
    """To be tried in this order. A /dev/kvm inside another virtual machine may exist and not work."""
    wanted = os.environ.get("KAMUEE_LAB_KVM", "yes") != "no"
    return [KVM, EMULATION] if wanted and os.access("/dev/kvm", os.R_OK | os.W_OK) else [EMULATION]


def port_mac(namespace: str, port: str) -> str:
    """The same at each start, and unique among machines."""
    return "52:54:00:" + hashlib.sha256(f"{namespace} {port}".encode()).digest()[:3].hex(":")


class LabMachine(Machine):
    def __init__(self, name: str, folder: Path, memory_mib: int):
        self.name, self.folder, self.memory_mib = name, folder, memory_mib
        self.console = folder / "console"
        self.pid_file = folder / "qemu.pid"

    def pid(self) -> int | None:
        try:
            pid = int(self.pid_file.read_text())
        except (OSError, ValueError):
            return None
        return pid if is_running(pid) else None

    def runs(self) -> bool:
        return self.pid() is not None


class VmNode(BaseNode):
    def __init__(self, node: Node, lab_name: str, lab_dir: Path):
        super().__init__(node, lab_name, lab_dir)
        self.mtus: dict[str, int] = {}      # of the ports; set by the lab from the links
        self.machine = LabMachine(self.namespace.name, self.run_dir, node.memory_mib)
        self.fds: dict[str, int] = {}       # the TAP of each port, until QEMU has it
        self.left = accelerators()
        self.ready_file = self.run_dir / "ready"

    @property
    def cards(self) -> list[str]:
        """The ports in the order of their cards."""
        return [port.name for port in self.node.ports() if port.name != "lo"]

    def settings(self) -> dict[str, str]:
        return {}                           # the node's sysctl are set in the machine

    # --- the machine's parts ---

    def check(self) -> None:
        if os.uname().machine != "x86_64":
            raise self.node.where.error(f"kind vm needs x86-64, but this machine is {os.uname().machine}: use 'kind: "
                                        f"kamuee'")
        if missing := machine.missing_tools():
            raise self.node.where.error(f"a vm needs QEMU: {missing}")
        if not os.access("/dev/net/tun", os.R_OK | os.W_OK):
            raise self.node.where.error("a vm needs /dev/net/tun: modprobe tun")
        find_kamueed()
        if self.node.image is None:
            if missing := machine.cannot_make_image(self.image_folder()):
                raise self.node.where.error(f"building the image of a vm needs {missing}")
        elif missing := [name for name in IMAGE_FILES if not (Path(self.node.image) / name).is_file()]:
            raise self.node.where.error(f"image {self.node.image}: not found: {', '.join(missing)}; make it with "
                                        f"'{machine.HERE}/image DIRECTORY', which prints its path, or remove the key")

    def image_folder(self) -> Path:
        build = find_kamueed().parent
        return build / "vm" if (build / "meson-info").is_dir() else IMAGES

    # --- coming up ---

    def create(self) -> None:
        self.run_dir.mkdir()
        self.namespace.create()
        if self.node.image is not None:
            self.machine.image = Path(self.node.image).resolve()
            return
        if not machine.image_there(self.image_folder()):
            self.say(f"{self.name}: building the machine's image (once); this takes a minute or two and needs a Debian "
                     f"mirror")
        self.machine.image = machine.make_image(self.image_folder())

    def cable(self, interface: str, far: Namespace, far_interface: str, mtu: int) -> None:
        """The other end's interface is the TAP itself."""
        self.fds[interface] = in_namespace(far.name, lambda: machine.open_tap(far_interface, 1, persist=True))[0]
        far.ip(f"link set dev {far_interface} mtu {mtu}")

    def address(self) -> None:
        """QEMU boots while the other nodes come up."""
        self.machine.disk = machine.make_disk(find_kamueed(), self.run_dir)
        macs = {port: self.node.interfaces[port].mac or port_mac(self.namespace.name, port) for port in self.cards}
        self.machine.nics = [Card(self.node.cards, macs[port], [self.fds[port]]) for port in self.cards]
        self.boot()

    def boot(self) -> None:
        """By the next accelerator."""
        self.how, words = self.left.pop(0)
        self.begun = time.monotonic()
        root = f"file={self.machine.image}/root.ext4,format=raw,snapshot=on"
        proc = self.popen(self.machine.argv(root, **words), log=str(self.run_dir / "errors"),
                          pass_fds=tuple(self.fds.values()))
        self.machine.pid_file.write_text(str(proc.pid))
        self.say(f"{self.name}: booting with {self.how}"
                 + (", which takes half a minute or longer" if self.how == EMULATION[0] else ""))

    def add_routes(self) -> None:
        """In the machine, once there is one."""

    def wait_ready(self) -> None:
        self.await_boot()
        for step, script in self.steps():
            self.say(f"{self.name}: {step}, {time.monotonic() - self.begun:.0f} s")
            done = self.machine.run(f"set -e\n{script}", check=False, timeout_s=machine.PATIENCE_S)
            if done.rc:
                raise self.node.where.error(f"{step}: status {done.rc}\n{done.out.strip()}")
        for fd in self.fds.values():
            os.close(fd)
        self.machine.disconnect()
        self.ready_file.write_text(json.dumps({"by": self.how, "s": round(time.monotonic() - self.begun, 1)}))
        self.say(f"{self.name}: ready, {time.monotonic() - self.begun:.0f} s")

    def await_boot(self) -> None:
        said = 0.0

        def each(seconds: float) -> None:
            nonlocal said
            if seconds > said + SAY_EACH_S:
                said = seconds
                self.say(f"{self.name}: boots, {time.monotonic() - self.begun:.0f} s")

        while True:
            try:
                self.machine.await_agent(KVM_PATIENCE_S if self.left else machine.PATIENCE_S, each)
                return
            except VmError as error:
                if not self.left:
                    raise self.node.where.error(f"the machine did not boot with {self.how}: {error}") from None
            self.say(f"{self.name}: it does not boot with {self.how} here (KAMUEE_LAB_KVM=no skips it)")
            self.machine.disconnect()
            stop_processes(self.namespace.pids())
            self.boot()

    def steps(self) -> list[tuple[str, str]]:
        """(description, shell script) of the steps in the machine, as an operator would do them."""
        steps = [("cards under vfio",
                  f"hostname {self.name}\nsystemd-sysusers kamuee.conf\nsystemd-tmpfiles --create kamuee.conf\n"
                  f"systemctl restart systemd-udevd\nmodprobe vfio_pci\n" + "".join(map(bind, range(len(self.cards))))),
                 ("kamueed",
                  f"{file('/etc/kamuee/kamuee.conf', self.config_lines())}systemctl daemon-reload\n"
                             "systemctl start kamueed || { journalctl -u kamueed -n 20 --no-pager -o cat; exit 1; }\n"),
                 ("addresses", self.address_script())]
        if self.node.daemon == "frr":
            steps.append(("FRR", self.frr_script()))
        return steps

    def config_lines(self) -> list[str]:
        """/etc/kamuee/kamuee.conf."""
        lines = []
        for number, port in enumerate(self.cards):
            lines += [f"set port {port} devargs {machine.pci(number)}", f"set port {port} mtu {self.mtus[port]}"]
        return lines + interface_lines(self.node, self.mtus) + self.node.set_lines

    def address_script(self) -> str:
        lines = []
        members = self.node.members()
        for interface in self.node.interfaces.values():
            if interface.name in members:
                continue
            if interface.name != "lo":
                lines += [f"for i in $(seq 300); do [ -e /sys/class/net/{interface.name} ] && break; sleep 0.1; done",
                          f"ip link set dev {interface.name} up"]
            lines += [f"ip addr replace {address} dev {interface.name}{' nodad' if ':' in address else ''}"
                      for address in interface.addresses]
        lines += [f"sysctl -qw {shlex.quote(f'{key}={value}')}" for key, value in self.node.sysctl.items()]
        lines += [f"ip {'-6 ' if ':' in route else ''}route add {route}" for route in self.node.routes]
        return "\n".join(lines) + "\n"

    def frr_script(self) -> str:
        config = self.node.config if self.node.config is not None else frr.config_of(self.node)
        daemons = self.node.daemons or frr.daemons_of(config)
        return (file("/etc/frr/frr.conf", [config]) + "chown frr:frr /etc/frr/frr.conf && chmod 640 /etc/frr/frr.conf\n"
                + "".join(f"sed -i 's/^{daemon}=.*/{daemon}=yes/' /etc/frr/daemons\n" for daemon in daemons)
                + "said=$(vtysh -C -f /etc/frr/frr.conf 2>&1) || { echo \"FRR rejects the configuration: $said\"; exit "
                  "1; }\n"
                + "systemctl start frr || { journalctl -u frr -n 20 --no-pager -o cat; exit 1; }\n")

    # --- use ---

    def state(self) -> str:
        if self.machine.pid() is None:
            return ENDED
        return READY if self.ready_file.exists() else BOOTING

    def described(self) -> dict:
        by = json.loads(self.ready_file.read_text())["by"] if self.ready_file.exists() else None
        return {"state": self.state(), "by": by, "console": str(self.machine.console),
                "cards": {port: {"kind": self.node.cards, "pci": machine.pci(number)}
                          for number, port in enumerate(self.cards)}}

    def pids(self) -> dict[str, int]:
        pid = self.machine.pid()
        return {"qemu": pid} if pid else {}

    def run(self, command: str | list[str], check: bool = True, timeout_s: float = 60) -> str:
        """Runs in the machine."""
        done = self.machine.run(command if isinstance(command, str) else shlex.join(command), check, timeout_s)
        return done.out

    def ip(self, command: str) -> str:
        return self.run(f"ip {command}")

    def ip_json(self, command: str) -> list[dict]:
        return json.loads(self.run(f"ip -j {command}") or "[]")

    def vtysh(self, *commands: str) -> str:
        return self.run(["vtysh"] + [word for command in commands for word in ("-c", command)])

    def execute(self, argv: list[str]) -> int:
        """With the caller's terminal, input and output; the command's status."""
        from kamuee.lab.vm.execute import execute
        if os.geteuid() != 0:
            raise LabError(f"a command in the machine of {self.name} needs root: use sudo")
        if self.state() == ENDED:
            raise LabError(f"the machine of {self.name} has stopped: see {self.machine.console}, then stop and start "
                           f"the lab")
        env = {"KAMUEE_NAME": self.name,
               **{word: os.environ[word] for word in ("TERM", "NO_COLOR") if word in os.environ}}
        return execute(self.machine, argv or [SHELL], env)


def bind(card: int) -> str:
    """A shell command that replaces dpdk-devbind.py, which takes seconds without KVM."""
    device = f"/sys/bus/pci/devices/{machine.pci(card)}"
    return (f"echo vfio-pci > {device}/driver_override\n[ ! -e {device}/driver ] || echo {machine.pci(card)} > "
            f"{device}/driver/unbind\n"
            f"echo {machine.pci(card)} > /sys/bus/pci/drivers_probe\n")


def file(path: str, lines: list[str]) -> str:
    """A shell command that writes a file."""
    text = "\n".join(lines)
    return f"mkdir -p {Path(path).parent}\nprintf '%s\\n' {shlex.quote(text)} > {path}\n"
