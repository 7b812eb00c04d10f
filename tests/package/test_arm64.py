# SPDX-License-Identifier: BSD-3-Clause
"""The packages for 64-bit ARM: made by a cross compiler, their programs run by QEMU in the Debian that has them."""
import os
import re
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from conftest import ROOT
from container import Image, make_image, run
from packages import make_packages

IN = "bookworm/arm64"


@pytest.fixture(scope="module")
def packages_arm64() -> Path:
    """The packages in DEBS_ARM64=DIRECTORY, or new ones."""
    if made := os.environ.get("DEBS_ARM64"):
        return Path(made)
    return make_packages("--in", IN)


@pytest.fixture(scope="module")
def program(packages_arm64: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable]:
    """Runs an installed program, over a layer that ends with the test."""
    folder = tmp_path_factory.mktemp("arm64")
    for part in ("upper", "work", "root"):
        (folder / part).mkdir()
    base, root = ROOT / "build-deb" / f"root-{IN.replace('/', '-')}", folder / "root"
    run("mount", "-t", "overlay", "-o", f"lowerdir={base},upperdir={folder}/upper,workdir={folder}/work", "arm64", root)
    run("mount", "-t", "proc", "proc", root / "proc")
    package = next(packages_arm64.glob("kamuee_*_arm64.deb"))
    run("sh", "-c", f"dpkg-deb --fsys-tarfile {package} | tar -C {root} --keep-directory-symlink -xf -")
    yield lambda name, *words, **more: run("chroot", root, "qemu-aarch64", name, *words, **more)
    run("umount", root / "proc")
    run("umount", root)


def test_all_packages_are_there(packages_arm64: Path):
    names = {file.name.split("_")[0] for file in packages_arm64.glob("*_arm64.deb")}
    assert names >= {"kamuee", "kamuee-bench"}


def test_kamueed_starts(program: Callable):
    assert re.match(r"kamueed \d+\.\d+\.\d+", program("/usr/sbin/kamueed", "--version").stdout)


def test_it_checks_a_configuration(program: Callable, tmp_path: Path):
    assert "the configuration is valid" in program("/usr/sbin/kamueed", "--check", "--config", "/usr/share/doc/kamuee/examples/kamuee.conf.example").stdout


def test_the_bill_of_materials_is_of_its_libraries(program: Callable, packages_arm64: Path):
    bill = subprocess.run(["sh", "-c", f"dpkg-deb --fsys-tarfile {next(packages_arm64.glob('kamuee_*_arm64.deb'))} | "
                           "tar -xOf - ./usr/share/kamuee/sbom.spdx.json"], capture_output=True, text=True, check=True).stdout
    assert "pkg:deb/debian/libc6" in bill and "arch=arm64" in bill and "arch=amd64" not in bill


def test_the_image_runs(packages_arm64: Path, tmp_path: Path):
    image = Image(make_image(packages_arm64, tmp_path, "--bare", "--suite", IN.partition("/")[0], "--architecture", "arm64"), tmp_path)
    assert image.architecture == "arm64"
    assert run("chroot", image.root, "uname", "-m").stdout == "aarch64\n"
    assert re.match(r"kamueed \d+\.\d+\.\d+", run("chroot", image.root, "kamueed", "--version").stdout)
    assert "show" in run("chroot", image.root, "kamuee", "--help").stdout
