# SPDX-License-Identifier: BSD-3-Clause
"""A host on a VLAN: its interface speaks untagged to the host and tagged to the wire.

Where the kernel has the vlan link type, the veth gets another name and a vlan device takes its place.
Where it has not, two small eBPF classifiers (vlan_tag.bpf.c) push and pop the tag on the veth itself;
they are compiled once for each VLAN id and kept in the run directory.
"""
import hashlib
import os
import shutil
from pathlib import Path

from kamuee.lab.errors import LabError
from kamuee.lab.netns import Namespace, sh

SOURCE = Path(__file__).with_name("vlan_tag.bpf.c")
COMPILERS = ("clang", "clang-16", "clang-15", "clang-14")


def kernel_has_vlan(namespace: Namespace) -> bool:
    """Try it: module names and configurations tell less."""
    try:
        namespace.ip("link add link lo name vlantest type vlan id 1")
    except LabError:
        return False
    namespace.ip("link del vlantest")
    return True


def compiled(vlan: int, cache: Path) -> Path:
    """The classifiers for a VLAN id as an object file."""
    digest = hashlib.sha256(SOURCE.read_bytes()).hexdigest()[:12]
    target = cache / f"vlan-{vlan}-{digest}.o"
    if target.exists():
        return target
    compiler = next((name for name in COMPILERS if shutil.which(name)), None)
    if compiler is None:
        raise LabError("a host on a VLAN needs clang on this kernel, which has no vlan device: "
                       "apt-get install clang")
    cache.mkdir(parents=True, exist_ok=True)
    # Written under another name and moved: a second lab starting now must not load half an object.
    part = target.with_suffix(f".{os.getpid()}")
    sh([compiler, "-O2", "-target", "bpf", f"-DVLAN={vlan}", f"-I/usr/include/{os.uname().machine}-linux-gnu",
        "-c", str(SOURCE), "-o", str(part)])
    part.rename(target)
    return target


def put_on_vlan(namespace: Namespace, interface: str, vlan: int, cache: Path) -> None:
    """Put a veth that has no addresses yet on a VLAN; the name `interface` is the host's afterwards."""
    if kernel_has_vlan(namespace):
        under = f"{interface}u"
        namespace.ip_batch([f"link set dev {interface} down", f"link set dev {interface} name {under}",
                            f"link set dev {under} up",
                            f"link add link {under} name {interface} type vlan id {vlan}",
                            f"link set dev {interface} up"])
        return
    program = str(compiled(vlan, cache))
    sh(["tc", "-n", namespace.name, "qdisc", "add", "dev", interface, "clsact"])
    for direction, section in (("egress", "tc/tag"), ("ingress", "tc/untag")):
        sh(["tc", "-n", namespace.name, "filter", "add", "dev", interface, direction, "bpf", "da", "obj",
            program, "sec", section])
