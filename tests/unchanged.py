# SPDX-License-Identifier: BSD-3-Clause
"""What passed and has not changed since: tests are known by a hash of everything that they may read.

A hash covers the program of a test, the files among its arguments, the files of the tree that it may look at, the versions that the build
found, the kernel, and the environment that tests look at. A test whose hash is unknown is run, so a hash may cover too much, never too little.
"""
import hashlib
import json
import os
import subprocess
from collections.abc import Iterable
from fnmatch import fnmatch
from functools import lru_cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
# Scripts that look at a part of the tree, or of the build, alone; the others are run again after any change.
SCRIPT_READS = {
    "bench": ("bench/", "cli/", "lab/", "docs/", "build:bench/tester", "build:bench/queue_bench", "build:bench/queue_load",
              "build:bench/dpdk/librte_net_replay.so"),
    "bench-paper": ("bench/", "cli/", "lab/", "docs/", "build:bench/path_bench"),
    "headers": ("src/*.h", "compiler/*.h", "tools/check-layers"),
    "check-arm64": ("src/data/poptrie/", "src/base/", "tools/cross/", "tools/check-arm64", "tests/"),
    "conformance": ("tests/", "docs/conformance.md", "tools/conformance", "lab/"),
    "yang": ("yang/",),
}
# Files of the tree that unit and path tests read as they run.
UNIT_READS = ("yang/", "web/", "programs/", "deploy/", "tests/fuzz/corpus/")


@lru_cache(maxsize=None)
def content(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest() if file.is_file() else ""


@lru_cache(maxsize=None)
def files(root: Path) -> tuple[str, ...]:
    """The files of the tree: what git tracks or does not ignore, else all but build directories and hidden ones."""
    said = subprocess.run(["git", "-C", str(root), "-c", "safe.directory=*", "ls-files", "-z", "-co", "--exclude-standard"], capture_output=True, text=True)
    if said.returncode == 0:
        return tuple(sorted(name for name in said.stdout.split("\0") if name))
    return tuple(sorted(str(path.relative_to(root)) for path in root.rglob("*") if path.is_file() and not any(
        part.startswith((".", "build")) or part == "__pycache__" for part in path.relative_to(root).parts)))


def tree(root: Path, only: Iterable[str] = (), without: Iterable[str] = (), but: tuple[str, ...] = ()) -> str:
    """Hash of the files that begin or match with `only` (all, if it is empty), less those that begin with `without` or end with `but`."""
    only, without = tuple(only), tuple(without)
    found = hashlib.sha256()
    for name in files(root):
        wanted = not only or name.startswith(only) or any(fnmatch(name, one) for one in only if "*" in one)
        if wanted and not name.startswith(without) and not name.endswith(but):
            found.update(f"{name}\0{content(root / name)}\0".encode())
    return found.hexdigest()


class Remembered:
    """{name of a test: hash with which it passed}, in a file of the build directory."""

    def __init__(self, file: Path, fresh: bool):
        self.file = file
        self.known: dict[str, str] = {}
        if not fresh:
            try:
                self.known = json.loads(file.read_text())
            except (OSError, ValueError):
                pass                                # the first run, or one that was cut off
        given = sorted(item for item in os.environ.items() if item[0].startswith(("KAMUEE_", "RIB_", "FIXTURE_")))
        self.system = f"{os.uname()[2:]} {os.geteuid()} {given}"

    def has(self, name: str, key: str) -> bool:
        return self.known.get(name) == self._whole(key)

    def put(self, name: str, key: str, passed: bool) -> None:
        if passed:
            self.known[name] = self._whole(key)
        else:
            self.known.pop(name, None)

    def save(self) -> None:
        self.file.write_text(json.dumps(self.known, indent=0, sort_keys=True))

    def _whole(self, key: str) -> str:
        return hashlib.sha256(f"{key} {self.system}".encode()).hexdigest()

    @staticmethod
    def key_of_test(test: dict, build: Path) -> str:
        """Of one of `meson introspect --tests`."""
        told = [json.dumps([test["cmd"], test["env"]], sort_keys=True), content(build / "meson-info" / "intro-dependencies.json")]
        for word in map(Path, test["cmd"]):
            told += [f"{file}={content(file)}" for file in (sorted(word.rglob("*")) if word.is_dir() else [word]) if file.is_file()]
        outputs = _outputs(build)
        told += [content(Path(file)) for target in test["depends"] for file in outputs.get(target, ())]
        if "kamuee:lint" in test["suite"] or not Path(test["cmd"][0]).is_relative_to(build):
            reads = SCRIPT_READS.get(test["name"], ())
            told.append(tree(ROOT, (name for name in reads if not name.startswith("build:"))))
            told += [content(build / name.removeprefix("build:")) for name in reads if name.startswith("build:")]
        else:
            told.append(tree(ROOT, UNIT_READS))
        return hashlib.sha256("\0".join(told).encode()).hexdigest()


@lru_cache(maxsize=None)
def _outputs(build: Path) -> dict[str, list[str]]:
    return {target["id"]: target["filename"] for target in json.loads((build / "meson-info" / "intro-targets.json").read_text())}
