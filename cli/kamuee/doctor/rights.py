# SPDX-License-Identifier: BSD-3-Clause
"""Does kamueed have the rights that its configuration needs, and not root's? docs/features/rights.md has the table."""
from __future__ import annotations

from collections.abc import Iterator

from kamuee.doctor.facts import Facts, pci_of
from kamuee.doctor.finding import Check, Finding, absent, good

NUMBERS = {"CAP_NET_ADMIN": 12, "CAP_NET_RAW": 13, "CAP_IPC_LOCK": 14, "CAP_SYS_ADMIN": 21, "CAP_BPF": 39}
UNLIMITED = "unlimited"


def needed(facts: Facts) -> dict[str, str]:
    """Each capability that the configuration needs, with its purpose."""
    found = {"CAP_NET_ADMIN": "interfaces and routes", "CAP_NET_RAW": "packets"}
    in_namespaces = [f"vr {words[1]}" for words in facts.config if words[:1] == ["vr"] and len(words) > 1
                     and not facts.setting("vr", words[1], "table")]
    in_namespaces += [f"port {words[1]}" for words in facts.config
                      if words[:1] == ["port"] and words[2:3] == ["namespace"]]
    if in_namespaces:
        found["CAP_SYS_ADMIN"] = f"the network namespace of {in_namespaces[0]}"
    for port, devargs in sorted(facts.devices.items()):
        if "af_xdp" in devargs:
            found.setdefault("CAP_SYS_ADMIN", f"net_af_xdp of port {port}")
        if port in facts.kernel_interfaces or pci_of(devargs):
            found.setdefault("CAP_IPC_LOCK", f"the locked memory of port {port}")
    return found


def held(facts: Facts, process: str) -> tuple[int, int, bool, bool]:
    """uid, capabilities, whether memory may be locked without one, whether system calls are filtered."""
    said = dict(line.partition(":")[::2] for line in (facts.host.text(f"/proc/{process}/status") or "").split("\n"))
    limits = facts.host.text(f"/proc/{process}/limits") or ""
    locks = any(line.startswith("Max locked memory") and line.split()[3] == UNLIMITED for line in limits.split("\n"))
    return (int(said.get("Uid", "0").split()[0]), int(said.get("CapEff", "0").strip(), 16), locks,
            said.get("Seccomp", "").strip() == "2")


def process_of(facts: Facts) -> str | None:
    """kamueed's pid: the one that answers, otherwise one in this network namespace; another one is not ours."""
    if pid := (facts.state or {}).get("system", {}).get("pid"):
        return str(pid)
    here = facts.host.link("/proc/self/ns/net")
    return next((name for name in facts.host.names("/proc") if name.isdigit() and facts.host.text(f"/proc/{name}/comm") == "kamueed"
                 and facts.host.link(f"/proc/{name}/ns/net") == here), None)


def rights(facts: Facts) -> Iterator[Finding]:
    process = process_of(facts)
    if process is None:
        yield absent("rights", "kamueed", "not running")
        return
    uid, capabilities, locks, filtered = held(facts, process)
    missing = {name: why for name, why in needed(facts).items() if not capabilities >> NUMBERS[name] & 1
               and not (name == "CAP_IPC_LOCK" and locks)}
    for name, why in missing.items():
        yield Finding("rights", "wrong", "kamueed", f"{name} is missing", f"{name}, for {why}",
                      "it is refused when it is configured or attached",
                      (f"# in systemctl edit kamueed: AmbientCapabilities={name} and CapabilityBoundingSet={name}",))
    if uid == 0:
        yield Finding("rights", "advice", "kamueed", "runs as root", "as user kamuee",
                      "whoever takes it over has the machine", ("systemctl restart kamueed",))
    if not filtered:
        yield Finding("rights", "advice", "kamueed", "its system calls are not filtered", "seccomp",
                      "whoever takes it over may start programs")
    if uid and filtered and not missing:
        names = [name for name, number in NUMBERS.items() if capabilities >> number & 1]
        yield good("rights", "kamueed", f"uid {uid} with {' '.join(names)}")


CHECKS = (Check("rights", rights),)
