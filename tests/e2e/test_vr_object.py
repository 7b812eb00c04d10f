# SPDX-License-Identifier: BSD-3-Clause
"""A virtual router as an object: its namespace comes and goes with it, whatever happens in between; its name; stop and start."""
import contextlib
import os
import shutil
import signal
import socket
import subprocess
from pathlib import Path

import pytest

from kamuee.errors import DaemonError, KamueeError
from kamuee.lab import rights
from kamuee.lab.frr import CONFIG_DIR, RUN_DIR
from kamuee.lab.netns import NETNS_DIR, is_running, stop_processes

from conftest import ROOT
from daemon import Daemon
from support import Router, assert_no_loss, assert_reaches, eventually, reaches, small_pages, two_hosts

PORTS = "set memory 128\nset port p0 kernel-interface a0\nset port p1 kernel-interface a1\n"
BLUE = PORTS + "set vr blue\nset interface p1 vr blue\n"


@pytest.fixture
def daemon(kamueed):
    before = set(NETNS_DIR.glob("*"))   # a lab of this module finds its processes by its namespaces
    made = Daemon(kamueed, "vro")
    yield made
    made.end()
    for left in set(NETNS_DIR.glob("*")) - before:
        subprocess.run(["ip", "netns", "del", left.name])


def ip(netns: str, *words: str) -> str:
    return subprocess.run(["ip", "-n", netns, *words], capture_output=True, text=True, check=True).stdout


def inode(netns: str) -> int:
    return os.stat(NETNS_DIR / netns).st_ino


def marks(daemon: Daemon) -> set[str]:
    return {path.name for path in (daemon.dir / "netns").glob("*")}


def killed(daemon: Daemon) -> None:
    daemon.process.send_signal(signal.SIGKILL)
    daemon.process.wait()
    daemon.process = None


def kamuee(daemon: Daemon, *words: str, check: bool = True, text: str | None = None) -> subprocess.CompletedProcess:
    done = subprocess.run([str(ROOT / "kamuee"), "--socket", str(daemon.socket), *words], capture_output=True, text=True, input=text,
                          timeout=120)
    assert not check or done.returncode == 0, f"{words}: {done.returncode}\n{done.stdout}{done.stderr}"
    return done


def test_the_namespace_comes_and_goes_with_the_virtual_router(daemon):
    daemon.start(PORTS)
    own = os.readlink(f"/proc/{daemon.process.pid}/ns/net")
    daemon.configure("set vr blue", "set interface p1 vr blue")
    assert "p1" in ip("blue", "-br", "link") and "UP" in ip("blue", "link", "show", "lo").partition(">")[0]
    in_spaces = set()
    for thread in Path(f"/proc/{daemon.process.pid}/task").iterdir():
        with contextlib.suppress(OSError):                  # it has ended meanwhile
            in_spaces.add(os.readlink(thread / "ns/net"))
    assert in_spaces == {own}, "a thread of kamueed stays in another namespace"
    state = daemon.client.state("vr=blue")[0]
    assert state["own-namespace"] and state["namespace"] == "blue" and state["enabled"]
    daemon.configure("delete interface p1 vr", "delete vr blue")
    assert not (NETNS_DIR / "blue").exists() and marks(daemon) == set()
    assert "p1" in daemon.links()


def test_a_namespace_of_others_is_neither_taken_nor_deleted(daemon):
    subprocess.run(["ip", "netns", "add", "blue"], check=True)
    before = inode("blue")
    daemon.start(PORTS)
    with pytest.raises(DaemonError, match=r"kamueed has not made: use it with 'set vr blue namespace blue'"):
        daemon.configure("set vr blue")
    assert "set vr" not in daemon.running() and inode("blue") == before
    daemon.configure("set vr blue namespace blue")
    assert daemon.client.state("vr=blue")[0]["own-namespace"] is False
    with pytest.raises(DaemonError, match="kamueed has not made"):
        daemon.configure("delete vr blue namespace")
    daemon.configure("delete vr blue")
    assert inode("blue") == before


def test_a_namespace_that_the_configuration_names_from_now_on_is_the_operators(daemon):
    daemon.start(BLUE)
    before = inode("blue")
    daemon.configure("set vr blue namespace blue")
    daemon.configure("delete interface p1 vr", "delete vr blue")
    assert inode("blue") == before and marks(daemon) == set()


def test_after_a_crash_what_it_made_is_found_again(daemon):
    daemon.start(BLUE)
    ip("blue", "addr", "add", "192.0.2.1/24", "dev", "p1")
    before = inode("blue")
    killed(daemon)
    daemon.start(BLUE)
    assert inode("blue") == before and "192.0.2.1/24" in ip("blue", "addr", "show", "p1")
    daemon.configure("delete interface p1 vr", "delete vr blue")
    assert not (NETNS_DIR / "blue").exists()


def test_after_a_crash_one_of_others_is_not_adopted(daemon):
    """Made while kamueed did not run; its inode may well be that of the old one."""
    daemon.start(PORTS + "set vr blue\n")
    killed(daemon)
    subprocess.run(["ip", "netns", "del", "blue"], check=True)
    subprocess.run(["ip", "netns", "add", "blue"], check=True)
    code, said = daemon.refused(PORTS + "set vr blue\n")
    assert code == 1 and "network namespace blue that kamueed has not made" in said, (code, said)
    daemon.start(PORTS, "--from-file")
    assert (NETNS_DIR / "blue").exists() and marks(daemon) == set()


@pytest.mark.parametrize("left", ["mark", "mark-and-file"])
def test_a_crash_half_way_leaves_nothing(daemon, left):
    """Killed between mark and name, and between the name's file and its bindings."""
    daemon.start(PORTS + "set vr blue\n")
    killed(daemon)
    subprocess.run(["ip", "netns", "del", "blue"], check=True)
    if left == "mark-and-file":
        (NETNS_DIR / "blue").touch(0o000)
    daemon.start(PORTS + "set vr blue\n")
    assert "LOOPBACK,UP" in ip("blue", "link", "show", "lo")
    daemon.configure("delete vr blue")
    assert not (NETNS_DIR / "blue").exists() and marks(daemon) == set()


def test_one_that_left_the_configuration_meanwhile_goes_at_the_next_start(daemon):
    daemon.start(BLUE)
    killed(daemon)
    daemon.start(PORTS, "--from-file")
    assert not (NETNS_DIR / "blue").exists() and marks(daemon) == set()


def test_a_change_that_fails_leaves_the_namespace_as_it_was(daemon):
    daemon.start(BLUE)
    ip("blue", "addr", "add", "192.0.2.1/24", "dev", "p1")
    before = inode("blue")
    with pytest.raises(DaemonError):
        daemon.configure("delete interface p1 vr", "delete vr blue", "set vr red", "set port p9 devargs net_nonsense0")
    assert inode("blue") == before and not (NETNS_DIR / "red").exists() and marks(daemon) == {"blue"}
    assert "192.0.2.1/24" in ip("blue", "addr", "show", "p1")


def test_a_start_that_fails_leaves_it_to_the_next_one(daemon):
    daemon.start(BLUE)
    ip("blue", "addr", "add", "192.0.2.1/24", "dev", "p1")
    before = inode("blue")
    killed(daemon)
    subprocess.run(["ip", "netns", "add", "zzz"], check=True)
    code, said = daemon.refused(PORTS + "set vr zzz\n")
    assert code == 1 and "has not made" in said, said
    assert inode("blue") == before and "192.0.2.1/24" in ip("blue", "addr", "show", "p1")
    daemon.start(BLUE)
    assert inode("blue") == before and "192.0.2.1/24" in ip("blue", "addr", "show", "p1")


def test_a_removed_name_comes_back(daemon):
    daemon.start(BLUE)
    before = inode("blue")
    subprocess.run(["ip", "netns", "del", "blue"], check=True)
    eventually(lambda: (NETNS_DIR / "blue").exists() and inode("blue") == before, 60, "the name of the same namespace")
    daemon.configure("delete interface p1 vr", "delete vr blue")
    assert not (NETNS_DIR / "blue").exists()


def test_devices_of_others_keep_the_namespace(daemon):
    daemon.start(BLUE)
    ip("blue", "link", "add", "theirs", "type", "veth", "peer", "name", "theirs2")
    ip("blue", "link", "set", "theirs", "up")
    daemon.configure("delete interface p1 vr", "delete vr blue")
    assert "theirs" in ip("blue", "-br", "link") and marks(daemon) == set()
    assert "not removed, because devices in it are up" in daemon.log.read_text()


def test_with_a_mount_namespace_of_its_own_as_under_systemd_the_helper_names_them(daemon):
    subprocess.run(["mount", "--make-rshared", str(NETNS_DIR)], check=True)
    asked = daemon.dir / "helper"
    helper = subprocess.Popen([Path(daemon.binary).parent / "src/main/kamuee-netns", asked, str((rights.ids() or (0, 0))[0])])
    try:
        eventually(asked.exists, 10, "the helper listens")
        plain = daemon.command
        daemon.command = lambda *more: ["unshare", "-m", "--propagation", "slave", "env", f"KAMUEE_NETNS={asked}", *plain(*more)]
        daemon.start(BLUE)
        assert "p1" in ip("blue", "-br", "link"), "whoever is outside sees it"
        before = inode("blue")
        daemon.client.call("vr-rename", name="blue", new_name="green")
        assert inode("green") == before and not (NETNS_DIR / "blue").exists()
        daemon.configure("delete interface p1 vr", "delete vr green")
        assert not (NETNS_DIR / "green").exists() and marks(daemon) == set()
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as silent:
            silent.connect(str(asked))                    # and says nothing: the helper serves one at a time
            daemon.configure("set vr blue")
        daemon.configure("delete vr blue")
        helper.send_signal(signal.SIGSTOP)
        with pytest.raises(KamueeError, match="kamuee-netns does not answer: restart it"):
            daemon.configure("set vr blue")
        eventually(lambda: ("process", "kamuee-netns") in [(a["name"], a["subject"]) for a in daemon.client.entries("alarm")], 10, "the alarm")
        helper.send_signal(signal.SIGCONT)
        eventually(lambda: can_configure(daemon, "set vr blue"), 20, "it is asked again")
        eventually(lambda: not [a for a in daemon.client.entries("alarm") if a["name"] == "process"], 10, "the alarm is over")
        daemon.configure("delete vr blue")
        for wrong in (b"+../../etc/x", b"-..", b"+", b"*x", b"-" + b"x" * 200):
            with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as s:
                s.connect(str(asked))
                s.send(wrong)
                assert int.from_bytes(s.recv(4), "little", signed=True) < 0
    finally:
        helper.kill()
        helper.wait()


def can_configure(daemon, line: str) -> bool:
    try:
        daemon.configure(line)
    except KamueeError:
        return False
    return True


def test_started_by_ip_netns_exec_its_names_are_its_own_and_the_command_line_finds_them(daemon, monkeypatch):
    monkeypatch.setenv("KAMUEED_USER", "root")
    monkeypatch.delenv("KAMUEE_NETNS", raising=False)
    plain = daemon.command
    daemon.command = lambda *more: ["unshare", "-m", "--propagation", "slave", *plain(*more)]    # as `ip netns exec` does it
    daemon.start(PORTS)
    kamuee(daemon, "vr", "create", "blue", "daemon", "bird")
    try:
        daemon.configure("set interface p1 vr blue")
        assert "p1" in kamuee(daemon, "vr", "enter", "blue", "ip", "-br", "link").stdout
        assert "BIRD" in kamuee(daemon, "vr", "enter", "blue", "birdc", "show", "status").stdout
    finally:
        kamuee(daemon, "vr", "delete", "blue", "force")
    assert not (NETNS_DIR / "blue").exists()


@pytest.mark.parametrize("name, why", [
    ("..", "begin with"), (".", "begin with"), (".x", "begin with"), ("-x", "begin with"), ("a/b", "1 to 15 letters"), ("/etc", "1 to 15 letters"),
    ("blau grün", "1 to 15 letters"), ("blå", "1 to 15 letters"), ("x" * 64, "1 to 15"), ("default", "always exists"), ("", "1 to 15")])
def test_names_that_are_none(daemon, name, why):
    daemon.start(PORTS)
    with pytest.raises(KamueeError, match=why):
        daemon.configure(f'set vr "{name}"')
    assert {path.name for path in NETNS_DIR.glob("*")} == {"vro"} and "set vr" not in daemon.running()


# --- the command line ---

@pytest.fixture
def tenants(daemon):
    """A kamueed whose virtual routers' daemons end with the test."""
    daemon.start(PORTS)
    yield daemon
    pids = [int(text) for path in [*RUN_DIR.glob("*/*.pid"), *Path("/run/bird").glob("*.pid")] if (text := path.read_text())]
    stop_processes(sorted(pids, key=lambda pid: Path(f"/proc/{pid}/comm").read_text() != "watchfrr\n" if is_running(pid) else 0))
    for directory in [*RUN_DIR.glob("*"), *CONFIG_DIR.glob("*")]:
        shutil.rmtree(directory, ignore_errors=True)


def daemons_of(name: str) -> dict[str, int]:
    found = {}
    for path in (RUN_DIR / name).glob("*.pid"):
        with contextlib.suppress(FileNotFoundError):        # a daemon that ends removes it
            if (pid := int(path.read_text() or 0)) and is_running(pid):
                found[path.stem] = pid
    return found


def test_create_with_frr_enter_rename_stop_start_delete(tenants):
    kamuee(tenants, "vr", "create", "blue", "daemon", "frr")
    tenants.configure("set interface p1 vr blue")
    # watchfrr starts the others, each of which makes its pid file before it writes it
    pids = eventually(lambda: {"watchfrr", "zebra", "bgpd", "staticd"} <= (found := daemons_of("blue")).keys() and found, 30, lambda: str(daemons_of("blue")))
    assert {os.stat(f"/proc/{pid}/ns/net").st_ino for pid in pids.values()} == {inode("blue")}
    eventually(lambda: tenants.client.state("vr=blue")[0]["routing-daemon-runs"], 20, "zebra reads the kernel's routes")
    assert "frr" in kamuee(tenants, "show", "vr", "blue").stdout

    inside = kamuee(tenants, "vr", "enter", "blue", "sh", "-c",
                    "ip -br link; vtysh -c 'show running-config'; kamuee lookup 192.0.2.9; kamuee show vr; echo $KAMUEE_VR").stdout
    assert "\np1 " in inside and "\np0 " not in inside and "frr version" in inside and inside.endswith("blue\n")
    assert "Virtual router blue" in inside
    kamuee(tenants, "vr", "enter", "blue", "vtysh", "-c", "configure terminal", "-c", "ip route 198.51.100.0/24 blackhole", "-c", "exit", "-c",
           "write memory")
    eventually(lambda: "198.51.100.0/24" in kamuee(tenants, "lookup", "198.51.100.1", "vr", "blue").stdout, 20, "the route is in the FIB")
    assert "no route" in kamuee(tenants, "lookup", "198.51.100.1").stdout
    assert "ip route 198.51.100.0/24 blackhole" in (CONFIG_DIR / "blue/frr.conf").read_text()

    assert "restarted" in kamuee(tenants, "vr", "rename", "blue", "green").stdout
    assert not daemons_of("blue") and "p1" in ip("green", "-br", "link")
    eventually(lambda: "zebra" in daemons_of("green"), 30, lambda: str(daemons_of("green")))
    eventually(lambda: "198.51.100.0/24" in kamuee(tenants, "lookup", "198.51.100.1", "vr", "green").stdout, 20, "FRR's configuration went with it")

    kamuee(tenants, "vr", "stop", "green")
    assert not daemons_of("green") and tenants.client.state("vr=green")[0]["enabled"] is False
    kamuee(tenants, "vr", "start", "green")
    eventually(lambda: "zebra" in daemons_of("green"), 30, lambda: str(daemons_of("green")))
    assert tenants.client.state("vr=green")[0]["enabled"] is True

    refused = kamuee(tenants, "vr", "delete", "green", check=False)
    assert refused.returncode == 1 and "is in use: interface p1" in refused.stderr and daemons_of("green")
    kamuee(tenants, "vr", "delete", "green", "force")
    assert not daemons_of("green") and not (NETNS_DIR / "green").exists() and "green" not in tenants.running()
    assert not (RUN_DIR / "green").exists() and (CONFIG_DIR / "green/frr.conf").exists()


def test_bird_of_its_own_and_a_daemon_that_dies(tenants):
    kamuee(tenants, "vr", "create", "red", "daemon", "bird")
    pid = bird_pid("red")
    assert os.stat(f"/proc/{pid}/ns/net").st_ino == inode("red")
    assert "BIRD" in kamuee(tenants, "vr", "enter", "red", "birdc", "show", "status").stdout
    config = Path("/etc/bird/red.conf")
    config.write_text(config.read_text() + "# mine\n")
    tenants.configure("set alarm routing-daemon raise 1")

    def alarms() -> set[tuple[str, str]]:
        return {(entry["name"], entry["subject"]) for entry in tenants.client.entries("alarm")}
    os.kill(pid, signal.SIGKILL)
    eventually(lambda: ("routing-daemon", "red netlink") in alarms(), 30, "the alarm", step_s=0.5)
    assert tenants.client.state("vr=red")[0]["routing-daemon-runs"] is False
    kamuee(tenants, "vr", "start", "red")
    eventually(lambda: ("routing-daemon", "red netlink") not in alarms(), 30, "the alarm is over", step_s=0.5)
    assert config.read_text().endswith("# mine\n"), "a configuration that is there stays"


def bird_pid(name: str) -> int:
    """It makes the file before it writes it."""
    return int(eventually(lambda: Path(f"/run/bird/{name}.pid").read_text(), 10, "BIRD's pid file"))


def test_a_daemon_in_the_namespace_of_an_earlier_one_is_started_anew(tenants):
    kamuee(tenants, "vr", "create", "red", "daemon", "bird")
    old = bird_pid("red")
    tenants.configure("delete vr red")      # by hand: nobody ends the daemon
    kamuee(tenants, "vr", "create", "red", "daemon", "bird")
    pid = bird_pid("red")
    assert os.stat(f"/proc/{pid}/ns/net").st_ino == inode("red") and not is_running(old)


LISTS = ("set address-set blue:hosts vr blue prefix 192.0.2.0/24", "set acl blue:web vr blue default permit",
         "set acl blue:web rule 10 deny tcp from set blue:hosts to any port 23", "set policer blue:slow vr blue cir 10M", "set vr blue acl in blue:web",
         "set interface p1 police out blue:slow")


def test_lists_and_policers_go_where_their_virtual_router_goes(tenants, tmp_path):
    tenants.configure("set vr blue", "set interface p1 vr blue", *LISTS)

    def bound() -> dict[str, list[str]]:
        return {acl["name"]: [b["interface"] for b in acl["bound"]] for acl in tenants.client.state("acl")}

    with pytest.raises(DaemonError, match="acl blue:web"):
        tenants.configure("delete vr blue", "delete interface p1")
    kamuee(tenants, "vr", "rename", "blue", "green")
    assert "blue" not in tenants.running() and bound() == {"green:web": ["p1"]}
    assert "set acl green:web rule 10 deny tcp from set green:hosts to any port 23" in tenants.running()
    with pytest.raises(DaemonError, match="vr green cannot be renamed to 'a-much-longer-n'.*longer than 31"):
        tenants.configure("set policer green:a-name-of-very-many-let vr green cir 1M")
        tenants.client.call("vr-rename", name="green", new_name="a-much-longer-n")
    tenants.configure("delete policer green:a-name-of-very-many-let")
    kamuee(tenants, "vr", "create", "copy", "from", "green")
    assert bound() == {"green:web": ["p1"], "copy:web": []} and "set acl copy:web vr copy" in tenants.running()
    assert "set vr copy acl in copy:web" in tenants.running() and "from set copy:hosts" in tenants.running()
    lines = tmp_path / "green"
    lines.write_text(kamuee(tenants, "vr", "export", "green").stdout)
    before = tenants.running()
    kamuee(tenants, "vr", "delete", "green", "force")
    assert "green" not in tenants.running() and bound() == {"copy:web": []}
    tenants.client.call("configure", text=lines.read_text())
    assert tenants.running() == before and bound()["green:web"] == ["p1"]


def test_a_template_and_a_copy(tenants, tmp_path):
    template = tmp_path / "tenant"
    template.write_text("# $NAME at $port\nset vr $NAME description \"tenant $NAME\"\nset vr $NAME cpu-weight 7\n"
                        "set vport $port.7 port $port\nset vport $port.7 vlan 7\nset interface $port.7 vr $NAME\n")
    kamuee(tenants, "vr", "create", "blue", "template", str(template), "port=p1")
    assert {"set vr blue description \"tenant blue\"", "set interface p1.7 vr blue"} <= set(tenants.running().splitlines())
    exported = kamuee(tenants, "vr", "export", "blue").stdout
    assert "# needs port p1\n" in exported and "set vport p1.7 vlan 7\n" in exported and "set vr blue cpu-weight 7\n" in exported
    kamuee(tenants, "vr", "create", "copy", "from", "blue")
    assert tenants.client.state("vr=copy")[0]["cpu-weight"] == 7 and "set vr copy description" not in tenants.running()
    before = tenants.running()

    tenants.configure("set api client his role admin", "set api client his vr blue")
    kamuee(tenants, "vr", "delete", "blue", "force")
    assert "api client" not in tenants.running(), "a client that was bound must not be bound to nothing"
    assert "p1.7" not in tenants.running() and "p1.7" not in tenants.links()
    (tmp_path / "exported").write_text(exported)
    kamuee(tenants, "load", "merge", str(tmp_path / "exported"))
    assert tenants.running() == before, "what was exported makes it again"

    for wrong, given, said in (("set vr $NAME\nset vr $NAME cpu-weight 700\n", [], ":2: "),
                               ("set vr $NAME\nset interface $port vr $NAME\n", [], ":2: $port has no value"),
                               ("delete vr copy\n", [], ":1: 'delete'"), ("set vr $NAME\n", ["port=p1"], "has no $port"),
                               ("set vr $NAME\n\nset intrface p1 vr $NAME\n", [], ":3: ")):
        template.write_text(wrong)
        done = kamuee(tenants, "vr", "create", "bad", "template", str(template), *given, check=False)
        assert done.returncode and said in done.stderr, (wrong, done.stderr)
        assert tenants.running() == before and not (NETNS_DIR / "bad").exists()
    for words, said in ((["create", "copy"], "virtual router copy already exists"), (["create", "default"], "already"),
                        (["create", "a/b"], "1 to 15 letters"), (["create", "x" * 64], "1 to 15 letters"), (["create", "ü"], "1 to 15 letters"),
                        (["create", ".."], "begin"), (["create", "a.b", "daemon", "frr"], "FRR allows no '.'"),
                        (["delete", "nobody"], "there is no virtual router nobody"), (["rename", "copy", "blue"], "there is a vr blue already"),
                        (["rename", "copy", "-x"], "unknown option"), (["export", "nobody"], "no virtual router"), (["enter", "nobody"], "no virtual router"),
                        (["stop", "default"], "always exists")):
        done = kamuee(tenants, "vr", *words, check=False)
        assert done.returncode and said in done.stderr, (words, done.stderr)
    assert tenants.running() == before


def test_a_table_has_no_daemon_of_its_own(tenants):
    with pytest.raises(DaemonError, match="needs a network namespace"):
        tenants.configure("set vr red table 100", "set vr red routing-daemon frr")


def test_stopped_it_carries_nothing_and_started_it_does_again(labs, kamueed):
    lab = labs(two_hosts())
    router = Router(lab["r"])
    node = lab["r"]
    router.configure("set vr blue", "set interface p0 vr blue", "set interface p1 vr blue")
    for h in ("h1", "h2"):
        assert_reaches(lab[h], "10.2.0.1" if h == "h1" else "10.1.0.1")
    assert_no_loss(lab["h1"], "10.2.0.2", 20)
    router.configure("set vr blue enabled false")
    assert not reaches(lab["h1"], "10.2.0.2") and router.state("vr=blue")[0]["enabled"] is False
    assert "NO-CARRIER" in ip("blue", "link", "show", "p0")
    router.configure("delete vr blue enabled")
    assert_reaches(lab["h1"], "10.2.0.2", "fd00:2::2")

    # its new name reaches everything, and the packets notice nothing
    router.configure("set port p0 queue rate 100M", "set port p0 queue vr blue guarantee 10M", "set routing-daemon blue bgp",
                     "set counters prefix blue 10.2.0.0/24")
    before = inode("blue")
    assert_no_loss(lab["h1"], "10.2.0.2", 20)
    from support import Pinging
    pinging = Pinging(lab["h1"], "10.2.0.2")
    router.call("vr-rename", name="blue", new_name="green")
    result = pinging.stop()
    assert result.sent > 0 and result.lost == 0, result.said
    assert inode("green") == before and not (NETNS_DIR / "blue").exists()
    text = router.call("configuration")["text"]
    assert "blue" not in text and {"set port p0 queue vr green guarantee 10M", "set interface p1 vr green",
                                   "set counters prefix green 10.2.0.0/24"} <= set(text.splitlines())
    assert [row["vr"] for row in router.entries("interface") if row["name"] in ("p0", "p1")] == ["green", "green"]
    with pytest.raises(DaemonError, match="there is a vr green already"):
        router.call("vr-rename", name="green", new_name="green")
    router.call("configure", revision=1)
    assert (NETNS_DIR / "blue").exists() and not (NETNS_DIR / "green").exists()
    router.configure("delete interface p0 vr", "delete interface p1 vr", "delete port p0 queue", "delete routing-daemon blue bgp", "delete counters",
                     "delete vr blue")
    assert node.namespace.has_link("p0")


# --- the bill ---

def resident(daemon) -> int:
    """Anonymous memory: without the kernel's page of zeros, and files."""
    text = Path(f"/proc/{daemon.process.pid}/smaps_rollup").read_text()
    return 1024 * int(next(line for line in text.splitlines() if line.startswith("Anonymous:")).split()[1])


def memory(daemon, name: str) -> int:
    return next(int(entry["used"]) for entry in daemon.client.state(f"vr={name}")[0]["budget"] if entry["name"] == "memory")


def test_the_bill_of_memory_is_what_virtual_routers_cost(daemon):
    names = [f"t{k}" for k in range(30)]
    with small_pages():
        daemon.start(PORTS + "set vr first\nset vr second\n")   # they have what all share made
    eventually(lambda: all(vr["synced"] for vr in daemon.client.entries("vr")), 60)
    before = resident(daemon)
    daemon.configure(*(f"set vr {name}" for name in names))
    eventually(lambda: all(daemon.client.state(f"vr={name}")[0]["synced"] for name in names), 60)
    bills = [memory(daemon, name) for name in names]
    assert max(bills) <= 64 * 1024, bills
    assert resident(daemon) - before <= 30 * 128 * 1024          # with its configuration, sockets' buffers, what control knows of it
    for k, name in enumerate(names):                             # routes that no other one has
        lines = "".join(f"route add blackhole 20.{i}.{k}.0/24\n" for i in range(250)) + \
                "".join(f"route add blackhole 2001:db8:{i:x}:{k:x}::/64\n" for i in range(250))
        subprocess.run(["ip", "-n", name, "-batch", "-"], input=lines, text=True, check=True)
    eventually(lambda: all(fib["routes"] >= 250 for name in names for fib in daemon.client.state(f"vr={name}")[0]["fib"]), 60)
    told, has = sum(memory(daemon, name) for name in names), resident(daemon) - before
    assert 0.6 * has < told < 1.2 * has, (told, has)
