# SPDX-License-Identifier: BSD-3-Clause
"""A client that is bound to a virtual router: it sees and changes what belongs to that one, and cannot learn that others exist.

What it asks for is made of the schema: each node of configuration and state, as a whole and each of its instances (the
administrator says which there are), each method, each operation with each leaf of its input. `crimson` is another tenant, and
`substrate` the provider's own; each answer is searched for their names, addresses and MACs. Where the client itself names
something of theirs, the answer has to be the same, letter by letter, as for a name that nobody has.
"""
import grp
import hashlib
import http.client
import json
import re
import shutil
import socket
import struct
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from kamuee.commands import COMMANDS
from kamuee.lab.netns import in_namespace

import schema
from browser import Browser
from daemon import Daemon
from proxy import plain
from support import build_program, eventually

MODULE = schema.module()
NODES = ("container", "list", "leaf", "leaf-list")
JSON = "application/yang-data+json"
PORT = 8443
CRIMSON_MAC, SUBSTRATE_MAC = "02:c1:c1:00:00:01", "02:5b:5b:00:00:01"  # that of substrate0 is its sub-interfaces' too
SECRETS = ["1234567", "crimson", "vermilion", "substrate", "198.51.100.", "2001:db8:c1", "203.0.113.", "02:c1:c1", "02:5b:5b", "scarlet"]
# Names that the client may try, and unknown names to try in their place, in the same order: libyang 3 sorts lists.
NOBODY = {"crimson": "cnobody", "substrate": "snobodyxy", "vermilion": "vnobodyxy", "198.51.100.": "198.51.101.", "203.0.113.": "203.0.114.",
          "2001:db8:c1": "2001:db8:c2", "scarlet": "snobody"}
GROUP, USER = "games", 54321
MAY_CHANGE = re.compile(r"set (interface blue\S* (description|urpf|redirect|directed-broadcast|pcp|(acl|police) (in|out) blue:)|"
                        r"vr blue (flow-|description|acl (in|out) blue:)|(acl|address-set|policer|program) blue:)")


# Lists, a set and a policer of each tenant. blue may not see or replace the provider's bindings on blue0.
OWNED = """set address-set {vr}:hosts vr {vr}
set address-set {vr}:hosts prefix {address}.0/28
set acl {vr}:web vr {vr} default permit
set acl {vr}:web rule 10 deny tcp from set {vr}:hosts to any port 23 log
set policer {vr}:slow vr {vr} cir 20M
set interface {interface} acl in {vr}:web
set interface {interface} police out {vr}:slow
"""


def configuration(daemon: Daemon, space: dict[str, str]) -> str:
    return "\n".join([
        f"set vr blue namespace {space['blue']}", f"set vr crimson namespace {space['crimson']}", "set vr crimsontable table 666",
        "set vr blue budget ipv4-routes 1000 captures 8", "set vr crimson budget ipv4-routes 2000",
        "set port substrate0 devargs net_af_packet0,iface=a0", "set port bluep devargs net_af_packet1,iface=a1",
        f"set port crimsonp devargs net_af_packet2,iface=a2 mac {CRIMSON_MAC}", "set vport crimson0 port substrate0 vlan 10",
        "set vport blue0 port substrate0 vlan 20", "set vport crimsontag port bluep vlan 30", "set interface crimson0 vr crimson",
        "set interface crimsonp vr crimson description the-crimson-uplink", "set interface crimsontag vr crimson",
        "set interface blue0 vr blue description mine", "set interface bluep vr blue", "set acl vermilion rule 10 deny tcp from 203.0.113.0/24 to any",
        "set acl vermilion default permit", "set interface blue0 acl in vermilion", "set interface crimson0 acl in vermilion",
        "set policer scarlet cir 10M", "set interface blue0 police in scarlet", "set interface crimson0 police in scarlet",
        "set address-set scarlet prefix 203.0.113.7", "set port substrate0 queue rate 1G", "set port substrate0 queue vr blue guarantee 100M",
        "set port substrate0 queue vr crimson guarantee 200M", "set port bluep queue vr blue guarantee 50M",
        "set port bluep queue vr crimson guarantee 60M", "set counters nexthop true", "set counters prefix crimson 198.51.100.0/24",
        "set counters prefix blue 192.0.2.0/24", "set multicast route crimson 239.1.1.1 any input crimson0 output crimsonp",
        "set multicast route blue 239.2.2.2 any input blue0 output bluep", "set routing-daemon crimson bgp", "set routing-daemon blue bgp",
        "set mirror-session scarlet to tap substratemon", f"set api tokens {daemon.dir}/tokens",
        "set api client scarlet role admin vr crimson",
        f"set api group vr blue admin {GROUP}", "set alarm routing-daemon raise 1", "set vr crimson budget ipv4-routes 1234567",
        "set vr blue budget ipv4-routes 7654321", "set vr crimson description crimson-customer",
        "set vr blue import crimson prefix 198.51.96.0/24",
        *OWNED.format(vr="blue", address="192.0.2", interface="bluep").splitlines(),
        *OWNED.format(vr="crimson", address="198.51.100", interface="crimsontag").splitlines(), "set acl blue:web file " + str(daemon.dir / "blue-rules"),
        *(f"set program {vr}:guard vr {vr} hook input file {daemon.dir}/program.so" for vr in ("blue", "crimson")),
        "set program crimson:guard next-hop 1 address 198.51.100.77", ""])


TOKENS = {f"{vr}-{role}": f"{vr}-{role}-is-a-long-secret" for vr in ("blue", "crimson", "nothing") for role in ("admin", "operator", "read-only")}


class Tenant:
    """Requests by TCP with a token."""

    def __init__(self, daemon: Daemon, name: str):
        self.daemon, self.token = daemon, TOKENS[name]

    def connect(self) -> socket.socket:
        return in_namespace(self.daemon.name, lambda: socket.create_connection(("127.0.0.1", PORT), 30))

    def ask(self, method: str, target: str, body: Any = None, **headers: str) -> tuple[int, dict, str]:
        connection = http.client.HTTPConnection("127.0.0.1", PORT)
        connection.sock = self.connect()
        given = {"Authorization": f"Bearer {self.token}", **({"Content-Type": JSON} if body is not None else {}), **headers}
        connection.request(method, target, None if body is None else json.dumps(body), given)
        answer = connection.getresponse()
        said = answer.read().decode("latin-1")
        connection.close()
        return answer.status, dict(answer.headers), said

    def data(self, path: str = "") -> Any:
        status, _, said = self.ask("GET", f"/restconf/data{'/' if path else ''}{path}")
        assert status == 200, said
        return json.loads(said)

    def call(self, operation: str, **given: Any) -> tuple[int, str]:
        status, _, said = self.ask("POST", f"/restconf/operations/kamuee:{operation}", {"kamuee:input": given})
        return status, said


@pytest.fixture(scope="module")
def daemon(kamueed) -> Iterator[Daemon]:
    daemon = Daemon(kamueed, "bound-e2e")
    space = {name: f"{name}-e2e" for name in ("blue", "crimson")}
    try:
        for name in space.values():
            subprocess.run(["ip", "netns", "add", name], check=True)
        lines = [f"{name} {name.partition('-')[2]} vr {name.partition('-')[0]} sha256:{hashlib.sha256(token.encode()).hexdigest()}\n"
                 for name, token in TOKENS.items()]
        (daemon.dir / "tokens").write_text("".join(lines))
        (daemon.dir / "tokens").chmod(0o600)
        (daemon.dir / "blue-rules").write_text("900 permit udp from any to any\n")
        build_program(daemon.dir / "program.so", "return 0;", "counter seen; table hash t 10")
        daemon.start(configuration(daemon, space))
        daemon.serve(plain(f"127.0.0.1:{PORT}"))
        for words in (
                f"-n {space['crimson']} addr add 198.51.100.1/24 dev crimson0", f"-n {space['crimson']} addr add 2001:db8:c1::1/64 dev crimson0",
                f"-n {space['crimson']} addr add 203.0.113.1/24 dev crimsonp", f"-n {space['blue']} addr add 192.0.2.1/24 dev blue0",
                f"-n {space['blue']} addr add 2001:db8:b1::1/64 dev blue0", f"-n {space['blue']} addr add 10.0.0.1/24 dev bluep",
                f"-n {space['crimson']} link set crimson0 up", f"-n {space['crimson']} link set crimsonp up",
                f"-n {space['blue']} link set blue0 up", f"-n {space['blue']} link set bluep up",
                f"-n {space['crimson']} neigh add 198.51.100.9 lladdr {CRIMSON_MAC} dev crimson0 nud permanent",
                f"-n {space['blue']} neigh add 192.0.2.9 lladdr 02:b1:b1:00:00:09 dev blue0 nud permanent",
                f"-n {space['crimson']} route add 198.51.96.0/24 via 198.51.100.9", f"-n {space['blue']} route add 10.9.0.0/16 via 192.0.2.9",
                f"-n {daemon.name} addr add 203.0.113.250/24 dev substrate0", f"-n {daemon.name} link set substrate0 up",
                f"-n {daemon.name} neigh add 203.0.113.251 lladdr {SUBSTRATE_MAC} dev substrate0 nud permanent"):
            subprocess.run(["ip", *words.split()], check=True)
        eventually(lambda: len([n for n in daemon.client.state("neighbor") if n["vr"] in ("blue", "crimson")]) >= 2, 20, "neighbors are known")
        eventually(lambda: {r["prefix"] for r in daemon.client.state("routes=blue,ipv4")[0]["route"]} >= {"10.9.0.0/16"}, 20, "routes are known")
        daemon.space = space
        yield daemon
    finally:
        try:
            daemon.end()
        finally:
            for name in space.values():
                subprocess.run(["ip", "netns", "del", name], check=False)


@pytest.fixture
def blue(daemon) -> Tenant:
    return Tenant(daemon, "blue-admin")


def without_secrets(what: str, *said: Any) -> None:
    text = " ".join(str(s) for s in said).lower()
    found = [secret for secret in SECRETS if secret in text]
    assert not found, f"{what}: {found} in {text[:2000]}"


def as_nobody(text: str) -> str:
    for secret, instead in NOBODY.items():
        text = text.replace(secret, instead)
    return text


def looked_at(tenant: Tenant, method: str, target: str, body: Any = None) -> tuple[int, str]:
    """The answer, after it has been searched; where the request itself has a secret, it is compared with nobody's."""
    status, headers, said = tenant.ask(method, target, body)
    text = target + json.dumps(body)
    assert status < 500, (method, target, said)
    if not any(secret in text for secret in SECRETS):
        without_secrets(f"{method} {target}", headers, said)
        return status, said
    other = tenant.ask(method, as_nobody(target), None if body is None else json.loads(as_nobody(json.dumps(body))))
    assert (status, as_nobody(said)) == (other[0], other[2]), f"{method} {target}: {said[:500]} and not {other[2][:500]}"
    return status, said


# --- the resources ---

def paths_of(node: schema.Statement, at: str) -> Iterator[str]:
    """Each path of the schema, lists as a whole."""
    for child in node.all(*NODES, "choice", "case"):
        if child.keyword in ("choice", "case"):
            yield from paths_of(child, at)
            continue
        here = f"{at}/{child.argument}" if at else f"kamuee:{child.argument}"
        yield here
        yield from paths_of(child, here)


def instances(node: schema.Statement, value: Any, at: str) -> Iterator[tuple[str, str, Any]]:
    """(path, name, value) of each instance in the administrator's view."""
    for child in node.all(*NODES, "choice", "case"):
        if child.keyword in ("choice", "case"):
            yield from instances(child, value, at)
            continue
        found = value.get(child.argument, value.get(f"kamuee:{child.argument}"))
        if found is None:
            continue
        here = f"{at}/{child.argument}" if at else f"kamuee:{child.argument}"
        if child.keyword == "list":
            keys = (child.one("key").argument.split() if child.one("key") else [])
            for entry in found if keys else []:
                mine = here + "=" + ",".join(quote(str(entry[key]).lower() if isinstance(entry[key], bool) else str(entry[key]), safe="") for key in keys)
                yield mine, child.argument, entry
                yield from instances(child, entry, mine)
        elif child.keyword == "container":
            yield here, child.argument, found
            yield from instances(child, found, here)
        else:
            yield here, child.argument, found


def everything(daemon: Daemon) -> dict:
    connection = http.client.HTTPConnection("127.0.0.1")
    connection.sock = socket.socket(socket.AF_UNIX)
    connection.sock.connect(str(daemon.socket))
    connection.request("GET", "/restconf/data")
    return json.loads(connection.getresponse().read())["ietf-restconf:data"]


CONFIG = schema.Statement("module", "", [node for node in MODULE.all(*NODES, "choice") if node.argument != "state"])


# --- reading ---

def test_the_secrets_are_there_for_the_administrator(daemon):
    text = json.dumps(everything(daemon)).lower()
    assert not [secret for secret in SECRETS if secret not in text]


def test_each_node_of_the_schema(daemon, blue):
    seen = {}
    for path in ["", *paths_of(MODULE, "")]:
        for query in ("", "?depth=1", "?depth=2", "?content=config", "?content=nonconfig", "?with-defaults=report-all", "?limit=1", "?limit=1&offset=1"):
            if query and path.count("/") > 2:
                continue
            status, said = looked_at(blue, "GET", f"/restconf/data{'/' if path else ''}{path}{query}")
            if not query:
                seen[path] = (status, said)
    assert seen["kamuee:state/interface"][0] == 200 and seen["kamuee:state/vr"][0] == 200
    assert json.loads(seen["kamuee:state/port"][1]) == {"kamuee:port": []} == json.loads(seen["kamuee:port"][1])
    assert {i["name"] for i in json.loads(seen["kamuee:state/interface"][1])["kamuee:interface"]} == {"blue0", "bluep"}
    assert [v["name"] for v in json.loads(seen["kamuee:state/vr"][1])["kamuee:vr"]] == ["blue"]
    assert seen["kamuee:state/system"][0] == seen["kamuee:api"][0] == seen["kamuee:state/configuration"][0] == 404


def test_each_instance(daemon, blue):
    all_there_is = everything(daemon)
    n = 0
    for path, name, _ in instances(MODULE, all_there_is, ""):
        looked_at(blue, "GET", f"/restconf/data/{path}")
        if path.count("/") <= 1:
            looked_at(blue, "GET", f"/restconf/data/{path}?fields={name}")
        n += 1
    assert n > 300
    for vr in ("crimson", "default", "crimsontable"):
        for family in ("ipv4", "ipv6"):
            status, said = looked_at(blue, "GET", f"/restconf/data/kamuee:state/routes={vr},{family}")
            assert status == 404, said
    prefixes = {r["prefix"] for r in blue.data("kamuee:state/routes=blue,ipv4")["kamuee:routes"][0]["route"]}
    assert "10.9.0.0/16" in prefixes and "192.0.2.0/24" in prefixes


def test_alarms(daemon, blue):
    eventually(lambda: {"crimson bgp", "blue bgp"} <= {a["subject"] for a in daemon.client.state("alarm")}, 60, "both daemons are silent")
    said = blue.data("kamuee:state/alarm")["kamuee:alarm"]
    assert "blue bgp" in {a["subject"] for a in said} and all(a["subject"].startswith("blue ") for a in said)
    without_secrets("alarm", said)


def test_the_bill(daemon, blue):
    [vr] = blue.data("kamuee:state/vr=blue")["kamuee:vr"]
    assert {b["name"]: b.get("limit") for b in vr["budget"]}["ipv4-routes"] == "7654321"
    assert blue.data("kamuee:vr=blue")["kamuee:vr"][0]["budget"]["ipv4-routes"] == 7654321


def test_fields(daemon, blue):
    for fields in ("vr", "interface/name", "kamuee:state/interface(name;port)", "kamuee:state/queue", "kamuee:state/port", "kamuee:api"):
        looked_at(blue, "GET", f"/restconf/data?fields={quote(fields, safe='')}")
    status, said = looked_at(blue, "GET", "/restconf/data/kamuee:state/interface?fields=name;port;id")
    assert status == 200 and {tuple(i) for i in json.loads(said)["kamuee:interface"]} == {("name",)}


def test_what_is_its_own_is_there(daemon, blue):
    everything_own = blue.data()["ietf-restconf:data"]
    assert {"kamuee:vr", "kamuee:interface", "kamuee:state"} <= set(everything_own)
    state = everything_own["kamuee:state"]
    assert "192.0.2.9" in {n["address"] for n in state["neighbor"]} and {n["vr"] for n in state["neighbor"]} == {"blue"}
    assert {p["prefix"] for p in state["counted-prefix"]} == {"192.0.2.0/24"}
    assert [r["group"] for r in state["multicast"]["route"]] == ["239.2.2.2"]
    assert [(q["port"], [v["name"] for v in q["vr"]]) for q in state["queue"]] == [("bluep", ["blue"])]
    assert {n["vr"] for n in state["nexthop"]} == {"blue"}
    assert {tuple(sorted(i)) for i in everything_own["kamuee:interface"]} == {("description", "name", "vr"), ("acl", "name", "police", "vr")}


def test_its_programs(daemon, blue):
    own = blue.data()["ietf-restconf:data"]
    assert [(p["name"], p["vr"]) for p in own["kamuee:program"]] == [("blue:guard", "blue")]
    assert [(p["name"], p["status"]) for p in own["kamuee:state"]["program"]] == [("blue:guard", "running")]
    assert blue.call("program-table-set", name="blue:guard", table="t", key="7", value="8")[0] == 204
    status, said = blue.call("program-table", name="blue:guard", table="t")
    assert status == 200 and json.loads(said)["kamuee:output"]["entry"] == [{"key": "7", "value": "8"}]
    assert blue.call("program-replace", name="blue:guard")[0] == 204
    for call in (("program-replace", {}), ("program-table", {"table": "t"}), ("program-table-set", {"table": "t", "key": "7", "value": "8"})):
        status, said = blue.call(call[0], name="crimson:guard", **call[1])
        nobody, same = blue.call(call[0], name="nobody:guard", **call[1])
        assert (status, said.replace("crimson:guard", "X")) == (nobody, same.replace("nobody:guard", "X")) and status >= 400
    assert daemon.client.call("program-table", name="crimson:guard", table="t").get("entry", []) == []


def test_its_lists_and_policers(daemon, blue):
    own = blue.data()["ietf-restconf:data"]
    assert own["kamuee:address-set"] == [{"name": "blue:hosts", "vr": "blue", "prefix": ["192.0.2.0/28"]}]
    [acl] = own["kamuee:acl"]
    assert acl["name"] == "blue:web" and "file" not in acl and [r["number"] for r in acl["rule"]] == [10]
    assert [p["name"] for p in own["kamuee:policer"]] == ["blue:slow"]
    assert {i["name"]: i.get("acl") for i in own["kamuee:interface"]} == {"blue0": None, "bluep": {"in": "blue:web"}}
    state = own["kamuee:state"]
    assert [(a["name"], a["rules"], a["bound"]) for a in state["acl"]] == [("blue:web", 2, [{"interface": "bluep", "direction": "in"}])]
    assert [(s["name"], s["members-ipv4"]) for s in state["address-set"]] == [("blue:hosts", "1")]
    assert {(p["interface"], p["direction"], p.get("policer")) for p in state["policer"]} == {("bluep", "out", "blue:slow"), ("blue0", "in", None)}
    assert "acl-redirect" not in state or state["acl-redirect"] == []
    status, said = blue.call("acl-rules", name="blue:web")
    assert status == 200 and [r["number"] for r in json.loads(said)["kamuee:output"]["rule"]] == [10, 900], said
    status, said = blue.call("address-set-contains", name="blue:hosts", address=["192.0.2.9"])
    assert status == 200 and "192.0.2.0/28" in said
    status, said = blue.call("explain", interface="bluep", source="192.0.2.9", destination="192.0.2.9", protocol="tcp", **{"destination-port": 23})
    assert status == 200 and '"blue:web"' in said and '"rule": 10' in said.replace('"rule":10', '"rule": 10'), said
    status, said = blue.call("explain", interface="blue0", source="192.0.2.9", destination="10.0.0.9")
    assert status == 200 and '"rule"' not in said and '"police"' in said, said
    without_secrets("explain", said)


@pytest.mark.parametrize("lines, status, says", [
    (["set acl blue:mine rule 1 permit ip from any to any"], 200, ""),
    (["set acl blue:mine rule 1 permit ip from set blue:mine to any", "set address-set blue:mine prefix 10.0.0.0/8"], 200, ""),
    (["set policer blue:mine cir 1M", "set interface bluep police in blue:mine"], 200, ""),
    (["set vr blue acl out blue:web"], 200, ""),
    (["set acl blue:web rule 20 reject udp from any to any", "set acl blue:web default deny"], 200, ""),
    (["delete acl blue:web", "delete interface bluep acl", "delete policer blue:slow", "delete interface bluep police"], 200, ""),
    (["set program blue:guard order 7 on-fault pass next-hop 3 address 192.0.2.7"], 200, ""),
    (["delete program blue:guard"], 200, ""),
    (["set program blue:guard vr crimson"], 403, "program blue:guard vr"),
    (["set program blue:guard mirror-session scarlet"], 403, "program blue:guard mirror-session"),
    (["set program-signer mine key /etc/kamuee/mine.pub"], 403, "program-signer"),
    (["set program crimson:guard order 7"], 400, "expected a name that begins with 'blue:'"),
    (["set acl mine default permit"], 400, "expected a name that begins with 'blue:', as blue:mine"),
    (["set acl crimson:web default permit"], 400, "expected a name that begins with 'blue:', as blue:web"),
    (["set acl vermilion default deny"], 400, "expected a name that begins with 'blue:'"),
    (["set policer scarlet cir 1M"], 400, "expected a name that begins with 'blue:'"),
    (["set acl blue:web vr crimson"], 403, "acl blue:web vr"),
    (["set acl blue:mine vr crimson default permit"], 403, "acl blue:mine vr"),
    (["set acl blue:mine file /etc/passwd"], 403, "acl blue:mine file"),
    (["set address-set blue:hosts file /etc/passwd"], 403, "address-set blue:hosts file"),
    (["set interface bluep acl in vermilion"], 400, "interface bluep acl in: there is no acl 'vermilion'"),
    (["set interface bluep acl out crimson:web"], 400, "there is no acl 'crimson:web'"),
    (["set interface bluep police in scarlet"], 400, "there is no policer 'scarlet'"),
    (["set acl blue:web rule 20 deny ip from set scarlet to any"], 400, "there is no address-set 'scarlet'"),
    (["set acl blue:web rule 20 permit ip from any to any mirror scarlet"], 400, "there is no mirror-session 'scarlet'"),
    (["set acl blue:web rule 20 permit ipv4 from any to any redirect to 192.0.2.9"], 400, "'redirect' is for lists of the router"),
    (["set acl blue:web rule 20 permit tcp from any to any icmp-type 8"], 400, "acl blue:web rule 20: "),
    (["set policer blue:slow cir 1"], 400, "policer blue:slow: 'cir' is 1 bit/s"),
    (["delete acl blue:web"], 400, "interface bluep acl in: there is no acl 'blue:web'"),
    (["set interface blue0 acl in blue:web"], 403, "interface blue0 acl in"),     # the provider has a list there
    (["set interface blue0 police in blue:slow"], 403, "interface blue0 police in"),
    (["set interface blue0 acl out blue:web"], 200, "")])
def test_what_it_makes(daemon, blue, lines, status, says):
    before = daemon.running()
    got, said = looked_at(blue, "POST", "/restconf/operations/kamuee:configure", {"kamuee:input": {"line": lines}})
    after = daemon.running()
    assert got == status and says in json.loads(said).get("ietf-restconf:errors", {"error": [{"error-message": ""}]})["error"][0]["error-message"], said
    assert others(after) == [line for line in others(before) if status != 200 or "acl blue:web file" not in line or lines[0] != "delete acl blue:web"]
    assert (after != before) == (status == 200)
    for line in lines if status == 200 else []:
        name = re.match(r"set (acl|address-set|policer|program) (blue:mine)", line)
        assert not name or f"set {name[1]} {name[2]} vr blue" in after
    daemon.client.call("configure", replace=True, text=before)


def test_the_providers_binding_stays_beside_its_own(daemon, blue):
    """Of a container of which it sees a part, it deletes that part."""
    before = daemon.running()
    assert blue.call("configure", line=["set interface blue0 acl out blue:web"])[0] == 200
    assert blue.call("configure", line=["delete interface blue0 acl"])[0] == 200
    assert daemon.running() == before
    body = {"kamuee:interface": [{"name": "blue0", "vr": "blue", "description": "mine"}]}
    assert blue.ask("PUT", "/restconf/data/kamuee:interface=blue0", body)[0] == 204
    assert "set interface blue0 acl in vermilion" in daemon.running() and "set interface blue0 police in scarlet" in daemon.running()
    assert sorted(daemon.running().splitlines()) == sorted(before.splitlines())


def test_a_list_of_its_own_gives_way_to_the_providers(daemon, blue):
    """Of the interface as of all interfaces: a tenant cannot put a filter of the provider out of force by one of its own."""
    def bound() -> dict[str, list]:
        return {a["name"]: [b["interface"] for b in a["bound"]] for a in daemon.client.state("acl")}

    assert "bluep" in bound()["blue:web"]
    daemon.configure("set forwarding acl in vermilion")
    assert "bluep" in bound()["vermilion"] and bound()["blue:web"] == []
    daemon.configure("delete forwarding acl")
    assert bound()["blue:web"] == ["bluep"]


@pytest.mark.parametrize("line, says", [
    ("set acl crimson:web vr blue", "acl crimson:web: it belongs to vr blue, so its name begins with 'blue:': expected blue:web"),
    ("set acl blue:other default permit", "acl blue:other: names with ':' belong to virtual routers: expected 'vr blue' in it"),
    ("set acl vermilion vr blue", "its name begins with 'blue:': expected blue:vermilion"),
    ("set interface crimson0 acl in blue:web", "acl in: access list blue:web belongs to vr blue, which this is not: expected a list without 'vr', or one of"),
    ("set vr crimson acl in blue:web", "vr crimson: acl in: access list blue:web belongs to vr blue"),
    ("set forwarding acl in blue:web", "forwarding: acl in: access list blue:web belongs to vr blue, which this is not: expected a list without 'vr'"),
    ("set interface crimson0 police in blue:slow", "policer blue:slow belongs to vr blue, and the interface to vr crimson"),
    ("set acl vermilion rule 20 deny ip from set blue:hosts to any", "acl vermilion: address-set blue:hosts belongs to vr blue"),
    ("set acl blue:web rule 20 deny ip from set scarlet to any", "acl blue:web: it belongs to vr blue, and address-set scarlet does not")])
def test_the_provider_keeps_owners_apart(daemon, line, says):
    with pytest.raises(Exception) as refused:
        daemon.configure(line)
    assert says in str(refused.value)


def test_rules_and_members_count(daemon, blue):
    used = {b["name"]: b["used"] for b in blue.data("kamuee:state/vr=blue")["kamuee:vr"][0]["budget"]}
    assert used["rules"] == "5" and used["set-members"] == "2"  # 1 rule, 1 of the file, a list, a policer, and vermilion's rule; a member and its set
    daemon.configure("set vr blue budget rules 5 set-members 2")
    status, said = blue.call("configure", line=["set acl blue:web rule 30 permit ip from any to any"])
    assert status == 400 and "its access lists have 6 rules, and its budget 'rules' is 5" in said and "set vr blue budget rules 6" in said, said
    status, said = blue.call("configure", line=["set address-set blue:hosts prefix 10.0.0.0/8"])
    assert status == 400 and "its budget 'set-members' is 2" in said, said
    status, said = blue.call("configure", line=["set policer blue:more cir 1M"])
    assert status == 400 and "budget 'rules'" in said, said
    file = daemon.dir / "blue-rules"
    file.write_text("900 permit udp from any to any\n901 permit udp from any to any port 53\n")
    with pytest.raises(Exception, match="its access lists have 6 rules, and its budget 'rules' is 5"):
        daemon.client.call("reload", acl="blue:web")
    with pytest.raises(Exception, match="its access lists have 6 rules"):
        daemon.configure("set acl blue:web default deny")  # the file is read again
    daemon.configure("set vr blue budget rules 6")
    daemon.client.call("reload", acl="blue:web")
    assert {b["name"]: b["used"] for b in blue.data("kamuee:state/vr=blue")["kamuee:vr"][0]["budget"]}["rules"] == "6"
    file.write_text("900 permit udp from any to any\n")
    daemon.client.call("reload")
    assert {b["name"]: b["used"] for b in blue.data("kamuee:state/vr=blue")["kamuee:vr"][0]["budget"]}["rules"] == "5"
    daemon.configure("delete vr blue budget rules", "delete vr blue budget set-members")


def test_its_lines(daemon, blue):
    status, said = blue.call("vr-lines", name="blue")
    lines = json.loads(said)["kamuee:output"]["line"]
    assert status == 200 and "set acl blue:web rule 10 deny tcp from set blue:hosts to any port 23 log" in lines, said
    assert "set interface bluep acl in blue:web" in "\n".join(lines)
    without_secrets("vr-lines", said)
    code, said = kamuee(daemon, "vr", "export", "blue")
    assert code == 0 and "set interface bluep" in said, said
    without_secrets("vr export", said)


def test_a_token_keeps_the_name_of_its_virtual_router(daemon):
    with pytest.raises(Exception, match="token 'blue-admin' is bound to vr blue and would see nothing: write 'vr azure' in the file of tokens"):
        daemon.client.call("vr-rename", name="blue", new_name="azure")
    assert "azure" not in daemon.running()


def test_a_client_of_a_virtual_router_that_is_not_there_has_nothing(daemon):
    nobody = Tenant(daemon, "nothing-admin")
    for path in ["", "/kamuee:state", *(f"/{path}" for path in paths_of(MODULE, "") if path.count("/") < 2)]:
        status, _, said = nobody.ask("GET", f"/restconf/data{path}")
        without_secrets(path, said)
        assert "blue" not in said, path


def test_other_resources(daemon, blue):
    for target in ("/restconf", "/restconf/operations", "/restconf/yang-library-version", "/.well-known/host-meta",
                   "/restconf/data/ietf-yang-library:yang-library",
                   "/restconf/data/ietf-yang-library:modules-state", "/restconf/data/ietf-restconf-monitoring:restconf-state", "/restconf/yang/kamuee.yang",
                   "/metrics", "/restconf/streams", "/restconf/nothing", "/restconf/data/ietf-interfaces:interfaces", "/restconf/data/ietf-routing:routing",
                   "/restconf/data/ietf-interfaces:interfaces/interface=crimson0", "/restconf/data/ietf-routing:routing/ribs/rib=crimson-ipv4", "/"):
        for method in ("GET", "HEAD", "OPTIONS", "POST", "PUT", "DELETE"):
            looked_at(blue, method, target)
    assert blue.ask("GET", "/restconf/data/ietf-interfaces:interfaces")[0] == 404
    assert "kamuee:shutdown" not in blue.ask("GET", "/restconf/operations")[2]


def test_metrics(daemon, blue):
    for accept in ("text/plain", "application/openmetrics-text"):
        status, _, said = blue.ask("GET", "/metrics", Accept=accept)
        assert status == 200 and 'interface="blue0"' in said and 'vr="default"' not in said
        without_secrets("/metrics", said)
        assert 'kamuee_acl_rules{acl="blue:web"} 2' in said and 'set="blue:hosts"' in said
        assert all(re.search('[{,](vr="blue"|interface="blue|acl="blue:|set="blue:)', line) for line in said.splitlines() if not line.startswith("#")), said
    assert said.endswith("# EOF\n")


def test_all_metrics_of_its_own_are_there(daemon, blue):
    """Each that names it or an interface of it, and nothing of another; counters may have grown in between."""
    def of(said: str) -> set[str]:
        return {line.rpartition(" ")[0] for line in said.split("\n") if line and line[0] != "#"}

    whole = of(daemon.client._ask("GET", "/metrics", None, 60).read().decode())
    interfaces = {entry["name"] for entry in daemon.client.entries("interface") if entry["vr"] == "blue"}
    assert interfaces == {"blue0", "bluep"}
    own = {sample for sample in whole for labels in [dict(re.findall(r'(\w+)="([^"]*)"', sample))]
           if labels.get("vr", "blue") == "blue" and (labels.get("vr") or labels.get("interface") in interfaces) and "port" not in labels}
    assert len(own) > 40
    assert own - of(blue.ask("GET", "/metrics")[2]) == set()


def test_the_tag_of_the_configuration_is_that_of_its_own(daemon, blue):
    before = blue.ask("GET", "/restconf/data/kamuee:interface")[1]
    daemon.configure("set interface crimson0 description the-crimson-change")
    after = blue.ask("GET", "/restconf/data/kamuee:interface")[1]
    assert before["ETag"] == after["ETag"] and "Last-Modified" not in before
    daemon.configure("set interface blue0 description other")
    assert blue.ask("GET", "/restconf/data/kamuee:interface")[1]["ETag"] != before["ETag"]
    daemon.configure("set interface blue0 description mine", "delete interface crimson0 description")


# --- changing ---

def others(running: str) -> list[str]:
    return [line for line in running.splitlines() if not MAY_CHANGE.match(line)]


def test_nothing_of_others_can_be_changed(daemon, blue):
    before = daemon.running()
    all_there_is = everything(daemon)
    found = list(instances(CONFIG, all_there_is, ""))
    statuses: dict[str, set[int]] = {}
    for path, name, value in found:
        last = path.rpartition("/")[2]
        body = {f"kamuee:{name}": [value] if "=" in last else value}
        for method, given in (("PUT", body), ("PATCH", body), ("DELETE", None)):
            status, _ = looked_at(blue, method, f"/restconf/data/{path}", given)
            statuses.setdefault(method, set()).add(status)
        parent = path.rpartition("/")[0]
        looked_at(blue, "POST", f"/restconf/data/{parent}".rstrip("/"), body)
        assert others(daemon.running()) == others(before), path
    assert {403, 404} <= statuses["DELETE"], statuses
    whole = {"ietf-restconf:data": {f"kamuee:{k.removeprefix('kamuee:')}": v for k, v in all_there_is.items() if k != "kamuee:state"}}
    for method in ("PUT", "PATCH"):
        assert looked_at(blue, method, "/restconf/data", whole)[0] >= 400
        assert looked_at(blue, method, "/restconf/data", {"ietf-restconf:data": {}})[0] in (204, 403)
    assert others(daemon.running()) == others(before)
    daemon.client.call("configure", replace=True, text=before)  # of its own it has deleted what it may
    assert daemon.running() == before


@pytest.mark.parametrize("line, status", [
    ("set interface blue0 description my-own", 200), ("set interface blue0 urpf ipv4 strict", 200), ("set vr blue flow-hash l3", 200),
    ("set vr blue description mine", 200),
    ("set vr blue budget ipv4-routes 9", 403), ("delete vr blue budget", 403),
    ("set vr blue enabled false", 403), ("set vr blue routing-daemon frr", 403),
    ("set interface bluep pcp 3 class 1", 200), ("delete interface blue0 description", 200),
    ("set interface blue0 vr crimson", 403), ("set interface blue0 vr default", 403), ("delete interface blue0", 403), ("delete vr blue", 403),
    ("set vr blue table 77", 403), ("set vr blue cpu-weight 100", 403), ("set vr blue acl in vermilion", 400), ("set vr crimson flow-hash l3", 403),
    ("set interface crimson0 description mine", 403), ("set interface blue0 acl in vermilion", 403), ("set interface blue0 police in scarlet", 403),
    ("set port substrate0 queue vr blue guarantee 1G", 403), ("set port bluep queue vr blue guarantee 1G", 403), ("set api group admin users", 403),
    ("set vport v9 port bluep vlan 9", 403), ("set api proxy nobody", 403), ("set acl mine default permit", 400), ("set memory 100", 403),
    ("set multicast route blue 239.3.3.3 any input crimson0", 403), ("delete interface crimson0", 200), ("delete api", 200)])
def test_a_line(daemon, blue, line, status):
    before = daemon.running()
    got, said = looked_at(blue, "POST", "/restconf/operations/kamuee:configure", {"kamuee:input": {"line": [line]}})
    assert got == status or (status == 200 and got == 400 and "delete" in line), said
    after = daemon.running()
    assert (after != before) == (got == 200 and MAY_CHANGE.match(line.replace("delete", "set", 1)) is not None), said
    if after != before:
        assert others(after) == others(before)
        without_secrets(line, said)
        daemon.client.call("configure", replace=True, text=before)


def test_only_an_admin_changes(daemon):
    for name, status in (("blue-read-only", 403), ("blue-operator", 403), ("blue-admin", 200)):
        assert Tenant(daemon, name).call("configure", line=["set interface blue0 description mine"])[0] == status
    assert Tenant(daemon, "blue-read-only").call("explain", interface="blue0")[0] == 403


def test_a_session(daemon, blue):
    theirs = daemon.client.call("session-open")["session"]
    crimson = json.loads(Tenant(daemon, "crimson-admin").call("session-open")[1])["kamuee:output"]["session"]
    for other in (theirs, crimson):
        for operation, given in (("edit", {"line": ["set vr blue flow-hash l3"]}), ("configuration", {}), ("compare", {}), ("configure", {}),
                                 ("session-close", {}), ("complete", {"line": "set "})):
            status, said = blue.call(operation, session=other, **given)
            assert status == 404 and said == blue.call(operation, session=other + 1, **given)[1].replace(str(other + 1), str(other)), said
    status, said = blue.call("session-open")
    opened = json.loads(said)["kamuee:output"]
    assert status == 200 and opened.get("other", []) == []
    mine = opened["session"]
    assert blue.call("edit", session=mine, line=["set interface blue0 description from-a-session"])[0] == 200
    assert daemon.configure("set interface crimson0 description meanwhile")
    status, said = blue.call("compare", session=mine)
    assert json.loads(said)["kamuee:output"]["change"] == ["set interface blue0 description from-a-session"]
    without_secrets("compare", said)
    without_secrets("configuration", *blue.call("configuration", session=mine), *blue.call("configuration"))
    status, said = blue.call("configure", session=mine, comment="mine")
    assert status == 200 and "from-a-session" in said, said
    without_secrets("configure", said)
    assert "from-a-session" in daemon.running() and "meanwhile" in daemon.running()
    assert blue.call("edit", session=mine, line=["set interface crimson0 description x"])[0] == 200
    assert blue.call("configure", session=mine)[0] == 403
    for given in ({"revision": 1}, {"file": True}, {"revision": 0}):
        for operation in ("edit", "configure", "configuration", "compare"):
            status, said = blue.call(operation, **given, **({"session": mine} if operation == "edit" else {}))
            assert status == 404, (operation, given, said)
            without_secrets(operation, said)
    assert blue.call("confirm")[0] == 404 and blue.call("save-configuration")[0] == 404
    blue.call("session-close", session=mine)
    opened = [json.loads(blue.call("session-open")[1])["kamuee:output"]["session"] for _ in range(10)]
    assert len([i for i in daemon.client.state("configuration")["session"] if i["id"] in opened]) <= 4
    daemon.client.call("session-close", session=theirs)
    daemon.configure("set interface blue0 description mine", "delete interface crimson0 description")


def test_completion(daemon, blue):
    for line in ("", "set ", "set interface ", "set interface blue0 ", "set vr ", "set interface blue0 vr ", "set port ", "set acl ",
                 "set interface blue0 acl in ", "set port substrate0 ", "delete ", "delete port ", "delete interface ", "delete vr ",
                 "set multicast route ", "set thread ", "set api client "):
        status, said = looked_at(blue, "POST", "/restconf/operations/kamuee:complete", {"kamuee:input": {"line": line}})
        assert status == 200, said
    assert '"blue0"' in blue.call("complete", line="set interface ")[1]


# --- operations ---

VALUES = {"interface": ["blue0", "crimson0", "substrate0", "crimsonp", "nobody"], "vr": ["blue", "crimson", "default", "nobody"],
          "port": ["bluep", "substrate0", "crimsonp"],
          "name": ["blue0", "blue", "crimson", "crimson0", "vermilion", "scarlet", "substrate0", "blue:web", "crimson:web", "crimson:hosts"],
          "address": ["192.0.2.9", "198.51.100.9"],
          "prefix": ["10.9.0.0/16", "198.51.100.0/24"], "destination": ["192.0.2.9", "10.9.9.9"], "source": ["10.0.0.9"], "ago": [1, 3_600_000],
          "line": ["set interface "], "session": [1], "devargs": ["net_null0"], "vlan": [10, 20, 30], "count": [1], "seconds": [1], "frame": [],
          "revision": [1], "of": ["interface", "port"], "acl": ["vermilion"], "address-set": ["scarlet"], "text": ["set vr crimson table 7"]}
BASE = {"explain": {"interface": "bluep", "source": "10.0.0.9", "destination": "192.0.2.9"}, "route-at": {"address": "192.0.2.9", "ago": 1},
        "lookup": {"address": ["192.0.2.9", "198.51.100.9"]}, "session-close": {"session": 1}, "edit": {"session": 1},
        "port-attach": {"name": "p9", "devargs": "net_null0"}, "trace": {"interface": "blue0", "count": 1, "seconds": 1}}


def inputs(rpc: schema.Statement) -> Iterator[dict]:
    """The required input, with each leaf set to each value in turn."""
    leaves = rpc.one("input").all("leaf", "leaf-list") if rpc.one("input") else []
    base = dict(BASE.get(rpc.argument, {}))
    for leaf in leaves:
        if leaf.one("mandatory") and leaf.argument not in base:
            base[leaf.argument] = VALUES.get(leaf.argument, ["azure"])[0]
    if rpc.argument == "capture":
        base = {"count": 1}
    yield {}
    yield base
    for leaf in leaves:
        for value in VALUES.get(leaf.argument, []):
            given = {**base, leaf.argument: [value] if leaf.keyword == "leaf-list" else value}
            if rpc.argument == "capture" and given.get("interface") in ("blue0", "bluep"):
                continue  # it would wait for frames: test_capture
            yield given


@pytest.mark.parametrize("role", ["admin", "operator", "read-only"])
def test_each_operation(daemon, role):
    tenant = Tenant(daemon, f"blue-{role}")
    before = others(daemon.running())
    for rpc in MODULE.all("rpc"):
        for given in inputs(rpc):
            if rpc.argument != "configure" or "text" not in given:
                looked_at(tenant, "POST", f"/restconf/operations/kamuee:{rpc.argument}", {"kamuee:input": given})
    assert others(daemon.running()) == before
    assert [n for n in daemon.client.state("neighbor") if n["vr"] == "crimson"]


def test_operations_on_its_own(daemon, blue):
    status, said = blue.call("lookup", address=["10.9.1.1"])
    assert status == 200 and json.loads(said)["kamuee:output"]["result"][0]["prefix"] == "10.9.0.0/16", said
    status, said = blue.call("explain", interface="bluep", source="10.0.0.9", destination="10.9.1.1")
    assert status == 200 and '"blue0"' in said, said
    without_secrets("explain", said)
    status, said = blue.call("explain", interface="bluep", source="10.0.0.9", destination="198.51.100.9", vlan=30)  # of the other's sub-interface
    assert status == 200
    without_secrets("explain", said.replace("198.51.100.9", ""))
    assert "step" not in json.loads(said)["kamuee:output"] or json.loads(said)["kamuee:output"]["step"] == [], said
    status, said = blue.call("route-changes")
    assert status == 200 and {c["vr"] for c in json.loads(said)["kamuee:output"]["change"]} == {"blue"}
    without_secrets("route-changes", said)
    status, said = blue.call("clear-neighbor")
    assert status == 200


def test_an_imported_route_does_not_tell_of_its_source(daemon, blue):
    eventually(lambda: {r["prefix"] for r in daemon.client.state("routes=blue,ipv4")[0]["route"]} >= {"198.51.96.0/24"}, 20, "it is imported")
    routes = blue.data("kamuee:state/routes=blue,ipv4")["kamuee:routes"][0]["route"]
    assert [r["hop"] for r in routes if r["prefix"] == "198.51.96.0/24"] == [[]]
    without_secrets("routes", routes)
    for operation, given in (("lookup", {"address": ["198.51.96.7"]}), ("explain", {"interface": "bluep", "source": "10.0.0.9", "destination": "198.51.96.7"})):
        status, said = blue.call(operation, **given)
        assert status == 200 and "198.51.96" in said
        without_secrets(operation, said)
    for words in ("lookup 198.51.96.7 vr blue", "explain in bluep src 10.0.0.9 dst 198.51.96.7", "show ipv4 route 198.51.96.7 vr blue",
                  "show ipv4 route vr blue"):
        code, said = kamuee(daemon, *words.split())
        assert "Traceback" not in said, said
        without_secrets(words, said)


def test_capture(daemon, blue):
    asked = {"kamuee:input": {"interface": "blue0", "filter": "arp or (vlan and arp)", "count": 3}}     # not the MLD reports of the kernel
    connection = blue.connect()
    body = json.dumps(asked).encode()
    connection.sendall((f"POST /restconf/operations/kamuee:capture HTTP/1.1\r\nHost: k\r\nAuthorization: Bearer {blue.token}\r\n"
                        f"Content-Type: {JSON}\r\nContent-Length: {len(body)}\r\n\r\n").encode() + body)
    connection.settimeout(30)
    taken = connection.recv(65536)
    for i in range(20):
        for name, to in (("crimson", "198.51.100.77"), ("blue", "192.0.2.77")):
            subprocess.run(["ip", "netns", "exec", daemon.space[name], "ping", "-c1", "-W1", "-q", "-I", f"{name}0", to], capture_output=True)
        if taken.endswith(b"0\r\n\r\n"):
            break
        connection.settimeout(0.1)
        try:
            while not taken.endswith(b"0\r\n\r\n"):
                taken += connection.recv(65536)
        except TimeoutError:
            pass
    connection.close()
    assert bytes([192, 0, 2, 77]) in taken and bytes([198, 51, 100]) not in taken
    without_secrets("capture", taken.decode("latin-1"))
    assert b"blue0" in taken


def tagged_ping(daemon: Daemon, vlan: int, source: str, destination: str) -> bytes:
    header = bytes.fromhex("4500001c0000400040010000") + socket.inet_aton(source) + socket.inet_aton(destination)
    total = sum(struct.unpack("!10H", header))
    header = header[:10] + struct.pack("!H", ~((total & 0xffff) + (total >> 16)) & 0xffff) + header[12:]
    macs = bytes.fromhex(daemon.client.state("interface=blue0")[0]["mac"].replace(":", "")) + bytes.fromhex("020000000009")
    return macs + struct.pack("!HHH", 0x8100, vlan, 0x0800) + header + bytes.fromhex("0800f7ff00000000")


def test_trace(daemon, blue):
    """What its interface receives, with no word of others', and beside a trace of the provider's."""
    daemon.dir.chmod(0o755)
    words = [str(KAMUEE), "--socket", str(daemon.socket), "trace", "in", "blue0", "filter", "vlan and icmp", "count", "3", "-j"]
    tenant = {"user": USER, "group": grp.getgrnam(GROUP).gr_gid, "extra_groups": []}
    traces = [subprocess.Popen(words, stdout=subprocess.PIPE, text=True, **of) for of in (tenant, {})]
    wire = in_namespace(daemon.name, lambda: socket.socket(socket.AF_PACKET, socket.SOCK_RAW))
    in_namespace(daemon.name, lambda: wire.bind(("b0", 0)))
    frames = [tagged_ping(daemon, 10, "198.51.100.77", "198.51.100.1"), tagged_ping(daemon, 20, "192.0.2.77", "10.9.1.1")]
    while any(trace.poll() is None for trace in traces):
        for frame in frames:
            wire.send(frame)
        time.sleep(0.05)
    wire.close()
    own, whole = (json.loads(trace.communicate()[0]) for trace in traces)
    assert len(own) == len(whole) == 3
    assert all(set(passage) == {"time", "in", "step"} and {step["vr"] for step in passage["step"]} == {"blue"} for passage in own), own
    without_secrets("trace", json.dumps(own))


def test_drops(daemon, blue):
    """Drops of its own interfaces, regardless of others."""
    wire = in_namespace(daemon.name, lambda: socket.socket(socket.AF_PACKET, socket.SOCK_RAW))
    in_namespace(daemon.name, lambda: wire.bind(("b0", 0)))

    def dropped(vr: str) -> int:
        return sum(int(entry["packets"]) for entry in daemon.client.state(f"vr={vr}")[0]["drop"] if entry["name"] == "ip4_no_route")
    before = dropped("blue"), dropped("crimson")
    for vlan, times in ((10, 7), (20, 3)):
        for _ in range(times):
            wire.send(tagged_ping(daemon, vlan, "192.0.2.77" if vlan == 20 else "198.51.100.77", "100.99.98.97"))
    wire.close()
    eventually(lambda: (dropped("blue"), dropped("crimson")) == (before[0] + 3, before[1] + 7), 10,
               lambda: str([daemon.client.state(f"vr={vr}")[0]["drop"] for vr in ("blue", "crimson")]))
    def balanced() -> dict | None:
        [own] = blue.data("kamuee:state/vr=blue")["kamuee:vr"]
        return own if own["ledger"]["imbalance"] == "0" else None
    own = eventually(balanced, 10, "the ledger balances")
    assert {entry["name"]: int(entry["packets"]) for entry in own["drop"]}["ip4_no_route"] == before[0] + 3
    code, said = kamuee(daemon, "show", "drops")
    assert code == 0 and "ip4_no_route" in said, said
    without_secrets("show drops", said)
    assert int(own["ledger"]["drops"]) >= before[0] + 3
    code, said = kamuee(daemon, "show", "ledger")
    assert code == 0 and "from other virtual routers" in said, said
    without_secrets("show ledger", said)
    status, _, metrics = blue.ask("GET", "/metrics")
    assert status != 200 or 'kamuee_vr_drop_packets_total{vr="blue",reason="ip4_no_route"}' in metrics
    without_secrets("metrics", metrics)


def test_events(daemon, blue):
    connection = blue.connect()
    connection.sendall(f"GET /restconf/streams/events HTTP/1.1\r\nHost: k\r\nAuthorization: Bearer {blue.token}\r\n\r\n".encode())
    connection.settimeout(0.2)
    said = b""

    def heard(what: bytes) -> bool:
        nonlocal said
        try:
            said += connection.recv(65536)
        except TimeoutError:
            pass
        return what in said

    eventually(lambda: heard(b"events of kamueed"), 10, "the stream begins")
    for name, network in (("crimson", "203.0.114"), ("blue", "10.8.7")):
        at = ["ip", "-n", daemon.space[name]]
        subprocess.run([*at, "route", "add", f"{network}.0/24", "dev", f"{name}0"], check=True)
        subprocess.run([*at, "neigh", "replace", f"{network}.9", "lladdr", "02:00:00:00:00:77", "dev", f"{name}0"], check=True)
    daemon.configure("set interface crimson0 description told-to-nobody")
    daemon.configure("delete interface crimson0 description")
    subprocess.run(["ip", "-n", daemon.space["blue"], "route", "add", "10.8.8.0/24", "dev", "blue0"], check=True)
    eventually(lambda: heard(b"10.8.8.0"), 10, lambda: said.decode())
    connection.close()
    without_secrets("events", said.decode())
    assert b"10.8.7.0/24" in said and b"203.0.114" not in said and b"configuration-change" not in said
    ids = [int(i) for i in re.findall(rb"^id: (\d+)", said, re.M)]
    assert ids == list(range(1, len(ids) + 1))


def test_the_web_page(daemon, blue):
    status, said = blue.call("web-address")
    [url] = json.loads(said)["kamuee:output"]["url"]
    key = url.partition("#")[2]
    assert key.endswith(".blue") and key.partition(".")[0] not in daemon.client.call("web-address")["url"][0]

    def ask(path: str, key: str) -> tuple[int, str]:
        connection = http.client.HTTPConnection("127.0.0.1", 8080)
        connection.sock = in_namespace(daemon.name, lambda: socket.create_connection(("127.0.0.1", 8080), 30))
        connection.request("GET", path, headers={"X-Kamuee-Key": key})
        answer = connection.getresponse()
        return answer.status, answer.read().decode()

    for node in MODULE.one("container", "state").all(*NODES):
        status, said = ask(f"/restconf/data/kamuee:state/{node.argument}", key)
        assert status in (200, 400, 404)
        without_secrets(node.argument, said)
    assert '"blue0"' in ask("/restconf/data/kamuee:state/interface", key)[1]
    assert "crimson0" in ask("/restconf/data/kamuee:state/interface", daemon.client.call("web-address")["url"][0].partition("#")[2])[1]
    for wrong in (key.replace(".blue", ".crimson"), key.replace(".blue", ""), key + "x", key.replace(".blue", ".")):
        assert ask("/restconf/data/kamuee:state/interface", wrong)[0] == 401


def test_the_web_page_in_a_browser(daemon, blue):
    if not shutil.which("chromium"):
        pytest.skip("no chromium: make deps installs it")
    [url] = json.loads(blue.call("web-address")[1])["kamuee:output"]["url"]
    browser = Browser(daemon.name)
    try:
        browser.open(url)
        eventually(lambda: browser.text("#live") == "live", 30, lambda: browser.text("body")[:500])
        pages = browser.run("[...document.querySelectorAll('#pages a')].map(a => a.hash.slice(2))")
        assert {"overview", "interfaces", "routes", "configuration"} <= set(pages)
        for page in pages:
            browser.run(f"location.hash = '#/{page}'")
            eventually(lambda page=page: browser.run(f"!document.querySelector('[data-page={page}]').hidden && live.textContent === 'live'"), 30,
                       lambda: browser.text("body")[:500])
            without_secrets(page, browser.text("body"))
        browser.run("location.hash = '#/interfaces'")
        eventually(lambda: "blue0" in browser.text("#interfaces"), 20, lambda: browser.text("body")[:500])
        assert [c for c in browser.complaints if c.get("source") != "network"] == []
        assert "virtual router blue" in browser.text("#about")
    finally:
        browser.close()


# --- the command line, by a local group ---

KAMUEE = Path(__file__).resolve().parents[2] / "kamuee"
WORDS = {"PREFIX": "10.9.0.0/16", "ADDRESS": "192.0.2.9", "TIME": "00:00:01", "VR": "blue", "INTERFACE": "blue0", "NAME": "blue0", "ACL": "nobody", "BACK": "1"}


def shown() -> Iterator[str]:
    """Each show command, without optional parts, and with the first of alternatives."""
    for command in COMMANDS:
        pattern = command.pattern
        if not pattern.startswith(("show ", "lookup ")) or command.mode == "edit":
            continue
        while "[" in pattern:
            pattern = re.sub(r"\s*\[[^][]*\]…?", "", pattern)
        pattern = re.sub(r"\(([^()|]*)(\|[^()]*)?\)…?", r"\1", pattern)
        yield " ".join(WORDS.get(word, word) for word in pattern.split())


def kamuee(daemon: Daemon, *words: str) -> tuple[int, str]:
    daemon.dir.chmod(0o755)
    done = subprocess.run([str(KAMUEE), "--socket", str(daemon.socket), *words], capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL,
                          user=USER, group=grp.getgrnam(GROUP).gr_gid, extra_groups=[])
    return done.returncode, done.stdout + done.stderr


@pytest.mark.parametrize("words", sorted(set(shown())))
def test_the_command_line_shows(daemon, words):
    for options in ((), ("--json",)):
        code, said = kamuee(daemon, *words.split(), *options)
        assert "Traceback" not in said and (code in (0, 1) or said.startswith("error: ")), said
        without_secrets(words, said)


@pytest.mark.parametrize("words, says", [
    ("show interface", "blue0"), ("show vr", "blue"), ("show ipv4 route vr blue", "10.9.0.0/16"), ("show neighbor", "192.0.2.9"),
    ("show configuration", "set interface blue0 description mine"), ("show interface crimson0", "there is no interface crimson0"),
    ("show interface nobody", "there is no interface nobody"), ("show vr crimson", "there is no "), ("lookup 10.9.1.1 vr blue", "10.9.0.0/16"),
    ("explain in bluep src 10.0.0.9 dst 10.9.1.1", "blue0"), ("set interface crimson0 description x", "may not change"),
    ("set interface blue0 description mine", ""), ("show port", ""), ("web", ".blue"), ("doctor", ""), ("audit", ""),
    ("trace in crimson0 count 1", "there is no interface"), ("trace in blue0 count 1 seconds 1", "no matching packet was received"),
    ("capture interface crimson0 count 1", "there is no interface"), ("capture port bluep count 1", ""),
    ("clear counters interface blue0", "there is no"), ("commit confirmed 5", ""), ("rollback 1", ""), ("save", ""), ("shutdown kamueed", ""),
    ("show configuration sessions", ""), ("clear neighbor vr blue", "")])
def test_the_command_line_says(daemon, words, says):
    code, said = kamuee(daemon, *words.split())
    assert says in said and "Traceback" not in said, said
    without_secrets(words, said.replace("crimson0", "").replace("'crimson'", "").replace("router crimson", ""))
