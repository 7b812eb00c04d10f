# SPDX-License-Identifier: BSD-3-Clause
"""The number of an interface is Linux's ifindex, unique over network namespaces, and stays over a restart. SNMP: test_snmp.py; sFlow, IPFIX:
test_export.py."""
import json
import subprocess

import pytest

from daemon import Daemon
from support import eventually

SPACE = "e2e-if-index-blue"
FIRST = 1 << 20     # what kamueed numbers itself

CONFIG = f"""
set vr blue namespace {SPACE}
set vr red table 100
set port p0 devargs net_af_packet0,iface=a0
set port p1 devargs net_af_packet1,iface=a1
set port p2 devargs net_af_packet2,iface=a2
set vport v40 port p0 vlan 40
set vport v41 port p0 vlan 41
set interface p2 vr blue
set interface v40 vr red
set interface v41 vr blue
"""


@pytest.fixture(scope="module")
def daemon(kamueed):
    with Daemon(kamueed, "e2e-if-index") as daemon:
        subprocess.run(["ip", "netns", "add", SPACE], check=True)
        in_blue("ip", "link", "set", "lo", "up")
        yield daemon.start(CONFIG)
        subprocess.run(["ip", "netns", "del", SPACE], check=True)


def in_blue(*command):
    return subprocess.run(["ip", "netns", "exec", SPACE, *command], check=True, capture_output=True, text=True).stdout


def numbers(daemon):
    return {i["name"]: i["if-index"] for i in daemon.client.entries("interface")}


def of_linux(said):
    return {link["ifname"]: link["ifindex"] for link in json.loads(said)}


def everywhere(daemon):
    """Linux's, of both namespaces: a name to its indexes."""
    found = of_linux(daemon.run("ip -j link"))
    return {**found, **{name: index for name, index in of_linux(in_blue("ip", "-j", "link")).items() if name != "lo"}}


def test_numbers_are_those_of_linux_and_unique(daemon):
    found = numbers(daemon)
    assert set(found) == {"p0", "p1", "p2", "v40", "v41"}
    linux = everywhere(daemon)
    assert {name: linux[name] for name in found} == found
    own = set(of_linux(daemon.run("ip -j link")).values())
    assert len(set(found.values())) == 5 and not own & {found["p2"], found["v41"]}      # nor of what else Linux has where kamueed runs
    assert min(found["p2"], found["v41"]) >= FIRST > max(found["p0"], found["p1"], found["v40"])
    answer = json.loads(daemon.ask("GET", "/restconf/data/ietf-interfaces:interfaces").decode().partition("\r\n\r\n")[2])
    assert {i["name"]: i["if-index"] for i in answer["ietf-interfaces:interfaces"]["interface"]} == found


@pytest.mark.parametrize("end", ["stopped", "killed"])
def test_numbers_stay_over_a_restart_without_those_before_them(daemon, end):
    before = numbers(daemon)
    config = daemon.running()
    if end == "killed":
        daemon.process.kill()
        daemon.process.wait(10)
    else:
        daemon.stop()
    less = "".join(line + "\n" for line in CONFIG.splitlines() if not any(name in line for name in ("p0", "v40", "v41")))
    daemon.start(less)
    assert numbers(daemon) == {name: before[name] for name in ("p1", "p2")}
    daemon.stop()
    daemon.start(config)
    after = numbers(daemon)
    assert {name: after[name] for name in ("p1", "p2")} == {name: before[name] for name in ("p1", "p2")}
    assert len(set(after.values())) == 5


def test_what_moves_to_another_namespace_is_unique_there(daemon):
    daemon.configure("set interface p1 vr blue")
    found = numbers(daemon)
    assert found["p1"] >= FIRST and len(set(found.values())) == 5 and everywhere(daemon)["p1"] == found["p1"]
    daemon.configure("delete interface p1 vr")
    assert numbers(daemon)["p1"] < FIRST


def test_a_number_that_linux_has_given_is_not_taken(daemon):
    """Somebody has made a device with the next number in the other namespace."""
    highest = max(numbers(daemon).values())
    for k in range(1, 4):
        in_blue("ip", "link", "add", f"x{k}", "index", str(highest + k), "type", "veth", "peer", "name", f"y{k}")
    daemon.configure("set interface p1 vr blue")
    found = numbers(daemon)
    assert len(set(found.values())) == 5 and found["p1"] >= FIRST, found
    daemon.configure("delete interface p1 vr")


def test_events_have_the_number(daemon):
    with daemon.ask("GET", "/restconf/streams/events?filter=/kamuee:interface-change", keep=True) as events:
        said = ""
        while "\r\n\r\n" not in said:        # the answer begins when the stream is open
            said += events.recv(65536).decode()
        daemon.run("ip link set p0 down")

        def told():
            nonlocal said
            said += events.recv(65536).decode()
            return '"status":"admin-down"' in said
        eventually(told, 20, lambda: said)
        assert f'"interface":"p0","vr":"default","if-index":{numbers(daemon)["p0"]}' in said
    daemon.run("ip link set p0 up")
