# SPDX-License-Identifier: BSD-3-Clause
"""Groups of tests that are long by nature: groups.yaml has the files that each covers, `passed` the tree that each last passed on."""
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import yaml

from unchanged import files, tree

FOLDER = Path(__file__).parent
PASSED_HEAD = """# SPDX-License-Identifier: BSD-3-Clause
# Slow groups of tests: a hash of the files that each covers (tests/slow/groups.yaml), and when it last passed. Written by `make test-all`.
"""


@dataclass(frozen=True)
class Group:
    name: str
    marked: bool                # end-to-end tests with a mark of this name
    pytest: tuple[str, ...]     # else the arguments of pytest
    covers: tuple[str, ...]     # paths, without their ends


class Groups:
    def __init__(self, root: Path):
        self.root = root
        said = yaml.safe_load((FOLDER / "groups.yaml").read_text())
        self.groups = {name: Group(name, "pytest" not in group, tuple(group.get("pytest", "").split()), tuple(group["covers"].split()))
                       for name, group in said.items()}

    def __iter__(self) -> Iterator[str]:
        return iter(self.groups)

    def __getitem__(self, name: str) -> Group:
        return self.groups[name]

    @staticmethod
    def marks() -> list[str]:
        """Of the groups that are end-to-end tests."""
        return [name for name, group in Groups(FOLDER.parents[1]).groups.items() if group.marked]

    @staticmethod
    def without_slow(but: list[str]) -> str:
        """For pytest's -m: the end-to-end tests of no slow group but these."""
        left_out = [name for name in Groups.marks() if name not in but]
        return f"not ({' or '.join(left_out)})" if left_out else ""

    @staticmethod
    def chosen(names: list[str]) -> str:
        """For pytest's -m: the end-to-end tests of these slow groups alone."""
        return " or ".join(name for name in Groups.marks() if name in names) or "none"

    def hash(self, name: str) -> str:
        """Of the files that a group covers, but unit tests."""
        return tree(self.root, self.groups[name].covers, but=("_test.c", "_fuzz.c"))

    def _recorded(self) -> dict[str, tuple[str, str]]:
        """{group: (hash of the files that it last passed on, when)}"""
        try:
            lines = (FOLDER / "passed").read_text().splitlines()
        except FileNotFoundError:
            return {}
        return {name: (found, when) for name, found, when in (line.split() for line in lines if line and not line.startswith("#"))}

    def recorded(self) -> dict[str, str]:
        """{group: hash of the files that it last passed on}"""
        return {name: found for name, (found, _) in self._recorded().items()}

    def changed(self) -> list[str]:
        """Groups whose files are not those that they last passed on."""
        recorded = self.recorded()
        return [name for name in self.groups if recorded.get(name) != self.hash(name)]

    def passed(self, hashes: dict[str, str]) -> None:
        """Records {group: hash of the files on which it has passed}."""
        recorded = self._recorded() | {name: (found, time.strftime("%Y-%m-%d")) for name, found in hashes.items()}
        (FOLDER / "passed").write_text(PASSED_HEAD + "".join(
            f"{name:<8} {recorded[name][0]} {recorded[name][1]}\n" for name in self.groups if name in recorded))

    def without_group(self, below: tuple[str, ...] = ("src/", "compiler/")) -> list[str]:
        """Files that no group covers."""
        covered = tuple(path for group in self.groups.values() for path in group.covers)
        return [name for name in files(self.root) if name.startswith(below) and not name.startswith(covered)]
