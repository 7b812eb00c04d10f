# SPDX-License-Identifier: BSD-3-Clause
"""Do kernel and kamueed agree on devices, addresses, MACs, routes and VRFs, and what do far ends leave to a card?

Checked from outside with the kernel's tools, because kamueed may be wrong or not running.
"""
from __future__ import annotations

from collections.abc import Iterator

from kamuee.doctor.facts import Facts
from kamuee.doctor.finding import Check, Finding, absent, good

DAMAGED_LEAST, DAMAGED_SHARE = 10, 1000   # so many, and one of so many received


LIBRARIES = ("/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64", "/usr/lib", "/usr/local/lib")


def where(device: str, namespace: str) -> str:
    return f"{device} of namespace {namespace}" if namespace else device


def one_device(facts: Facts) -> Iterator[Finding]:
    """Two ports on one kernel interface both get each frame."""
    ports: dict[tuple[int, str], list[str]] = {}
    for port, (device, namespace) in facts.kernel_interfaces.items():
        link = facts.links(namespace).get(device, {})
        ports.setdefault((link.get("ifindex", 0), namespace) if link else (0, f"{namespace} {device}"), []).append(port)
    double = [names for names in ports.values() if len(names) > 1]
    for names in double:
        yield Finding("port-device", "wrong", " and ".join(names),
                      f"both on {where(*facts.kernel_interfaces[names[0]])}", "one port per kernel interface",
                      "each port gets every frame: neighbors of one are learned by the other, and packets to them are "
                      "lost",
                      (f"kamuee delete port {names[-1]}",))
    if not double and ports:
        yield good("port-device", "ports", "each has a kernel interface of its own")
    elif not ports:
        yield absent("port-device", "ports", "none on a kernel interface")


def addressed(facts: Facts) -> Iterator[Finding]:
    """The kernel answers no ARP on a port's device: addresses there are useless."""
    seen = False
    for port, (device, namespace) in facts.kernel_interfaces.items():
        link = facts.links(namespace).get(device)
        if not link:
            continue
        seen = True
        addresses = [f"{a['local']}/{a['prefixlen']}" for a in link.get("addr_info", ()) if a.get("scope") == "global"]
        via = [route for route in facts.routes(namespace) if route.get("dst") == "default"
               and route.get("dev") == device]
        if via:
            yield Finding("port-addresses", "wrong", port, f"the default route uses its kernel interface {device}",
                          f"via {port}, or via another interface",
                          "the kernel sends there but gets no replies",
                          tuple(f"ip route del default via {route['gateway']} dev {device}" for route in via
                                if "gateway" in route))
        elif addresses:
            yield Finding("port-addresses", "advice", port, f"its kernel interface {device} has {', '.join(addresses)}",
                          f"on {port}",
                          "they cannot be reached there",
                          tuple(f"ip addr del {address} dev {device}; ip addr add {address} dev {port}"
                                for address in addresses))
        else:
            yield good("port-addresses", port, f"{device} has none of its own")
    if not seen:
        yield absent("port-addresses", "ports", "none on a kernel interface that is here")


def macs(facts: Facts) -> Iterator[Finding]:
    """Hosts learn the TAP's address; forwarders take the interface's."""
    for interface in facts.interfaces:
        link = facts.links(facts.namespace_of_vr(interface.get("vr", "default"))).get(interface["name"])
        if not link or not interface.get("mac"):
            continue
        if link.get("address") != interface["mac"]:
            yield Finding("mac", "wrong", interface["name"],
                          f"the TAP has {link.get('address')}, kamueed {interface['mac']}", "the same",
                          "frames to the TAP's address are dropped as ether_not_ours",
                          (f"ip link set {interface['name']} address {interface['mac']}",))
        else:
            yield good("mac", interface["name"], f"{interface['mac']}, also on its TAP")
    if not facts.interfaces:
        yield absent("mac", "interfaces", "kamueed is not running")


def foreign_routes(facts: Facts) -> Iterator[Finding]:
    """Routes by interfaces that are not kamueed's: it cannot forward to them."""
    ours = {interface["name"] for interface in facts.interfaces}
    if not ours:
        yield absent("routes", "kernel", "kamueed is not running")
        return
    best: dict[str, dict] = {}
    for route in facts.routes(""):
        if "gateway" in route and route.get("table", "main") == "main":
            known = best.get(route["dst"])
            if not known or route.get("metric", 0) < known.get("metric", 0):
                best[route["dst"]] = route
    away = [route for route in best.values() if route["dev"] not in ours]
    for route in away[:8]:
        yield Finding("routes", "wrong", route["dst"],
                      f"via {route['gateway']} dev {route['dev']}, which is not an interface of kamueed",
                      "via an interface of kamueed; put a management interface and its routes in its own namespace or "
                      "VRF",
                      "packets forwarded there are rejected: host unreachable")
    if not away:
        yield good("routes", "kernel", "all gateways are on interfaces of kamueed")


def vrfs(facts: Facts) -> Iterator[Finding]:
    """A virtual router with a table of its own is a VRF device in Linux, or its connected routes stay in the main
    table."""
    tables = {link["linkinfo"]["info_data"]["table"] for link in facts.links("").values()
              if link.get("linkinfo", {}).get("info_kind") == "vrf"
              and "table" in link["linkinfo"].get("info_data", {})}
    wanted = [(words[1], int(words[3])) for words in facts.config if words[:1] == ["vr"] and words[2:3] == ["table"]
              and len(words) == 4]
    for name, table in wanted:
        if facts.namespace_of_vr(name):
            continue
        if table in tables or table == 254:
            yield good("vrf", name, f"table {table}")
        else:
            yield Finding("vrf", "wrong", name, f"no VRF device has table {table}", "one",
                          "connected routes of its interfaces go to the main table, not to its own",
                          (f"ip link add {name} type vrf table {table}", f"ip link set {name} up"))
    if not wanted:
        yield absent("vrf", "configuration", "no virtual router has its own table")


def offload(facts: Facts) -> Iterator[Finding]:
    """Work that far ends leave to a card that does not exist."""
    for port in (facts.state or {}).get("port", []):
        seen = port.get("statistics", {})
        if seen.get("offload-cut"):
            yield Finding("offload", "wrong", port["name"], f"{seen['offload-cut']:,} segments longer than the link",
                          "none",
                          "the far end leaves segmentation to its NIC (TSO): segments that do not fit a frame are "
                          "lost, and connections hang or crawl",
                          ("# at the far end: ethtool -K DEV tso off gso off",))
        elif seen.get("checksum-completed"):
            yield good("offload", port["name"],
                       f"the far end leaves checksums to its NIC: {seen['checksum-completed']:,} completed here")
        else:
            yield good("offload", port["name"], "the far end sends complete packets")
    if not facts.state:
        yield absent("offload", "ports", "kamueed is not running")


def checksums(facts: Facts) -> Iterator[Finding]:
    """Punted packets that the kernel found damaged."""
    for namespace in sorted({facts.namespace_of_vr(vr) for vr in facts.routers}):
        received, damaged = facts.tcp(namespace)
        name = f"namespace {namespace}" if namespace else "kernel"
        if received is None:
            yield absent("checksums", name, "not reported by the kernel")
        elif damaged >= DAMAGED_LEAST and damaged * DAMAGED_SHARE > received:
            yield Finding("checksums", "wrong", name,
                          f"{damaged:,} of {received + damaged:,} TCP segments had a wrong checksum",
                          "almost none, since the namespace was created",
                          "the kernel drops them: sessions do not come up, or crawl")
        else:
            yield good("checksums", name, f"{damaged:,} of {received + damaged:,} TCP segments had a wrong checksum")


def gpu(facts: Facts) -> Iterator[Finding]:
    """The driver of a configured GPU: kamueed opens its library, which needs the kernel's module."""
    wanted = [words[1] for words in facts.config if words[:1] == ["gpu"] and words[2:3] == ["device"] and words[3:4] != ["emulated"]]
    library = any(facts.host.exists(f"{folder}/libcuda.so.1") for folder in LIBRARIES)
    for name in wanted:
        if library and facts.host.exists("/proc/driver/nvidia/version"):
            yield good("gpu", name, "NVIDIA's driver is there")
        else:
            yield Finding("gpu", "wrong", name, "the kernel's module of NVIDIA's driver is not loaded" if library else "there is no libcuda.so.1",
                          "NVIDIA's driver", "the GPU is not used, and the CPU looks up",
                          ("modprobe nvidia",) if library else ("# install NVIDIA's driver: its packages, or those of your distribution",))
    if not wanted:
        yield absent("gpu", "configuration", "no GPU is configured")


CHECKS = (Check("gpu", gpu), Check("port-device", one_device), Check("port-addresses", addressed), Check("mac", macs),
          Check("routes", foreign_routes), Check("vrf", vrfs),
          Check("offload", offload), Check("checksums", checksums))
