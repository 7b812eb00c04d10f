# SPDX-License-Identifier: BSD-3-Clause
"""Packages of Debian: those that a suite needs, and a view of the archive beside the machine's own."""
import os
import subprocess
from pathlib import Path


def told(*command: str) -> str:
    return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout.strip()


def installed(*packages: str) -> str:
    """Installs the packages that are missing; returns the versions of all."""
    query = ("dpkg-query", "-W", "-f", "${Version} ", *packages)
    if subprocess.run(query, capture_output=True).returncode:
        subprocess.run(["apt-get", "-q", "-y", "install", "--no-install-recommends", *packages], check=True, stdout=subprocess.DEVNULL)
    return "+".join(told(*query).split())


def apt_beside(apt: Path, source: str) -> dict[str, str]:
    """The environment of an apt-get with the machine's mirrors and keys, but lists of its own: lines like `source`, a format of indextargets."""
    for directory in ("lists/partial", "archives/partial"):
        (apt / directory).mkdir(parents=True, exist_ok=True)
    lines = told("apt-get", "indextargets", "Created-By: Packages", "--format", source).split("\n")
    (apt / "sources.list").write_text("\n".join(dict.fromkeys(lines)) + "\n")
    (apt / "apt.conf").write_text("".join(f'{name} "{value}";\n' for name, value in {
        "Dir::Etc::sourcelist": apt / "sources.list", "Dir::Etc::sourceparts": "-", "Dir::State::lists": apt / "lists",
        "Dir::Cache::archives": apt / "archives", "Dir::Cache::pkgcache": "", "Dir::Cache::srcpkgcache": "",
        "APT::Sandbox::User": "root"}.items()))
    env = {**os.environ, "APT_CONFIG": str(apt / "apt.conf")}
    subprocess.run(["apt-get", "-q", "update"], check=True, env=env, stdout=subprocess.DEVNULL)
    return env
