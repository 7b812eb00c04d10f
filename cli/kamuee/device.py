# SPDX-License-Identifier: BSD-3-Clause
"""kamuee device: the Ethernet cards on PCI of this host, and which driver has each.

A card is the kernel's, by its own driver, or DPDK's, by vfio-pci. `bind` and `unbind` change that through driverctl
where it is installed, so that it lasts; else through the files of /sys, until the next reboot.
"""
from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path

from kamuee import plain
from kamuee.doctor.host import Host
from kamuee.doctor.pci import BIFURCATED, DEVICES
from kamuee.errors import KamueeError, UsageError

ETHERNET = "0x0200"
PATIENCE_S = 10
NOIOMMU = "/sys/module/vfio/parameters/enable_unsafe_noiommu_mode"


@dataclass
class Card:
    address: str
    model: str
    driver: str
    interface: str
    iommu_group: str
    numa_node: int | None = None
    group_mates: list[str] = field(default_factory=list)


def card_at(host: Host, address: str) -> Card:
    folder = f"{DEVICES}/{address}"
    group = host.link(f"{folder}/iommu_group") or ""
    mates = [mate for mate in host.names(f"{folder}/iommu_group/devices") if mate != address]
    names = [name for inner in ("", *host.names(folder)) if not inner or inner.startswith("virtio")
             for name in host.names(f"{folder}/{inner}/net")]
    model = ":".join((host.text(f"{folder}/{name}") or "?").removeprefix("0x") for name in ("vendor", "device"))
    return Card(address, model, host.link(f"{folder}/driver") or "", " ".join(names), group,
                host.number(f"{folder}/numa_node"), mates)


def cards(host: Host) -> list[Card]:
    return [card_at(host, address) for address in host.names(DEVICES)
            if (host.text(f"{DEVICES}/{address}/class") or "").startswith(ETHERNET)]


def find(host: Host, name: str) -> Card:
    """Finds a card by address, with or without its domain, or by kernel interface."""
    there = cards(host)
    address = name if name.count(":") == 2 else f"0000:{name}"
    for card in there:
        if card.address == address.lower() or name in card.interface.split():
            return card
    listed = ", ".join(card.address + (f" ({card.interface})" if card.interface else "") for card in there) or "none"
    raise KamueeError(f"there is no Ethernet card '{name}' on PCI\nthere is: {listed}")


# --- losses ---

def used_for(interface: str) -> str:
    """The host's uses of a kernel interface, as a sentence; "": none."""
    done = subprocess.run(["ip", "-j", "addr", "show", "dev", interface], capture_output=True, text=True)
    entries = json.loads(done.stdout or "[]") if done.returncode == 0 else []
    addresses = [one["local"] for entry in entries for one in entry.get("addr_info", ())
                 if one.get("scope") == "global"]
    ssh = os.environ.get("SSH_CONNECTION", "").split()
    if len(ssh) == 4 and ssh[2] in addresses:
        return "your SSH session comes in by it"
    for family in ("-4", "-6"):
        if subprocess.run(["ip", family, "route", "show", "default", "dev", interface], capture_output=True,
                          text=True).stdout.strip():
            return "the default route uses it"
    return f"it has the address {addresses[0]}" if addresses else ""


def check_bind(host: Host, card: Card, driver: str, force: bool) -> None:
    if card.driver in BIFURCATED:
        raise KamueeError(f"{card.address}: DPDK uses this card through {card.driver}: leave it bound, and use 'set "
                          f"port NAME devargs {card.address}'")
    for interface in card.interface.split():
        if not force and (why := used_for(interface)):
            raise KamueeError(f"{card.address} is {interface}, and {why}: remove that first, or use --force")
    if driver != "vfio-pci":
        return
    if not card.iommu_group and host.text(NOIOMMU) != "Y":
        raise KamueeError(f"{card.address} is in no IOMMU group, which vfio-pci needs: boot with intel_iommu=on (or "
                          f"amd_iommu=on) and iommu=pt\n"
                          f"in a virtual machine without an IOMMU: modprobe vfio enable_unsafe_noiommu_mode=1")
    foreign = [mate for mate in card.group_mates
               if host.link(f"{DEVICES}/{mate}/driver") not in (None, "vfio-pci", "pcieport")]
    if foreign:
        raise KamueeError(f"{card.address} shares IOMMU group {card.iommu_group} with {', '.join(foreign)}, which the "
                          f"kernel uses: DPDK could not open "
                          f"it\nbind all devices of the group to vfio-pci, or move the card to another slot")


# --- changing ---

def run(*command: str) -> None:
    try:
        done = subprocess.run(command, capture_output=True, text=True)
    except FileNotFoundError:
        raise KamueeError(f"{command[0]} is not installed") from None
    if done.returncode:
        raise KamueeError(f"{' '.join(command)}: {done.stderr.strip() or f'exit code {done.returncode}'}")


def write(host: Host, path: str, text: str) -> None:
    try:
        host.at(path).write_text(text)
    except OSError as error:
        raise KamueeError(f"{path}: {error.strerror}") from None


def rebind(host: Host, card: Card, driver: str) -> None:
    """By the kernel's files. `driver` "": any driver of the kernel that matches."""
    folder = f"{DEVICES}/{card.address}"
    write(host, f"{folder}/driver_override", f"{driver}\n")
    if card.driver:
        write(host, f"{folder}/driver/unbind", card.address)
    write(host, "/sys/bus/pci/drivers_probe", card.address)


def wait_for(host: Host, address: str, is_so) -> Card:
    until = time.monotonic() + PATIENCE_S
    while not is_so(card := card_at(host, address)) and time.monotonic() < until:
        time.sleep(0.1)
    return card


def bind(host: Host, name: str, driver: str, force: bool) -> str:
    card = find(host, name)
    if card.driver == driver:
        return f"{card.address} is already bound to {driver}"
    check_bind(host, card, driver, force)
    run("modprobe", driver)
    lasting = shutil.which("driverctl")
    if lasting:
        run("driverctl", "set-override", card.address, driver)
    else:
        rebind(host, card, driver)
    now = wait_for(host, card.address, lambda card: card.driver == driver)
    if now.driver != driver:
        raise KamueeError(f"{card.address} is bound to {now.driver or 'no driver'}, not to {driver}: see dmesg")
    return (f"{card.address} bound to {driver}"
            + ("" if lasting else " until the next reboot (to keep it: apt-get install driverctl)") +
            f"\nnext: kamuee set port p0 devargs {card.address}")


def unbind(host: Host, name: str) -> str:
    card = find(host, name)
    if shutil.which("driverctl") and host.exists(f"/etc/driverctl.d/pci-{card.address}"):
        run("driverctl", "unset-override", card.address)
    else:
        rebind(host, card, "")
    now = wait_for(host, card.address, lambda now: now.driver not in ("", card.driver) and now.interface)
    if not now.driver:
        raise KamueeError(f"{card.address} has no driver now: no kernel module supports it, or it is not loaded (lspci "
                          f"-k -s {card.address})")
    return f"{card.address} bound to {now.driver}" + (f": {now.interface}" if now.interface else "")


# --- the command ---

def parse(argv: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="kamuee device",
                                     description="Lists the Ethernet cards on PCI; gives one to DPDK or back to the "
                                                 "kernel.",
                                     epilog="CARD is a PCI address, such as 0000:3b:00.0, or a kernel interface, such "
                                            "as eth1.")
    parser.add_argument("-j", "--json", action="store_true", help="print JSON")
    verbs = parser.add_subparsers(dest="verb", metavar="VERB")
    show = verbs.add_parser("show", help="list the cards (the default)")
    show.add_argument("-j", "--json", action="store_true", default=argparse.SUPPRESS, help="print JSON")
    to = verbs.add_parser("bind", help="give a card to DPDK (root)")
    to.add_argument("card", metavar="CARD")
    to.add_argument("--driver", default="vfio-pci", help="default: vfio-pci")
    to.add_argument("--force", action="store_true", help="also if the kernel uses its interface")
    back = verbs.add_parser("unbind", help="give a card back to the kernel's driver (root)")
    back.add_argument("card", metavar="CARD")
    options = parser.parse_args(argv)
    if options.verb == "bind" and not re.fullmatch(r"[\w-]+", options.driver):
        raise UsageError(f"'{options.driver}' is not the name of a kernel driver; expected vfio-pci")
    return options


def table(found: list[Card]) -> list[str]:
    if not found:
        return ["no Ethernet cards on PCI"]
    rows = [("Card", "Model", "Driver", "Interface", "IOMMU", "Node")]
    rows += [(card.address, card.model, card.driver or "-", card.interface or "-", card.iommu_group or "-",
              "-" if card.numa_node is None or card.numa_node < 0 else str(card.numa_node)) for card in found]
    widths = [max(map(len, column)) for column in zip(*rows)]
    return ["  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]


def main(argv: list[str], root: str = "/") -> int:
    options, host = parse(argv), Host(root)
    if options.verb in ("bind", "unbind"):
        if os.geteuid() and Path(root) == Path("/"):
            raise KamueeError(f"changing the driver of a card needs root: sudo kamuee device {options.verb} "
                              f"{options.card}")
        print(bind(host, options.card, options.driver, options.force) if options.verb == "bind"
              else unbind(host, options.card))
    elif options.json:
        print(json.dumps({"card": [asdict(card) for card in cards(host)]}, indent=2))
    else:
        print(plain.text("\n".join(table(cards(host)))))
    return 0
