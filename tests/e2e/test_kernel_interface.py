# SPDX-License-Identifier: BSD-3-Clause
"""set port P kernel-interface I: who may have it, what is said when not, and what the machine would lose."""
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
    daemon = Daemon(kamueed, "kernel-if-e2e")
    daemon.start(START)
    yield daemon
    daemon.end()


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


def test_a_peer_cuts_its_segments_itself_while_the_port_is_there(router):
    features = lambda: router.run("ethtool -k b2")      # noqa: E731
    assert "tcp-segmentation-offload: on" in features()
    router.configure("set port x0 kernel-interface a2")
    assert "tcp-segmentation-offload: off" in features()
    assert "generic-receive-offload: off" in router.run("ethtool -k a2")
    router.configure("delete port x0")
    assert "prog/xdp" not in router.run("ip link show a2")
