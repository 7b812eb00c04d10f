# SPDX-License-Identifier: BSD-3-Clause
"""set port P kernel-interface I: permission, refusals with their messages, and uses that the machine would lose."""
import subprocess
import sys

import pytest
from kamuee.errors import KamueeError

from daemon import Daemon
from support import eventually

START = "set port p0 kernel-interface a0\nset port p1 devargs net_af_packet1,iface=a1\n"
LISTEN = "import socket\ns = socket.create_server(('10.9.9.1', 7022))\nprint(flush=True)\nc = s.accept()[0]\nprint(flush=True)\nc.recv(1)"
CONNECT = "import socket\ns = socket.create_connection(('10.9.9.1', 7022))\ns.recv(1)"


@pytest.fixture(scope="module")
def router(kamueed):
    with Daemon(kamueed, "kernel-if-e2e") as daemon:
        daemon.start(START)
        yield daemon


@pytest.fixture(autouse=True)
def as_before(router):
    yield
    router.client.call("configure", replace=True, text=START)


@pytest.fixture
def far(router):
    """Another machine at the other end of a2; a2 has an address."""
    name = f"{router.name}-far"
    subprocess.run(["ip", "netns", "add", name], check=True)
    router.run(f"ip link set b2 netns {name}")
    subprocess.run(f"ip -n {name} addr add 10.9.9.2/24 dev b2; ip -n {name} link set b2 up", shell=True, check=True)
    router.run("ip addr add 10.9.9.1/24 dev a2")
    yield name
    router.client.call("configure", replace=True, text=START)
    router.run("ip addr flush dev a2")
    subprocess.run(["ip", "-n", name, "link", "set", "b2", "netns", router.name])
    subprocess.run(["ip", "netns", "del", name])
    router.run("ip link set b2 up")


def refused(router, *lines: str) -> str:
    with pytest.raises(KamueeError) as said:
        router.configure(*lines)
    assert router.running() == START
    return str(said.value)


def inside(namespace: str, program: str) -> subprocess.Popen:
    return subprocess.Popen(["nsenter", f"--net=/run/netns/{namespace}", sys.executable, "-c", program], stdout=subprocess.PIPE)


def test_the_port_says_what_drives_it(router):
    port = router.client.state("port=p0")[0]
    assert (port["kernel-interface"], port["driver"], port["devargs"]) == ("a0", "net_af_packet", "net_af_packet-p0,iface=a0")
    assert router.client.state("port=p1")[0]["kernel-interface"] == "a1"


@pytest.mark.parametrize("line", ["kernel-interface a0", "devargs net_af_packet9,iface=a0", "devargs net_af_xdp9,iface=a0", "kernel-interface a1"])
def test_two_ports_do_not_share_one(router, line):
    owner = "p1" if line.endswith("a1") else "p0"
    assert f"already belongs to port {owner}" in refused(router, f"set port x0 {line}")


def test_not_by_another_name_either(router):
    """Of the interface (altname), or of the namespace."""
    router.run("ip link property add dev a0 altname uplink")
    assert "already belongs to another port" in refused(router, "set port x0 kernel-interface uplink")
    assert "already belongs to another port" in refused(router, f"set port x0 kernel-interface a0 namespace {router.name}")
    assert "p0" in router.links()


def test_refusals_name_what_is_there(router):
    assert "there is no kernel interface nodev in kamueed's namespace (there is " in refused(router, "set port x0 kernel-interface nodev")
    assert "p0 is kamueed's own interface" in refused(router, "set port x0 kernel-interface p0")
    assert "'kernel-interface a2' instead of 'devargs a2'" in refused(router, "set port x0 devargs a2")
    said = refused(router, "set port x0 devargs net_af_packet1,iface=a2")
    assert "device net_af_packet1 already belongs to p1" in said and "framecnt" not in said
    why = refused(router, "set port x9 mtu 1400")
    assert "'kernel-interface' or 'devargs' or 'lag' is required" in why and "'devargs' is ''" not in why


def test_devargs_and_kernel_interface_replace_each_other(router):
    router.run("ip addr add 10.1.1.1/24 dev p0")
    router.configure("set port p0 devargs net_af_packet7,iface=a0")
    assert "set port p0 devargs net_af_packet7,iface=a0\n" in router.running() and "kernel-interface" not in router.running()
    router.configure("set port p0 kernel-interface a0", "set port p1 kernel-interface a1")
    router.configure("set port p0 kernel-interface a1", "set port p1 kernel-interface a0")     # they change places
    assert [router.client.state(f"port=p{n}")[0]["kernel-interface"] for n in (0, 1)] == ["a1", "a0"]


def test_addresses_are_noted(router, far):
    said = router.client.call("configure", line=["set port x0 kernel-interface a2"])
    assert any("a2 has 10.9.9.1/24" in note and "port x0 now uses the interface" in note for note in said["note"]), said
    assert "its addresses are no longer reachable" in router.log.read_text()


def test_the_default_route_is_not_taken_without_force(router, far):
    router.run("ip route add default via 10.9.9.2")
    assert "the default route via 10.9.9.2" in refused(router, "set port x0 kernel-interface a2")
    router.configure("set port x0 kernel-interface a2 force true")
    router.configure("set port x0 mtu 1400", "delete port x0 force")     # it has it now


def test_a_session_is_not_cut_off_without_force(router, far):
    here = inside(router.name, LISTEN)
    here.stdout.readline()
    there = inside(far, CONNECT)
    try:
        here.stdout.readline()      # as an ssh session: accepted
        assert "a TCP connection to 10.9.9.2" in refused(router, "set port x0 kernel-interface a2")
    finally:
        there.kill()
        here.kill()
        there.wait()
        here.wait()
    eventually(lambda: router.configure("set port x0 kernel-interface a2"), what="the session is over")


def test_segments_stay_whole_on_a_veth(router):
    router.configure("set port x0 kernel-interface a2")
    assert "tcp-segmentation-offload: on" in router.run("ethtool -k b2")
    assert "generic-receive-offload: off" in router.run("ethtool -k a2")


# --- the host's use of the interface ---

BOUND = """import signal, socket
def bound(address):
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.bind(address)
    return s
def connected(address):
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.connect(address)
    return s
"""


@pytest.mark.parametrize("server", ["socket.create_server(('10.9.9.1', 7023))", "bound(('10.9.9.1', 161))", "connected(('10.9.9.2', 6343))"])
def test_an_address_that_a_program_uses_is_not_taken_without_force(router, far, server):
    """The listener of an API, snmpd, and a collector's sender; not one that has any address."""
    here = inside(router.name, BOUND + f"s = {server}\nprint(flush=True)\nsignal.pause()")
    assert here.stdout.readline(), "it runs"
    try:
        said = refused(router, "set port x0 kernel-interface a2")
        assert "a2 is in use by this host for a program at its address, " in said and "'set port x0 force true' as well" in said
        router.configure("set port x0 kernel-interface a2 force true")
    finally:
        here.kill()
        here.wait()


@pytest.mark.parametrize("server", ["socket.create_server(('0.0.0.0', 7023))", "bound(('10.9.9.1', 68))"])
def test_programs_at_any_address_and_dhcp_clients_do_not_count(router, far, server):
    here = inside(router.name, BOUND + f"s = {server}\nprint(flush=True)\nsignal.pause()")
    assert here.stdout.readline(), "it runs"
    try:
        router.configure("set port x0 kernel-interface a2")
    finally:
        here.kill()
        here.wait()


def test_a_member_of_a_bridge_is_refused(router):
    router.run("ip link add br0 type bridge")
    try:
        router.run("ip link set a2 master br0")
        assert "a2 is a member of br0, which would get the same frames: expected another interface, or first 'ip link set a2 nomaster'" in refused(
            router, "set port x0 kernel-interface a2 force true")
        router.run("ip link set a2 nomaster")
        router.configure("set port x0 kernel-interface a2")
    finally:
        router.run("ip link del br0")


def test_an_interface_without_ethernet_headers_is_refused(router):
    router.run("ip tuntap add dev tun9 mode tun")
    try:
        said = refused(router, "set port x0 kernel-interface tun9 force true")
        assert "tun9 has no Ethernet headers (/sys/class/net/tun9/type is 65534): expected an Ethernet interface" in said
        assert "lo has no Ethernet headers" in refused(router, "set port x0 kernel-interface lo")
    finally:
        router.run("ip link del tun9")


@pytest.mark.parametrize("name", ["all", "default"])
def test_a_name_that_linux_forbids_is_refused_for_that_reason(router, name):
    assert "Linux has no interface of this name" in refused(router, f"set port {name} kernel-interface a2")
    assert "Linux has no interface of this name" in refused(router, f"set vport {name} port p0 vlan 7")


def test_what_the_host_sends_by_the_kernel_interface_is_not_received(router):
    """As its LLDP would be: what the port receives of it goes up by the TAP."""
    eventually(lambda: router.client.state("port=p0")[0]["status"] == "up", what="the port is up")
    hears = inside(router.name, HEAR)
    hears.stdout.readline()
    for device in ("a0", "b0"):
        assert inside(router.name, SEND.replace("DEVICE", device)).wait() == 0
    assert hears.communicate(timeout=60)[0].decode() == "b0 " * 20


LLDP = "socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0xcc88)"
HEAR = f"""import socket
s = {LLDP}
s.bind(("p0", 0x88cc))
print(flush=True)
heard = []
while heard.count("b0") < 20:
    heard.append(s.recv(100)[14:16].decode())
print(*heard, end=" ")
"""
SEND = """import socket
s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
s.bind(("DEVICE", 0))
for _ in range(20):
    s.send(bytes.fromhex("0180c200000e02000000000188cc") + b"DEVICE" + bytes(50))
"""


def why(router, port: str) -> str:
    return router.client.state(f"port={port}")[0].get("why", "")


def alarms(router) -> list[str]:
    return [alarm["subject"] for alarm in router.client.entries("alarm") if alarm["name"] == "kernel-state"]


def test_a_renamed_interface_goes_on_and_is_named(router):
    eventually(lambda: router.client.state("port=p0")[0]["status"] == "up", what="the port is up")
    begun = len(router.log.read_text())
    router.run("ip link set a0 name foo0")
    eventually(lambda: "its kernel interface a0 is called foo0 now" in why(router, "p0"), what=lambda: why(router, "p0"))
    assert router.client.state("port=p0")[0]["status"] == "up"
    assert "port=p0 state=down" not in router.log.read_text()[begun:], "its routes stay"
    eventually(lambda: alarms(router) == ["p0 interface"], what="the alarm")
    eventually(lambda: "ip link set foo0 name a0, or set port p0 kernel-interface foo0" in router.log.read_text(), what="the remedy in the log")
    received = router.client.state("port=p0")[0]["statistics"]["rx-packets"]
    assert inside(router.name, SEND.replace("DEVICE", "b0")).wait() == 0
    eventually(lambda: router.client.state("port=p0")[0]["statistics"]["rx-packets"] >= received + 20, what="it receives")
    router.run("ip link set foo0 down")
    eventually(lambda: router.client.state("port=p0")[0]["status"] == "down", what="its carrier is followed by the new name")
    router.run("ip link set foo0 up")
    router.run("ip link set foo0 name a0")
    eventually(lambda: not why(router, "p0") and not alarms(router), what="all is as before")


def test_a_deleted_interface_is_named_and_used_again_when_it_is_back(router):
    router.run("ip link del a1")
    eventually(lambda: "its kernel interface a1 is gone" in why(router, "p1"), what=lambda: why(router, "p1"))
    eventually(lambda: router.client.state("port=p1")[0]["status"] == "down", what="the port is down")
    eventually(lambda: alarms(router) == ["p1 interface"], what="the alarm")
    router.run("ip link add a1 type veth peer name b1")
    router.run("ip link set a1 up")
    eventually(lambda: "no carrier" in why(router, "p1"), what=lambda: why(router, "p1"))
    router.run("ip link set b1 up")
    eventually(lambda: router.client.state("port=p1")[0]["status"] == "up" and not why(router, "p1"), what=lambda: why(router, "p1"))
    eventually(lambda: not alarms(router), what="the alarm is over")


def test_an_interface_that_comes_back_from_another_namespace_is_opened_again(router, far):
    router.configure("set port x0 kernel-interface a2")
    router.run(f"ip link set a2 netns {far}")
    eventually(lambda: "its kernel interface a2 is gone" in why(router, "x0"), what=lambda: why(router, "x0"))
    subprocess.run(["ip", "-n", far, "link", "set", "a2", "netns", router.name], check=True)
    eventually(lambda: router.client.state("port=x0")[0]["status"] == "up" and not why(router, "x0"), what=lambda: why(router, "x0"))
    hears = inside(router.name, HEAR.replace('"p0"', '"x0"').replace('"b0"', '"b2"'))
    hears.stdout.readline()
    assert inside(far, SEND.replace("DEVICE", "b2")).wait() == 0
    assert hears.communicate(timeout=60)[0].decode() == "b2 " * 20
