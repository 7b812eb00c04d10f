# SPDX-License-Identifier: BSD-3-Clause
"""The data that checks read: the host, the configuration, and kamueed's own state if it runs."""
from __future__ import annotations

import functools
import json
import re
import shlex

from kamuee.doctor.host import Host, cores_of

PCI = re.compile(r"^(?:pci:)?((?:[0-9a-f]{4}:)?[0-9a-f]{2}:[0-9a-f]{2}\.[0-7])", re.IGNORECASE)

KERNEL_INTERFACE = re.compile(r"^(?:net|eth)_af_(?:packet|xdp)[^,]*,(?:.*,)?iface=([^,]+)")


def pci_of(devargs: str) -> str | None:
    """'0000:3b:00.0' of a port's devargs; None: not a PCI device."""
    found = PCI.match(devargs)
    if not found:
        return None
    return found[1].lower() if found[1].count(":") == 2 else f"0000:{found[1].lower()}"


def words_of(lines: list[str]) -> list[list[str]]:
    found = []
    for line in lines:
        try:
            words = shlex.split(line, comments=True)
        except ValueError:  # kamueed reports the error
            continue
        if words[:1] == ["set"]:
            found.append(words[1:])
    return found


class Facts:
    def __init__(self, host: Host, lines: list[str], state: dict | None = None):
        self.host = host
        self.config = words_of(lines)
        self.state = state  # of kamueed: system, port, thread, audit; None: it does not run

    def setting(self, *path: str) -> str | None:
        """The value of a line 'set PATH… VALUE'."""
        for words in self.config:
            if len(words) == len(path) + 1 and tuple(words[:-1]) == path:
                return words[-1]
        return None

    @functools.cached_property
    def cores(self) -> list[int]:
        """All online cores."""
        return cores_of(self.host.text("/sys/devices/system/cpu/online"))

    @functools.cached_property
    def forwarders(self) -> list[int]:
        """Cores that forward packets: of the running kamueed, else as configured; [] if unknown."""
        if self.state:
            running = [thread["core"] for thread in self.state.get("thread", [])
                       if thread.get("role") == "forwarder" and thread.get("core", -1) >= 0]
            if running:
                return sorted(set(running))
        return sorted({int(words[1]) for words in self.config
                       if words[:1] == ["thread"] and words[2:3] == ["forwarder"] and words[1].isdigit()})

    @functools.cached_property
    def devices(self) -> dict[str, str]:
        """Name of each port: its devargs, as running or configured."""
        found = {words[1]: words[3] for words in self.config
                 if words[:1] == ["port"] and words[2:3] in (["devargs"], ["kernel-interface"]) and len(words) == 4}
        for port in (self.state or {}).get("port", []):
            found[port["name"]] = port.get("devargs", "")
        return found

    @functools.cached_property
    def kernel_interfaces(self) -> dict[str, tuple[str, str]]:
        """Name of each port on a kernel interface: that, and the network namespace where it is, '' = kamueed's."""
        found = {}
        for port in self.devices:
            device = self.setting("port", port, "kernel-interface") or KERNEL_INTERFACE.search(self.devices[port])
            if device:
                found[port] = (device if isinstance(device, str) else device[1], self.setting("port", port, "namespace")
                               or "")
        for port in (self.state or {}).get("port", []):
            if port.get("kernel-interface"):
                found[port["name"]] = (port["kernel-interface"], port.get("namespace", ""))
        return found

    @functools.cached_property
    def interfaces(self) -> list[dict]:
        """The running kamueed's; [] if it does not run."""
        return (self.state or {}).get("interface", [])

    @functools.cached_property
    def routers(self) -> list[str]:
        """Virtual routers."""
        return ["default", *(words[1] for words in self.config if words[:1] == ["vr"] and len(words) > 1)]

    def namespace_of_vr(self, vr: str) -> str:
        return self.setting("vr", vr, "namespace") or ""

    def _ip(self, namespace: str, *words: str) -> list[dict]:
        inside = ("-n", namespace) if namespace else ()
        try:
            return [entry for entry in json.loads(self.host.says("ip", *inside, "-j", *words) or "[]") if entry]
        except ValueError:
            return []

    @functools.cache
    def links(self, namespace: str) -> dict[str, dict]:
        """The kernel's interfaces in a namespace, with addresses, by name."""
        return {link["ifname"]: link for link in self._ip(namespace, "-d", "addr") if "ifname" in link}

    @functools.cache
    def routes(self, namespace: str) -> list[dict]:
        return [route for family in ("-4", "-6") for route in self._ip(namespace, family, "route") if "dev" in route]

    def tcp(self, namespace: str) -> tuple[int | None, int]:
        """Segments that the kernel received, and segments with a wrong checksum, in a namespace."""
        text = self.host.says("ip", "netns", "exec", namespace, "cat",
                              "/proc/net/snmp") if namespace else self.host.text("/proc/net/snmp")
        rows = [line.split() for line in (text or "").split("\n") if line.startswith("Tcp:")]
        values = dict(zip(*rows)) if len(rows) == 2 else {}
        return (int(values["InSegs"]), int(values.get("InCsumErrors", 0))) if "InSegs" in values else (None, 0)

    @functools.cached_property
    def cards(self) -> dict[str, str]:
        """Name of each port on a PCI device: the device's address."""
        found = {}
        for name, devargs in self.devices.items():
            address = pci_of(devargs)
            if address and self.host.exists(f"/sys/bus/pci/devices/{address}"):
                found[name] = address
        return found

    @functools.cached_property
    def queues(self) -> list[tuple[str, int, int]]:
        """(port, queue, core) of each polled queue."""
        if self.state:
            return [(queue["port"], queue["queue"], thread["core"]) for thread in self.state.get("thread", [])
                    for queue in thread.get("queue", []) if thread.get("core", -1) >= 0]
        return [(words[4], int(words[6]), int(words[1])) for words in self.config
                if words[:1] == ["thread"] and words[2:4] == ["forwarder", "port"] and words[5:6] == ["rx-queue"]
                and len(words) == 7 and words[6].isdigit() and words[1].isdigit()]

    def node_of_core(self, core: int) -> int | None:
        for name in self.host.names(f"/sys/devices/system/cpu/cpu{core}"):
            if re.fullmatch(r"node\d+", name):
                self.host.exists(f"/sys/devices/system/cpu/cpu{core}/{name}")
                return int(name[4:])
        return None

    @functools.cached_property
    def command_line(self) -> list[str]:
        """The kernel's."""
        return (self.host.text("/proc/cmdline") or "").split()

    @functools.cached_property
    def virtual(self) -> bool:
        """A hypervisor runs this machine."""
        return " hypervisor" in (self.host.text("/proc/cpuinfo") or "")
