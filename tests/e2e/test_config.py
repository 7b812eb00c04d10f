# SPDX-License-Identifier: BSD-3-Clause
"""The configuration of a living kamueed: refused files, transactions, reload, save, namespaces."""
import os
import re
import subprocess
from pathlib import Path

import pytest

from kamuee.errors import DaemonError

from support import eventually

P0 = "set port p0 devargs net_af_packet0,iface=a0\n"
P1 = "set port p1 devargs net_af_packet1,iface=a1\n"


@pytest.fixture
def red(daemon):
    subprocess.run(["ip", "netns", "add", "cfg-red"], check=True)
    yield "cfg-red"
    daemon.stop()
    subprocess.run(["ip", "netns", "del", "cfg-red"], check=True)


def test_a_wrong_file_stops_the_start_with_each_line_and_what_was_expected(daemon):
    code, said = daemon.refused(P0 + "set port p0 mtu 99999\n\nset prot p1\n")
    assert code == 3
    assert f"{daemon.file}:2: port p0: 'mtu' is '99999', expected 68..9600 (bytes)" in said
    assert f"{daemon.file}:4: unknown word 'prot', did you mean 'port'?" in said


def test_a_device_that_is_refused_stops_the_start_and_leaves_nothing(daemon):
    before = daemon.links()
    code, said = daemon.refused(P0 + "set vport v40 port p0 vlan 40\nset port p1 devargs net_af_packet1,iface=nodev\n")
    assert code == 1
    assert f"{daemon.file}:3: port p1: " in said and "nodev" in said
    assert "\n" not in said.strip().rpartition("kamueed: ")[2]
    assert daemon.links() <= before | {"p0", "v40"}                # TAPs may stay for the next start, ports do not
    daemon.start(P0)
    assert [port["name"] for port in daemon.client.state("port")] == ["p0"]


def test_the_null_device_is_an_empty_configuration_and_stays_a_device(daemon):
    daemon.file = Path(os.devnull)
    daemon.start("")
    assert daemon.running() == ""
    daemon.configure(P0.strip())
    with pytest.raises(DaemonError, match="started without a configuration file"):
        daemon.client.call("save-configuration")
    assert daemon.file.is_char_device()


def test_a_change_is_all_or_nothing(daemon):
    daemon.start(P0)
    before = daemon.running()
    with pytest.raises(DaemonError) as refused:
        daemon.configure("set port p0 mtu 1400", "set vport v7 port p0 vlan 7", "set port p9 devargs net_af_packet9,iface=nodev")
    assert re.search(r"line 3: port p9: .*nodev", str(refused.value))
    assert daemon.running() == before
    assert daemon.client.state("port=p0")[0]["mtu"] == 1500
    assert {entry["name"] for entry in daemon.client.state("interface")} == {"p0"}
    assert "p9" not in daemon.links()


def test_a_memif_whose_rings_the_driver_would_mix_up_is_refused(daemon):
    socket = f"socket={daemon.file}.memif,socket-abstract=no"
    daemon.start(P0)
    with pytest.raises(DaemonError) as refused:
        daemon.configure(f"set port p9 devargs net_memif9,id=9,{socket},rsize=14", "set port p9 rx-queues 4", "set port p9 tx-queues 1")
    assert re.search(r"port p9: .*4 receive and 1 transmit queues have 81920 entries, more than the 65536", str(refused.value))
    assert "p9" not in daemon.links()
    daemon.configure(f"set port p9 devargs net_memif9,id=9,{socket},rsize=14,role=server", "set port p9 rx-queues 4", "set port p9 tx-queues 1")
    assert "p9" in daemon.links()


def test_a_router_that_has_just_got_a_memif_ends_without_a_crash(daemon):
    for number in range(10):  # DPDK's interrupt thread crashed in about every tenth such end
        daemon.start(P0)
        daemon.configure(f"set port p9 devargs net_memif9,id=9,socket={daemon.file}.{number}.memif,socket-abstract=no,role=server")
        daemon.stop()


def test_ports_and_vports_come_change_and_go_live(daemon):
    daemon.start(P0)
    changed = daemon.configure(P1.strip() + " mtu 4000", "set vport v7 port p1 vlan 7", "set vport v8 port p0 vlan 8 mtu 1400")
    assert changed == ["set port p1 devargs net_af_packet1,iface=a1", "set port p1 mtu 4000", "set vport v7 port p1",
                       "set vport v7 vlan 7", "set vport v8 port p0", "set vport v8 vlan 8", "set vport v8 mtu 1400"]
    assert {"p0", "p1", "v7", "v8"} <= daemon.links()
    mtus = {entry["name"]: entry["mtu"] for entry in daemon.client.state("interface")}
    assert mtus == {"p0": 1500, "p1": 4000, "v7": 4000, "v8": 1400}
    assert "mtu 4000" in daemon.run("ip link show v7")
    daemon.configure("set port p1 mtu 1300", "set port p1 devargs net_af_packet1,iface=a2")
    assert "mtu 1300" in daemon.run("ip link show v7")
    assert daemon.client.state("port=p1")[0]["devargs"].endswith("iface=a2")
    daemon.client.call("port-stop", name="p1")
    assert daemon.client.state("port=p1")[0]["status"] == "stopped"
    daemon.client.call("port-start", name="p1")
    assert daemon.client.state("port=p1")[0]["status"] != "stopped"
    daemon.client.call("port-detach", name="p1")
    assert not {"p1", "v7"} & daemon.links()
    assert daemon.running() == "set port p0 devargs net_af_packet0,iface=a0\nset vport v8 port p0\nset vport v8 vlan 8\nset vport v8 mtu 1400\n"


def test_many_sub_interfaces_come_and_go_in_one_change(daemon, red):
    daemon.start(P0 + f"set vr red namespace {red}\n")
    names = {f"v{i}" for i in range(1, 201)}
    daemon.configure(*[f"set vport v{i} port p0 vlan {i}" for i in range(1, 201)],
                     *[f"set interface v{i} vr red" for i in range(1, 101)])
    assert {f"v{i}" for i in range(1, 101)} <= daemon.links(red) and {f"v{i}" for i in range(101, 201)} <= daemon.links()
    daemon.configure("set vport v7 vlan 1007", "delete vport v150")          # v7 goes and comes, another one goes
    assert "v7" in daemon.links(red) and "v150" not in daemon.links()
    daemon.configure(*[f"delete interface v{i}" for i in range(1, 101)], *[f"delete vport v{i}" for i in range(1, 201) if i != 150])
    assert not names & (daemon.links() | daemon.links(red))
    assert "p0" in daemon.links()
    assert {entry["name"] for entry in daemon.client.state("interface")} == {"p0"}


def test_a_vlan_that_changes_takes_effect(daemon):
    daemon.start(P0 + "set vport v port p0 vlan 5\n")
    daemon.configure("set vport v vlan 6")
    assert daemon.client.state("interface=v")[0]["vlan"] == 6


def test_interfaces_move_between_namespaces_and_back(daemon, red):
    daemon.start(P0 + "set vport v7 port p0 vlan 7\n")
    daemon.configure(f"set vr red namespace {red}", "set interface v7 vr red", "set interface p0 vr red")
    assert {"p0", "v7"} <= daemon.links(red) and not {"p0", "v7"} & daemon.links()
    assert {entry["vr"] for entry in daemon.client.state("interface")} == {"red"}
    with pytest.raises(DaemonError) as refused:
        daemon.configure("delete vr red")
    assert "interface p0: 'vr' refers to vr 'red', which is not configured (none is configured): configure it, or delete this as well" in str(refused.value)
    daemon.configure("delete interface p0", "delete interface v7", "delete vr red")
    assert {"p0", "v7"} <= daemon.links() and not {"p0", "v7"} & daemon.links(red)


def test_queues_are_assigned_to_cores_and_wrong_ones_refused(daemon):
    daemon.start(P0)
    daemon.configure("set thread 1 forwarder port p0 rx-queue 0")
    forwarders = [t for t in daemon.client.state("thread") if t["role"] == "forwarder" and t.get("queue")]
    assert [(t["core"], [(q["port"], q["queue"]) for q in t["queue"]]) for t in forwarders] == [(1, [("p0", 0)])]
    with pytest.raises(DaemonError, match="4096"):
        daemon.configure("set thread 4096 forwarder port p0 rx-queue 0", "delete thread 1")
    assert "set thread 1 forwarder port p0 rx-queue 0" in daemon.running()
    daemon.configure("delete thread 1")


def test_sighup_applies_the_difference_or_nothing(daemon):
    daemon.start(P0)
    assert "lines=1" in daemon.reload(P0 + "set port p0 mtu 1400\n")
    assert daemon.client.state("port=p0")[0]["mtu"] == 1400
    said = daemon.reload("set port p0 mtu 1300\nset port p0 mut 7\n")
    assert ":2: port p0: unknown word 'mut'" in said
    assert daemon.client.state("port=p0")[0]["mtu"] == 1400


def test_what_is_saved_starts_the_same_router(daemon):
    daemon.start(P0)
    daemon.configure(P1.strip(), "set vport v7 port p1 vlan 7", "set log-level debug", "set forwarding idle powersave")
    before = daemon.running()
    assert daemon.client.call("save-configuration")["file"] == str(daemon.file)
    saved = daemon.file.read_text()
    assert saved.startswith("# ") and saved.partition("\n")[2] == before
    daemon.stop()
    daemon.start(saved)
    assert daemon.running() == before
    assert {entry["name"] for entry in daemon.client.state("interface")} == {"p0", "p1", "v7"}


def test_shutdown_by_restconf_is_a_clean_stop(daemon):
    daemon.start(P0)
    daemon.client.call("shutdown")
    assert daemon.process.wait(60) == 0
    assert not daemon.socket.exists()


def test_log_level_and_idle_mode_change_live(daemon):
    daemon.start(P0)
    daemon.configure("set log-level error")
    size = daemon.log.stat().st_size
    daemon.configure("set port p0 mtu 1400")
    assert daemon.log.stat().st_size == size
    daemon.configure("delete log-level", "set forwarding idle performance")

    def polls() -> int:
        return sum(t["statistics"].get("polls", 0) for t in daemon.client.state("thread"))
    first = polls()
    eventually(lambda: polls() - first > 200_000, 30, "a forwarder that never sleeps")
