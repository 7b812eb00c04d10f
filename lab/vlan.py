# SPDX-License-Identifier: BSD-3-Clause
"""A host on a VLAN, or on one within another (QinQ): its interface speaks untagged to the host and tagged to the wire.

Where the kernel has the vlan link type, the veth gets another name and a vlan device takes its place.
Where it has not, two small eBPF classifiers (vlan_tag.bpf.c) push and pop the tags on the veth itself;
they are compiled once for each set of tags and kept in the run directory.
"""
import hashlib
import os
import shutil
from dataclasses import dataclass
from pathlib import Path

from kamuee.lab.errors import LabError
from kamuee.lab.netns import Namespace, sh

SOURCE = Path(__file__).with_name("vlan_tag.bpf.c")
COMPILERS = ("clang", "clang-16", "clang-15", "clang-14")


@dataclass(frozen=True)
class Tags:
    """The tags of frames: VLAN id `vlan`, and before it `outer` in a tag of type `tpid`."""
    vlan: int
    outer: int | None = None
    tpid: str = "0x88a8"

    def __str__(self) -> str:
        return f"{self.tpid}-{self.outer}.{self.vlan}" if self.outer else str(self.vlan)


def kernel_has_vlan(namespace: Namespace) -> bool:
    """Tries it: module names and configurations are less reliable."""
    try:
        namespace.ip("link add link lo name vlantest type vlan id 1")
    except LabError:
        return False
    namespace.ip("link del vlantest")
    return True


def compiled(tags: Tags, cache: Path) -> Path:
    """The classifiers for these tags as an object file."""
    digest = hashlib.sha256(SOURCE.read_bytes()).hexdigest()[:12]
    target = cache / f"vlan-{tags}-{digest}.o"
    installed = SOURCE.with_name(target.name)       # the package has the demo's, for machines without a compiler
    for made in (target, installed):
        if made.exists():
            return made
    compiler = next((name for name in COMPILERS if shutil.which(name)), None)
    if compiler is None:
        raise LabError("a host on a VLAN needs clang on this kernel, which has no vlan device: "
                       "apt-get install clang")
    cache.mkdir(parents=True, exist_ok=True)
    # Written under another name and moved: a second lab starting now must not load half an object.
    part = target.with_suffix(f".{os.getpid()}")
    outer = [f"-DOUTER_VLAN={tags.outer}", f"-DOUTER_TPID={tags.tpid}"] if tags.outer else []
    sh([compiler, "-O2", "-target", "bpf", f"-DVLAN={tags.vlan}", *outer,
        f"-I/usr/include/{os.uname().machine}-linux-gnu",
        "-c", str(SOURCE), "-o", str(part)])
    part.rename(target)
    return target


def add_devices(namespace: Namespace, under: str, name: str, tags: Tags) -> None:
    """The kernel's vlan device `name` on top of `under`, or two of them."""
    if tags.outer:
        outer = f"{under}.{tags.outer}"
        if not namespace.has_link(outer):
            protocol = "802.1ad" if tags.tpid == "0x88a8" else "802.1Q"
            namespace.ip(f"link add link {under} name {outer} type vlan protocol {protocol} id {tags.outer}")
            namespace.ip(f"link set dev {outer} up")
        under = outer
    namespace.ip(f"link add link {under} name {name} type vlan id {tags.vlan}")


def put_on_vlan(namespace: Namespace, interface: str, tags: Tags, cache: Path) -> None:
    """Put a veth that has no addresses yet on a VLAN; the name `interface` is the host's afterwards."""
    if kernel_has_vlan(namespace):
        under = f"{interface}u"
        namespace.ip_batch([f"link set dev {interface} down", f"link set dev {interface} name {under}",
                            f"link set dev {under} up"])
        add_devices(namespace, under, interface, tags)
        namespace.ip(f"link set dev {interface} up")
        return
    program = str(compiled(tags, cache))
    sh(["tc", "-n", namespace.name, "qdisc", "add", "dev", interface, "clsact"])
    for direction, section in (("egress", "tc/tag"), ("ingress", "tc/untag")):
        sh(["tc", "-n", namespace.name, "filter", "add", "dev", interface, direction, "bpf", "da", "obj",
            program, "sec", section])
