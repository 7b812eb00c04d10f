# SPDX-License-Identifier: BSD-3-Clause
"""commit check flows: what a commit would do to sampled flows, compared with what it does to them."""
import random
import subprocess
from pathlib import Path

import pytest

from kamuee.client import Client
from kamuee.errors import DaemonError

from support import Router, assert_reaches, eventually, send

LAB = """
nodes:
  h1: $HOST(1)
  h2: $HOST(2)
  far:
    kind: host
    interfaces:
      eth0: [10.9.0.2/24, "fd00:9::2/64"]
      lo: [198.51.100.1/32, 198.51.100.2/32, 198.51.100.3/32]
    routes: [default via 10.9.0.1, "default via fd00:9::1"]
  r:
    kind: kamuee
    vrs: {red: {}}
    interfaces:
      p0: [10.1.0.1/24, "fd00:1::1/64"]
      p1: [10.2.0.1/24, "fd00:2::1/64"]
      p2: [10.9.0.1/24, "fd00:9::1/64"]
links:
  - [h1:eth0, r:p0]
  - [h2:eth0, r:p1]
  - [r:p2, far:eth0]
"""
TARGETS = [f"198.51.100.{k}" for k in (1, 2, 3)]


@pytest.fixture(scope="module")
def lab(labs, kamueed):
    lab = labs(LAB)
    lab["r"].ip("route add 198.51.100.0/24 via 10.9.0.2")
    assert_reaches(lab["h1"], *TARGETS, "fd00:9::2")
    assert_reaches(lab["h2"], *TARGETS)
    for host in ("h1", "h2"):
        send(lab[host], TARGETS, 3000, flows=6)
    client = Client(str(lab["r"].socket))
    eventually(lambda: sampled(client, "p0") >= 6 and sampled(client, "p1") >= 6)
    return lab


@pytest.fixture
def client(lab):
    return Client(str(lab["r"].socket))


def sampled(client, interface):
    return sum(flow["destination"] in TARGETS for flow in client.call("flows", interface=interface, limit=1000)["flow"])


def tried(client, *lines, **flows):
    return client.call("configure", line=list(lines), check=True, flows=flows)["flows"]


def effects(answer):
    return {(effect["kind"], effect["by"]): effect["flows"] for effect in answer["effect"]}


def test_the_sample_has_the_flows_and_estimates_their_packets(lab, client):
    found = client.call("flows", limit=1000)
    ours = [flow for flow in found["flow"] if flow["destination"] in TARGETS and flow["protocol"] == 17]
    assert {flow["interface"] for flow in ours} == {"p0", "p1"} and {flow["vr"] for flow in ours} == {"default"}
    assert {flow["destination-port"] for flow in ours} == {7000}
    packets = sum(flow["packets"] for flow in ours)
    assert 3000 < packets < 12000                       # 6000 were sent; samples of 1 in 16
    assert found["bytes"] == sum(flow["bytes"] for flow in found["flow"])
    state = client.state("flow-sample")
    assert state["sample-rate"] == 16 and state["samples"] >= len(ours) and state["flows"] == found["flows"]
    assert 'kamuee_flow_sample_samples_packets_total' in Router(lab["r"]).metrics()


def test_a_change_without_effect_changes_no_flow(lab, client):
    answer = tried(client, "set interface p0 description unchanged", "set acl unused default permit", "set acl unused rule 10 deny ip")
    assert answer["flows"] >= 12 and answer["changed-flows"] == 0
    assert not answer["effect"] and not answer["example"] and not answer["not-tried"]


def test_a_rule_that_would_drop_is_named_with_its_flows_before_it_drops_anything(lab, client):
    answer = tried(client, "set acl edge default permit", "set acl edge rule 20 deny udp to 198.51.100.2", "set interface p0 acl in edge")
    of_p0 = [flow for flow in client.call("flows", interface="p0", limit=1000)["flow"]
             if flow["destination"] == "198.51.100.2" and flow["protocol"] == 17]
    assert effects(answer) == {("dropped", "dropped by acl edge rule 20"): len(of_p0)} and of_p0
    example = answer["example"][0]
    assert (example["interface"], example["destination"], example["kind"]) == ("p0", "198.51.100.2", "dropped")
    assert example["before"].startswith("sent by p2")
    assert client.entries("acl") == []                    # nothing is in force
    assert_reaches(lab["h1"], *TARGETS)


def test_what_cannot_be_tried_is_said(lab, client):
    answer = tried(client, "set port p2 mtu 1400", "set vr red flow-hash l3")
    assert {"port p2", "vr red"} <= set(answer["not-tried"])


def test_a_commit_beyond_the_limit_is_refused_unless_forced(lab, client):
    lines = ["set acl wall default deny", "set interface p1 acl in wall"]
    with pytest.raises(DaemonError, match="flows would change, more than the limit of 3; 'commit check flows' shows them"):
        client.call("configure", line=lines, flows={"limit": 3})
    assert client.entries("acl") == []
    assert_reaches(lab["h2"], TARGETS[0])
    answer = client.call("configure", line=lines, flows={"limit": 3, "force": True})
    assert answer["flows"]["changed-flows"] > 3 and [acl["name"] for acl in client.entries("acl")] == ["wall"]
    back = client.call("configure", line=["delete interface p1 acl", "delete acl wall"], flows={"limit": 1000})
    assert {kind for kind, _ in effects(back["flows"])} == {"passed"}


# --- seeded mistakes ---

SOURCES = {"p0": "10.1.0.2", "p1": "10.2.0.2"}
KINDS = {"dropped", "reason", "class", "dscp", "policer"}


@pytest.fixture(scope="module")
def frames(lab):
    """One frame of each of some flows, by input interface: also of wrong and unrouted sources, and to unrouted targets."""
    client, found = Client(str(lab["r"].socket)), {}
    client.call("configure", line=["set port p2 queue rate 1G", "set policer k cir 1M cbs 9000"])
    for interface, own in SOURCES.items():
        given = [{"source": source, "destination": target, "tos": tos, "protocol": protocol, "destination_port": port}
                 for source in (own, *set(SOURCES.values()) - {own}, "192.0.2.77") for target in (*TARGETS, "203.0.113.1")
                 for tos, protocol, port in ((0, "udp", 7000), (32, "tcp", 443), (184, "udp", 5004))]
        found[interface] = [client.call("explain", interface=interface, **packet)["in"]["octets"] for packet in given]
    yield found
    client.call("configure", line=["delete port p2 queue", "delete policer k"])


def verdicts(client, interface, frames):
    """What explain says of each frame now."""
    found = []
    for frame in frames:
        steps = [step for step in client.call("explain", interface=interface, frame=frame)["step"] if step["of"] == "packet"]
        last, sent = steps[-1], steps[-1].get("frame", [])
        found.append((last["result"], last.get("reason"), last["vr"], [frame["interface"] for frame in sent], [frame["octets"] for frame in sent],
                      [frame.get("queue", {}).get("class") for frame in sent], [step["police"]["policer"] for step in steps if "police" in step]))
    return found


def mistake(dice, interface):
    """A random change, as lines, and the lines that undo it."""
    on, way = dice.choice([(interface, "in"), ("p2", "out"), ("p0", "in")])
    bind, unbind = f"set interface {on} acl {way} m", [f"delete interface {on} acl", "delete acl m"]
    target, verb = dice.choice([*TARGETS, "203.0.113.1", "any"]), dice.choice(["deny", "reject"])
    match = f"{dice.choice(['ip', 'udp', 'tcp'])} to {target}" + dice.choice(["", " dscp cs1", " dscp ef"])
    return dice.choice([
        (["set acl m default permit", f"set acl m rule {dice.randrange(1, 90)} {verb} {match}", bind], unbind),
        (["set acl m default deny", f"set acl m rule 7 permit {match}", bind], unbind),
        (["set acl m default permit", f"set acl m rule 7 permit {match} {dice.choice(['remark-dscp af11', 'remark-dscp le', 'class 3'])}", bind], unbind),
        (["set address-set s prefix 198.51.100.0/30", "set acl m default permit", f"set acl m rule 5 {verb} ip to set s", bind],
         [*unbind, "delete address-set s"]),
        ([f"set interface {on} urpf ipv4 {dice.choice(['strict', 'loose'])}"], [f"delete interface {on} urpf"]),
        ([f"set class-map c dscp {dice.choice(['cs1', 'ef', '0', 'af43'])} class {dice.randrange(8)}", "set port p2 queue class-map c"],
         ["delete port p2 queue class-map", "delete class-map c"]),
        ([f"set interface {on} police {way} k"], [f"delete interface {on} police"]),
        ([f"set interface {on} description nothing"], [f"delete interface {on} description"]),
    ])


def test_each_seeded_mistake_does_to_flows_what_its_trial_has_said(lab, client, frames):
    dice = random.Random(7)
    before = {interface: verdicts(client, interface, frames[interface]) for interface in frames}
    seen, quiet = set(), 0
    for _ in range(1000):
        interface = dice.choice([*frames])
        lines, undo = mistake(dice, interface)
        answer = tried(client, *lines, interface=interface, frame=frames[interface])
        client.call("configure", line=lines)
        after = verdicts(client, interface, frames[interface])
        differ = [(was, now) for was, now in zip(before[interface], after) if was != now]
        assert answer["flows"] == len(after) and not answer["not-tried"], (lines, answer)
        assert answer["changed-flows"] == len(differ), (lines, answer, differ)
        counts = {kind: sum(effect["flows"] for effect in answer["effect"] if effect["kind"] == kind) for kind in KINDS}
        assert counts["dropped"] == sum(was[0] != "dropped" == now[0] for was, now in differ), (lines, answer)
        assert counts["reason"] == sum(was[0] == now[0] == "dropped" and was[1] != now[1] for was, now in differ), (lines, answer)
        seen |= {kind for kind in KINDS if counts[kind]}
        quiet += not differ
        client.call("configure", line=undo)
    assert seen == KINDS and quiet
    assert before == {interface: verdicts(client, interface, frames[interface]) for interface in frames}


def test_an_interface_that_moves_or_goes_affects_its_flows(lab, client):
    of_p0, of_p1 = ({flow["destination"] for flow in client.call("flows", interface=name, limit=1000)["flow"]} for name in ("p0", "p1"))
    moved = tried(client, "set interface p1 vr red")
    assert {kind for kind, _ in effects(moved)} <= {"vr", "dropped", "output", "interface"} and moved["changed-flows"] >= len(of_p1)
    gone = tried(client, "delete interface p0", "delete port p0")
    assert effects(gone)["interface", "its input p0 is removed, or made anew"] >= len(of_p0)


def test_the_command_tries_a_capture(lab, client, tmp_path):
    octets = client.call("explain", interface="p0", source="10.1.0.2", destination="198.51.100.9", protocol="tcp",
                         destination_port=8443)["in"]["octets"]
    file, script = tmp_path / "one.pcap", tmp_path / "script"
    data = bytes.fromhex(octets)
    file.write_bytes(bytes.fromhex("d4c3b2a1020004000000000000000000ffff000001000000") + bytes(8) + len(data).to_bytes(4, "little") * 2 + data)
    script.write_text(f"configure\nset acl edge default permit\nset acl edge rule 20 deny tcp to any port 8443\nset interface p0 acl in edge\n"
                      f"commit check flows in p0 pcap {file}\nexit discard\nshow flows 5\n")
    program = Path(__file__).resolve().parents[2] / "kamuee"
    said = subprocess.run([program, "--socket", str(lab["r"].socket), "-f", str(script)], capture_output=True, text=True, check=True).stdout
    assert "of 1 flows (" in said and "dropped: 1 flow, 100.0% of the bytes: dropped by acl edge rule 20" in said
    assert "10.1.0.2:49152 > 198.51.100.9:8443: sent by p2" in said
    assert "198.51.100." in said.split("estimated from samples")[0]
