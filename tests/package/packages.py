# SPDX-License-Identifier: BSD-3-Clause
"""Debian packages that tests install."""
import os
import platform
import shutil
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# The first release that is upgraded from: 0.9.1, or, on Debian 13, 0.10.0, the first one for it. KAMUEE_RELEASE names another commit.
RELEASE = os.environ.get("KAMUEE_RELEASE") or {"bookworm": "90f578133be4b3675917d305f00dca023ad87d6b"}.get(
    platform.freedesktop_os_release().get("VERSION_CODENAME"), "v0.10.0")


def make_packages(*options: str | Path, tree: Path = ROOT) -> Path:
    """Their directory, by tools/make-deb: without LTO where nobody asked for more, which takes a third of the time."""
    done = subprocess.run([tree / "tools/make-deb", *options, tree / "build-deb"], stdout=subprocess.PIPE, text=True,
                          env={"DEB_BUILD_OPTIONS": "nolto", **os.environ})
    assert not done.returncode, "tools/make-deb failed, see above"
    return Path(done.stdout.strip())


def release_packages() -> Path:
    """Those of RELEASE, made once, in a clone."""
    clone = ROOT / "build-deb" / RELEASE
    if not (clone / "tools/make-deb").exists():
        shutil.rmtree(clone, ignore_errors=True)
        subprocess.run(["git", "-c", "safe.directory=*", "clone", "-q", "--no-checkout", ROOT, clone], check=True)
        subprocess.run(["git", "-C", clone, "checkout", "-q", RELEASE], check=True)
    return make_packages(tree=clone)


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
