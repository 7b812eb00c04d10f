# SPDX-License-Identifier: BSD-3-Clause
"""Editing a candidate: requests, messages, and that nothing is lost silently."""
import json
import threading

import pytest
from server import Refused

from kamuee import commands, context
from kamuee.client import Client
from kamuee.context import Context
from kamuee.errors import DaemonError, Unreachable, UsageError
from kamuee.session import Session


class Lines:
    def __init__(self):
        self.said = []

    def line(self, text):
        self.said.append(text)

    def end(self):
        pass


@pytest.fixture
def router(daemon):
    """A daemon with one session, whose candidate differs by the lines in `pending`."""
    daemon.pending = []

    def edit(given):
        assert given["session"] == 7
        daemon.pending += given.get("line", [])
        if given.get("revision") == 0:
            daemon.pending.clear()
        return {}

    def configure(given):
        change = given.get("line") or list(daemon.pending)
        if not given.get("check"):
            daemon.pending.clear()
        return {"change": change, "note": ["restarts port p0: rx-queues"]}

    daemon.operations.update({
        "session-open": lambda given: {"session": 7, "other": [{"id": 3, "by": "bob", "age": 200, "idle": 1, "changes": 2}]},
        "session-close": lambda given: None, "edit": edit, "configure": configure, "confirm": lambda given: None,
        "compare": lambda given: {"change": list(daemon.pending), "back": ["set port p0 rx-queues 1", "set vport v1 port p0"]},
        "configuration": lambda given: {"text": json.dumps({"kamuee:port": [{"name": "p0", "mtu": 9000}]}) if given.get("format") == "json"
                                        else "set port p0 mtu 9000\n"},
        "save-configuration": lambda given: {"file": "/etc/kamuee/kamuee.conf"},
    })
    return daemon


@pytest.fixture
def talk(router):
    """Runs lines in one talk; gives what they print."""
    sink = Lines()
    session = Session(commands.grammar(), Context(Client(router.path), sink=sink))

    def run(*lines):
        sink.said.clear()
        for line in lines:
            session.block([session.split(line)])
        return list(sink.said)
    run.session = session
    return run


def asked(daemon):
    return [(name, given) for method, name, given in daemon.asked if method == "POST"]


def test_what_is_edited_takes_effect_together(talk, router):
    assert talk("configure") == ["also editing: bob, for 00:03:20, 2 lines not committed (session 3)",
                                 "a commit by alice will be rolled back in 240 s unless it is confirmed"]
    assert talk("set port p0 rx-queues 2", "delete vport v1") == []
    assert talk("compare") == ["- set port p0 rx-queues 1", "+ set port p0 rx-queues 2", "- set vport v1 port p0"]
    assert talk("check") == ["valid; would change:", "set port p0 rx-queues 2", "delete vport v1", "note: restarts port p0: rx-queues"]
    assert talk("commit confirmed 5 comment the new uplink") == [
        "set port p0 rx-queues 2", "delete vport v1", "note: restarts port p0: rx-queues", "committed; will be rolled back in 5 min unless you 'confirm'"]
    assert talk("commit", "exit") == ["no changes", "note: restarts port p0: rx-queues"]
    assert asked(router) == [
        ("session-open", {}), ("edit", {"session": 7, "line": ["set port p0 rx-queues 2"]}), ("edit", {"session": 7, "line": ["delete vport v1"]}),
        ("compare", {"session": 7}), ("configure", {"session": 7, "check": True}),
        ("configure", {"session": 7, "confirm-within": 300, "comment": "the new uplink", "confirm": True}),
        ("configure", {"session": 7, "confirm": True}), ("compare", {"session": 7}), ("session-close", {"session": 7})]
    assert talk.session.context.editing.session is None


def test_a_hint_about_words_is_only_given_where_words_are_wrong(talk, router):
    def refuses(text):
        def refuse(given):
            raise Refused(409, text)
        return refuse
    router.operations["configure"] = refuses("nothing was committed: a commit by root must be confirmed")
    with pytest.raises(DaemonError) as refused:
        talk("set interfaces p0 mtu 9000")
    assert "try:" not in str(refused.value)
    router.operations["configure"] = refuses("line 1: unknown word 'interfaces', expected one of interface")
    with pytest.raises(DaemonError, match="try: set port"):
        talk("set interfaces p0 mtu 9000")


def test_leaving_with_changes_is_refused_unless_they_are_kept(talk, router):
    talk("configure", "set port p0 mtu 9000")
    with pytest.raises(UsageError, match="1 line is not committed\n'commit' first, or 'exit discard', or 'exit keep'"):
        talk("exit")
    assert talk("exit keep") == ["session 7 is kept; 'configure 7' resumes it"]
    assert talk("configure 7", "compare") == ["- set port p0 rx-queues 1", "+ set port p0 mtu 9000", "- set vport v1 port p0"]
    talk("discard", "exit")
    assert router.asked[-1][1] == "session-close"


def test_words_of_editing_exist_only_while_editing(talk):
    for line in ("commit", "discard", "update", "check", "show", "exit keep"):
        with pytest.raises(UsageError):
            talk(line)
    talk("configure")
    with pytest.raises(UsageError):
        talk("configure")
    assert talk("show") == ["set port p0 mtu 9000"]
    assert talk("show running-config | count") == ["1"]


def test_a_session_that_is_gone_ends_the_editing(talk, router):
    def gone(given):
        raise Refused(404, "there is no session 7: it has ended, or kamueed was restarted")
    talk("configure")
    router.operations["edit"] = gone
    with pytest.raises(Exception, match="there is no session 7"):
        talk("set port p0 mtu 9000")
    assert talk.session.context.editing.session is None


def test_who_edits_gets_out_when_the_daemon_is_gone(talk, router, tmp_path):
    talk("configure", "set port p0 mtu 9000")
    talk.session.context.client.path = str(tmp_path / "none")
    with pytest.raises(Unreachable):
        talk("commit")
    first, second = talk("exit")
    assert first.startswith("cannot reach kamueed at") and "left session 7; 'configure 7' resumes it" in second
    assert talk.session.context.editing.session is None


def test_changes_outside_editing_can_be_confirmed_and_commented(kamuee, router, tmp_path):
    said = kamuee("set", "port", "p0", "mtu", "9000", "--confirmed", "5", "--comment", "jumbo")
    assert said.out.endswith("will be rolled back in 5 min unless you 'confirm'\n")
    assert kamuee("confirm").out == "confirmed\n"
    script = tmp_path / "script"
    script.write_text("set port p0 mtu 9000\nset port p1 mtu 9000\n")
    kamuee("-f", str(script), "--confirmed", "2")
    kamuee("rollback", "1")
    given = {"line": ["set port p0 mtu 9000"], "confirm-within": 300, "comment": "jumbo"}
    assert asked(router) == [
        ("configure", given), ("confirm", {}),
        ("configure", {"line": ["set port p0 mtu 9000", "set port p1 mtu 9000"], "confirm-within": 120}),
        ("configure", {"revision": 1, "confirm": True})]
    assert kamuee("set", "port", "p0", "mtu", "9000", "--confirmed", "x").code == 2


def test_a_script_that_forgets_to_commit_says_so_and_leaves_nothing(kamuee, router):
    result = kamuee("-c", "configure", "-c", "set port p0 mtu 9000")
    assert result.code == 1
    assert "1 uncommitted line(s) were discarded" in result.err
    assert router.asked[-1][1] == "session-close"
    router.pending.clear()
    done = kamuee("-c", "configure", "-c", "set port p0 mtu 9000", "-c", "commit", "-c", "exit")
    assert (done.code, done.err) == (0, "")


def test_files_go_in_and_out(kamuee, router, tmp_path):
    yaml = pytest.importorskip("yaml")
    lines, tree = tmp_path / "lines", tmp_path / "tree.yaml"
    assert kamuee("save", str(lines)).out == f"written to {lines}\n"
    assert lines.read_text() == "set port p0 mtu 9000\n"
    assert kamuee("load", "replace", str(lines)).code == 0
    assert json.loads(kamuee("export", "json").out) == {"kamuee:port": [{"name": "p0", "mtu": 9000}]}
    kamuee("export", "yaml", str(tree))
    assert yaml.safe_load(tree.read_text()) == {"kamuee:port": [{"name": "p0", "mtu": 9000}]}
    kamuee("import", "yaml", str(tree), "replace")
    assert [given for name, given in asked(router) if name == "configure"] == [
        {"text": "set port p0 mtu 9000\n", "replace": True},
        {"text": '{"kamuee:port": [{"name": "p0", "mtu": 9000}]}', "format": "json", "replace": True}]
    missing = kamuee("load", "merge", "/nonexistent/file")
    assert (missing.code, missing.err.startswith("error: cannot read /nonexistent/file: ")) == (2, True)
    tree.write_text("a: [")
    assert "is not YAML" in kamuee("import", "yaml", str(tree)).err


def test_a_terminal_is_told_that_kamueed_is_still_at_it_and_a_pipe_is_not(daemon, terminal, kamuee):
    go_on = threading.Event()

    def slow(given):
        assert go_on.wait(60)
        return {"change": ["set port p0 mtu 9000"]}
    daemon.operations["configure"] = slow
    shown = terminal("rollback", "1", "--yes")
    shown.until(r"kamueed commits: \d+ s")
    go_on.set()
    shown.until(r"set port p0 mtu 9000")
    assert shown.wait() == 0
    go_on.clear()
    threading.Timer(2 * context.TELLS_AFTER_S, go_on.set).start()
    assert kamuee("rollback", "1") == (0, "set port p0 mtu 9000\n", "")
