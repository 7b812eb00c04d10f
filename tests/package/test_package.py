# SPDX-License-Identifier: BSD-3-Clause
"""From nothing to a router with packages alone: install, demo, upgrade, purge, in the order of this file."""
import json
import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pytest

from conftest import ROOT, SUITE
from packages import newer_version

ROUTES = os.environ.get("ROUTES", "60000")
OURS = ("kamuee", "kamuee-tools", "kamuee-snmp", "kamuee-proxy", "kamuee-bench", "kamuee-doc")
CONFIGURATION = "set vr blue description kept\n"


class Bare:
    """A bare Debian in a directory; `sh` runs a command in it."""
    def __init__(self, root: Path, packages: Path):
        self.root, self.packages = root, packages
        self.made = 0.0     # seconds that making it took

    def sh(self, command: str, check: bool = True, timeout: float = 300) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(["chroot", self.root, "/bin/sh", "-c", command], text=True, capture_output=True, timeout=timeout,
                              env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "DEBIAN_FRONTEND": "noninteractive", "LC_ALL": "C.UTF-8", "HOME": "/root"})
        assert not check or not done.returncode, f"{command}: exit code {done.returncode}\n{done.stdout[-4000:]}\n{done.stderr[-4000:]}"
        return done

    def has(self, path: str) -> bool:
        return os.path.lexists(self.root / path.lstrip("/"))


def make_debian(root: Path) -> float:
    """A bare Debian; the seconds that it took."""
    begun = time.monotonic()
    subprocess.run(["mmdebstrap", "--quiet", "--mode=root", "--variant=minbase", "--format=directory", "--skip=cleanup/apt/lists",
                    "--include=ca-certificates", "--aptopt=Acquire::Retries \"5\"", "--dpkgopt=force-unsafe-io", SUITE, root], check=True)
    return time.monotonic() - begun


@pytest.fixture(scope="session")
def debian(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Future[float]]:
    """Asked for before the packages, so that both are made at once."""
    folder = tmp_path_factory.mktemp("bare")
    folder.chmod(0o755)
    return folder / "root", ThreadPoolExecutor(1).submit(make_debian, folder / "root")


@pytest.fixture(scope="module")
def bare(debian: tuple[Path, Future[float]], packages: Path) -> Iterator[Bare]:
    root, making = debian
    made = making.result()
    begun = time.monotonic()
    subprocess.run(["mount", "--bind", root, root], check=True)     # ip netns exec remounts /, which must be a mount point
    for kind, at in (("proc", "proc"), ("sysfs", "sys"), ("tmpfs", "run")):
        subprocess.run(["mount", "-t", kind, kind, root / at], check=True)
    subprocess.run(["mount", "--rbind", "/dev", root / "dev"], check=True)
    (root / "debs").mkdir()
    for package in packages.glob("*.deb"):
        shutil.copy(package, root / "debs")
    shutil.copy("/etc/resolv.conf", root / "etc/resolv.conf")
    there = Bare(root, packages)
    there.made = made + time.monotonic() - begun
    yield there
    subprocess.run(["umount", "-R", root / "dev"])
    for at in ("run", "sys", "proc", ""):
        subprocess.run(["umount", "-l", root / at])


def test_install_without_a_compiler(bare: Bare):
    begun = time.monotonic()
    version = next(bare.packages.glob("kamuee_*.deb")).name.split("_")[1]
    bare.sh("apt-get -q -y install /debs/kamuee_*.deb /debs/kamuee-tools_*.deb", timeout=600)
    bare.made += time.monotonic() - begun
    assert bare.sh("command -v gcc cc clang meson", check=False).stdout == ""
    assert bare.sh("kamueed --version").stdout.startswith(f"kamueed {version.split('-')[0]}")
    assert bare.sh("dpkg-query -W -f='${Version}' kamuee").stdout == version
    groups = bare.sh("getent group kamuee kamuee-oper kamuee-read").stdout
    assert len(groups.splitlines()) == 3
    assert bare.sh("stat -c %a /etc/kamuee").stdout.strip() == "750"
    assert bare.has("/usr/lib/systemd/system/kamueed.service") or bare.has("/lib/systemd/system/kamueed.service")
    assert bare.has("/etc/systemd/system/multi-user.target.wants/kamueed.service")
    help_ = bare.sh("kamuee --help").stdout
    assert "show" in help_


def test_the_bill_of_materials_names_what_is_linked(bare: Bare):
    bill = json.loads((bare.root / "usr/share/kamuee/sbom.spdx.json").read_text())
    version = {package["name"]: package["versionInfo"] for package in bill["packages"]}
    for start in ("librte-eal", "libyang", "libssl3", "libc6"):    # the rest of a name is the Debian's
        (name,) = (each for each in version if each.startswith(start))
        assert version[name] in bare.sh(f"dpkg-query -W -f '${{Version}}' {name}").stdout
    assert bill["spdxVersion"] == "SPDX-2.3" and "kamuee" in version


def test_the_daemon_runs_without_the_tools(bare: Bare):
    depends = bare.sh("dpkg-query -W -f='${Depends}' kamuee").stdout
    assert "kamuee-tools" not in depends and "python3" not in depends
    assert "kamuee-tools" in bare.sh("dpkg-query -W -f='${Recommends}' kamuee").stdout


def test_demo(bare: Bare):
    begun = time.monotonic()
    done = bare.sh(f"kamuee demo start --routes {ROUTES} --json", check=False, timeout=600)
    took = time.monotonic() - begun
    try:
        assert not done.returncode, done.stdout[-3000:] + done.stderr[-3000:]
        summary = json.loads(done.stdout)
        assert summary["problems"] == []
        assert int(ROUTES) <= summary["routes"] <= int(ROUTES) + 100
    finally:
        bare.sh("kamuee demo stop", check=False)
    print(f"\nfrom nothing to a router with {summary['routes']:,} routes without compiling: {bare.made + took:.0f} s "
          f"(Debian and packages {bare.made:.0f} s, demo {took:.0f} s)")


def test_upgrade_keeps_the_configuration(bare: Bare, tmp_path: Path):
    (bare.root / "etc/kamuee/kamuee.conf").write_text(CONFIGURATION)
    (bare.root / "var/lib/kamuee").mkdir(exist_ok=True)
    (bare.root / "var/lib/kamuee/kept").write_text("state")
    for name in ("kamuee", "kamuee-tools"):
        shutil.copy(newer_version(bare.packages, name, tmp_path), bare.root / "debs")
    bare.sh("apt-get -q -y install /debs/kamuee_*+next_*.deb /debs/kamuee-tools_*+next_*.deb")
    assert bare.sh("dpkg-query -W -f='${Version}' kamuee").stdout.endswith("+next")
    assert (bare.root / "etc/kamuee/kamuee.conf").read_text() == CONFIGURATION
    assert (bare.root / "var/lib/kamuee/kept").read_text() == "state"
    assert bare.sh("kamueed --version").stdout


def test_bench_is_a_package(bare: Bare):
    if ROUTES != "60000":
        pytest.skip("numpy and matplotlib are not needed for the demo alone")
    missing = bare.sh("kamuee bench", check=False)
    assert missing.returncode == 1 and "apt install kamuee-bench" in missing.stderr
    listed = bare.sh("dpkg-deb -c /debs/kamuee-bench_*.deb").stdout
    assert "./usr/libexec/kamuee/bench/forward_bench" in listed and "./usr/share/kamuee/bench/commands/fib.py" in listed
    assert "_test.py" not in listed


def test_purge_leaves_nothing(bare: Bare):
    files = [path for name in ("kamuee", "kamuee-tools") for path in bare.sh(f"dpkg -L {name}").stdout.split("\n") if "kamuee" in path]
    assert len(files) > 100
    bare.sh("apt-get -q -y purge kamuee kamuee-tools")
    assert [path for path in files if bare.has(path)] == []
    left = bare.sh("find / -xdev -name '*kamuee*' -not -path '/debs/*' -not -path '/var/cache/apt/*' -not -path '/proc/*' -not -path '/sys/*'").stdout
    assert left == ""


def test_lintian(packages: Path):
    changes = next(packages.glob("kamuee_*.changes"))
    done = subprocess.run(["lintian", "--allow-root", "--fail-on", "warning", "--suppress-tags-from-file", ROOT / "debian/lintian-suppressed",
                           changes], capture_output=True, text=True)
    assert not done.returncode, done.stdout + done.stderr
