# SPDX-License-Identifier: BSD-3-Clause
"""Debian packages that tests install."""
import os
import shutil
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def make_packages(*options: str | Path) -> Path:
    """Their directory, by tools/make-deb: without LTO where nobody asked for more, which takes a third of the time."""
    done = subprocess.run([ROOT / "tools/make-deb", *options, ROOT / "build-deb"], stdout=subprocess.PIPE, text=True,
                          env={"DEB_BUILD_OPTIONS": "nolto", **os.environ})
    assert not done.returncode, "tools/make-deb failed, see above"
    return Path(done.stdout.strip())


def newer_version(packages: Path, name: str, target: Path) -> Path:
    """The package as the next revision would be."""
    package = next(packages.glob(f"{name}_*.deb"))
    tree = target / name
    subprocess.run(["dpkg-deb", "-R", package, tree], check=True)
    control = tree / "DEBIAN/control"
    text = control.read_text()
    version = next(line.split()[1] for line in text.splitlines() if line.startswith("Version:"))
    control.write_text(text.replace(version, f"{version}+next"))
    subprocess.run(["dpkg-deb", "--root-owner-group", "-b", tree, target], check=True, stdout=subprocess.DEVNULL)
    shutil.rmtree(tree)
    return next(target.glob(f"{name}_*+next_*.deb"))
