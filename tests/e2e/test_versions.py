# SPDX-License-Identifier: BSD-3-Clause
"""Upgrades from this version to another one and back: the last release's, and this tree's under the next version's name.

The last release is the newest tag that this commit follows, or the commit that KAMUEE_RELEASE names; its program is built once, in
BUILD/releases. While there is none, the other program is kamueed-next: the same objects with another version. It shows that a version
is only a name to the handover; what states of two versions do to each other only a release shows.
"""
import os
import re
import subprocess
from pathlib import Path

import pytest

from kamuee.lab import measure
from kamuee.lab.kamueenode import find_kamueed

from support import Router, assert_reaches, eventually
from test_restart import FAR, LAB, Listener, audit, established, is_up, taps
from test_upgrade import assert_as_before, kamuee, left_behind, script, upgrade

pytestmark = pytest.mark.kill

ROOT = Path(__file__).resolve().parents[2]
PROTOCOL = re.compile(r"#define UPGRADE_PROTOCOL (\d+)")


@pytest.fixture(scope="module")
def lab(labs, kamueed):
    """BFD of ten seconds: that of 900 ms is test_upgrade's."""
    lab = labs(LAB)
    eventually(lambda: is_up(lab) and measure.fib_counts(lab["r"])["fib"] > 2000, 120, lambda: lab["r"].vtysh("show bgp summary"), 0.2)
    assert_reaches(lab["h1"], FAR)
    return lab


def git(*words: str) -> str:
    """Whoever owns the tree."""
    return subprocess.run(["git", "-c", "safe.directory=*", "-C", ROOT, *words], check=True, capture_output=True, text=True).stdout.strip()


def last_release() -> str | None:
    """Its commit."""
    try:
        return git("rev-parse", (os.environ.get("KAMUEE_RELEASE") or git("describe", "--tags", "--abbrev=0", "HEAD^")) + "^{commit}")
    except (OSError, subprocess.CalledProcessError):
        return None


def released(commit: str) -> Path:
    """Its kamueed, built when it is not there yet."""
    folder = find_kamueed().parent / "releases" / commit
    program = folder / "build/kamueed"
    if not program.exists():
        folder.mkdir(parents=True, exist_ok=True)
        git("archive", "-o", str(folder / "tree.tar"), commit)
        subprocess.run(["tar", "-xf", "tree.tar"], cwd=folder, check=True)
        if not (folder / "build/build.ninja").exists():
            subprocess.run(["meson", "setup", "build", "-Dbuildtype=release", "-Db_lto=false", "-Dbench=false"], cwd=folder, check=True)
        subprocess.run(["ninja", "-C", "build", "kamueed"], cwd=folder, check=True)
    return program


def other(which: str) -> Path:
    if which == "next":
        return find_kamueed().with_name("kamueed-next")
    commit = last_release()
    if not commit:
        pytest.skip("there is no release yet, or this is no clone with its tags")
    return released(commit)


def version_of(program: Path) -> str:
    return subprocess.run([program, "--version"], check=True, capture_output=True, text=True).stdout.split()[1]


def protocol_of(tree: Path) -> str | None:
    """None: of before upgrades."""
    header = tree / "src/main/upgrade_protocol.h"
    return PROTOCOL.search(header.read_text())[1] if header.exists() else None


def packets(router) -> int:
    return Router(router).state("interface=p0")[0]["statistics"]["rx-packets"]


@pytest.mark.parametrize("which", ["next", "release"])
def test_from_one_version_to_another_and_back_and_again(lab, tmp_path, which):
    """This, the other, this, the other, this: so each is also upgraded to in between and left again."""
    router, program = lab["r"], other(which)
    before, sessions, listener, left = taps(lab), established(lab), Listener(lab, tmp_path), left_behind(router)
    lines = kamuee(router, "show", "configuration").stdout
    if which == "release" and protocol_of(program.parents[1]) != protocol_of(ROOT):
        pid, done = router.kamueed_pid(), kamuee(router, "upgrade", "--binary", str(program))
        assert done.returncode != 0 and "restart instead" in done.stderr, done.stdout + done.stderr
        assert_as_before(lab, pid)
        return
    now, counted = find_kamueed(), packets(router)
    for to in (program, find_kamueed()) * 2:
        found = upgrade(router, "--binary", str(to))
        assert (found["phase"], found["from"], found["to"]) == ("done", version_of(now), version_of(to)), found
        assert found["lookups"] == 100_000 and found["audited"] > 3000, (found, router.log.read_text()[-3000:])
        assert Router(router).state("system")["version"] == version_of(to)
        assert "counters are not taken along" not in router.log.read_text()
        assert packets(router) >= counted, "the counters went on"
        assert kamuee(router, "show", "configuration").stdout == lines
        assert_reaches(lab["h1"], FAR)
        audit(lab)
        now, counted = to, packets(router)
    assert taps(lab) == before and listener.stop(lab) == []
    assert is_up(lab) and established(lab) == sessions
    assert left_behind(router) == left


def test_settings_that_only_the_older_version_has_do_not_hinder_an_upgrade(lab, tmp_path):
    router = lab["r"]
    older, own = tmp_path / "yang", ROOT / "yang"
    older.mkdir()
    for file in own.glob("*.yang"):
        text, n = re.subn(r"\n  container api \{", "\n  container snmp { leaf agentx { type string; } }\\g<0>", file.read_text())
        assert n == (file.name == "kamuee.yang")
        (older / file.name).write_text(text)
    before = taps(lab)
    upgrade(router, "--binary", script(tmp_path, f"KAMUEE_YANG_DIR={older} exec {other('next')} \"$@\""))
    Router(router).configure("set snmp agentx /run/agentx")
    assert "set snmp agentx" in kamuee(router, "show", "configuration").stdout
    upgrade(router, "--binary", script(tmp_path, f"unset KAMUEE_YANG_DIR; exec {find_kamueed()} \"$@\""))     # which it has inherited
    assert "snmp" not in kamuee(router, "show", "configuration").stdout
    assert len(re.findall(r'setting passed over, it no longer exists: .*setting="snmp" .*kamuee-snmp', router.log.read_text())) == 1
    refused = kamuee(router, "set", "snmp", "agentx", "/run/agentx")
    assert refused.returncode != 0 and "package kamuee-snmp has replaced it" in refused.stderr, refused.stdout + refused.stderr
    assert taps(lab) == before and is_up(lab)
    audit(lab)


def test_a_configuration_that_the_other_version_does_not_know_is_refused_in_words(lab, tmp_path):
    """To go back, what only the newer version knows has to be deleted first."""
    router = lab["r"]
    older, own = tmp_path / "yang", ROOT / "yang"
    older.mkdir()
    for file in own.glob("*.yang"):
        text, n = re.subn(r"\n    leaf description \{ type text [^\n]*also set as the TAP's alias[^\n]*", "", file.read_text())
        assert n == (file.name == "kamuee.yang")
        (older / file.name).write_text(text)
    binary = script(tmp_path, f"KAMUEE_YANG_DIR={older} exec {other('next')} \"$@\"")
    Router(router).configure("set interface p0 description uplink")
    before, pid = taps(lab), router.kamueed_pid()
    done = kamuee(router, "upgrade", "--binary", binary)
    assert done.returncode != 0 and "description" in done.stderr, done.stdout + done.stderr
    assert_as_before(lab, pid)
    assert taps(lab) == before and is_up(lab)
    Router(router).configure("delete interface p0 description")
