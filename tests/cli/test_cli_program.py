# SPDX-License-Identifier: BSD-3-Clause
"""The program as it is started: exit codes, scripts, pipes, Ctrl-C, memory with a long table."""
import json
import os
import signal
import subprocess
import sys
import time

import pytest
from conftest import ROOT
from server import Refused

from kamuee import arguments, commands
from kamuee.grammar import Grammar
from kamuee.show_route import asked

ROW = json.dumps({"prefix": "203.0.113.0/24", "type": "unicast", "protocol": "bgp", "metric": 20, "active": True,
                  "nexthop": 7, "kind": "adjacency",
                  "hop": [{"interface": "p0", "gateway": "192.0.2.2", "weight": 1, "resolved": True, "alive": True}]})


def eventually(what, seconds=60):
    end = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.01)


# --- exit codes ---

def test_done_is_0(program):
    process = program(["show", "version"])
    out, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (0, b"")
    assert b"22.11.4" in out


def test_refused_by_the_daemon_is_1(kamuee, daemon):
    def refuse(given):
        raise Refused(400, "mtu: '99999' is not valid, expected <68..9600>", "port p5: 'devargs' is required")
    daemon.operations["configure"] = refuse
    result = kamuee("set", "port", "p0", "mtu", "99999")
    assert (result.code, result.out) == (1, "")
    assert result.err == ("error: mtu: '99999' is not valid, expected <68..9600>\n"
                          "       there is no port p5 (there is p0, p1); port p5: 'devargs' is required\n")


@pytest.mark.parametrize("argv", [["show", "nonsense"], ["--nonsense"], ["show"], ["-c"], ["show", "port", "-c"],
                                  ["-f", "/nonexistent/file"], ["--json=yes", "show", "port"], ["monitor"],
                                  ["-i", "0", "monitor"], ["-c", "show 'port"], ["-c", "show port | nonsense"],
                                  ["-c", "show port | include"], ["-c", "show port | include ("],
                                  ["-c", "show port | count 3"], ["-c", "show port |"]])
def test_wrong_usage_is_2(kamuee, argv):
    result = kamuee(*argv)
    assert (result.code, result.out) == (2, "")
    assert result.err.startswith("error: ")


def test_daemon_not_reached_is_3(kamuee, tmp_path):
    result = kamuee("--socket", str(tmp_path / "none"), "show", "port")
    assert (result.code, result.out) == (3, "")
    assert "is it running? systemctl status kamueed" in result.err


def test_audit_that_healed_something_is_1(kamuee, daemon):
    daemon.operations["audit"] = lambda given: {"checked": "100", "diverged": "2"}
    result = kamuee("audit", "vr", "red")
    assert result.code == 1
    assert "2 of 100 routes differed and were repaired" in result.out
    assert daemon.asked[-1][2] == {"vr": "red"}


def test_audit_that_names_what_is_not_followed_is_1(kamuee, daemon):
    daemon.operations["audit"] = lambda given: {
        "checked": "100", "diverged": "0", "not-followed": "3", "unfollowed": [
            {"kind": "rule", "routes": "2", "example": "IPv4 rule 100: lookup 77", "effect": "policy rules: …"},
            {"kind": "tos", "routes": "1", "example": "198.51.100.0/24 tos 0x10", "effect": "routes for one TOS: …"},
            {"kind": "link", "routes": "1", "example": "0.0.0.0/0 dev mgmt, which is not an interface of kamueed", "effect": "refused"}]}
    result = kamuee("audit")
    assert result.code == 1
    assert result.out.splitlines()[0] == "100 routes checked: kernel, RIB and FIB agree, but 3 of the kernel's rules and routes are not followed:"
    assert "    rule: IPv4 rule 100: lookup 77 and 1 more" in result.out.splitlines()
    assert "    link: 0.0.0.0/0 dev mgmt, which is not an interface of kamueed" in result.out.splitlines()


def test_a_route_by_a_management_port_is_no_failure_of_an_audit(kamuee, daemon):
    daemon.operations["audit"] = lambda given: {
        "checked": "100", "diverged": "0", "not-followed": "0", "unfollowed": [
            {"kind": "link", "routes": "1", "example": "0.0.0.0/0 dev mgmt, which is not an interface of kamueed", "effect": "refused"}]}
    result = kamuee("audit")
    assert (result.code, result.out.splitlines()[0]) == (0, "100 routes checked: kernel, RIB and FIB agree")
    assert "mgmt, which is not an interface of kamueed" in result.out


@pytest.mark.parametrize("words, query", [
    ("10.0.0.0/8", {"prefix": "10.0.0.0/8", "match": "exact"}), ("vr red 10.0.0.0/8", {"prefix": "10.0.0.0/8", "match": "exact"}),
    ("10.0.0.0/8 longer-prefixes", {"prefix": "10.0.0.0/8", "match": "longer"}),
    ("longer-prefixes 10.0.0.0/8 vr red", {"prefix": "10.0.0.0/8", "match": "longer"}),
    ("vr red protocol bgp", {"protocol": "bgp"}), ("protocol bgp vr red type unicast", {"protocol": "bgp", "type": "unicast"})])
def test_words_of_show_route_come_in_any_order(kamuee, daemon, words, query):
    args = Grammar(commands.COMMANDS, arguments.accepts).match(f"show ipv4 route {words}".split()).args
    assert {"protocol": args.get("PROTOCOL"), "type": args.get("TYPE"), **asked(args, "ipv4")} == {"protocol": None, "type": None, **query}
    assert args.get("VR") == ("red" if "red" in words else None)


@pytest.mark.parametrize("line, said", [
    ("show ipv4 route 300.1.1.1", "'300.1.1.1' is not an IPv4 address"), ("show ipv6 route 2001:db8::g", "'2001:db8::g' is not an IPv6 address"),
    ("show ipv4 route 10.0.0.0/40", "the length of an IPv4 prefix is a number from 0 to 32"), ("lookup foo", "'foo' is not an address"),
    ("show ipv4 route longer-prefixes", "longer-prefixes needs a prefix"), ("show ipv4 route bgp", "expected:")])
def test_a_wrong_address_is_called_so(kamuee, line, said):
    result = kamuee(*line.split())
    assert result.code == 2 and said in result.err
    assert said == "expected:" or "is not an address" not in result.err or line == "lookup foo"


def test_help_and_version_need_no_daemon(kamuee):
    assert kamuee("--version").out.startswith("kamuee ")
    assert "show ipv4 route summary" in kamuee("--help").out


# --- operations ---

@pytest.mark.parametrize("line, name, given, said", [
    ("port attach p7 net_null0", "port-attach", {"name": "p7", "devargs": "net_null0"}, "port p7 attached"),
    ("port attach p7 net_tap0 namespace blue", "port-attach",
     {"name": "p7", "devargs": "net_tap0", "namespace": "blue"}, "port p7 attached"),
    ("port detach p7", "port-detach", {"name": "p7"}, "port p7 detached"),
    ("port start p7", "port-start", {"name": "p7"}, "port p7 started"),
    ("port stop p7", "port-stop", {"name": "p7"}, "port p7 stopped"),
    ("shutdown kamueed", "shutdown", {}, "kamueed is stopping; to start it again: systemctl start kamueed"),
])
def test_operation_sends_its_input(kamuee, daemon, line, name, given, said):
    daemon.operations[name] = lambda given: None
    result = kamuee(*line.split())
    assert (result.code, result.out, result.err) == (0, said + "\n", "")
    assert daemon.asked == [("POST", name, given)]


def test_upgrade_follows_it_from_the_old_kamueed_to_the_new_one(kamuee, daemon, tmp_path):
    phases = iter(("starting", "comparing", "done"))
    done = daemon.state["upgrade"]

    class Going(dict):
        """Another phase each time that it is read."""
        def items(self):
            self["phase"] = next(phases)
            return super().items()
    daemon.state["upgrade"] = Going(done)
    daemon.operations["upgrade"] = lambda given: None
    result = kamuee("upgrade", "--binary", str(tmp_path / "kamueed"))
    assert (result.code, result.err) == (0, "")
    assert daemon.asked[0] == ("POST", "upgrade", {"binary": str(tmp_path / "kamueed")})
    assert ["p0", "6.6", "3"] in [line.split() for line in result.out.splitlines()]


def test_upgrade_that_fails_says_why_and_that_the_running_one_goes_on(kamuee, daemon):
    daemon.operations["upgrade"] = lambda given: None
    daemon.state["upgrade"] = {"phase": "failed", "why": "it ended with status 7"}
    result = kamuee("upgrade")
    assert result.code == 1 and result.err == "error: not upgraded, the running kamueed goes on: it ended with status 7\n"
    assert daemon.asked[0] == ("POST", "upgrade", {})


def test_lookup_prints_the_way_out(kamuee, daemon):
    daemon.operations["lookup"] = lambda given: {"result": [
        {"address": given["address"][0], "prefix": "192.0.2.0/24", "nexthop": 3, "kind": "adjacency",
         "interface": "p0", "gateway": "192.0.2.9"}]}
    assert kamuee("lookup", "192.0.2.77", "vr", "red").out == """\
192.0.2.77
  prefix     192.0.2.0/24
  next hop   3
  kind       adjacency
  interface  p0
  gateway    192.0.2.9
"""
    assert daemon.asked == [("POST", "lookup", {"vr": "red", "address": ["192.0.2.77"]})]


def test_lookup_without_a_route_says_so(kamuee, daemon):
    daemon.operations["lookup"] = lambda given: {"result": [{"address": "9.9.9.9", "nexthop": 0, "kind": "none"}]}
    assert kamuee("lookup", "9.9.9.9").out == "9.9.9.9: no route\n"


def test_set_with_check_only_validates(kamuee, daemon):
    daemon.operations["configure"] = lambda given: {"change": given["line"]}
    assert kamuee("set", "port", "p0", "mtu", "9000", "--check").out == "valid; would change:\nset port p0 mtu 9000\n"
    assert daemon.asked == [("POST", "configure", {"line": ["set port p0 mtu 9000"], "check": True})]


def test_change_prints_what_changed_and_the_daemons_notes(kamuee, daemon):
    daemon.operations["configure"] = lambda given: {"change": given["line"], "note": ["memory: takes effect at the next start"]}
    assert kamuee("set", "memory", "512").out == "set memory 512\nnote: memory: takes effect at the next start\n"
    daemon.operations["configure"] = lambda given: {}
    assert kamuee("set", "memory", "512").out == "no changes\n"
    assert kamuee("set", "memory", "512", "--check").out == "valid; no changes\n"


def test_a_line_behind_configure_is_refused_with_the_remedy(kamuee, daemon):
    result = kamuee("configure", "set vr blue")
    assert result.code == 2 and "try: set …, delete …" in result.err and daemon.asked == [], result


def test_creating_a_virtual_router_prints_one_line(kamuee, daemon):
    def made(given):
        if not given.get("check"):
            daemon.state["vr"] = [*daemon.state["vr"], {"name": "new", "enabled": True}]
        return {"change": given["text"].splitlines()}
    daemon.operations["configure"] = made
    assert kamuee("vr", "create", "new", "--check").out == "valid; would change:\nset vr new\n"
    assert kamuee("vr", "create", "new").out == "virtual router new created\n"


def test_value_with_blanks_is_quoted_for_the_daemon(kamuee, daemon):
    daemon.operations["configure"] = lambda given: {}
    kamuee("set", "port", "p0", "devargs", 'a "b" \\ c')
    assert daemon.asked[0][2]["line"] == ['set port p0 devargs "a \\"b\\" \\\\ c"']


def test_saving_says_where(kamuee, daemon):
    daemon.operations["save-configuration"] = lambda given: {"file": "/etc/kamuee/kamuee.conf"}
    assert kamuee("write", "file").out == kamuee("save").out == "written to /etc/kamuee/kamuee.conf\n"


# --- scripts ---

def test_commands_run_in_order(kamuee):
    result = kamuee("-c", "show version", "-c", "show ledger", "show", "vr")
    assert result.code == 0
    places = [result.out.index(text) for text in ("DPDK", "imbalance", "Namespace")]
    assert places == sorted(places)


def test_consecutive_changes_of_a_file_are_one_transaction(kamuee, daemon, tmp_path):
    daemon.operations["configure"] = lambda given: {"change": given["line"]}
    script = tmp_path / "script"
    script.write_text('# comment\nset port p0 mtu 9000\n\ndel port p1 mac\nshow version\nset vr "a b" table 3\n')
    result = kamuee("-f", str(script))
    assert (result.code, result.err) == (0, "")
    assert [entry[2] for entry in daemon.asked if entry[0] == "POST"] == [
        {"line": ["set port p0 mtu 9000", "delete port p1 mac"]}, {"line": ['set vr "a b" table 3']}]


def test_script_stops_at_the_first_error_and_says_where(kamuee, tmp_path):
    script = tmp_path / "script"
    script.write_text("show version\n\nshow nonsense\nshow ledger\n")
    result = kamuee("-f", str(script))
    assert result.code == 2
    assert f"error: {script}:3: show: 'nonsense' is not expected here" in result.err
    assert "imbalance" not in result.out


def test_errors_of_a_change_name_the_lines_of_the_file(kamuee, daemon, tmp_path):
    def refuse(given):
        raise Refused(400, "line 1: port p0: wrong", "line 2: unknown word", "port p1: 'devargs' is required")
    daemon.operations["configure"] = refuse
    script = tmp_path / "script"
    script.write_text("show version\n\nset port p0 mtu 1\n# comment\nset nonsense\n")
    result = kamuee("-f", str(script))
    assert result.code == 1
    assert result.err == (f"error: {script}:3: port p0: wrong\n       {script}:5: unknown word\n"
                          "       port p1: 'devargs' is required\n")


@pytest.mark.parametrize("argv, expected", [
    (["show", "port", "?"], "  statistics  counters\n  p0\n  p1\n  <port>      a port\n  <enter>     run the command\n"),
    (["-c", "show port|count"], "3\n"), (["help", "port", "sta"], "  port start PORT\n      start a port\n"),
])
def test_question_mark_bar_and_help_as_a_hand_types_them(kamuee, argv, expected):
    result = kamuee(*argv)
    assert (result.code, result.out) == (0, expected), result.err


def test_file_that_is_not_there_is_named_once(kamuee):
    assert kamuee("-f", "/nonexistent").err == "error: cannot read /nonexistent: No such file or directory\n"


@pytest.mark.parametrize("text, number", [("show vr\nshow 'x\n", 2), ("show vr\nset\n", 2), ("\n\nshow vr -x\n", 3)])
def test_wrong_line_is_named_by_its_number(kamuee, daemon, tmp_path, text, number):
    daemon.operations["complete"] = lambda given: {"candidate": [{"word": "port", "help": "Ports."}]}
    script = tmp_path / "script"
    script.write_text(text)
    result = kamuee("-f", str(script))
    assert result.code == 2
    assert result.err.startswith(f"error: {script}:{number}: ")


def test_commands_come_from_the_standard_input(program):
    process = program([], stdin=subprocess.PIPE)
    out, err = process.communicate(b"show version\nexit\nshow nonsense\n", timeout=60)
    assert (process.returncode, err) == (0, b"")
    assert b"kamueed" in out


# --- filters ---

@pytest.mark.parametrize("filters, expected", [
    (r"include ^[BO].*metric", ["B * 198.51.100.0/24 metric 20 via 192.0.2.2, p0, weight 2",
                                "O   198.51.100.0/24 metric 110 via 203.0.113.1, p1"]),
    (r"include 198\.51 | exclude via 192 | count", ["2"]),
    ("begin ^O", ["O   198.51.100.0/24 metric 110 via 203.0.113.1, p1"]),
    ("inc blackhole", ["S * 10.0.0.0/8 blackhole"]),
    ("no-more | begin ^O | count", ["1"]),
])
def test_filters_take_what_the_command_prints(kamuee, filters, expected):
    assert kamuee("-c", f"show ipv4 route | {filters}").out.splitlines() == expected


# --- the world outside ---

def test_reader_that_leaves_early_is_no_error(program, daemon):
    daemon.routes = lambda family: (ROW for _ in range(10**7))
    process = program(["show", "ipv4", "route"])
    assert process.stdout.readline().startswith(b"Codes")
    process.stdout.close()
    assert process.wait(timeout=60) == 0
    assert process.stderr.read() == b""
    assert daemon.left.wait(10), "the daemon was not told that nobody reads on"


def test_interrupt_ends_quietly_with_130(program, daemon):
    daemon.routes = lambda family: (time.sleep(0.01) or ROW for _ in range(10**6))
    process = program(["show", "ipv4", "route", "-j"])
    eventually(lambda: daemon.asked)
    time.sleep(0.2)
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=60) == 130
    assert b"Traceback" not in process.stderr.read()


def test_long_table_is_not_held_in_memory(daemon):
    """500,000 rows, 110 MB of text, cost less than 16 MiB more than one row does."""
    def peak(n_rows):
        daemon.routes = lambda family: (ROW for _ in range(n_rows))
        process = subprocess.Popen([str(ROOT / "kamuee"), "show", "ipv4", "route", "-j"], stdout=subprocess.PIPE,
                                   env={**os.environ, "KAMUEE_SOCKET": daemon.path})
        n_lines = sum(1 for _ in process.stdout)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        assert (process.returncode, n_lines) == (0, n_rows + 2)
        return usage.ru_maxrss
    assert peak(500_000) - peak(1) < 16 * 1024


def test_program_runs_from_where_it_is_installed(tmp_path, daemon):
    (tmp_path / "bin").mkdir()
    (tmp_path / "share" / "kamuee").mkdir(parents=True)
    (tmp_path / "share" / "kamuee" / "cli").symlink_to(ROOT / "cli")
    program = tmp_path / "bin" / "kamuee"
    program.write_bytes((ROOT / "kamuee").read_bytes())
    program.chmod(0o755)
    found = subprocess.run([str(program), "show", "version"], capture_output=True, text=True, cwd="/",
                           env={**os.environ, "KAMUEE_SOCKET": daemon.path})
    assert (found.returncode, found.stderr) == (0, "")
    assert "22.11.4" in found.stdout


def test_one_shot_command_imports_neither_rich_nor_prompt_toolkit(daemon):
    code = ("import sys; from kamuee.cli import main; main(['--socket', sys.argv[1], 'show', 'ipv4', 'route']); "
            "print(sorted({m.partition('.')[0] for m in sys.modules} & {'rich', 'prompt_toolkit', 'argparse'}))")
    found = subprocess.run([sys.executable, "-c", code, daemon.path], capture_output=True, text=True,
                           env={**os.environ, "PYTHONPATH": str(ROOT / "cli")})
    assert found.stdout.splitlines()[-1] == "[]", found.stderr
