# SPDX-License-Identifier: BSD-3-Clause
"""Flow specifications of a real peer (GoBGP) become rules: by ExaBGP and by GoBGP as this router's speaker. BIRD has its unicast routes."""
import json
import os
import shutil
import subprocess
import time
from pathlib import Path

import pytest

from kamuee.lab.errors import LabError

from support import Router, eventually, received, receiver, send, two_hosts

BIRD = """
router id 10.3.0.2;
protocol device { scan time 2; }
protocol kernel { ipv4 { import none; export where source = RTS_BGP; }; }
filter customer {
  if (65535, 666) ~ bgp_community then { if net.len = 32 then { dest = RTD_BLACKHOLE; accept; } reject; }
  if net.len <= 24 then accept;
  reject;
}
protocol bgp peer {
  local 10.3.0.2 as 65001; neighbor 10.3.0.9 as 65002; connect delay time 1; connect retry time 1; error wait time 1, 2;
  ipv4 { import filter customer; export none; };
}
"""
LAB = two_hosts(interfaces=["p2: [10.3.0.1/24, 10.3.0.2/24]", "p3: [10.4.0.1/24]"],
                settings=["daemon: bird", "config: |", *("  " + line for line in BIRD.split("\n"))], nodes="""
  peer: {kind: host, interfaces: {eth0: [10.3.0.9/24]}, routes: [default via 10.3.0.1]}
  scrubber:                                   # takes packets for h2, too
    kind: host
    interfaces: {eth0: [10.4.0.9/24, 10.2.0.2/32]}
    routes: [default via 10.4.0.1]
""", links=["r:p2, peer:eth0", "r:p3, scrubber:eth0"])
TARGETS = ("10.2.0.2", "fd00:2::2")
ROOT = Path(__file__).resolve().parents[2]
MATCH = ("match", "destination", "10.2.0.2/32", "protocol", "udp", "destination-port", "==7000", "then")
HOLD_S = 6

pytestmark = pytest.mark.skipif(not all(map(shutil.which, ("exabgp", "gobgpd", "gobgp"))), reason="needs exabgp and gobgpd")

GOBGPD = """
[global.config]
  as = {local_as}
  router-id = "{address}"
  port = {port}
[[neighbors]]
  [neighbors.config]
    peer-as = {peer_as}
    neighbor-address = "{peer}"
  [neighbors.timers.config]
    connect-retry = 5
    hold-time = 9
    keepalive-interval = 3
  [neighbors.transport.config]
    passive-mode = {passive}
"""
FAMILIES = "".join(f'  [[neighbors.afi-safis]]\n    [neighbors.afi-safis.config]\n      afi-safi-name = "{family}"\n'
                   for family in ("ipv4-unicast", "ipv4-flowspec", "ipv6-flowspec"))
UNICAST = """
[[neighbors]]
  [neighbors.config]
    peer-as = 65001
    neighbor-address = "10.3.0.2"
  [neighbors.transport.config]
    passive-mode = true
"""
EXABGP = """
process flowspec {{ run {run}; encoder json; }}
neighbor 10.3.0.9 {{
  router-id 10.3.0.1; local-address 10.3.0.1; local-as 65001; peer-as 65002; hold-time 9; {passive}
  capability {{ route-refresh; }}
  family {{ ipv4 unicast; ipv4 flow; ipv6 flow; }}
  api {{ processes [ flowspec ]; neighbor-changes; receive {{ parsed; update; }} }}
}}
"""
CONF = """
speaker {speaker}
list default edge rules 1000-999999
peer 10.3.0.9 limit 20 validate {validate}
redirect 64500:100 to 10.4.0.9
protect tcp 10.3.0.1 22
protect tcp 10.3.0.2 179
hold {hold}
restart-time 5
revalidate 1
sample-every 1
state {state}
metrics {state}.prom
"""


class Speakers:
    """The peer's GoBGP, and this router's speaker with the process under test."""

    def __init__(self, lab, folder: Path, speaker: str, validate: str = "off"):
        self.lab, self.folder, self.speaker = lab, folder, speaker
        self.state, self.log = folder / "state", folder / "log"
        self.conf = folder / "flowspec.conf"
        self.conf.write_text(CONF.format(speaker=speaker, hold=HOLD_S, state=self.state, validate=validate))
        self.run = [str(ROOT / "kamuee"), "flowspec", "--config", str(self.conf), "--socket", str(lab["r"].socket)]
        self.processes: dict[str, subprocess.Popen] = {}

    def gobgpd(self, node, name: str, more: str = "", **values) -> None:
        path = self.folder / f"{name}.toml"
        path.write_text(GOBGPD.format(**values) + FAMILIES + more)
        self.processes[name] = node.popen(["gobgpd", "-f", str(path)])

    def start_peer(self) -> None:
        self.gobgpd(self.lab["peer"], "peer", UNICAST, local_as=65002, peer_as=65001, address="10.3.0.9", peer="10.3.0.1", passive="true", port=179)

    def start(self) -> None:
        node = self.lab["r"]
        if self.speaker == "gobgp":
            self.gobgpd(node, "speaker", local_as=65001, peer_as=65002, address="10.3.0.1", peer="10.3.0.9", passive="false", port=-1)
            self.start_adapter()
        else:
            path = self.folder / "exabgp.conf"
            path.write_text(EXABGP.format(run=" ".join([*self.run, "run"]), passive=""))
            self.processes["speaker"] = node.popen(["env", "exabgp.daemon.user=root", "exabgp.log.destination=stderr", "exabgp.api.ack=false",
                                                    "exabgp", str(path)], log=str(self.log))

    def start_adapter(self) -> None:
        self.processes["adapter"] = self.lab["r"].popen([*self.run, "run"], log=str(self.log))

    def tell(self, verb: str, *words: str, family: str = "ipv4-flowspec") -> None:
        def told() -> bool:
            try:
                self.lab["peer"].run(["gobgp", "global", "rib", verb, "-a", family, *words])
            except LabError as error:           # the client of GoBGP waits a second or two
                if "context deadline exceeded" not in str(error):
                    raise
                return False
            return True
        eventually(told, 30, self.why)

    def end(self, name: str) -> None:
        process = self.processes.pop(name, None)
        if process:
            process.kill()
            process.wait()

    def end_all(self) -> None:
        for process in self.processes.values():
            process.terminate()
        for process in self.processes.values():
            process.wait(20)

    def show(self) -> dict[str, dict]:
        said = self.lab["r"].run([*self.run, "show", "--json"])
        return {row["flow"]: row for row in json.loads(said)}

    def adapter_pid(self) -> int:
        return json.loads(self.state.read_text().split("\n")[0])["pid"]

    def why(self) -> str:
        return self.log.read_text()[-3000:]


@pytest.fixture(scope="module", params=["exabgp", "gobgp"])
def speakers(request, lab, tmp_path_factory):
    router = Router(lab["r"])
    before = router.call("configuration")["text"]
    router.configure("set acl edge default permit", "set acl edge rule 1000000 permit udp to any port 7777", "set forwarding acl in edge")
    found = Speakers(lab, tmp_path_factory.mktemp(request.param), request.param)
    found.start_peer()
    found.start()
    yield found
    found.end_all()
    router.call("acl-change", name="edge", replace=True)
    router.call("configure", replace=True, text=before)


def rules(router) -> dict[int, str]:
    return {rule["number"]: rule["line"] for rule in router.call("acl-rules", name="edge").get("rule", ())}


def installed(router, wanted: set[str], speakers, patience_s: float = 30) -> None:
    eventually(lambda: set(rules(router).values()) == wanted | {"permit udp from any to any port 7777"}, patience_s,
               lambda: f"{wanted}, has {rules(router)}\n{speakers.why()}")


def arrive(lab, where: str, count: int = 100, **how) -> int:
    sink = receiver(lab[where])
    send(lab["h1"], ["10.2.0.2"], count, **how)
    return received(sink, count)["distinct"]


@pytest.fixture
def router(lab, speakers):
    found = Router(lab["r"])
    yield found
    for flow in speakers.show():                   # every test withdraws what it announced; what is left is a failure of it
        assert False, f"{flow} is left"


def test_dropped_and_withdrawn(lab, router, speakers):
    assert arrive(lab, "h2") == 100
    speakers.tell("add", *MATCH, "discard")
    installed(router, {"deny udp from any to 10.2.0.2 port 7000"}, speakers, 60)
    (number,) = [number for number in rules(router) if number < 1000000]
    sink = receiver(lab["h2"])
    send(lab["h1"], ["10.2.0.2"], 100)
    eventually(lambda: router.hits("edge")[number] == 100, 10)
    assert received(sink, 0)["distinct"] == 0
    eventually(lambda: speakers.show(), 10, "the route is shown")
    (shown,) = speakers.show().values()
    assert (shown["peer"], shown["action"], shown["status"], shown["packets"]) == ("10.3.0.9", "drop", "installed", 100), shown
    assert router.state("acl=edge")[0]["temporary-rules"] == 1
    router.configure("set acl edge rule 1000001 permit 89")       # a commit keeps it
    assert number in rules(router)
    router.configure("delete acl edge rule 1000001")
    speakers.tell("del", *MATCH, "discard")
    installed(router, set(), speakers)
    assert arrive(lab, "h2") == 100
    eventually(lambda: not speakers.show(), 10)


def test_rate_limited_and_redirected(lab, router, speakers):
    speakers.tell("add", *MATCH, "rate-limit", "125000")          # bytes: 1000 kbit/s
    installed(router, {"permit udp from any to 10.2.0.2 port 7000 police 1000"}, speakers)
    assert_policed(lab, router)
    speakers.tell("del", *MATCH, "rate-limit", "125000")
    installed(router, set(), speakers)
    speakers.tell("add", *MATCH, "redirect", "64500:100")
    installed(router, {"permit udp from any to 10.2.0.2 port 7000 redirect to 10.4.0.9"}, speakers)
    eventually(lambda: arrive(lab, "scrubber", 20) == 20, 30, "packets go to the scrubber")
    speakers.tell("del", *MATCH, "redirect", "64500:100")
    installed(router, set(), speakers)
    eventually(lambda: not speakers.show(), 10)
    router.configure("set acl edge rule 10 permit udp to any port 7000 police packets 100")
    try:
        assert_policed(lab, router)
    finally:
        router.configure("delete acl edge rule 10")


def assert_policed(lab, router) -> None:
    """How many of 600 packets in a second pass depends on the sender, which a busy machine interrupts."""
    before = router.dropped("acl_policed")
    passed = arrive(lab, "h2", 600, per_s=600, size=1000)
    assert 0 < passed < 500 and router.dropped("acl_policed") - before == 600 - passed


def test_refused_with_the_reason(lab, router, speakers):
    to_us = ("match", "destination", "10.3.0.1/32", "protocol", "tcp", "then", "discard")
    length = ("match", "destination", "10.2.0.2/32", "packet-length", ">=500", "then", "discard")
    for flow in (to_us, length):
        speakers.tell("add", *flow)
    eventually(lambda: len(speakers.show()) == 2, 30, speakers.why)
    why = {row["status"]: row["reason"] for row in speakers.show().values()}
    assert "protect tcp 10.3.0.1 22" in why["own-session"] and why["unsupported"] == "packet-length: access lists do not match it"
    installed(router, set(), speakers)
    many = [("match", "destination", f"10.9.0.{i}/32", "then", "discard") for i in range(20)]
    for flow in many:
        speakers.tell("add", *flow)
    eventually(lambda: len(rules(router)) == 19, 30, speakers.why)      # 20 with the two refused ones, and the operator's
    eventually(lambda: 'refused_total{peer="10.3.0.9",vr="default",reason="limit"} 2' in Path(f"{speakers.state}.prom").read_text(), 10, speakers.why)
    assert "80 % of its limit" in speakers.log.read_text()
    eventually(lambda: alarms(router, "flowspec-limit") == {"edge 10.3.0.9": 100}, 15)
    for flow in (to_us, length, *many):
        speakers.tell("del", *flow)
    installed(router, set(), speakers)
    eventually(lambda: not speakers.show(), 10)
    eventually(lambda: not alarms(router, "flowspec-limit"), 15)


def alarms(router, name: str) -> dict[str, int]:
    return {alarm["subject"]: alarm["value"] for alarm in router.entries("alarm") if alarm["name"] == name}


def test_blackholes_by_community_and_by_flow_specification(lab, router, speakers):
    """Packets flow, are dropped and counted, and flow again; the sessions are up all the time."""
    host = ("10.2.0.2/32", "community", "65535:666")
    eventually(lambda: "Established" in lab["r"].bird.birdc("show protocols peer"), 60, lambda: lab["r"].bird.birdc("show protocols all peer"))
    since = lab["r"].bird.birdc("show protocols peer")
    assert arrive(lab, "h2") == 100
    speakers.tell("add", *host, family="ipv4")
    eventually(lambda: arrive(lab, "h2", 20) == 0, 60, "RTBH")
    before = router.dropped("blackhole")
    assert arrive(lab, "h2") == 0 and router.dropped("blackhole") - before == 100
    speakers.tell("del", *host, family="ipv4")
    eventually(lambda: arrive(lab, "h2", 20) == 20, 60, "RTBH withdrawn")
    own = [("match", "source", "10.3.0.9/32", "then", "discard"), ("match", "destination", "10.3.0.2/32", "protocol", "tcp", "then", "discard")]
    for flow in (*own, (*MATCH, "discard")):
        speakers.tell("add", *flow)
    installed(router, {"deny udp from any to 10.2.0.2 port 7000"}, speakers, 60)
    (number,) = [number for number in rules(router) if number < 1000000]
    before = router.dropped("acl_denied")
    assert arrive(lab, "h2") == 0 and router.dropped("acl_denied") - before == 100
    eventually(lambda: f'kamuee_acl_rule_packets_total{{acl="edge",rule="{number}",action="deny"}} 100\n' in router.metrics(), 10)
    eventually(lambda: sorted(row["status"] for row in speakers.show().values()) == ["installed", "own-session", "own-session"], 10)
    assert next(row["packets"] for row in speakers.show().values() if row["status"] == "installed") == 100
    for flow in (*own, (*MATCH, "discard")):
        speakers.tell("del", *flow)
    installed(router, set(), speakers)
    assert arrive(lab, "h2") == 100
    eventually(lambda: not speakers.show(), 10)
    assert lab["r"].bird.birdc("show protocols peer") == since and "session down" not in speakers.log.read_text().split("session up")[-1]
    assert router.state("ledger")["imbalance"] == 0


def test_killed_process_finds_its_rules(lab, router, speakers):
    others = [("match", "destination", f"10.9.0.{i}/32", "protocol", "tcp", "then", "discard") for i in (3, 1, 2)]
    for flow in ((*MATCH, "discard"), *others):
        speakers.tell("add", *flow)
    installed(router, {"deny udp from any to 10.2.0.2 port 7000", *(f"deny tcp from any to 10.9.0.{i}" for i in (1, 2, 3))}, speakers)
    eventually(lambda: len(speakers.show()) == 4 and {row["status"] for row in speakers.show().values()} == {"installed"}, 10)
    before, pid = rules(router), speakers.adapter_pid()
    send(lab["h1"], ["10.2.0.2"], 50)
    eventually(lambda: sum(router.hits("edge").values()) >= 50, 10)
    os.kill(pid, 9)
    if speakers.speaker == "gobgp":                               # ExaBGP starts its process again by itself
        speakers.end("adapter")
        speakers.start_adapter()
    eventually(lambda: speakers.adapter_pid() != pid, 30, speakers.why)
    time.sleep(HOLD_S + 3)                                        # longer than the lease, and than routes are waited for
    assert rules(router) == before, speakers.why()
    assert max(router.hits("edge").values()) >= 50                # with their counters
    assert "1 peers, 1 lists" in lab["r"].run([*speakers.run, "check"])
    lab["r"].run([*speakers.run, "clear"])                        # as after a start of kamueed: they come back
    assert len(rules(router)) == 1
    eventually(lambda: rules(router) == before, 10, speakers.why)
    for flow in ((*MATCH, "discard"), *others):
        speakers.tell("del", *flow)
    installed(router, set(), speakers)
    eventually(lambda: not speakers.show(), 10)


def test_rules_outlive_the_session_for_the_hold_time(lab, router, speakers):
    speakers.tell("add", *MATCH, "discard")
    installed(router, {"deny udp from any to 10.2.0.2 port 7000"}, speakers)
    speakers.end("peer")
    eventually(lambda: "session down: peer=10.3.0.9" in speakers.log.read_text().split("session up")[-1], 30, speakers.why)
    assert len(rules(router)) == 2
    began = time.monotonic()
    installed(router, set(), speakers, HOLD_S + 20)
    assert time.monotonic() - began > HOLD_S / 2
    speakers.start_peer()
    eventually(lambda: "session up" in speakers.log.read_text().split("session down")[-1], 60, speakers.why)


def test_rules_go_when_the_speaker_dies(lab, router, speakers):
    speakers.tell("add", *MATCH, "discard")
    installed(router, {"deny udp from any to 10.2.0.2 port 7000"}, speakers, 60)
    for name in ("adapter", "speaker"):
        speakers.end(name)
    assert len(rules(router)) == 2
    eventually(lambda: list(alarms(router, "acl-lease")) == ["edge"], HOLD_S + 5)
    installed(router, set(), speakers, HOLD_S + 20)
    speakers.start()                                              # the peer sends its route again
    installed(router, {"deny udp from any to 10.2.0.2 port 7000"}, speakers, 60)
    eventually(lambda: not alarms(router, "acl-lease"), 10)
    speakers.tell("del", *MATCH, "discard")
    installed(router, set(), speakers)
    eventually(lambda: not speakers.show(), 10)


def test_only_the_peer_that_has_the_route_decides(lab, router, speakers, tmp_path):
    """RFC 8955 6: the destination's route must lead to the peer."""
    for name in ("adapter", "speaker"):
        speakers.end(name)
    strict = Speakers(lab, tmp_path, speakers.speaker, "routes")
    strict.start()
    try:
        mine = ("match", "destination", "198.51.100.1/32", "then", "discard")
        for flow in (mine, (*MATCH, "discard")):
            speakers.tell("add", *flow)
        eventually(lambda: {row["status"] for row in strict.show().values()} == {"not-valid"} and len(strict.show()) == 2, 60, strict.why)
        lab["r"].namespace.run("ip route add 198.51.100.0/24 via 10.3.0.9")
        eventually(lambda: set(rules(router).values()) == {"deny ipv4 from any to 198.51.100.1", "permit udp from any to any port 7777"}
                   or "deny ip from any to 198.51.100.1" in rules(router).values(), 30, lambda: f"{rules(router)} {strict.why()}")
        assert len(rules(router)) == 2
        lab["r"].namespace.run("ip route del 198.51.100.0/24")
        installed(router, set(), strict)
        for flow in (mine, (*MATCH, "discard")):
            speakers.tell("del", *flow)
        eventually(lambda: not strict.show(), 30, strict.why)
    finally:
        strict.end_all()
