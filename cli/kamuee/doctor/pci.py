# SPDX-License-Identifier: BSD-3-Clause
"""Ports on PCI: memory node, link, requests in flight, driver, firmware.

Registers are those of the PCI Express capability (PCI Express Base Specification, 7.5.3): Device Capabilities at 4,
Device Control at 8; in Device Control bit 8 is Extended Tag, bits 12-14 are Max_Read_Request_Size.
"""
from __future__ import annotations

from collections.abc import Callable, Iterator

from kamuee.doctor.facts import Facts
from kamuee.doctor.finding import Check, Finding, absent, good

Look = Callable[[Facts, str, str, str], Iterator[Finding]]

DEVICES = "/sys/bus/pci/devices"
CAPABILITY_EXPRESS = 0x10
# Kernel drivers of cards that DPDK can drive too; mlx ones share the card with the kernel.
BIFURCATED = ("mlx4_core", "mlx5_core")
USERSPACE = ("vfio-pci", "uio_pci_generic", "igb_uio")


def express(config: bytes | None) -> tuple[int, int, int] | None:
    """(offset, Device Capabilities, Device Control) of a device's configuration space; None: it is no PCI Express, or
    root alone may see it."""
    if not config or len(config) < 0x40 or not config[6] & 0x10:
        return None
    at, steps = config[0x34] & ~3, 0
    while at and at + 12 <= len(config) and steps < 48:
        if config[at] == CAPABILITY_EXPRESS:
            return (at, int.from_bytes(config[at + 4:at + 8], "little"),
                    int.from_bytes(config[at + 8:at + 10], "little"))
        at, steps = config[at + 1] & ~3, steps + 1
    return None


def of_each_card(check: str, look: Look) -> Callable[[Facts], Iterator[Finding]]:
    """The check of each port on PCI: look(facts, port, address, folder)."""
    def run(facts: Facts) -> Iterator[Finding]:
        for port, address in facts.cards.items():
            yield from look(facts, port, address, f"{DEVICES}/{address}")
        if not facts.cards:
            yield absent(check, "ports", "none on a PCI device")
    return run


def in_flight(facts: Facts, port: str, address: str, folder: str) -> Iterator[Finding]:
    """Extended Tag and Max_Read_Request_Size."""
    found = express(facts.host.bytes(f"{folder}/config", 256))
    if found is None:
        yield absent("extended-tag", port, f"{address}: no PCI Express capability visible; try as root")
        return
    _, capable, control = found
    if control & 0x100:
        yield good("extended-tag", port, "on: up to 256 requests in flight")
    elif capable & 0x20:
        yield Finding("extended-tag", "advice", port, f"{address}: off, 32 requests in flight", "on",
                      "costs 6 to 7 of 80 Gb/s with 128- to 256-byte packets (2015 paper, 5.1)",
                      (f"setpci -s {address} CAP_EXP+8.w=0100:0100",), safe=True)
    else:
        yield absent("extended-tag", port, f"{address}: not supported by the NIC")
    size = 128 << (control >> 12 & 7)
    yield good("max-read-request-size", port, f"{size} bytes; 128 to 4096 made no difference (2015 paper, 4.5)")


def link(facts: Facts, port: str, address: str, folder: str) -> Iterator[Finding]:
    width, best_width = (facts.host.number(f"{folder}/{name}_link_width") for name in ("current", "max"))
    speed, best_speed = (facts.host.text(f"{folder}/{name}_link_speed") for name in ("current", "max"))
    if not width or not speed:
        yield absent("pci-link", port, f"{address}: not reported by the kernel")
    elif (width, speed) == (best_width, best_speed):
        yield good("pci-link", port, f"{speed}, {width} lanes")
    else:
        yield Finding("pci-link", "advice", port, f"{address}: {speed}, {width} lanes",
                      f"{best_speed}, {best_width} lanes: try another slot, or the slot's firmware settings",
                      f"the bus carries {gigabits(speed, width):.0f} Gb/s instead of "
                      f"{gigabits(best_speed, best_width):.0f}")


def gigabits(speed: str | None, lanes: int | None) -> float:
    """Link bandwidth in each direction, without the line code (8b/10b up to 5 GT/s, 128b/130b above)."""
    try:
        rate = float((speed or "").split()[0])
    except (ValueError, IndexError):
        return 0.0
    return rate * (lanes or 0) * (0.8 if rate <= 5 else 128 / 130)


def place(facts: Facts, port: str, address: str, folder: str) -> Iterator[Finding]:
    """Whether a core of the card's memory node polls each queue."""
    node = facts.host.number(f"{folder}/numa_node")
    if node is None or node < 0:
        yield absent("numa", port, f"{address}: one memory node, or not reported by the firmware")
        return
    far = [(queue, core) for name, queue, core in facts.queues
           if name == port and facts.node_of_core(core) not in (node, None)]
    if far:
        cores = facts.host.text(f"/sys/devices/system/node/node{node}/cpulist") or f"node {node}"
        yield Finding("numa", "advice", port,
                      "; ".join(f"queue {queue} on core {core}, node {facts.node_of_core(core)}"
                                for queue, core in far),
                      f"a core of {cores}",
                      "each packet crosses the inter-socket link; a core near the sending NIC matters most (2016 "
                      "paper)",
                      tuple(f"kamuee delete thread {core} forwarder port {port} rx-queue {queue}"
                            for queue, core in far))
    else:
        yield good("numa", port, f"node {node}, same as its cores")


def driver(facts: Facts, port: str, address: str, folder: str) -> Iterator[Finding]:
    now = facts.host.link(f"{folder}/driver")
    firmware = next((text for name in facts.host.names(f"{folder}/infiniband")
                     if (text := facts.host.text(f"{folder}/infiniband/{name}/fw_ver"))), None)
    tail = f", firmware {firmware}" if firmware else ""
    if now in BIFURCATED or now == "vfio-pci":
        yield good("nic-driver", port, f"{now}{tail}")
    elif now in USERSPACE:
        yield Finding("nic-driver", "advice", port, f"{address}: {now}", "vfio-pci",
                      "no interrupts to wake an idle forwarder, no IOMMU protection",
                      bind(facts, address))
    else:
        yield Finding("nic-driver", "wrong", port, f"{address}: {now or 'no driver'}", "vfio-pci",
                      "DPDK cannot use the NIC while a kernel driver holds it",
                      bind(facts, address))


def bind(facts: Facts, address: str) -> tuple[str, ...]:
    """DPDK 22.11 looks for vfio only when kamueed starts; the systemd unit loads it before."""
    is_late = facts.state is not None and not facts.host.exists("/sys/module/vfio")
    return ("modprobe vfio-pci", f"dpdk-devbind.py --bind=vfio-pci {address}",
            *(("systemctl restart kamueed",) if is_late else ()))


def iommu(facts: Facts) -> Iterator[Finding]:
    if not facts.cards:
        yield absent("iommu", "ports", "none on a PCI device")
        return
    groups = facts.host.names("/sys/kernel/iommu_groups")
    for group in groups:  # so that a record has them
        facts.host.exists(f"/sys/kernel/iommu_groups/{group}")
    by_vfio = [port for port, address in facts.cards.items()
               if facts.host.link(f"{DEVICES}/{address}/driver") == "vfio-pci"]
    if groups and "iommu=pt" in facts.command_line:
        yield good("iommu", "machine", f"{len(groups)} groups, pass-through for the kernel's own devices")
    elif groups:
        yield Finding("iommu", "advice", "machine", "addresses of every device are translated", "iommu=pt at boot",
                      "NICs with a kernel driver (mlx5, too) pay a translation per buffer")
    elif by_vfio and facts.host.text("/sys/module/vfio/parameters/enable_unsafe_noiommu_mode") != "Y":
        yield Finding("iommu", "wrong", ", ".join(by_vfio), "vfio-pci without an IOMMU",
                      "intel_iommu=on or amd_iommu=on, and iommu=pt, at boot",
                      "the ports cannot be attached",
                      ("echo 1 > /sys/module/vfio/parameters/enable_unsafe_noiommu_mode   # in a virtual machine "
                       "without one",))
    else:
        yield absent("iommu", "machine", "absent or off")


CHECKS = (*(Check(name, of_each_card(name, look)) for name, look in (
              ("extended-tag", in_flight), ("pci-link", link), ("numa", place), ("nic-driver", driver))),
          Check("iommu", iommu))
