# SPDX-License-Identifier: BSD-3-Clause
"""Alarms of a living kamueed: a link that flaps, control packets that are dropped; raised, told, over."""
import re
import signal
import subprocess

import pytest

from daemon import Daemon
from support import eventually

FLOOD = """
import socket
s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
s.bind(('b1', 0))
mac = bytes.fromhex(%r.replace(':', ''))
for i in range(3000):  # echo requests to the router's address, far over the rate of their class
    ip = bytes.fromhex('4500001c00004000400100000a01010901020304'.replace('01020304', '0a010101'))
    total = sum(int.from_bytes(ip[k:k + 2], 'big') for k in range(0, 20, 2))
    total = (total & 0xffff) + (total >> 16)
    ip = ip[:10] + (~(total + (total >> 16)) & 0xffff).to_bytes(2, 'big') + ip[12:]
    s.send(mac + bytes.fromhex('020000000009') + b'\\x08\\x00' + ip + bytes.fromhex('0800f7ff00000000') + bytes(18))
"""


@pytest.fixture(scope="module")
def daemon(kamueed):
    with Daemon(kamueed, "al-e2e") as daemon:
        daemon.start("set port p0 devargs net_af_packet0,iface=a0\nset port p1 devargs net_af_packet1,iface=a1\n"
                     "set alarm link-flapping raise 4\nset alarm punt-drops raise 10\nset punt icmp rate 1 burst 1\n")
        daemon.run("ip address add 10.1.1.1/24 dev p1")
        yield daemon


def alarms(daemon, path: str = "alarm") -> dict:
    return {(alarm["name"], alarm["subject"]): alarm for alarm in reversed(daemon.client.entries(path))}


def test_a_flapping_link_raises_and_ends(daemon):
    eventually(lambda: daemon.client.state("port=p0")[0]["status"] == "up", 20)
    for state in ("down", "up") * 3:
        daemon.run(f"ip link set b0 {state}")
        eventually(lambda s=state: daemon.client.state("port=p0")[0]["status"] == s, 20)
    raised = eventually(lambda: alarms(daemon).get(("link-flapping", "p0")), 20, "the alarm is raised")
    assert (raised["severity"], raised["count"]) == ("major", 1)
    assert raised["value"] >= 4
    assert "alarm: raised: name=link-flapping subject=\"p0\"" in daemon.log.read_text()
    daemon.configure("set alarm link-flapping raise 1000 clear 999")      # a minute is long: what is over is over at once
    eventually(lambda: not alarms(daemon).get(("link-flapping", "p0")), 20, "the alarm is over")
    assert alarms(daemon, "alarm-history")[("link-flapping", "p0")]["peak"] >= 4


def test_a_port_without_carrier_raises_port_down_unless_that_is_wanted(daemon):
    down = lambda: {subject for name, subject in alarms(daemon) if name == "port-down"}  # noqa: E731
    daemon.run("ip link set b0 down")
    try:
        eventually(lambda: down() == {"p0"}, 30, "the alarm is raised")
        daemon.run("ip link set p0 down")                                  # the operator says so in Linux
        eventually(lambda: not down(), 20, "it is over")
        daemon.run("ip link set p0 up")
        eventually(lambda: down() == {"p0"}, 30, "the alarm is raised")
        daemon.client.call("port-stop", name="p0")
        eventually(lambda: not down(), 20, "it is over")
        daemon.client.call("port-start", name="p0")
        eventually(lambda: down() == {"p0"}, 30, "the alarm is raised")
    finally:
        daemon.run("ip link set b0 up")
    eventually(lambda: not down(), 20, "it is over")


SESSION = """
import socket, sys
listening = socket.create_server(('127.0.0.1', 179))
one = socket.create_connection(('127.0.0.1', 179))
sys.stdin.read()
"""


def test_a_bgp_session_that_was_up_and_is_gone_raises_session_down(daemon):
    subject = "default bgp 127.0.0.1"
    down = lambda: ("session-down", subject) in alarms(daemon)  # noqa: E731
    daemon.run("ip link set lo up")
    daemon.configure("set alarm session-down raise 2")
    for _ in range(2):                                                     # the second one ends the alarm about the first one
        session = subprocess.Popen(["ip", "netns", "exec", daemon.name, "/usr/bin/python3", "-c", SESSION], stdin=subprocess.PIPE)
        eventually(lambda: "127.0.0.1:179" in daemon.run("ss -Htn state established"), 20, "it is there")
        eventually(lambda: not down(), 20, "it is seen")
        begun = int(daemon.client.state("system")["uptime"])
        eventually(lambda b=begun: int(daemon.client.state("system")["uptime"]) > b + 14, 40, "it lasts", 0.5)
        session.communicate()
        eventually(down, 30, "the alarm is raised")
    daemon.client.call("clear-alarm", name="session-down", subject=subject)
    eventually(lambda: not down(), 10, "it is not expected any more")
    assert ("session-down", subject) in alarms(daemon, "alarm-history")
    daemon.configure("delete alarm session-down")


def test_dropped_control_packets_raise_it_for_their_class(daemon):
    eventually(lambda: daemon.client.state("port=p1")[0]["status"] == "up", 20)
    mac = daemon.client.state("interface=p1")[0]["mac"]
    subprocess.run(["ip", "netns", "exec", daemon.name, "/usr/bin/python3", "-c", FLOOD % mac], check=True)
    raised = eventually(lambda: alarms(daemon).get(("punt-drops", "icmp")), 20, lambda: str(daemon.client.entries("punt")))
    assert "packets in a minute" in raised["message"]
    daemon.configure("set alarm punt-drops enabled false")
    eventually(lambda: not alarms(daemon).get(("punt-drops", "icmp")), 20, "the alarm is over")


def test_a_socket_that_overruns_raises_and_ends(daemon):
    daemon.configure("set netlink receive-buffer 8192")
    batch = daemon.dir / "routes"
    batch.write_text("".join(f"route add 10.{50 + i // 250}.{i % 250}.0/24 via 10.1.1.2 dev p1\n" for i in range(3000)))
    daemon.process.send_signal(signal.SIGSTOP)                             # it does not read, the kernel goes on telling
    try:
        daemon.run(f"ip -batch {batch}")
    finally:
        daemon.process.send_signal(signal.SIGCONT)
    raised = eventually(lambda: alarms(daemon).get(("netlink-overrun", "default")), 60, lambda: str(daemon.client.entries("vr")))
    assert raised["severity"] == "minor" and raised["value"] >= 1
    metrics = daemon.ask("GET", "/metrics").decode()
    assert re.search(r'kamuee_netlink_overruns_total{vr="default"} [1-9]', metrics)
    eventually(lambda: sum(row["active"] for row in daemon.client.rows("routes=default,ipv4", "route") if row["prefix"].startswith("10.")) >= 3000,
               60, "nothing is missing")
    daemon.configure("set alarm netlink-overrun raise 1000 clear 999")     # ten minutes are long: what is over is over at once
    eventually(lambda: not alarms(daemon).get(("netlink-overrun", "default")), 20, "the alarm is over")
    assert ("netlink-overrun", "default") in alarms(daemon, "alarm-history")


def test_nothing_else_was_wrong(daemon):
    assert {name for name, _ in alarms(daemon)} | {name for name, _ in alarms(daemon, "alarm-history")} <= {
        "link-flapping", "port-down", "session-down", "punt-drops", "netlink-overrun", "stall"}  # a stall may be the machine's
