# SPDX-License-Identifier: BSD-3-Clause
"""End-to-end tests of Linux's tunnels, WireGuard and IPsec in the machine: Debian's kernel has them, the kernel of the other tests may not."""
import importlib
import io
import re
import tarfile
from pathlib import Path

import pytest

from vm import BUILD, LIFE_S, ROOT

CARDS: list[str] = []
KINDS = ("ipip", "sit", "gre", "grekey", "gre6", "tnl6", "vx4", "vx6")
MODULES = "ip_gre ip6_gre ipip sit ip6_tunnel vxlan fou veth bridge wireguard esp4 xfrm_user"
# The other tests check timing, not kernel features. All of them take ten minutes.
SOME = "-k 'forwards or addresses or ospf or left or ends or ipsec'"
# pytest and scapy, of this machine: all of it is Python.
PYTEST = ("pytest", "scapy", "_pytest", "pluggy", "iniconfig", "packaging", "attr", "py")


def files() -> bytes:
    """The tests, the lab and the libraries that they use, and what tests look for beside kamueed in its build directory."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as tar:
        for name in ("tests/e2e", "tests/slow", "tests/unchanged.py", "cli", "lab", "kamuee", "docs/quickstart/beside.md"):
            tar.add(ROOT / name, f"kamuee/{name}", filter=lambda member: None if "__pycache__" in member.name else member)
        tar.add(BUILD / "src/main/kamuee-netns", "kamuee/build/src/main/kamuee-netns")
        for name in PYTEST:
            tar.add(Path(importlib.import_module(name).__file__).parent, f"kamuee/site/{name}",
                    filter=lambda member: None if "__pycache__" in member.name else member)
    return packed.getvalue()


@pytest.fixture(scope="module")
def machine(vm):
    vm.put("/tmp/files.tgz", files())
    vm.put("/usr/local/bin/wg", Path("/usr/bin/wg").read_bytes(), 0o755)
    vm.run(f"cd /root && tar xzf /tmp/files.tgz && modprobe -a {MODULES} && cp $(command -v kamueed) kamuee/build/")
    return vm


def run(machine, which: str) -> str:
    """What pytest says of its tests there, all of which pass."""
    said = machine.run("cd /root/kamuee && PYTHONPATH=/root/kamuee/site KAMUEED=/root/kamuee/build/kamueed "
                       f"python3 -m pytest -v -rs -p no:cacheprovider {which} 2>&1", check=False, timeout_s=LIFE_S).out
    assert re.search(r"\d+ passed", said[-6000:]) and not re.search(r"\d+ (failed|error)", said[-6000:]), said[-12000:]
    return said


def test_tunnels_of_every_kind_are_taken_over_on_a_kernel_that_has_them(machine):
    said = run(machine, f"{SOME} tests/e2e/test_tunnel_linux.py")
    missing = [kind for kind in KINDS if f"forwards_without_the_kernel[{kind}] PASSED" not in said]
    assert not missing, f"{missing} were not tried: {said[-6000:]}"


def test_wireguard_and_ipsec_work_as_the_page_says(machine):
    said = run(machine, "-k 'wireguard or ipsec' tests/e2e/test_beside.py")
    assert " 4 passed" in said[-6000:] and "skipped" not in said[-6000:].splitlines()[-1], said[-6000:]
