# SPDX-License-Identifier: BSD-3-Clause
"""Hands that know another router: each line of habits.txt does what it means there, is refused with our word, or asks.

Typed at a living kamueed, which after each line must run, forward and be configured as before.
"""
import io
import re
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import NamedTuple

import pytest
from conftest import Result
from terminal import Terminal
from test_cli_daemon import kamueed, pytestmark  # noqa: F401

from kamuee import cli, operate_linux
from kamuee.client import Client

ROUTERS = ("ios", "junos", "vyos", "frr", "eos")


class Habit(NamedTuple):
    router: str
    where: str
    line: str
    outcome: str
    text: str


def habits():
    """The lines of habits.txt."""
    for number, row in enumerate(Path(__file__).with_name("habits.txt").read_text().splitlines(), 1):
        if row and not row.startswith("#"):
            columns = [*re.split(r" {2,}", row), ""][:5]
            assert len(columns) == 5 and columns[0] in ROUTERS and columns[1] in ("exec", "edit"), number
            assert columns[3] in ("does", "asks", "refused") and (columns[4] or columns[3] == "does"), number
            yield Habit(*columns)


@pytest.fixture(scope="module")
def router(tmp_path_factory):
    """A kamueed with two ports and a sub-interface, and a revision before the running one."""
    folder = tmp_path_factory.mktemp("habits")
    with kamueed(folder, "set port p0 devargs net_null0\nset port p1 devargs net_null1\nset vport v40 port p0 vlan 40\n") as run:
        run("set", "interface", "p0", "redirect", "true")
        (folder / "other").write_text("set port p0 devargs net_null0\n")
        run.socket = str(folder / "kamuee.sock")
        yield run


def typed(router, *argv):
    """The command line in this process, as a script would run it."""
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        code = cli.main(["--socket", router.socket, *argv])
    return Result(code, out.getvalue(), err.getvalue())


def standing(router):
    """State that must be the same after each line."""
    client = Client(router.socket)
    configuration = client.state("configuration")
    return (client.call("configuration")["text"], [(port["name"], port["status"]) for port in client.entries("port")],
            client.state("system")["pid"], len(configuration["revision"]), configuration["session"])


def asked(router, line):
    """At a terminal, answered by nothing but Enter: what it printed."""
    terminal = Terminal(["--socket", router.socket, "-c", line])
    try:
        said = terminal.until(r"\[y/N\] ")
        terminal.type("\r")
        assert terminal.wait() == 2
        return said
    finally:
        terminal.close()


def effect(router, habit, line):
    """The result of a line: exit code, output, errors; while editing also its changes."""
    if habit.where == "exec":
        return typed(router, "-c", line)
    after = () if line.split()[0] in ("exit", "quit", "end") else ("-c", "compare", "-c", "exit discard")
    return typed(router, "-c", "configure", "-c", line, *after)


def test_enough_habits_of_each_router_are_tried():
    found = list(habits())
    assert len(found) >= 150 and len({(habit.where, habit.line, habit.router) for habit in found}) == len(found)
    for router in ROUTERS:
        assert sum(habit.router == router for habit in found) >= 10, router


def test_a_line_does_what_it_means_is_refused_or_asks(router, monkeypatch):
    monkeypatch.setattr("sys.stdin", io.StringIO())
    monkeypatch.setattr(operate_linux, "COUNT", "2")
    before, wrong = standing(router), []
    for habit in habits():
        line = habit.line.format(file=router.folder / "other")
        if habit.outcome == "asks":
            code, out, err = 0, asked(router, line), ""
        else:
            code, out, err = effect(router, habit, line)
        held = habit.text in (err if habit.outcome == "refused" else out)
        if (code != 0) != (habit.outcome == "refused") or not held:
            wrong.append(f"{habit.router} {habit.where}: {line}: wanted {habit.outcome} '{habit.text}', got {code}\n{out}{err}")
        if (after := standing(router)) != before:
            wrong.append(f"{habit.router} {habit.where}: {line}: the router is another one: {after}")
            before = after
    assert not wrong, "\n".join(wrong)
