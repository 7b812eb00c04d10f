# SPDX-License-Identifier: BSD-3-Clause
"""The table of slow groups: it covers src/ and compiler/, names files that exist, and a change selects the groups that it should."""
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))

import unchanged                          # noqa: E402
from slow.groups import Groups            # noqa: E402


@pytest.fixture
def groups() -> Groups:
    return Groups(ROOT)


def test_each_file_of_src_and_compiler_is_covered_by_a_group(groups):
    assert groups.without_group() == []


def test_each_path_of_the_table_covers_a_file(groups):
    names = unchanged.files(ROOT)
    assert [path for name in groups for path in groups[name].covers if not any(file.startswith(path) for file in names)] == []


def test_each_mark_is_used_by_files_that_the_group_covers(groups):
    for group in Groups.marks():
        marked = [str(file.relative_to(ROOT)) for file in (ROOT / "tests/e2e").glob("test_*.py") if f"pytest.mark.{group}" in file.read_text()]
        assert marked and all(file.startswith(groups[group].covers) for file in marked), (group, marked)


@pytest.mark.parametrize("file, due", [
    ("src/main/upgrade_take.c", {"kill", "vm"}),
    ("src/data/forwarder/fwd.c", {"storm"}),
    ("src/mgmt/feature/alarm.c", {"fault"}),
    ("src/data/acl/classify.c", {"bench"}),
    ("tests/package/test_package.py", {"install"}),
    ("docs/glossary.md", set()),
])
def test_a_change_makes_its_groups_due(tmp_path, monkeypatch, file, due):
    for name in {file, "src/main/main.c", "docs/house.md"}:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("before\n")
    groups = Groups(tmp_path)
    monkeypatch.setattr(groups, "recorded", {name: groups.hash(name) for name in groups}.copy)
    assert groups.changed() == []
    (tmp_path / file).write_text("after\n")
    unchanged.content.cache_clear()
    assert set(groups.changed()) == due
