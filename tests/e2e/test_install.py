# SPDX-License-Identifier: BSD-3-Clause
"""make install and uninstall: below DESTDIR, and below the real prefix, with /etc and the prefix of a mount namespace of the test's own."""
import json
import os
import pty
import re
import select
import subprocess
import time
from pathlib import Path

import pytest

from conftest import ROOT

GROUPS = ("kamuee", "kamuee-oper", "kamuee-read")
SOME = ("sbin/kamueed", "bin/kamuee", "share/kamuee/cli/kamuee/cli.py", "share/kamuee/yang/kamuee.yang", "share/kamuee/web/index.html",
        "share/man/man1/kamuee.1", "share/man/man8/kamueed.8", "share/bash-completion/completions/kamuee", "share/zsh/site-functions/_kamuee",
        "lib/systemd/system/kamueed.service", "lib/systemd/system/kamuee-frr@.service", "lib/systemd/system/kamuee-bird@.service",
        "lib/systemd/system/kamuee-flowspec.service", "share/man/man8/kamuee-flowspec.8",
        "lib/systemd/system/kamuee-netns.service", "lib/systemd/system/kamuee-netns.socket", "libexec/kamuee-netns",
        "share/kamuee/cli/kamuee/inside/vtysh", "lib/sysusers.d/kamuee.conf",
        "share/doc/kamuee/kamuee.conf.example", "share/kamuee/grafana/overview.json", "share/kamuee/prometheus/kamuee.rules.yml")


@pytest.fixture(scope="module")
def build(kamueed) -> Path:
    return Path(kamueed).resolve().parent


@pytest.fixture(scope="module")
def prefix(build) -> Path:
    options = json.loads(subprocess.run(["meson", "introspect", "--buildoptions", build], check=True, capture_output=True, text=True).stdout)
    return Path(next(option["value"] for option in options if option["name"] == "prefix"))


@pytest.fixture
def alone(prefix, tmp_path):
    """Runs commands in a mount namespace that stays: its /etc is a copy without our groups, its prefix is empty."""
    etc = tmp_path / "etc"
    script = (f"mount --make-rprivate / && cp -a /etc {etc} && sed -i '/^kamuee/d' {etc}/group {etc}/gshadow && mount --bind {etc} /etc && "
              f"mount -t tmpfs tmpfs {prefix} && echo ready && exec sleep infinity")
    with subprocess.Popen(["unshare", "-m", "sh", "-c", script], stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout.readline() == "ready\n"
        yield ["nsenter", f"--mount=/proc/{holder.pid}/ns/mnt", f"--wd={ROOT}"]
        holder.kill()


def run(command: list, **how) -> str:
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, **how)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def files(where: list, below: Path) -> set[str]:
    return set(run([*where, "find", below, "-not", "-type", "d", "-printf", "%P\\n"]).split())


def typed(command: list, keys: str, wanted: str) -> str:
    """What a terminal shows of an interactive shell until it shows `wanted`, once it has a prompt and got these keys."""
    main, side = pty.openpty()
    said, end, sent = "", time.monotonic() + 30, False
    with subprocess.Popen(list(map(str, command)), stdin=side, stdout=side, stderr=side, start_new_session=True) as shell:
        while not re.search(wanted, said) and time.monotonic() < end:
            if select.select([main], [], [], 0.2)[0]:
                said += os.read(main, 65536).decode(errors="replace")
            if not sent and "READY" in said:
                os.write(main, keys.encode())
                sent, said = True, ""
        shell.kill()
    os.close(main)
    os.close(side)
    return said


def test_below_destdir_all_is_there_nothing_else_changes_and_it_goes_again(build, prefix, alone, tmp_path):
    staged = tmp_path / "staged"
    run([*alone, "make", "install", f"BUILD={build}", f"DESTDIR={staged}"])
    below = staged / prefix.relative_to("/")
    assert set(SOME) <= files(alone, below) and files(alone, staged) == {f"{prefix.relative_to('/')}/{name}" for name in files(alone, below)}
    assert files(alone, prefix) == set()
    assert not re.search("^kamuee", run([*alone, "cat", "/etc/group"]), re.MULTILINE)
    run([*alone, "make", "uninstall", f"BUILD={build}", f"DESTDIR={staged}"])
    assert not staged.exists() or files(alone, staged) == set()


def test_below_the_prefix_groups_are_made_the_shells_complete_and_uninstall_leaves_nothing(build, prefix, alone):
    run([*alone, "make", "install", f"BUILD={build}"])
    assert set(SOME) <= files(alone, prefix)
    made = run([*alone, "getent", "group", *GROUPS])
    assert [line.split(":")[0] for line in made.splitlines()] == list(GROUPS)
    assert run([*alone, prefix / "bin/kamuee", "--help"]).startswith("usage: ")
    assert run([*alone, prefix / "sbin/kamueed", "--version"])
    assert f"ExecStart={prefix}/sbin/kamueed" in run([*alone, "cat", prefix / "lib/systemd/system/kamueed.service"])
    path = f"PATH={prefix}/bin:/usr/bin:/bin"
    bash = f"source {prefix}/share/bash-completion/completions/kamuee; PS1='READY '"
    shown = typed([*alone, "env", "-i", path, "TERM=dumb", "bash", "--rcfile", write(alone, prefix / "rc", bash), "-i"], "kamuee show vers\t", r"show version ")
    assert "show version " in shown, shown
    zsh = f"fpath=({prefix}/share/zsh/site-functions $fpath); autoload -U compinit; compinit -u -D; PS1='READY '"
    write(alone, prefix / ".zshrc", zsh)
    shown = typed([*alone, "env", "-i", path, "TERM=dumb", f"ZDOTDIR={prefix}", "zsh", "-d", "-i"], "kamuee show vers\t", r"show vers\S*ion ")
    assert re.search(r"ion ", shown), shown
    run([*alone, "rm", prefix / "rc", prefix / ".zshrc"])
    run([*alone, "make", "install", f"BUILD={build}"])                               # again: groups that are there stay as they are
    assert run([*alone, "getent", "group", *GROUPS]) == made
    run([*alone, "make", "uninstall", f"BUILD={build}"])
    assert files(alone, prefix) == set()


def test_another_prefix_is_built_beside_and_leaves_the_tree_as_it_is(build):
    said = run(["make", "-n", "install", f"BUILD={build}", "PREFIX=/opt/elsewhere"], cwd=ROOT)
    assert f"meson install -C {build}-install " in said and f"meson configure {build} " not in said
    assert f"meson install -C {build} " in run(["make", "-n", "install", f"BUILD={build}"], cwd=ROOT)


def write(where: list, path: Path, text: str) -> Path:
    run([*where, "sh", "-c", f"cat > {path}"], input=f"{text}\n")
    return path
