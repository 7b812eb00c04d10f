# SPDX-License-Identifier: BSD-3-Clause
"""Tests in a virtual machine: Debian's kernel, systemd as PID 1, PCI cards under vfio. Root; no hardware support needed. `make vm-test`.

Each file has one machine for all its tests, with the cards that the file's CARDS says, and the kernel that its KERNEL says. The pytest
process has a mount and network namespace of its own: nothing collides with the machine it runs on or with another run, and what a killed run leaves
dies with it.
"""
import ctypes
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "cli"), str(Path(__file__).parent)]

from kamuee.lab.vm.machine import make_image                                        # noqa: E402
from router import Router                                                       # noqa: E402
from vm import BUILD, Vm                                                        # noqa: E402

CLONE_NEWNS, CLONE_NEWNET = 0x20000, 0x40000000


def why_not() -> str | None:
    if os.geteuid() != 0:
        return "the machine's cards end in network namespaces, which needs root: sudo make vm-test"
    if missing := [tool for tool in ("qemu-system-x86_64", "qemu-img", "mmdebstrap") if not shutil.which(tool)]:
        return f"{', '.join(missing)} not installed: make deps"
    return None


def pytest_configure() -> None:
    if why_not():
        return
    make_image(BUILD / "vm")                                                    # while there is a network
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(CLONE_NEWNS | CLONE_NEWNET):
        raise OSError(ctypes.get_errno(), "unshare: cannot make a private mount and network namespace")
    subprocess.run("mount --make-rprivate / && ip link set lo up", shell=True, check=True)
    for directory in ("/run/netns", "/var/run/frr", "/etc/frr"):            # FRR speaks at far ends
        subprocess.run(f"mkdir -p {directory} && mount -t tmpfs tmpfs {directory}", shell=True, check=True)
    subprocess.run("chown frr:frr /var/run/frr /etc/frr", shell=True)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if (reason := why_not()) is None:
        return
    if os.environ.get("CI"):
        pytest.exit(reason, 1)
    for item in items:
        item.add_marker(pytest.mark.skip(reason=reason))


@pytest.fixture(scope="module")
def vm(request: pytest.FixtureRequest):
    name = request.module.__name__.removeprefix("test_")
    logs = BUILD / "vm" / "log"
    logs.mkdir(parents=True, exist_ok=True)
    vm = Vm(f"vm-{name}", request.module.CARDS, log=logs / f"{name}.console", kernel=getattr(request.module, "KERNEL", ""))
    yield vm
    (logs / f"{name}.journal").write_text(vm.run("journalctl -b --no-pager", check=False).out)
    vm.end()


@pytest.fixture(scope="module")
def router(vm: Vm):
    vm.run("systemd-sysusers kamuee.conf && systemd-tmpfiles --create kamuee.conf && systemctl restart systemd-udevd && systemctl daemon-reload")
    router = Router(vm)
    yield router
    router.close()


@pytest.fixture(autouse=True)
def end_of_every_test(request: pytest.FixtureRequest):
    """No packet disappeared without a reason."""
    yield
    if "router" in request.fixturenames:
        router = request.getfixturevalue("router")
        if router.is_there():
            router.assert_ledger()
