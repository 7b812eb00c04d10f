# SPDX-License-Identifier: BSD-3-Clause
"""The command line against kamueed itself, in a network namespace of its own.

Needs root and a built kamueed (KAMUEED, else build/kamueed); is skipped without them.
"""
import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import time

import pytest
from conftest import ROOT
from terminal import Terminal
from test_cli_json import check
from test_cli_printed import PAGES, printed_changes

from kamuee import reference, shapes, tech_support
from kamuee.client import Client
from kamuee.errors import KamueeError

KAMUEED = os.environ.get("KAMUEED", str(ROOT / "build" / "kamueed"))
pytestmark = pytest.mark.skipif(
    os.geteuid() != 0 or not os.access(KAMUEED, os.X_OK) or not os.path.exists("/dev/net/tun") or not shutil.which("unshare"),
    reason="needs root, /dev/net/tun, unshare and a built kamueed")

CONFIGURATION = """\
set port p0 devargs net_null0
set vport v40 port p0 vlan 40
"""
SETUP = """
ip link set lo up
exec 3>"$0/log"
"$1" --config "$0/kamuee.conf" --run-dir "$0" --no-huge --memory 128 2>&3 &
for i in $(seq 1200); do [ -S "$0/kamuee.sock" ] && break; sleep 0.05; done
"""
NETWORK = """
ip addr add 192.0.2.1/24 dev p0; ip link set p0 up; ip link set v40 up
ip route add 198.51.100.0/24 via 192.0.2.2; ip route add blackhole 203.0.113.0/24
ip route add 100.64.0.0/24 via 192.0.2.2 proto static; ip route add 100.64.1.0/24 via 192.0.2.2 proto 196
"""


@contextlib.contextmanager
def kamueed(folder, configuration, network=""):
    """Runs the program against a kamueed with this configuration and these commands run in its namespace."""
    (folder / "kamuee.conf").write_text(configuration)
    process = subprocess.Popen(["unshare", "-n", "-m", "sh", "-c", f"{SETUP}{network}echo ready; wait $!", str(folder), KAMUEED],
                               stdout=subprocess.PIPE, text=True, start_new_session=True)
    assert process.stdout.readline() == "ready\n", (folder / "log").read_text()

    def run(*argv, code=0):
        found = subprocess.run([str(ROOT / "kamuee"), "--socket", str(folder / "kamuee.sock"), *argv], text=True,
                               capture_output=True, env={**os.environ, "COLUMNS": "80", "HOME": str(folder)})
        assert found.returncode == code, found
        return found.stderr if code else found.stdout
    run.folder = folder
    try:
        yield run
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGTERM)
            process.wait(timeout=60)


@pytest.fixture(scope="module")
def real(tmp_path_factory):
    """The program against a kamueed with one port, a vport and some routes."""
    with kamueed(tmp_path_factory.mktemp("kamueed"), CONFIGURATION, NETWORK) as run:
        end = time.monotonic() + 60
        while len(json.loads(run("show", "ipv4", "route", "longer-prefixes", "192.0.0.0/2", "-j"))) < 5:
            assert time.monotonic() < end, run("show", "ipv4", "route")
            time.sleep(0.05)
        yield run


@pytest.fixture(scope="module")
def empty(tmp_path_factory):
    """The program against a kamueed that has just been installed: nothing is configured."""
    with kamueed(tmp_path_factory.mktemp("empty"), "") as run:
        yield run


def test_every_line_of_configuration_that_a_page_prints_is_one(empty):
    client, wrong, tried = Client(str(empty.folder / "kamuee.sock")), [], 0
    for page in PAGES:
        for number, line in printed_changes(page.read_text(encoding="utf-8")):
            tried += 1
            session = client.call("session-open")["session"]
            try:
                client.call("edit", session=session, line=[line])
            except KamueeError as error:
                wrong.append(f"{page.name}:{number}: {line}: {error}")
            client.call("session-close", session=session)
    assert tried > 120 and not wrong, "\n".join(wrong)


# `show flowspec` asks another program.
SHOWS = [words for words, _ in tech_support.shows() if words[1] != "flowspec"] + [["show", "ipv4", "route"], ["show", "ipv6", "route"]]


@pytest.mark.parametrize("words", SHOWS, ids=" ".join)
def test_a_router_without_ports_says_so_and_prints_no_empty_table(empty, words):
    lines = [line for line in empty(*words).splitlines() if line]
    assert lines and (len(lines) > 1 or "  " not in lines[0]), lines
    assert not words[1] == "port" or lines == ["no ports; to create one: 'set port NAME kernel-interface eth1', or 'devargs DEVICE'"]


@pytest.mark.parametrize("name, line", [
    ("port", "show port"), ("port", "show port p0"), ("port-rates", "show port statistics pps -i 0.1"),
    ("interface-rates", "show interface statistics pps -i 0.1"),
    ("interface", "show interface"), ("interface", "show interface v40"), ("route", "show ipv4 route"),
    ("route", "show ipv6 route"), ("route-summary", "show ipv4 route summary"), ("neighbor", "show neighbor"), ("nexthop", "show nexthop"),
    ("thread", "show thread"), ("drops", "show drops all"), ("ledger", "show ledger"), ("ledger-vr", "show ledger vr default"), ("fib", "show fib"),
    ("vr", "show vr"), ("memory", "show memory"), ("version", "show version"), ("system", "show system"),
    ("running-config", "show running-config"), ("monitor", "monitor --once -i 0.1"), ("lookup", "lookup 192.0.2.1"),
    ("audit", "audit"), ("change", "set port p0 mtu 1500 --check"),
])
def test_daemon_answers_in_the_documented_shape(real, name, line):
    found = json.loads(real(*line.split(), "-j"))
    assert found, line
    check(found, reference.parse_shape(shapes.SHAPES[name]), name)


@pytest.mark.parametrize("line", ["show port", "show port p0", "show interface", "show thread", "show drops all", "show fib",
                                  "show vr", "show memory", "show ipv4 route", "show neighbor", "show nexthop", "monitor --once -i 0.1"])
def test_tables_of_the_daemon_fit_80_columns(real, line):
    assert max(map(len, real(*line.split()).splitlines())) <= 80


def test_routes_of_linux_are_shown_and_looked_up(real):
    text = real("show", "ipv4", "route")
    assert "C * 192.0.2.0/24 is directly connected, p0" in text
    assert "K * 198.51.100.0/24 via 192.0.2.2, p0" in text
    assert "K * 203.0.113.0/24 blackhole" in text
    assert "Route 198.51.100.0/24" in real("show", "ipv4", "route", "198.51.100.77")
    assert "no route for 9.9.9.9" in real("show", "ipv4", "route", "9.9.9.9", code=1)
    assert "gateway    192.0.2.2" in real("lookup", "198.51.100.77")
    assert real("lookup", "9.9.9.9") == "9.9.9.9: no route\n"
    assert "kernel, RIB and FIB agree" in real("audit")


def test_configuration_changes_all_or_nothing(real):
    before = real("show", "running-config")
    assert "'mtu' is '99999', expected 68..9600" in real("-c", "set port p0 mtu 9000", "-f", "/dev/null", "set", "port", "p0",
                                                       "mtu", "99999", code=1)
    real("delete", "port", "p0", "mtu")
    script = real.folder / "script"
    script.write_text("set port p0 mtu 1400\nset port p0 mtu 99999\n")
    assert f"error: {script}:2: port p0: 'mtu' is '99999'" in real("-f", str(script), code=1)
    assert real("show", "running-config") == before
    assert real("set", "port", "p0", "mtu", "1400", "--check") == "valid; would change:\nset port p0 mtu 1400\n"
    assert real("set", "port", "p0", "mtu", "1400") == "set port p0 mtu 1400\n"
    assert json.loads(real("show", "port", "-j"))[0]["mtu"] == 1400
    assert real("delete", "port", "p0", "mtu") == "delete port p0 mtu\n"
    assert real("show", "running-config") == before


def test_completion_comes_from_the_schema_and_the_state(real):
    assert real("--complete", "set port p0 mt").startswith("mtu\t")
    assert real("--complete", "set vport v40 port ").startswith("p0\t")
    assert real("--complete", "show interface v").startswith("v40\t")


def test_neighbors_are_forgotten_on_demand_but_not_permanent_ones(real):
    def known():
        return {row["address"] for row in json.loads(real("show", "neighbor", "-j")) if row.get("mac")}

    inside = ["nsenter", f"--net=/proc/{json.loads(real('show', 'system', '-j'))['pid']}/ns/net", "ip"]
    for address, state in (("192.0.2.7", "reachable"), ("192.0.2.8", "reachable"), ("192.0.2.9", "permanent")):
        subprocess.run([*inside, "neigh", "replace", address, "lladdr", "02:00:00:00:00:07", "dev", "p0", "nud", state], check=True)
    end = time.monotonic() + 60
    while not known() >= {"192.0.2.7", "192.0.2.8", "192.0.2.9"}:
        assert time.monotonic() < end
        time.sleep(0.05)
    assert real("clear", "neighbor", "address", "192.0.2.7") == "1 neighbor cleared; they will be resolved again\n"
    while "192.0.2.7" in known():
        assert time.monotonic() < end
        time.sleep(0.05)
    assert known() >= {"192.0.2.8", "192.0.2.9"}
    real("clear", "neighbor", "interface", "p0", "vr", "default")
    while "192.0.2.8" in known():
        assert time.monotonic() < end
        time.sleep(0.05)
    assert "192.0.2.9" in known()


def test_ports_come_and_go(real):
    assert real("port", "attach", "p9", "net_null9") == "port p9 attached\n"
    assert real("port", "stop", "p9") == "port p9 stopped\n"
    assert json.loads(real("show", "port", "p9", "-j"))[0]["status"] == "stopped"
    assert real("port", "start", "p9") == "port p9 started\n"
    assert real("port", "detach", "p9") == "port p9 detached\n"
    assert "there is no port p9" in real("show", "port", "p9", code=1)
    assert "p9" in real("port", "detach", "p9", code=1)


# --- first mistakes ---

def test_a_leaf_that_is_said_twice_is_refused(real):
    assert "port p0 mtu 1500: 'mtu' appears twice" in real("set", "port", "p0", "mtu", "1500", "mtu", "1600", code=1)
    assert "'mtu' appears twice" in real("-c", "configure", "-c", "set port p0 mtu 1500 mtu 1500", "-c", "exit discard", code=1)


def test_a_value_that_is_too_long_is_cut_and_its_limit_named(real):
    said = real("set", "port", "p7", "devargs", "net_null7,x=" + "a" * 5000, code=1)
    assert "expected at most 255 characters, found 5012" in said and len(said) < 400
    longest = "net_null7,x=" + "a" * (255 - len("net_null7,x="))
    assert "characters" not in real("set", "port", "p7", "devargs", longest, "--check")
    assert "expected at most 255 characters, found 256" in real("set", "port", "p7", "devargs", longest + "a", "--check", code=1)


def test_yaml_is_known_for_what_it_is(real):
    file = real.folder / "c.yaml"
    file.write_text("kamuee:port:\n- name: p0\n  devargs: net_null0\n" + "".join(f"- name: p{i}\n  devargs: net_null{i}\n" for i in range(1, 20)))
    said = real("-c", "configure", "-c", f"load replace {file}", "-c", "exit discard", code=2)
    assert f"{file} is YAML" in said and f"try: import yaml {file} replace" in said and len(said.splitlines()) == 2
    assert "set port p19 devargs net_null19" in real("-c", "configure", "-c", f"import yaml {file} replace", "-c", "compare", "-c", "exit discard")


def test_a_name_alone_changes_nothing_and_the_prompt_says_so(real):
    terminal = Terminal(["--socket", str(real.folder / "kamuee.sock")], HOME=str(real.folder))
    try:
        terminal.until(r"\n\w+> ?$")
        for line, prompt in (("configure", r"\[edit\]#"), ("set port p0", r"\[edit\]#"), ("set port p0 mtu 1400", r"\[edit\*\]#")):
            terminal.type(line + "\r")
            terminal.until(re.escape(line) + r"[^$]*?\n[^\n]*" + prompt)
        terminal.type("exit discard\rexit\r")
        assert terminal.wait() == 0
    finally:
        terminal.close()


def test_static_routes_are_those_of_linux_and_of_frr(real):
    def shown(*more):
        return {(row["prefix"], row["protocol"]) for row in json.loads(real("show", "ipv4", "route", "protocol", *more, "-j"))}
    assert shown("static") == {("100.64.0.0/24", "static"), ("100.64.1.0/24", "frr-static")}
    assert shown("frr-static") == {("100.64.1.0/24", "frr-static")}
    assert "static" in (said := real("show", "ipv4", "route", "protocol", "connected", code=1)) and "frr-static" in said
    assert re.search(r"^S .*100\.64\.1\.0/24", real("show", "ipv4", "route", "protocol", "static"), re.M)


def test_saved_configuration_is_what_runs(real):
    assert real("save") == f"written to {real.folder}/kamuee.conf\n"
    saved = [line for line in (real.folder / "kamuee.conf").read_text().splitlines() if line[:1] not in ("#", "")]
    assert saved == real("show", "running-config").splitlines()


def test_shutdown_ends_the_daemon(real):
    assert "to stop kamueed: 'shutdown kamueed'" in real("shutdown", code=2)
    assert "to stop kamueed: 'shutdown kamueed'" in real("-c", "configure", "-c", "shutdown kamueed", code=2)
    assert real("show", "version")
    assert real("shutdown", "kamueed") == "kamueed is stopping; to start it again: systemctl start kamueed\n"
    end = time.monotonic() + 60
    while (real.folder / "kamuee.sock").exists():
        assert time.monotonic() < end
        time.sleep(0.05)
    assert "cannot reach kamueed" in real("show", "version", code=3)
