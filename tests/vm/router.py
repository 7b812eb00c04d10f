# SPDX-License-Identifier: BSD-3-Clause
"""kamueed in the virtual machine, and frames that are sent into its cards and taken from them on the host.

Card n of the machine is port p<n> with 10.0.n.1/24 and fd00:n::1/64; who is at its far end has the addresses with a 2.
"""
import json
import random
import select
import socket
import subprocess
import time
from collections.abc import Callable

from kamuee import http
from kamuee.client import Client, refusal
from kamuee.lab.netns import in_namespace
from scapy.layers.inet import IP, UDP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import Ether

from vm import Vm, VmError, far_mac, mac, pci
from page import Reader
from support import eventually
from wire import packet_socket, receive

PATIENCE_S = 60


class Router(Client):
    """kamueed of a machine, as its operator has it."""

    def __init__(self, vm: Vm):
        super().__init__("in the machine")
        self.vm = vm
        self.wires: dict[int, socket.socket] = {}

    def _ask(self, method: str, target: str, body: bytes | None, timeout_s: float) -> http.Answer:
        answer = self.vm.ask({"rest": method, "path": target, "body": (body or b"").decode(), "timeout": timeout_s}, timeout_s + 30)
        if not 200 <= answer["rc"] < 300:
            raise refusal(answer["rc"], answer["out"].encode()) if answer["rc"] >= 400 else VmError(answer["out"])
        return Said(answer["out"])

    # --- cards ---

    def bind(self, *cards: int, driver: str = "vfio-pci") -> None:
        """As docs/quickstart/one-nic.md has it."""
        self.vm.run(f"modprobe {driver.replace('-', '_')} && dpdk-devbind.py --bind={driver} {' '.join(map(pci, cards))} && udevadm settle", timeout_s=180)

    def configuration(self, cards: list[int], *lines: str, options: str = "") -> None:
        """The file, with these cards as ports."""
        self.vm.put("/etc/kamuee/kamuee.conf", "\n".join([*(f"set port p{n} devargs {pci(n)}{options}" for n in cards), *lines, ""]))

    def start(self, cards: list[int], *lines: str, options: str = "") -> None:
        """By systemd, with these cards as ports; addressed."""
        self.configuration(cards, *lines, options=options)
        self.vm.run("systemctl reset-failed kamueed; systemctl restart kamueed", timeout_s=90)
        self.address(cards)

    def address(self, cards: list[int]) -> None:
        """Addresses here and there, default routes there; ready when far ends reach the router."""
        self.vm.run(" && ".join(f"ip addr replace 10.0.{n}.1/24 dev p{n} && ip addr replace fd00:{n}::1/64 dev p{n} nodad" for n in cards))
        for n in cards:
            far = self.vm.far[n]
            far.sh(f"ip addr replace 10.0.{n}.2/24 dev c{n} && ip addr replace fd00:{n}::2/64 dev c{n} nodad && "
                   f"ip route replace default via 10.0.{n}.1 && ip -6 route replace default via fd00:{n}::1")
        for n in cards:
            for target in (f"10.0.{n}.1", f"fd00:{n}::1"):
                eventually(lambda: self.pings(n, target), PATIENCE_S, lambda: f"the far end of card {n} reaches {target}: {self.told()}")

    def pings(self, card: int, target: str, options: str = "-c 1 -W 2") -> bool:
        try:
            return "0% packet loss" in self.vm.far[card].sh(f"ping -n {options} {target}").replace("100%", "")
        except VmError:
            return False

    def told(self) -> str:
        """Information for a failure."""
        return self.vm.run("systemctl status kamueed --no-pager; journalctl -u kamueed --no-pager | tail -20; kamuee show port; kamuee show drops",
                           check=False).out

    def alarms(self, *names: str) -> list[str]:
        """'name subject' of raised alarms."""
        return sorted(f"{alarm['name']} {alarm['subject']}" for alarm in self.entries("alarm") if alarm["name"] in names)

    def port(self, card: int) -> dict:
        return self.state(f"port=p{card}")[0]

    def pid(self) -> int:
        return int(self.vm.out("systemctl show -P MainPID kamueed"))

    def is_there(self) -> bool:
        """By its socket: a command would take longer than a test."""
        try:
            return bool(self.state("ledger"))
        except VmError as error:
            if "Connection refused" in str(error) or "No such file" in str(error):
                return False
            raise

    def assert_ledger(self) -> None:
        eventually(lambda: self.state("ledger")["imbalance"] == 0, 20, lambda: f"the ledger does not balance: {self.state('ledger')}")

    # --- frames ---

    def wire(self, card: int) -> socket.socket:
        """A packet socket at the far end of a card."""
        if card not in self.wires:
            self.wires[card] = in_namespace(self.vm.far[card].name, lambda: packet_socket(f"c{card}"))
        return self.wires[card]

    def send(self, card: int, frame: bytes) -> None:
        self.wire(card).send(frame)

    def taken(self, card: int, wanted: Callable[[bytes], bool], timeout_s: float = 20) -> bytes | None:
        """The next frame that arrives at a far end and is wanted."""
        end = time.monotonic() + timeout_s
        while select.select([self.wire(card)], [], [], max(0.0, end - time.monotonic()))[0]:
            data, outgoing = receive(self.wire(card))
            if not outgoing and wanted(data):
                return data
        return None

    def packet(self, here: int, there: int, v6: bool, size: int, sport: int = 7000) -> Ether:
        """A frame of `size` bytes without FCS from the far end of card `here` to that of card `there`."""
        ip = (IPv6(src=f"fd00:{here}::2", dst=f"fd00:{there}::2", hlim=64) if v6 else
              IP(src=f"10.0.{here}.2", dst=f"10.0.{there}.2", ttl=64, id=random.randrange(1, 65536)))
        empty = Ether(src=far_mac(here), dst=mac(here)) / ip / UDP(sport=sport, dport=9)
        return Ether(bytes(empty / random.randbytes(max(16, size - len(empty)))))

    def assert_forwards(self, here: int, there: int, sizes: tuple[int, ...] = (60, 61, 128, 777, 1514), v6: tuple[bool, ...] = (False, True)) -> None:
        """The output matches scapy: next hop's MACs, TTL less one, checksums right, each other byte unchanged."""
        self.wire(there)                                          # before anything is sent
        for target in (f"10.0.{there}.2", f"fd00:{there}::2"):    # resolved from here on
            eventually(lambda: self.pings(here, target), PATIENCE_S, lambda: f"card {here} reaches {target}: {self.told()}")
        for six in v6:
            for size in sizes:
                sent = self.packet(here, there, six, size)
                wanted = forwarded(sent, there)
                mark = bytes(sent)[-16:]
                self.send(here, bytes(sent))
                got = self.taken(there, lambda frame: mark in frame)
                assert got is not None, f"card {here} to {there}, {'IPv6' if six else 'IPv4'}, {size} bytes: nothing came; {self.told()}"
                assert got[:len(wanted)] == wanted and not any(got[len(wanted):]), f"{Ether(got)!r}\nwanted {Ether(wanted)!r}"

    def close(self) -> None:
        for sock in self.wires.values():
            sock.close()


def forwarded(packet: Ether, there: int) -> bytes:
    """The same as it leaves by card `there`, to its far end."""
    out = packet.copy()
    out.src, out.dst = mac(there), far_mac(there)
    if IPv6 in out:
        out[IPv6].hlim -= 1
    else:
        out[IP].ttl -= 1
        del out[IP].chksum
    return bytes(Ether(bytes(out)))


class Said:
    """An answer that has been read."""

    def __init__(self, text: str):
        self.text = text

    def read(self) -> bytes:
        return self.text.encode()

    def json(self):
        return json.loads(self.text)


class Operator(Reader):
    """At the machine, as root. `make install` has been done: its files are on the second disk, its groups are made by the fixture `router`."""
    patience_s = 3 * PATIENCE_S

    def __init__(self, vm: Vm):
        self.vm = vm

    def shell(self, command: str, check: bool = True, text: str | None = None) -> subprocess.CompletedProcess:
        done = self.vm.run(command, check=check, stdin=text or "", timeout_s=180)
        return subprocess.CompletedProcess(command, done.rc, done.out, "")

    def write(self, kind: str, lines: list[str]) -> None:
        if kind == "kamuee.conf":
            self.vm.put("/etc/kamuee/kamuee.conf", "\n".join(lines) + "\n")
            return
        for line in filter(None, lines):
            self.vm.run(f"sed -i 's/^{line.partition('=')[0]}=.*/{line}/' /etc/frr/daemons && grep -qx '{line}' /etc/frr/daemons")
