# SPDX-License-Identifier: BSD-3-Clause
"""Tests of the Debian packages in a bare Debian: no compiler, nothing of the source tree. Root, and a package mirror. `make package-test`.

The pytest process has a mount and network namespace of its own: what the tests mount and make dies with it.
"""
import ctypes
import os
import platform
import shutil
import subprocess
from pathlib import Path

import pytest

from packages import make_packages

ROOT = Path(__file__).resolve().parents[2]
CLONE_NEWNS = 0x20000
HERE = platform.freedesktop_os_release().get("VERSION_CODENAME")
SUITE = os.environ.get("SUITE") or HERE         # the Debian that packages are made for and installed in


def why_not() -> str | None:
    if os.geteuid() != 0:
        return "a root file system and network namespaces need root: sudo make package-test"
    if missing := [tool for tool in ("mmdebstrap", "dpkg-buildpackage", "dh_python3") if not shutil.which(tool)]:
        return f"{', '.join(missing)} not installed: make deps"
    return None


def pytest_configure() -> None:
    if why_not():
        return
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(CLONE_NEWNS):
        raise OSError(ctypes.get_errno(), "unshare: cannot make a private mount namespace")
    subprocess.run("mount --make-rprivate /", shell=True, check=True)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if (reason := why_not()) is None:
        return
    if os.environ.get("CI"):
        pytest.exit(reason, 1)
    for item in items:
        item.add_marker(pytest.mark.skip(reason=reason))


@pytest.fixture(scope="session")
def packages() -> Path:
    """The packages in DEBS=DIRECTORY, or new ones: from the build in BUILT=DIRECTORY, if that is given and SUITE is not another Debian."""
    if made := os.environ.get("DEBS"):
        return Path(made)
    if SUITE != HERE:
        return make_packages("--in", f"{SUITE}/amd64")
    return make_packages(*(["--built", os.environ["BUILT"]] if "BUILT" in os.environ else []))


@pytest.fixture(scope="session")
def image(packages: Path, tmp_path_factory: pytest.TempPathFactory):
    """That of IMAGE=FILE, or made once, for all tests of containers."""
    from container import Image, make_image
    # crun refuses a host that has controllers of both versions of cgroups; the containers of the tests have none. Here it sees version 2 alone.
    subprocess.run("mount -t cgroup2 cgroup2 /sys/fs/cgroup", shell=True, check=True)
    folder = tmp_path_factory.mktemp("image")
    return Image(Path(os.environ["IMAGE"]) if os.environ.get("IMAGE") else make_image(packages, folder, "--suite", SUITE), folder)
