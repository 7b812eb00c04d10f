# SPDX-License-Identifier: BSD-3-Clause
"""From an earlier release's packages to this tree's, under traffic and with FRR's routes, as docs/features/upgrade.md has it; in the order of this file.

    far end of card 0 --- p0, virtio   kamueed, FRR   p1, e1000e --- far end of card 1: FRR announces FAR
                                 p2: card 2, which stays with its kernel driver
"""
import json
import re
import signal
from pathlib import Path

import pytest

from packaged import Packaged, make_packages, release_packages
from router import PATIENCE_S, eventually
from test_kernel import speaks_bgp
from vm import BUILD, pci

CARDS = ["virtio", "e1000e", "e1000e"]
OURS = ("kamuee", "kamuee-tools")
FAR, PEER = "198.18.0.1", "10.0.1.2"
STATIC = 500
BLOCKED_MS = {"p0": 4000, "p1": 4000, "p2": 500}       # at most; an emulated CPU needs more than the page's "some milliseconds"
RESTART_S = 5                                         # the pause of a restart, at most
HUGE_PAGES = 300                                      # of 2 MiB: for two kamueeds
FRR = "\n".join(["frr defaults traditional", *(f"ip route 100.64.{n >> 6}.{n % 64 * 4}/30 {PEER}" for n in range(STATIC)),
                 "router bgp 64496", " no bgp ebgp-requires-policy", " bgp router-id 192.0.2.1", f" neighbor {PEER} remote-as 64501",
                 f" neighbor {PEER} timers connect 1", "exit", ""])
RETIRED = "set snmp agentx /var/agentx/master"        # a setting of 0.9.1 that later versions ignore
RESTARTED = "kamuee: kamueed is restarted"


@pytest.fixture(scope="module")
def old() -> Path:
    return release_packages()


@pytest.fixture(scope="module")
def new() -> Path:
    return make_packages("--built", BUILD)


@pytest.fixture(scope="module")
def up(vm, old: Path):
    """The earlier release forwards, with FRR beside it."""
    up = Packaged(vm)
    up.install(old, *OURS)
    vm.run(f"echo {HUGE_PAGES} >/proc/sys/vm/nr_hugepages")
    up.bind(0, 1)
    kernel = vm.out(f"ls /sys/bus/pci/devices/{pci(2)}/net").strip()
    up.configuration([0, 1], f"set port p2 kernel-interface {kernel}", "set vr blue description kept", RETIRED)
    vm.run("systemctl restart kamueed", timeout_s=90)
    up.address([0, 1, 2])
    vm.put("/etc/frr/frr.conf", FRR)
    vm.run("sed -i s/^bgpd=no/bgpd=yes/ /etc/frr/daemons && chown frr:frr /etc/frr/frr.conf && systemctl start frr", timeout_s=180)
    vm.far[1].sh(f"ip addr add {FAR}/16 dev lo")
    peer = speaks_bgp(vm, 1, 64501, "10.0.1.1", "198.18.0.0/16")
    eventually(lambda: up.pings(0, FAR) and routes(up) > STATIC, PATIENCE_S, up.told)
    yield up
    peer.stop()
    up.close()


def routes(up: Packaged) -> int:
    """In the FIB."""
    return sum(fib["routes"] for fib in up.state("vr=default")[0]["fib"])


def kept(up: Packaged) -> dict:
    """All that must be the same afterwards."""
    session = json.loads(up.vm.out(f"vtysh -c 'show bgp neighbors {PEER} json'"))[PEER]
    return {"configuration": up.vm.out("cat /etc/kamuee/kamuee.conf"), "indexes": up.vm.out("cat /sys/class/net/p[012]/ifindex"),
            "routes": up.vm.out("ip route; ip -6 route; ip address show p0"), "state": session["bgpState"],
            "established": session["connectionsEstablished"]}


def received(up: Packaged) -> int:
    return int(up.state("interface=p0")[0]["statistics"]["rx-packets"])


class Pings:
    """From the far end of card 0 to FAR, 100 a second."""

    def __init__(self, up: Packaged, folder: Path):
        self.said = folder / "ping"
        self.proc = up.vm.far[0].popen(["sh", "-c", f"exec ping -n -D -i 0.01 {FAR} >{self.said}"])

    def result(self) -> tuple[float, int]:
        """Seconds of the longest gap between two answers; how many are missing."""
        self.proc.send_signal(signal.SIGINT)
        self.proc.wait(20)
        answers = [(float(at), int(number)) for at, number in re.findall(r"^\[([\d.]+)\] .*icmp_seq=(\d+) ttl", self.said.read_text(), re.M)]
        assert len(answers) > 100
        return max(after[0] - before[0] for before, after in zip(answers, answers[1:])), answers[-1][1] - answers[0][1] + 1 - len(answers)


def replaced(up: Packaged, packages: Path, folder: Path) -> tuple[str, float]:
    """Installs packages under traffic: what dpkg said, and the longest pause in seconds. All that must stay has stayed."""
    before, pid, counted = kept(up), up.pid(), received(up)
    pings = Pings(up, folder)
    said = up.install(packages, *OURS)
    eventually(lambda: up.active() and up.pid() not in (0, pid) and up.pings(0, FAR), PATIENCE_S, up.told)
    gap_s, lost = pings.result()
    print(f"\n{said}\nlongest pause {gap_s * 1000:.0f} ms, {lost} packets lost")
    eventually(lambda: routes(up) > STATIC, PATIENCE_S, up.told)
    assert kept(up) == before
    assert received(up) > counted, "the counters went on"
    assert "set vr blue description kept" in up.vm.out("kamuee show configuration")
    found = up.call("audit")
    assert found["diverged"] == 0 and found["checked"] > STATIC, found
    eventually(lambda: up.state("ledger")["imbalance"] == 0, PATIENCE_S, up.told)
    assert up.pings(0, "10.0.2.2") and up.vm.out("readlink /proc/$(systemctl show -P MainPID kamueed)/exe").strip() == "/usr/sbin/kamueed"
    return said, gap_s


def version(packages: Path) -> str:
    return next(packages.glob("kamuee_*.deb")).name.split("_")[1].partition("-")[0]


def test_the_new_one_takes_over(up: Packaged, old: Path, new: Path, tmp_path: Path):
    said, gap_s = replaced(up, new, tmp_path)
    assert up.version() == version(new) and re.search(r"^  status +done$", said, re.M) and RESTARTED not in said
    found = up.state("upgrade")
    assert (found["phase"], found["from"], found["to"]) == ("done", version(old), version(new))
    blocked = {port["name"]: port["blocked"] / 1000 for port in found["port"]}
    assert blocked.keys() == BLOCKED_MS.keys() and all(blocked[name] <= most for name, most in BLOCKED_MS.items()), blocked
    assert all(re.search(rf"^{name} +{ms:.1f} ", said, re.M) for name, ms in blocked.items()), "blocked times are printed"
    assert gap_s < max(BLOCKED_MS.values()) / 1000


def test_back_to_the_release(up: Packaged, old: Path, tmp_path: Path):
    """As docs/release.md has it."""
    replaced(up, old, tmp_path)
    assert up.version() == version(old)


def test_where_it_cannot_take_over_it_is_restarted(up: Packaged, new: Path, tmp_path: Path):
    """The file has a line that nobody has loaded."""
    up.vm.run("echo 'set interface p0 description uplink' >>/etc/kamuee/kamuee.conf")
    said, gap_s = replaced(up, new, tmp_path)
    assert "not upgraded" in said and RESTARTED in said
    assert up.version() == version(new) and up.state("interface=p0")[0]["description"] == "uplink"
    assert gap_s < RESTART_S


def test_an_installed_version_again_touches_nothing(up: Packaged):
    before = up.pid()
    up.vm.run("dpkg-reconfigure -f noninteractive kamuee", timeout_s=180)
    assert up.pid() == before


def test_removed_and_purged(up: Packaged):
    up.vm.run("dpkg -r kamuee kamuee-tools", timeout_s=300)
    assert not up.active() and "description kept" in up.vm.out("cat /etc/kamuee/kamuee.conf")
    up.vm.run("dpkg -P kamuee kamuee-tools", timeout_s=300)
    assert up.vm.run("systemctl cat kamueed", check=False).rc != 0
    assert up.vm.out("find / -xdev -name '*kamuee*' -not -path '/proc/*' -not -path '/sys/*' -not -path '/debs/*'") == ""
