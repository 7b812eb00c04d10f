# SPDX-License-Identifier: BSD-3-Clause
"""The lab file: accepted input, its result, and error messages. No root needed."""
import pytest

from kamuee.lab import bird, frr, schema
from kamuee.lab.errors import LabError
from kamuee.lab.kamueenode import KamueeNode, wire_name
from kamuee.lab.lab import Lab
from kamuee.lab.state import State

TRIANGLE = """
name: triangle
nodes:
  h1:
    kind: host
    vlan: 40
    interfaces: {eth0: [10.40.0.2/24, "2001:db8:40::2/64"]}
    routes: [default via 10.40.0.1, "default via 2001:db8:40::1"]
  r1:
    kind: kamuee
    daemon: frr
    vrs: {red: {routes: [10.9.0.0/16 via 10.1.0.2]}}
    interfaces:
      p0: []
      p1: [10.12.0.1/24]
      p2: {addresses: [10.1.0.1/24], vr: red, mac: "02:00:00:00:00:02"}
      v40: {vlan: 40, port: p0, addresses: [10.40.0.1/24, "2001:db8:40::1/64"]}
      q40: {vlan: 40, outer_vlan: 7, tpid: "0x8100", port: p0}
    asn: 65001
    neighbors:
      - {address: 10.12.0.2, asn: 65002, options: [passive]}
    networks: [10.40.0.0/24, "2001:db8:40::/64"]
    ospf: [p1]
    set: [set forwarding idle powersave]
  r2:
    kind: router
    daemon: bird
    interfaces: {p1: [10.12.0.2/24], q0: [10.1.0.2/24]}
    asn: 65002
    neighbors: [{address: 10.12.0.1, asn: 65001}]
    rip: [p1]
    feed: {routes_count: 500, generate: true, share: 0.5}
links:
  - [h1:eth0, r1:p0]
  - {ends: [r1:p1, r2:p1], mtu: 9000}
  - [r1:p2, r2:q0]
"""


def refusal(text: str) -> str:
    with pytest.raises(LabError) as caught:
        schema.load_text(text, "t.yaml")
    return str(caught.value)


def lab_of(text: str) -> Lab:
    spec = schema.load_text(text, "t.yaml")
    return Lab(spec, State(spec.name, "t.yaml"))


def test_a_lab_file_becomes_nodes_and_links():
    spec = schema.load_text(TRIANGLE, "t.yaml")
    assert spec.name == "triangle"
    assert list(spec.nodes) == ["h1", "r1", "r2", "r2feed"]
    assert spec.nodes["h1"].vlan == 40
    assert spec.nodes["r1"].interfaces["v40"].port == "p0"
    assert [port.name for port in spec.nodes["r1"].ports()] == ["p0", "p1", "p2"]
    assert spec.nodes["r1"].vrs == {"red": schema.Vr(["10.9.0.0/16 via 10.1.0.2"])}
    assert spec.mtu_of("r1", "p1") == 9000 and spec.mtu_of("r1", "p0") == 1500


def test_a_name_given_on_the_command_line_wins():
    assert schema.load_text(TRIANGLE, "t.yaml", "other").name == "other"


def test_feed_of_a_router_becomes_a_node_a_link_and_a_session():
    spec = schema.load_text(TRIANGLE, "t.yaml")
    feed, router = spec.nodes["r2feed"], spec.nodes["r2"]
    assert feed.kind == "feed" and feed.feed.n_routes == 500 and feed.feed.share == 0.5
    assert router.neighbors[0].address == feed.interfaces["eth0"].addresses[0].split("/")[0]
    assert router.neighbors[0].families == ["ipv4", "ipv6"]
    assert spec.links[-1].ends == (("r2feed", "eth0"), ("r2", "feed"))


def test_namespaces_of_two_labs_never_have_the_same_name():
    one = lab_of("name: a\nnodes: {b: {kind: host}}")
    with pytest.raises(LabError):
        schema.load_text("name: a\nnodes: {b-c: {kind: host}}", "t.yaml")
    other = lab_of("name: a-b\nnodes: {c: {kind: host}}")
    assert one["b"].namespace.name == "a-b" and other["c"].namespace.name == "a-b-c"


@pytest.mark.parametrize("old, new, says", [
    ("    vlan: 40", "    vlan: forty", "t.yaml:6: nodes.h1.vlan: expected a whole number from 1 to 4094"),
    ("    vlan: 40", "    asn: 7", "t.yaml:6: nodes.h1.asn: unknown key for a host; expected one of: kind"),
    ("kind: kamuee", "kind: cisco", "nodes.r1.kind: expected one of host, router, kamuee, vm, feed"),
    ("10.12.0.1/24", "10.12.0.1", "the /length is missing"),
    ("10.12.0.1/24", "10.12.0.256/24", "expected an address with prefix length"),
    ("port: p0", "port: p9", "nodes.r1: interface v40: no port 'p9' in this node"),
    ("vr: red", "vr: blue", "no virtual router 'blue': add it to vrs of this node"),
    ("ospf: [p1]", "ospf: [p7]", "nodes.r1.ospf[0]: no interface 'p7' in this node"),
    ("r2:q0]", "r3:q0]", "links[2][1]: no node 'r3'; there are: h1, r1, r2"),
    ("[r1:p2, r2:q0]", "[r1:p1, r2:q0]", "r1:p1 is already linked, in line 35"),
    ("  - [r1:p2, r2:q0]\n", "", "nodes.r1: interface p2 is not in any link; add [r1:p2, NODE:INTERFACE] to links"),
    ("[h1:eth0, r1:p0]", "[h1:eth0, r1:v40]", "cannot be linked: link its port instead"),
    ("    daemon: bird", "    daemon: none", "routing is configured but there is no daemon"),
    ("share: 0.5", "share: 5", "expected a number from 0 to 1"),
    ("name: triangle", "name: Triangle!", "t.yaml:2: name: expected 1 to 24 of a-z"),
    ("    routes: [default", "    kind: host\n    routes: [default", "nodes.h1.kind: appears twice"),
    ("nodes:", "nodes: [", "not YAML"),
])
def test_errors_name_line_and_place_and_what_is_expected(old, new, says):
    assert old in TRIANGLE
    assert says in refusal(TRIANGLE.replace(old, new, 1))


def test_a_lab_without_a_name_is_refused_with_the_remedy():
    assert "write 'name: NAME' or give --name NAME" in refusal("nodes: {h: {kind: host}}")


def test_kamueed_gets_ports_in_the_wire_namespace_sub_interfaces_and_virtual_routers():
    node = lab_of(TRIANGLE)["r1"]
    assert isinstance(node, KamueeNode)
    lines = node.config_lines()
    assert "set port p1 kernel-interface wp1" in lines
    assert "set port p1 namespace triangle-r1.wire" in lines
    assert "set port p1 mtu 9000" in lines
    assert "set vport v40 port p0 vlan 40" in lines
    assert "set vport q40 port p0 vlan 40 outer-vlan 7 tpid 0x8100" in lines
    assert "set vr red namespace triangle-r1.red" in lines
    assert "set interface p2 vr red" in lines
    assert lines[-1] == "set forwarding idle powersave"
    assert lines.index("set vr red namespace triangle-r1.red") < lines.index("set interface p2 vr red")


def test_a_link_of_a_kamuee_node_ends_in_its_wire_namespace():
    namespace, name = lab_of(TRIANGLE)["r1"].link_end("p1")
    assert (namespace.name, name) == ("triangle-r1.wire", wire_name("p1"))


def test_frr_configuration_has_both_families_and_the_daemons_it_needs():
    text = frr.config_of(schema.load_text(TRIANGLE, "t.yaml").nodes["r1"])
    assert " neighbor 10.12.0.2 remote-as 65002\n" in text and " neighbor 10.12.0.2 passive\n" in text
    assert "  network 10.40.0.0/24\n" in text and "  network 2001:db8:40::/64\n" in text
    assert "table-map" not in text
    assert frr.daemons_of(text) == ["staticd", "bgpd", "ospfd", "ospf6d"]


def test_frr_behind_a_feed_keeps_its_routes_out_of_the_kernel():
    text = TRIANGLE.replace("daemon: bird", "daemon: frr")
    config = frr.config_of(schema.load_text(text, "t.yaml").nodes["r2"])
    assert config.count("  table-map INSTALL\n") == 2
    assert "route-map INSTALL deny 1\n match peer 100.127.0.2\n" in config


def test_bird_behind_a_feed_keeps_its_routes_out_of_the_kernel(tmp_path):
    config = bird.config_of(schema.load_text(TRIANGLE, "t.yaml").nodes["r2"], tmp_path)
    assert 'proto = "bgp0" then reject' in config
    assert "protocol rip ng rip_ipv6" in config


def test_frr_pathspace_has_no_dot():
    text = TRIANGLE.replace("daemon: bird", "daemon: frr")
    assert lab_of(text)["r2"].frr.pathspace == "triangle-r2"


def test_daemons_are_found_in_an_inline_configuration():
    assert frr.daemons_of("router ospf6\nrouter rip\nbfd\n") == ["staticd", "ospf6d", "ripd", "bfdd"]
