# SPDX-License-Identifier: BSD-3-Clause
"""Access lists: what real hosts notice of permit, deny and reject, of lists in and out, on ports, VLANs and virtual routers."""
import gzip
import subprocess
import sys

import pytest

from support import Pinging, assert_no_loss, assert_reaches, eventually, ping, reaches, received, receiver, send

LAB = """
nodes:
  h1: $HOST(1)
  h2: $HOST(2)
  tagged: $VLAN4(40)
  reda: {kind: host, interfaces: {eth0: [10.1.0.2/24]}, routes: [default via 10.1.0.1]}
  redb: {kind: host, interfaces: {eth0: [10.2.0.2/24]}, routes: [default via 10.2.0.1]}
  r:
    kind: kamuee
    vrs: {red: {}}
    interfaces:
      p0: [10.1.0.1/24, "fd00:1::1/64"]
      p1: [10.2.0.1/24, "fd00:2::1/64"]
      p2: []
      v40: {vlan: 40, port: p2, addresses: [10.40.0.1/24]}
      p3: {vr: red, addresses: [10.1.0.1/24]}
      p4: {vr: red, addresses: [10.2.0.1/24]}
links:
  - [h1:eth0, r:p0]
  - [h2:eth0, r:p1]
  - [tagged:eth0, r:p2]
  - [reda:eth0, r:p3]
  - [redb:eth0, r:p4]
"""
SERVE = """
import socket, sys
s = socket.create_server((sys.argv[1], int(sys.argv[2])), family=socket.AF_INET6 if ":" in sys.argv[1] else socket.AF_INET)
print("ready", flush=True)
while True:
    c, _ = s.accept()
    c.sendall(b"hello")
    c.close()
"""
CONNECT = """
import socket, sys
try:
    print(socket.create_connection((sys.argv[1], int(sys.argv[2])), float(sys.argv[3])).recv(5).decode())
except OSError as error:
    print(type(error).__name__)
"""
TARGETS = ("10.2.0.2", "fd00:2::2")
BOTH = pytest.mark.parametrize("target", TARGETS)


@pytest.fixture(scope="module")
def lab(lab):
    assert_reaches(lab["tagged"], "10.2.0.2")
    assert_reaches(lab["reda"], "10.2.0.2")
    servers = [serve(lab["h2"], address, port) for address in TARGETS for port in (80, 81)]
    yield lab
    for server in servers:
        server.kill()
        server.wait()


def serve(node, address, port):
    server = node.popen([sys.executable, "-c", SERVE, address, str(port)], stdout=subprocess.PIPE)
    assert server.stdout.readline().strip() == b"ready"
    return server


def connect(node, target, port, patience_s=5):
    """'hello', or the name of the error."""
    return node.run([sys.executable, "-c", CONNECT, target, str(port), str(patience_s)]).strip()


@BOTH
def test_permit_deny_and_reject_as_hosts_see_them(lab, router, target):
    router.configure("set acl edge rule 10 permit tcp to any port 80", "set acl edge rule 20 reject tcp to any port 81",
               "set acl edge rule 30 reject udp to any port 7001", "set acl edge rule 40 permit udp", "set interface p0 acl in edge")
    assert connect(lab["h1"], target, 80) == "hello"
    assert connect(lab["h1"], target, 81) == "ConnectionRefusedError"        # by a reset of the router: the host serves it
    assert not reaches(lab["h1"], target)                                    # ICMP: the default
    taken = receiver(lab["h2"])
    send(lab["h1"], [target], 100)
    assert received(taken, 100)["distinct"] == 100
    hits = router.hits("edge")
    assert hits[10] >= 4 and hits[20] >= 1 and hits[40] == 100 and hits[0] >= 1
    router.configure("set acl edge rule 50 permit icmp", "set acl edge rule 60 permit icmp6")
    assert_reaches(lab["h1"], target)
    assert router.hits("edge")[40] == 100, "counters of rules that stay are kept"


def test_list_for_what_leaves(lab, router):
    router.configure("set acl leaving rule 10 deny icmp from 10.1.0.0/24", "set acl leaving default permit", "set interface p1 acl out leaving")
    assert not reaches(lab["h1"], "10.2.0.2")
    assert_no_loss(lab["tagged"], "10.2.0.2", 1)
    assert_no_loss(lab["h1"], "fd00:2::2", 1)
    assert router.hits("leaving")[10] == 1


def test_set_of_100000_prefixes_from_a_gzip_file_and_what_its_change_does(lab, router, tmp_path):
    file = tmp_path / "bad.gz"
    lines = [f"{11 + i // 50000}.{i // 256 % 196}.{i % 256}.0/24" for i in range(100000)]

    def write(*more):
        with gzip.open(file, "wt") as out:
            out.write("# blocklist\n" + "\n".join([*lines, *more]) + "\n")
    write()
    router.configure(f"set address-set bad file {file}", "set acl edge rule 10 deny ip from set bad", "set acl edge default permit",
               "set interface p0 acl in edge")
    known = router.state("address-set=bad")[0]
    assert known["members-ipv4"] == len(set(lines))
    assert_reaches(lab["h1"], "10.2.0.2")
    write("10.1.0.2", "fd00:1::/64")
    router.call("reload", address_set="bad")
    assert not reaches(lab["h1"], "10.2.0.2") and not reaches(lab["h1"], "fd00:2::2")
    router.call("address-set-change", name="bad", delete=["10.1.0.2"])
    assert_reaches(lab["h1"], "10.2.0.2")
    write("no prefix")
    with pytest.raises(Exception, match=f"bad.gz:{len(lines) + 2}: invalid prefix 'no'"):
        router.call("reload", address_set="bad")
    assert not reaches(lab["h1"], "fd00:2::2"), "the old members stay in force"


def test_lists_change_while_traffic_flows_and_nothing_is_lost(lab, router, tmp_path):
    rules = tmp_path / "edge.rules"
    rules.write_text("".join(f"{1000 + i} deny tcp from 192.0.2.{i % 256} to any port {1 + i}\n" for i in range(2000)))
    router.configure("set acl edge rule 10 permit icmp", "set interface p0 acl in edge")
    pinging = Pinging(lab["h1"], "10.2.0.2")
    for i in range(5):
        router.configure(f"set acl edge rule {20 + i} deny udp to any port {20 + i}")       # one rule: in place
    router.configure(f"set acl edge file {rules}")                                         # 2000 more: built aside
    router.configure("delete acl edge file", "set acl edge rule 11 deny tcp")
    for i in range(5):
        router.configure(f"delete acl edge rule {20 + i}")
    result = pinging.stop(100)
    assert result.lost == 0, result.said
    assert router.hits("edge")[10] == result.sent, "exactly, whatever replaced the list"


def test_vlan_has_a_list_of_its_own(lab, router):
    router.configure("set acl vlan default deny", "set interface v40 acl in vlan")
    assert not reaches(lab["tagged"], "10.2.0.2")
    assert_no_loss(lab["h1"], "10.2.0.2", 1)
    router.configure("set acl vlan rule 5 permit icmp")
    assert_reaches(lab["tagged"], "10.2.0.2")


def test_interfaces_of_a_virtual_router_have_its_list(lab, router):
    router.configure("set acl none default deny", "set vr red acl in none")
    assert not reaches(lab["reda"], "10.2.0.2")
    assert_no_loss(lab["h1"], "10.2.0.2", 1)
    router.configure("set acl all default permit", "set interface p3 acl in all", "set interface p4 acl in all")
    assert_reaches(lab["reda"], "10.2.0.2")
    router.configure("delete interface p3 acl", "delete interface p4 acl")
    assert not reaches(lab["reda"], "10.2.0.2")


def test_what_does_not_fit_is_refused_and_the_old_list_stays(lab, router, tmp_path):
    router.configure("set acl edge rule 10 permit icmp", "set interface p0 acl in edge")
    rules = tmp_path / "large.rules"
    rules.write_text("".join(f"{1000 + i} deny tcp from 10.{i >> 8 & 255}.{i & 255}.0/24 to any port {i}\n" for i in range(1, 30001)))
    with pytest.raises(Exception, match="needs about [0-9]+ MiB.*'set acl-limit memory [0-9]+' is enough"):
        router.configure("set acl-limit memory 1", f"set acl edge file {rules}")
    rules.write_text("20 permit tcp\n30 permti tcp\n")
    with pytest.raises(Exception, match="large.rules:2: unknown action 'permti'"):
        router.configure(f"set acl edge file {rules}")
    assert_no_loss(lab["h1"], "10.2.0.2", 1)
    assert router.hits("edge").keys() == {0, 10}


def test_explain_names_the_rule_of_the_drop(lab, router):
    router.configure("set acl edge rule 77 deny udp to any port 53", "set acl edge default permit", "set interface p0 acl in edge")
    passage = router.call("explain", interface="p0", source="10.1.0.2", destination="10.2.0.2", protocol="udp", destination_port=53)
    end = passage["step"][-1]
    assert end["result"] == "dropped" and end["reason"].startswith("acl")
    assert eventually(lambda: ping(lab["h1"], "10.2.0.2", 1).received, 10)
