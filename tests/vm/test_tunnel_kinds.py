# SPDX-License-Identifier: BSD-3-Clause
"""tests/e2e/test_tunnel_linux.py in the machine: Debian's kernel has tunnels of each kind, the kernel of the other tests may have none."""
import importlib
import io
import re
import tarfile
from pathlib import Path

from vm import BUILD, LIFE_S, ROOT

CARDS: list[str] = []
KINDS = ("ipip", "sit", "gre", "grekey", "gre6", "tnl6", "vx4", "vx6")
MODULES = "ip_gre ip6_gre ipip sit ip6_tunnel vxlan fou veth bridge"
# The other tests check timing, not kernel features. All of them take ten minutes.
SOME = "-k 'forwards or addresses or ospf or left or ends or ipsec'"
# pytest and scapy, of this machine: all of it is Python.
PYTEST = ("pytest", "scapy", "_pytest", "pluggy", "iniconfig", "packaging", "attr", "py")


def files() -> bytes:
    """The tests, the lab and the libraries that they use, and what tests look for beside kamueed in its build directory."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as tar:
        for name in ("tests/e2e", "tests/slow", "tests/unchanged.py", "cli", "kamuee"):
            tar.add(ROOT / name, f"kamuee/{name}", filter=lambda member: None if "__pycache__" in member.name else member)
        tar.add(BUILD / "src/main/kamuee-netns", "kamuee/build/src/main/kamuee-netns")
        for name in PYTEST:
            tar.add(Path(importlib.import_module(name).__file__).parent, f"kamuee/site/{name}",
                    filter=lambda member: None if "__pycache__" in member.name else member)
    return packed.getvalue()


def test_tunnels_of_every_kind_are_taken_over_on_a_kernel_that_has_them(vm):
    vm.put("/tmp/files.tgz", files())
    vm.run(f"cd /root && tar xzf /tmp/files.tgz && modprobe -a {MODULES} && cp $(command -v kamueed) kamuee/build/")
    said = vm.run("cd /root/kamuee && PYTHONPATH=/root/kamuee/site KAMUEED=/root/kamuee/build/kamueed "
                  f"python3 -m pytest -v -rs -p no:cacheprovider {SOME} tests/e2e/test_tunnel_linux.py 2>&1",
                  check=False, timeout_s=LIFE_S).out
    tail = said[-6000:]
    assert re.search(r"\d+ passed", tail) and not re.search(r"\d+ (failed|error)", tail), said[-12000:]
    missing = [kind for kind in KINDS if f"forwards_without_the_kernel[{kind}] PASSED" not in said]
    assert not missing, f"{missing} were not tried: {tail}"
