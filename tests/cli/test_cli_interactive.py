# SPDX-License-Identifier: BSD-3-Clause
"""The interactive command line: what '?', TAB and the shells offer, and a talk in a terminal of its own."""
import shutil
import signal
import subprocess
import time

import pytest
from conftest import ROOT
from server import Refused

from kamuee import commands, pager
from kamuee.arguments import PROTOCOLS
from kamuee.client import Client
from kamuee.context import Context
from kamuee.interactive import is_literal
from kamuee.session import Session
from kamuee.suggest import explained, suggest


@pytest.fixture
def session(daemon):
    daemon.operations["complete"] = lambda given: {
        "set port p0 ": {"candidate": [{"word": "mtu", "help": "Largest packet."}, {"word": "mac", "help": "MAC."}]},
        "set port p0 m": {"candidate": [{"word": "mtu", "help": "Largest packet."}, {"word": "mac", "help": "MAC."}]},
        "delete port p0 ": {"candidate": [{"word": "mtu", "help": "Largest packet."}]},
        "set port p0 mtu ": {"expect": "<68..9600>"},
        "set port p0 mtu 9000 ": {"candidate": [{"word": "mac", "help": "MAC."}]},
        "set port wrong": {}, "set port wrong ": {},
    }[given["line"]]
    return Session(commands.grammar(), Context(Client(daemon.path)))


def words(found):
    return [word for word, _ in found.words]


@pytest.mark.parametrize("line, expected", [
    ("show v", ["version", "vr"]), ("sh ipv4 r", ["route"]), ("show port ", ["statistics", "p0", "p1"]),
    ("show port p", ["p0", "p1"]), ("show port p0 statistics ", ["bps", "pps"]), ("show vr ", ["default", "red"]),
    ("show interface v", ["v40"]), ("show ipv4 route type b", ["broadcast", "blackhole"]),
    ("show ipv6 route protocol ", list(PROTOCOLS)),
    ("show ipv4 route vr r", ["red"]), ("show port p0 | ", ["include", "exclude", "begin", "count", "json", "no-more"]),
    ("show port | include x | c", ["count"]), ("show nonsense ", []), ("s p", []), ("show port -", ["--json", "--wide"]),
    ("set port p0 ", ["mtu", "mac"]), ("del port p0 ", ["mtu"]), ("shut", ["shutdown"]), ("lab -", []),
])
def test_tab_offers_what_may_follow(session, line, expected):
    assert set(expected) <= set(words(suggest(session, line)))
    if "-" not in line:
        assert sorted(words(suggest(session, line))) == sorted(expected)


def test_tab_offers_nothing_while_the_daemon_is_away(tmp_path):
    away = Session(commands.grammar(), Context(Client(str(tmp_path / "none"))))
    assert words(suggest(away, "show port ")) == ["statistics"]


def test_question_mark_explains_words_arguments_and_the_end(session):
    assert explained(suggest(session, "show port ")) == [
        "  statistics  counters", "  p0", "  p1", "  <port>      a port", "  <enter>     run the command"]
    assert explained(suggest(session, "show port sta")) == ["  statistics  counters"]
    assert explained(suggest(session, "set port p0 mtu ")) == ["  <value>  <68..9600>"]
    assert explained(suggest(session, "set port p0 mtu 9000 ")) == [
        "  mac      MAC.", "  <enter>  run the command"]
    assert explained(suggest(session, "set port wrong ")) == ["  nothing can follow here"]
    assert explained(suggest(session, "show ledger x")) == ["  nothing here starts with 'x'"]
    assert explained(suggest(session, "show port | include ")) == ["  <expression>  a regular expression"]


@pytest.mark.parametrize("before, literal", [
    ("show ipv4 route ", False), ("show ipv4 route | inc a", True), ("show port | count | beg ", True),
    ("show port | count ", False), ('set port p0 devargs "a', True), ('set x "a" ', False),
])
def test_question_mark_in_an_expression_or_quotes_is_a_letter(before, literal):
    assert is_literal(before) is literal


# --- in a terminal ---

PROMPT = r"\w>"


def test_talk_explains_completes_runs_and_leaves(terminal):
    talk = terminal()
    talk.until("'exit' to leave")
    talk.until(PROMPT)
    talk.type("sh led?")
    talk.until(r"ledger  the zero-loss ledger(?s:.*)sh led")  # the line is there again
    talk.type("\t\r")
    talk.until("every packet is accounted for")
    talk.type("show nonsense\r")
    talk.until("error: show: 'nonsense' is not expected here")
    talk.type("exit\r")
    assert talk.wait() == 0


def test_talk_goes_on_after_an_interrupted_command(terminal, daemon):
    talk = terminal()
    talk.until(PROMPT)
    talk.type("show port statistics pps -i 60\r")
    while not daemon.asked:                          # before that it would be the prompt that is interrupted
        time.sleep(0.01)
    talk.type("\x03")
    talk.until("interrupted")
    talk.type("show version\r")
    talk.until(r"DPDK +22\.11\.4(?s:.*)\w>")
    talk.type("\x04")
    assert talk.wait() == 0


def test_long_output_goes_to_the_pager_and_short_output_does_not(terminal, daemon):
    daemon.routes = lambda family: daemon.state["routes"]["ipv4"] * 20
    talk = terminal(PAGER="sed s/^/PAGED:/")
    talk.until(PROMPT)
    talk.type("show ipv4 route\r")
    talk.until("PAGED:Codes")
    talk.until(r"PAGED:O   198[^\n]*\n(?s:.*)\w>")
    talk.type("show ipv4 route | no-more\r")
    assert "PAGED" not in talk.until(r"\nO   198(?s:.*)\w>")
    talk.type("show version\r")
    assert "PAGED" not in talk.until(r"22\.11\.4")


def test_leaving_the_pager_stops_a_long_table(terminal, daemon):
    daemon.routes = lambda family: daemon.state["routes"]["ipv4"] * 10**5
    talk = terminal(PAGER="head -n 3")
    talk.until(PROMPT)
    talk.type("show ipv4 route\r")
    talk.until("Codes")
    assert daemon.left.wait(20)
    talk.type("show version\r")
    talk.until("22.11.4")


def test_history_is_kept_for_the_next_talk(terminal):
    talk = terminal()
    talk.until(PROMPT)
    talk.type("show version\r")
    talk.until("22.11.4")
    talk.type("exit\r")
    talk.wait()
    again = terminal()
    again.until(PROMPT)
    again.type("\x1b[A\x1b[A\r")  # the last line was 'exit'
    again.until("22.11.4")


def test_pager_is_that_of_the_person(monkeypatch):
    monkeypatch.setenv("PAGER", "cat -n")
    assert pager.command() == ["cat", "-n"]
    monkeypatch.setenv("PAGER", "/nonexistent")
    assert pager.command() is None
    monkeypatch.delenv("PAGER")
    assert pager.command() in (["less", "-RX"], ["more"], None)


# --- shells ---

def test_shells_get_words_and_meanings(kamuee, daemon):
    assert kamuee("--complete", "show ipv4 route s").out == "summary\tnumber of routes by protocol\n"
    assert kamuee("--complete", "--socket /nowhere show port p").out == "p0\t\np1\t\n"
    assert kamuee("--complete", "--so").out.startswith("--socket\t")
    assert kamuee("--complete", "--socket ").out == ""
    daemon.operations["complete"] = lambda given: (_ for _ in ()).throw(Refused(400, "no"))
    assert kamuee("--complete", "set port ").out == ""


def shell(program, script, path, daemon):
    return subprocess.run([program, *script], capture_output=True, text=True, timeout=60,
                          env={"PATH": f"{path}:/usr/bin:/bin", "HOME": str(path), "KAMUEE_SOCKET": daemon.path})


@pytest.mark.parametrize("line, expected", [("kamuee show port ", "p0 p1 statistics"), ("kamuee sh vr r", "red"),
                                            ("kamuee lookup 2001:db8::1 v", "vr"), ("kamuee show nonsense x", "")])
def test_bash_completes(tmp_path, daemon, line, expected):
    (tmp_path / "kamuee").symlink_to(ROOT / "kamuee")
    words = line.split()
    words += [""] if line.endswith(" ") else []
    script = (f"source {ROOT}/deploy/completion/kamuee.bash; COMP_LINE={line!r} COMP_POINT={len(line)} "
              f"COMP_WORDS=({' '.join(repr(w) for w in words)}) COMP_CWORD={len(words) - 1}; _kamuee; "
              'echo "${COMPREPLY[@]}"')
    found = shell("bash", ["-c", script], tmp_path, daemon)
    assert (sorted(found.stdout.split()), found.stderr) == (expected.split(), "")


def test_zsh_completes(tmp_path, daemon):
    if not shutil.which("zsh"):
        pytest.skip("zsh is not installed: apt-get install zsh")
    (tmp_path / "kamuee").symlink_to(ROOT / "kamuee")
    script = ("_describe() { print -l -- ${(P)4} }; _files() { print files }; compdef() { print defined }; "
              f"source {ROOT}/deploy/completion/_kamuee; words=(kamuee show port ''); CURRENT=4; PREFIX=''; _kamuee; "
              "words=(kamuee demo x); CURRENT=3; PREFIX=x; _kamuee")
    found = shell("zsh", ["-fc", script], tmp_path, daemon)
    assert found.stdout.split("\n")[:-1] == ["defined", "statistics:counters", "p0:", "p1:", "files"], found.stderr


def test_editing_has_a_prompt_completion_and_question_mark_of_its_own(terminal, daemon):
    asked = []
    daemon.operations.update({
        "session-open": lambda given: {"session": 7, "other": []}, "session-close": lambda given: None, "edit": lambda given: {},
        "compare": lambda given: {"change": []}, "configure": lambda given: {"change": ["set port p0 mtu 9000"]},
        "complete": lambda given: asked.append(given) or {"candidate": [{"word": "mtu", "help": "Largest packet."}]}})
    talk = terminal()
    talk.until(PROMPT)
    talk.type("configure\r")
    talk.until(r"\[edit\]#")
    talk.type("com?")
    talk.until(r"commit +apply the candidate(?s:.*)compare(?s:.*)# com")
    talk.type("\x15set port p0 m\t9000\r")
    talk.until(r"\[edit\*\]#")
    assert asked[-1] == {"session": 7, "line": "set port p0 m"}
    talk.type("commit confirmed 5\r")
    talk.until(r"committed; will be rolled back in 5 min unless you 'confirm'(?s:.*)\[edit, rollback in [34]:\d\d\]#")
    daemon.state["configuration"] = {"revision": [{"id": 119, "back": 0, "confirmed": True}, {"id": 118, "back": 1, "confirmed": False}]}
    talk.type("\r")
    talk.until(r"not confirmed in time and was rolled back(?s:.*)\[edit\]#")
    talk.type("exit\r")
    talk.until(PROMPT)
    talk.type("exit\r")
    assert talk.wait() == 0


def test_wrong_usage_of_a_program_within_ends_neither_the_talk_nor_the_editing(terminal, daemon):
    daemon.operations.update({"session-open": lambda given: {"session": 7, "other": []}, "session-close": lambda given: None,
                              "compare": lambda given: {"change": []}})
    talk = terminal()
    talk.until(PROMPT)
    talk.type("configure terminal\r")
    talk.until(r"\[edit\]#")
    for line in ("lab frob", "demo frob", "doctor frob"):
        talk.type(line + "\r")
        talk.until(r"error: (?s:.*)\[edit\]#")
    talk.type("exit\r")
    talk.until(PROMPT)


def test_a_closed_terminal_closes_the_session(terminal, daemon):
    closed = []
    daemon.operations.update({"session-open": lambda given: {"session": 7, "other": []}, "compare": lambda given: {"change": []},
                              "session-close": lambda given: closed.append(given)})
    talk = terminal()
    talk.until(PROMPT)
    talk.type("configure\r")
    talk.until(r"\[edit\]#")
    talk.process.send_signal(signal.SIGHUP)
    assert talk.wait() == 128 + signal.SIGHUP
    assert closed == [{"session": 7}]


def test_question_mark_with_more_words_than_the_screen_has_lines_goes_to_the_pager(terminal, tmp_path):
    reader = tmp_path / "reader"
    reader.write_text("#!/bin/sh\necho paged $(wc -l) lines\n")
    reader.chmod(0o755)
    talk = terminal(PAGER=str(reader))
    talk.until(PROMPT)
    talk.type("?")
    talk.until(r"paged \d\d lines(?s:.*)\w>")


def test_an_error_is_not_broken_within_a_word(terminal):
    talk = terminal()
    talk.until(PROMPT)
    talk.type("explain in p0 frobnicate\r")
    said = talk.until(r"vlan\n(?s:.*)\w>")
    assert all(len(line) <= 80 for line in said.split("\n"))
    assert "       expected: df dport dst fragment from-mac hex icmp-type label more\n       outer-vlan " in said
