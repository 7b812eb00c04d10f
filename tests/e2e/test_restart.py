# SPDX-License-Identifier: BSD-3-Clause
"""kamueed is killed and started at once: its TAPs do not notice, so neither do the kernel's routes nor the routing daemons.

KILLS=200 for a long run of kills at random instants while routes change.
"""
import os
import random
import signal
import socket
import subprocess
import time
from pathlib import Path

import pytest

from kamuee.lab import measure
from kamuee.lab.kamueenode import find_kamueed
from kamuee.lab.netns import is_running

from support import Router, assert_reaches, eventually, reaches

pytestmark = pytest.mark.kill

KILLS = int(os.environ.get("KILLS", "3"))
ROUTES = 4000
CHANGES_PER_S = 10000
LAB = f"""
nodes:
  h1: $HOST(1)
  r:
    kind: kamuee
    daemon: frr
    daemons: [staticd, bgpd, bfdd]
    interfaces:
      p0: [10.1.0.1/24, "fd00:1::1/64"]
      p1: [10.2.0.1/24, "fd00:2::1/64"]
      b0: {{addresses: [10.7.0.1/24], vr: blue}}
      v5: {{addresses: [10.5.0.1/24], port: p0, vlan: 5}}
    asn: 65001
    neighbors: [{{address: 10.2.0.2, asn: 65002, options: ["bfd 10 1000 1000", timers 3 60]}}]
    networks: [10.1.0.0/24]
    vrs: {{blue: [192.0.2.0/24 via 10.7.0.2]}}
    set:
      - set metalink m a default b blue
  r2:
    kind: router
    daemon: frr
    daemons: [staticd, bgpd, bfdd]
    interfaces: {{p1: [10.2.0.2/24, "fd00:2::2/64"], lo: [198.51.100.1/32]}}
    asn: 65002
    neighbors: [{{address: 10.2.0.1, asn: 65001, options: ["bfd 10 1000 1000", timers 3 60]}}]
    networks: [198.51.100.0/24]
    feed: {{asn: 65003, generate: true, routes_count: {ROUTES}}}
  h3:
    kind: host
    interfaces: {{eth0: [10.7.0.2/24]}}
links:
  - [h1:eth0, r:p0]
  - [r:p1, r2:p1]
  - [r:b0, h3:eth0]
"""
TAPS = ("p0", "p1", "v5", "m-a")
FAR = "198.51.100.1"


def routing(labs, topology: str):
    """The lab, when its sessions are up and the routes of the feed in the FIB."""
    lab = labs(topology)
    eventually(lambda: is_up(lab) and measure.fib_counts(lab["r"])["fib"] > ROUTES / 2, 120, lambda: lab["r"].vtysh("show bgp summary"), 0.2)
    assert_reaches(lab["h1"], FAR)
    return lab


@pytest.fixture(scope="module")
def lab(labs, kamueed):
    return routing(labs, LAB)


def is_up(lab) -> bool:
    bfd = [peer["status"] for peer in lab["r"].frr.json("show bfd peers")]
    return all(lab["r"].frr.sessions().values()) and bfd == ["up"]


def established(lab) -> tuple[int, int]:
    """How often its session has come up, and that of BFD gone down."""
    neighbor = lab["r"].frr.json("show bgp neighbors 10.2.0.2")["10.2.0.2"]
    counters = lab["r"].frr.json("show bfd peers counters")
    return neighbor["connectionsEstablished"], counters[0]["session-down"]


def taps(lab) -> dict[str, tuple]:
    """Index, carrier, MAC and MTU of each TAP."""
    found = {}
    for namespace, names in ((lab["r"].namespace, TAPS), (lab["r"].vrs["blue"], ("b0", "m-b"))):
        for name in names:
            link = namespace.ip_json(f"link show dev {name}")[0]
            found[name] = (link["ifindex"], "LOWER_UP" in link["flags"], link["address"], link["mtu"])
    return found


class Listener:
    """Notes what the kernel announces of links, addresses, routes and next-hop objects."""

    def __init__(self, lab, folder: Path):
        self.files = [folder / "default", folder / "blue"]
        self.procs = [namespace.popen(["ip", "-oneline", "monitor", "link", "route", "nexthop", "address"], log=str(file))
                      for namespace, file in zip((lab["r"].namespace, lab["r"].vrs["blue"]), self.files)]
        eventually(lambda: self.hears(lab), what="both listen")

    def hears(self, lab) -> bool:
        for namespace, tap in ((lab["r"].namespace, "p1"), (lab["r"].vrs["blue"], "b0")):
            namespace.run("ip route del 203.0.113.0/24", check=False)
            namespace.ip(f"route add 203.0.113.0/24 dev {tap}")
        return all("203.0.113.0/24" in file.read_text() for file in self.files)

    def stop(self, lab) -> list[str]:
        """The deleted routes and lost carriers that were reported so far."""
        lab["r"].namespace.ip("route del 203.0.113.0/24 dev p1")
        lab["r"].vrs["blue"].ip("route del 203.0.113.0/24 dev b0")
        eventually(lambda: all("Deleted 203.0.113.0/24" in file.read_text() for file in self.files), what="all is heard")
        for proc in self.procs:
            proc.kill()
            proc.wait()
        return [line for file in self.files for line in file.read_text().splitlines()
                if "NO-CARRIER" in line or line.startswith("Deleted") and "203.0.113.0/24" not in line]


def keeper_pid(lab) -> int:
    """The router's; 0: none."""
    named = [pid for pid in lab["r"].namespace.pids() if name_of(pid) == "kamuee-keeper"]
    return named[0] if named else 0


def name_of(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/comm").read_text().strip()
    except OSError:
        return ""


def bgp_routes(lab) -> set[str]:
    """The kernel's."""
    return {route["dst"] for family in ("", "-6 ") for route in lab["r"].namespace.ip_json(f"{family}route show proto bgp")}


def audit(lab) -> None:
    for vr in ("default", "blue"):
        eventually(lambda: measure.is_synced(lab["r"], vr), 60, "the tables are taken over")
    found = measure.client(lab["r"]).call("audit")
    assert found["diverged"] == 0 and found["checked"] > ROUTES / 2, found
    eventually(lambda: measure.ledger(lab["r"])["imbalance"] == 0, what=lambda: f"the ledger balances: {measure.ledger(lab['r'])}")


def assert_nothing_noticed(lab, folder: Path, restart) -> None:
    before, sessions, listener = taps(lab), established(lab), Listener(lab, folder)
    restart()
    eventually(lambda: reaches(lab["h1"], FAR), 30, "it forwards again")
    audit(lab)
    assert taps(lab) == before
    assert listener.stop(lab) == [], lab["r"].log.read_text()
    assert is_up(lab) and established(lab) == sessions
    assert_reaches(lab["r"].vrs["blue"] and lab["h3"], "10.7.0.1")
    assert not measure.fib_differences(lab["r"]) and not measure.fib_differences(lab["r"], "blue")


def test_killed_and_started_nobody_notices(lab, tmp_path):
    def restart():
        lab["r"].kill_kamueed()
        lab["r"].start_kamueed()
    for _ in range(2):
        folder = tmp_path / str(_)
        folder.mkdir()
        assert_nothing_noticed(lab, folder, restart)
    assert "kept: name=p0" in lab["r"].log.read_text()


def test_killed_at_any_instant_while_routes_change_no_session_and_no_other_route_is_lost(lab, tmp_path):
    before, sessions, chance = taps(lab), established(lab), random.Random(KILLS)
    of_the_feed = bgp_routes(lab) - {FAR}
    assert len(of_the_feed) > ROUTES / 2
    listener, feed = Listener(lab, tmp_path), lab["r2feed"]
    changes = feed.tell("status")["changes"]
    for kill in range(KILLS):
        feed.tell("churn", str(CHANGES_PER_S), "3")
        time.sleep(chance.random())
        lab["r"].kill_kamueed()
        lab["r"].start_kamueed()
        eventually(lambda: not feed.tell("status")["churning"], 60, "the changes end")
        eventually(lambda: bgp_routes(lab) >= of_the_feed, 60, "FRR is done with them")
        audit(lab)
        assert taps(lab) == before and established(lab) == sessions, kill
    assert feed.tell("status")["changes"] - changes >= KILLS * 2.9 * CHANGES_PER_S
    assert [line for line in listener.stop(lab) if line.split()[1] not in of_the_feed] == []
    assert is_up(lab)
    assert_reaches(lab["h1"], FAR)


def test_a_restart_by_signal_is_not_noticed_either(lab, tmp_path):
    def restart():
        pid = lab["r"].kamueed_pid()
        os.kill(pid, signal.SIGUSR1)
        eventually(lambda: not is_running(pid), 10, "it ends")
        lab["r"].start_kamueed()
    assert_nothing_noticed(lab, tmp_path, restart)


def test_a_killed_keeper_is_replaced_and_the_next_crash_is_survived_too(lab, tmp_path):
    before = keeper_pid(lab)
    assert before
    os.kill(before, signal.SIGKILL)
    eventually(lambda: keeper_pid(lab) not in (0, before), what="another keeper")
    eventually(lambda: "keep: another keeper was started" in lab["r"].log.read_text(), what="the log says so")
    assert reaches(lab["h1"], FAR)

    def restart():
        lab["r"].kill_kamueed()
        lab["r"].start_kamueed()
    assert_nothing_noticed(lab, tmp_path, restart)


def test_a_stopped_keeper_prevents_no_start_and_loses_nothing(lab, tmp_path):
    def restart():
        os.kill(keeper_pid(lab), signal.SIGSTOP)
        lab["r"].kill_kamueed()
        lab["r"].start_kamueed()
    keeper = keeper_pid(lab)
    assert_nothing_noticed(lab, tmp_path, restart)
    assert keeper_pid(lab) == keeper


def test_what_the_configuration_no_longer_has_is_deleted_and_what_was_renamed_gets_its_name_back(lab):
    router = lab["r"]
    ifindex = router.namespace.ip_json("link show dev p0")[0]["ifindex"]
    router.kill_kamueed()
    router.namespace.ip("link set dev p0 name stolen")
    router.vrs["blue"].ip("link set dev b0 down")
    router.vrs["blue"].ip(f"link set dev b0 netns {router.namespace.name}")       # moved
    router.namespace.ip("link del v5")
    lines = router.node.set_lines
    router.node.set_lines = [line for line in lines if "metalink" not in line]
    state = router.run_dir / "state"
    try:
        subprocess.run(["rm", "-rf", str(state)], check=True)
        router.start_kamueed()
        assert not router.namespace.has_link("m-a") and not router.vrs["blue"].has_link("m-b")
        assert router.namespace.ip_json("link show dev p0")[0]["ifindex"] == ifindex and not router.namespace.has_link("stolen")
        assert router.vrs["blue"].has_link("b0") and not router.namespace.has_link("b0")
        assert router.namespace.has_link("v5")
        assert_reaches(lab["h1"], FAR)
    finally:
        router.node.set_lines = lines
        Router(router).configure(*lines)


def test_a_stop_takes_the_carrier_and_the_keeper_away(lab):
    router = lab["r"]
    pid = keeper_pid(lab)
    assert pid
    router.stop_kamueed()
    eventually(lambda: not is_running(pid), what="the keeper ends")
    assert "LOWER_UP" not in router.namespace.ip_json("link show dev p0")[0]["flags"]
    router.start_kamueed()
    assert_reaches(lab["h1"], "10.1.0.1")


def test_settings_of_the_kernel_interfaces_are_given_back_as_they_were_before_the_crash(lab):
    router = lab["r"]
    router.stop_kamueed()
    router.wire.sysctl({"net.ipv4.conf.wp0.arp_ignore": "3", "net.ipv6.conf.wp0.disable_ipv6": "0"})
    router.wire.ip("link set dev wp0 mtu 1600")
    router.start_kamueed()
    assert router.wire.run("cat /proc/sys/net/ipv4/conf/wp0/arp_ignore").strip() == "8"
    router.kill_kamueed()
    router.start_kamueed()
    router.stop_kamueed()
    assert router.wire.run("cat /proc/sys/net/ipv4/conf/wp0/arp_ignore").strip() == "3"
    assert router.wire.run("cat /proc/sys/net/ipv6/conf/wp0/disable_ipv6").strip() == "0"
    assert router.wire.ip_json("link show dev wp0")[0]["mtu"] == 1600
    router.start_kamueed()
    assert_reaches(lab["h1"], "10.1.0.1")


class Store:
    """systemd's side of a descriptor store: takes FDSTORE=1, and passes all descriptors on at the next start."""

    def __init__(self, lab, folder: Path):
        self.namespace, self.folder = lab["h3"].namespace, folder
        self.stored: list[int] = []
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(str(folder / "notify"))
        self.socket.settimeout(30)
        (folder / "kamuee.conf").write_text("set memory 128\nset port n0 devargs net_null0\n")

    def start(self) -> subprocess.Popen:
        names = ":".join("tap" for _ in self.stored)
        place = " ".join(f"{3 + i}<&{fd}" for i, fd in enumerate(self.stored))
        env = {"NOTIFY_SOCKET": str(self.folder / "notify"), "KAMUEE_KEEPER": "systemd", "LISTEN_FDNAMES": names,
               "LISTEN_FDS": str(len(self.stored))}
        command = (f"LISTEN_PID=$$ exec {find_kamueed()} --no-huge --config {self.folder}/kamuee.conf --run-dir {self.folder} {place}")
        proc = self.namespace.popen(["bash", "-c", command], log=str(self.folder / "log"), env=env, pass_fds=tuple(self.stored))
        while b"READY=1" not in self.take():
            pass
        return proc

    def take(self) -> bytes:
        data, fds, _, _ = socket.recv_fds(self.socket, 4096, 8)
        assert not fds or b"FDSTORE=1" in data and b"FDNAME=tap" in data, data
        self.stored += fds
        return data


def test_systemds_store_gets_each_tap_once_and_gives_it_back(lab, tmp_path):
    store = Store(lab, tmp_path)

    def link() -> tuple[int, bool]:
        found = store.namespace.ip_json("link show dev n0")[0]
        return found["ifindex"], "LOWER_UP" in found["flags"]
    first = store.start()
    try:
        eventually(lambda: link()[1], what="the TAP has carrier")
        before = link()
        assert len(store.stored) == 1 and not (tmp_path / "keeper.sock").exists()
        first.kill()
        first.wait()
        assert link() == before, "the store's copy holds the carrier"
        first = store.start()
        assert link() == before and len(store.stored) == 1
        assert "kept: name=n0" in (tmp_path / "log").read_text()
        first.terminate()
        assert first.wait(20) == 0
        assert link() == before, "systemd knows whether this was a restart or a stop"
    finally:
        first.kill()
        for fd in store.stored:
            os.close(fd)
    assert not link()[1]
