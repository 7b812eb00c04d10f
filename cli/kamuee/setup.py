# SPDX-License-Identifier: BSD-3-Clause
"""kamuee setup: the few questions that a first router needs. Writes the files, and prints BGP with policy for vtysh.

It can be run again: what is there already is the answer to each question, a port is never removed, and files that say what they should
are left alone. It starts nothing.
"""
from __future__ import annotations

import argparse
import difflib
import ipaddress
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from kamuee.doctor.memory import POOL_MIB
from kamuee.doctor.network import NEIGHBORS
from kamuee.errors import KamueeError, UsageError
from kamuee.plain import lines as lines_of
from kamuee.routing import NETLINK_BUFFER_BYTES

PORT = re.compile(r"^\s*set port (\S+) kernel-interface (\S+)", re.M)
MADE = ("tun", "vlan", "bridge", "bond", "team", "vxlan", "vrf", "dummy", "macvlan", "ipvlan", "ifb")     # by somebody, of others: not a port
NEXT = ("sysctl --system", "systemctl enable --now kamueed || systemctl reload kamueed", "systemctl restart frr", "kamuee doctor")


class Interface(NamedTuple):
    name: str
    addresses: list[str]
    kept: str       # why it must stay with the kernel; "" = it may become a port

    def told(self) -> str:
        return f"{self.name:15} {self.kept or 'can become a port'}" + (f"; {', '.join(self.addresses)}" if self.addresses else "")


class Answers(NamedTuple):
    ports: list[str]
    asn: int
    neighbors: list[tuple[str, int]]
    prefix: str
    memory: int
    entries: int


# --- the machine ---

def ip(*words: str) -> list[dict]:
    done = subprocess.run(["ip", "-j", *words], capture_output=True, text=True, check=False)
    return [entry for entry in json.loads(done.stdout or "[]") if entry] if done.returncode == 0 else []


def interfaces() -> list[Interface]:
    """Ethernet interfaces of this namespace that are not made from others."""
    routes = {route.get("dev") for family in ("-4", "-6") for route in ip(family, "route", "show", "default")}
    session = (os.environ.get("SSH_CONNECTION", "").split() + ["", "", ""])[2]
    found = []
    for link in ip("-d", "addr"):
        if link.get("link_type") != "ether" or link.get("linkinfo", {}).get("info_kind") in MADE:
            continue
        addresses = [entry["local"] for entry in link.get("addr_info", []) if entry.get("scope") == "global"]
        kept = ("carries your login session" if session in addresses else "has the default route" if link["ifname"] in routes
                else f"belongs to {link['master']}" if "master" in link else "")
        found.append(Interface(link["ifname"], addresses, kept))
    return found


# --- the questions ---

def ask(question: str, answer: str, read: Callable[[str], object], silent: bool) -> object:
    """The answer, once it is valid; Enter and --yes take the one in brackets."""
    while True:
        try:
            return read(answer if silent else input(f"{question} [{answer}]: ").strip() or answer)
        except ValueError as error:
            if silent:
                raise UsageError(f"{question}: {error}") from None
            print(f"  {error}")


def number(low: int, high: int) -> Callable[[str], int]:
    def read(text: str) -> int:
        if not text.isdecimal() or not low <= int(text) <= high:
            raise ValueError(f"'{text}' is not valid, expected {low} to {high}")
        return int(text)
    return read


def neighbors(text: str) -> list[tuple[str, int]]:
    found = []
    for word in text.split():
        address, _, asn = word.partition("=")
        found.append((str(ipaddress.ip_address(address)), number(1, 4294967295)(asn)))
    return found


def prefix(text: str) -> str:
    return str(ipaddress.ip_network(text))


def choice(known: list[Interface]) -> Callable[[str], list[str]]:
    def read(text: str) -> list[str]:
        for name in text.split():
            entry = next((entry for entry in known if entry.name == name), None)
            if entry is None:
                raise ValueError(f"there is no interface {name}; there is {', '.join(entry.name for entry in known) or 'none'}")
            if entry.kept:
                raise ValueError(f"{name} {entry.kept}: it must stay with the kernel")
        return text.split()
    return read


def answers(options: argparse.Namespace, known: list[Interface], ports: dict[str, str]) -> Answers:
    """`ports`: interface -> configured port."""
    free = [entry.name for entry in known if not entry.kept and (entry.name in ports or not (ports or entry.addresses))]
    silent = options.yes
    return Answers(
        ports=ask("Interfaces that become ports", " ".join(options.ports or free), choice(known), silent),
        asn=ask("Your AS number", str(options.asn), number(1, 4294967295), silent),
        neighbors=ask("Your providers, ADDRESS=AS", " ".join(options.neighbor or ["198.51.100.1=64500"]), neighbors, silent),
        prefix=ask("The prefix that you announce", options.prefix, prefix, silent),
        memory=ask("MiB of huge pages; 0: none", str(options.memory), number(0, 1 << 20), silent),
        entries=ask("Neighbors (ARP, ND) of the whole machine", str(options.neighbors), number(1024, 1 << 24), silent))


# --- the files ---

def configuration(before: str, wanted: Sequence[str]) -> str:
    """The existing lines, and one for each new port; its name is p0, p1 …, the first free one."""
    ports = {interface: port for port, interface in PORT.findall(before)}
    taken = set(re.findall(r"^\s*set (?:v?port|lag) (\S+)", before, re.M))
    names = (name for n in range(1 << 16) if (name := f"p{n}") not in taken)
    lines = [f"set port {next(names)} kernel-interface {interface}" for interface in wanted if interface not in ports]
    return before + "\n" * bool(lines and before and not before.endswith("\n")) + "".join(f"{line}\n" for line in lines)


def sysctls(memory: int, entries: int) -> str:
    lines = ["# Written by 'kamuee setup', which replaces it."]
    lines += [f"vm.nr_hugepages = {-(-memory // 2)}"] * bool(memory)
    lines += [f"net.{family}.neigh.default.gc_thresh{n} = {entries // part}" for family in ("ipv4", "ipv6") for n, part in ((2, 2), (3, 1))]
    return "\n".join(lines) + "\n"


def daemons(before: str) -> str:
    """FRR's file with bgpd, and with a netlink buffer of zebra for a full table (docs/quickstart/frr-edge.md)."""
    def options(found: re.Match[str]) -> str:
        size = re.search(r" -s (\d+)", found[1])
        if size and int(size[1]) >= NETLINK_BUFFER_BYTES:
            return found[0]
        return f'zebra_options="{found[1].replace(size[0], "") if size else found[1]} -s {NETLINK_BUFFER_BYTES}"'
    return re.sub(r'^zebra_options="([^"]*)"', options, re.sub(r"^bgpd=no\b", "bgpd=yes", before, flags=re.M), flags=re.M)


def files(etc: Path, given: Answers) -> Iterator[tuple[Path, str, str]]:
    """(file, present text, wanted text)"""
    for name, change in (("kamuee/kamuee.conf", lambda text: configuration(text, given.ports)),
                         ("sysctl.d/60-kamuee-setup.conf", lambda text: sysctls(given.memory, given.entries)),
                         ("frr/daemons", daemons)):
        path = etc / name
        if path.exists() or not name.startswith("frr"):
            before = path.read_text(encoding="utf-8") if path.exists() else ""
            yield path, before, change(before)


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    new = path.with_name(path.name + ".new")
    new.write_text(text, encoding="utf-8")
    if path.exists():
        of = path.stat()
        new.chmod(of.st_mode)
        os.chown(new, of.st_uid, of.st_gid)
    new.replace(path)


# --- BGP ---

def skeleton(given: Answers) -> list[str]:
    """Text for vtysh: announces only our prefix, accepts the table except our prefix; the rest is refused."""
    four = ipaddress.ip_network(given.prefix).version == 4
    word, longest, every = ("ip", 24, "0.0.0.0/0") if four else ("ipv6", 48, "::/0")
    family = "ipv4" if four else "ipv6"
    ours = [(address, asn) for address, asn in given.neighbors if (ipaddress.ip_address(address).version == 4) == four]
    return [
        f"{word} route {given.prefix} blackhole 250",
        f"{word} prefix-list OURS seq 10 permit {given.prefix}",
        f"{word} prefix-list TABLE seq 10 deny {given.prefix} le {32 if four else 128}",
        f"{word} prefix-list TABLE seq 20 permit {every} le {longest}",
        "route-map PROVIDER-IN permit 10", f" match {word} address prefix-list TABLE", "exit",
        "route-map PROVIDER-OUT permit 10", f" match {word} address prefix-list OURS", "exit",
        f"router bgp {given.asn}",
        *(f" neighbor {address} remote-as {asn}" for address, asn in ours),
        f" address-family {family} unicast", f"  network {given.prefix}",
        *(line for address, _ in ours for line in (
            *[f"  neighbor {address} activate"] * (not four),
            f"  neighbor {address} route-map PROVIDER-IN in", f"  neighbor {address} route-map PROVIDER-OUT out")),
        " exit-address-family", "exit"]


# --- the command ---

def parse(argv: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="kamuee setup", description="Asks what a first router needs, and writes its files. Can be run again.")
    parser.add_argument("--yes", action="store_true", help="ask nothing: take the answers given here, or proposed")
    parser.add_argument("--dry-run", action="store_true", help="write nothing: show what would change")
    parser.add_argument("--ports", nargs="+", metavar="INTERFACE", help="kernel interfaces that become ports")
    parser.add_argument("--as", dest="asn", type=int, default=64496, metavar="N", help="your AS number")
    parser.add_argument("--neighbor", action="append", metavar="ADDRESS=AS", help="a provider; may be repeated")
    parser.add_argument("--prefix", default="192.0.2.0/24", help="the prefix that you announce")
    parser.add_argument("--memory", type=int, default=POOL_MIB, metavar="MIB", help="huge pages; 0: none")
    parser.add_argument("--neighbors", type=int, default=NEIGHBORS, metavar="N", help="limit of the neighbor table")
    parser.add_argument("--etc", type=Path, default=Path("/etc"), metavar="DIR", help="write the files there (default /etc)")
    return parser.parse_args(argv)


def main(argv: Sequence[str]) -> int:
    options = parse(argv)
    if not (options.yes or sys.stdin.isatty()):
        raise UsageError("there is no terminal to ask: use --yes")
    known = interfaces()
    for entry in known:
        print(f"  {entry.told()}")
    path = options.etc / "kamuee/kamuee.conf"
    ports = {interface: port for port, interface in PORT.findall(path.read_text(encoding="utf-8") if path.exists() else "")}
    given = answers(options, known, ports)
    try:
        for path, before, text in files(options.etc, given):
            put(path, before, text, options.dry_run)
    except OSError as error:
        raise KamueeError(f"{error.filename}: {error.strerror}; kamuee setup writes below {options.etc}, which needs root") from None
    if not (options.etc / "frr/daemons").exists():
        print("FRR is not installed: apt install frr, then run this again")
    print("\nNext:\n  " + "\n  ".join(NEXT))
    print("\nIn vtysh, after 'configure terminal' (addresses of the ports: 'interface p0', 'ip address …'):\n")
    print("\n".join(f"  {line}" for line in skeleton(given)))
    return 0


def put(path: Path, before: str, text: str, dry: bool) -> None:
    if text == before:
        print(f"{path}: nothing to change")
        return
    for line in difflib.unified_diff(lines_of(before), lines_of(text), lineterm="", n=0):
        if not line.startswith(("---", "+++", "@@")):
            print(f"{path}: {line[0]} {line[1:]}")
    if not dry:
        write(path, text)
