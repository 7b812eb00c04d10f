# SPDX-License-Identifier: BSD-3-Clause
"""RESTCONF of a living kamueed: its answers against the schema, long tables, readers that stall or leave."""
import json
import subprocess
import time
from pathlib import Path

import pytest

from daemon import Daemon
from support import eventually

YANG = Path(__file__).resolve().parents[2] / "yang"
N_ROUTES = 200_000
ROUTES = "/restconf/data/kamuee:state/routes=default,ipv4"


def ipv6_up(daemon):
    daemon.run("ip address add 2001:db8::1/64 dev p0 nodad")
    daemon.run("ip -6 route add 2001:db8:1::/48 via 2001:db8::2")
    eventually(lambda: any(row["prefix"] == "2001:db8:1::/48" for row in daemon.client.rows("routes=default,ipv6", "route")),
               30, "the routes arrive")


@pytest.fixture(scope="module")
def daemon(kamueed):
    with Daemon(kamueed, "rc-e2e") as daemon:
        daemon.start("set port p0 devargs net_af_packet0,iface=a0\nset port p1 devargs net_null0 enabled false\n"
                     "set vport v40 port p0 vlan 40\nset vr red table 77\nset interface v40 vr red\n")
        daemon.run("ip address add 10.0.0.1/24 dev p0")
        daemon.run("ip neighbor add 10.0.0.2 lladdr 02:00:00:00:00:02 dev p0")
        daemon.run("ip route add 192.0.2.0/24 via 10.0.0.2")
        daemon.run("ip route add blackhole 198.51.100.0/24")
        ipv6_up(daemon)
        yield daemon


@pytest.fixture(scope="module")
def many_routes(daemon):
    batch = daemon.dir / "routes"
    batch.write_text("".join(f"route add 2{i >> 16}.{i >> 8 & 255}.{i & 255}.0/24 via 10.0.0.2\n" for i in range(N_ROUTES)))
    daemon.run(f"ip -batch {batch}")
    eventually(lambda: fib_routes(daemon) >= N_ROUTES, 60, "the routes are in the FIB")


def fib_routes(daemon) -> int:
    return daemon.client.state("vr=default/fib=ipv4")[0]["routes"]


def resident(daemon) -> int:
    return daemon.client.state("system")["rss"]


def body_of(answer: bytes) -> bytes:
    head, _, rest = answer.partition(b"\r\n\r\n")
    assert b" 200 " in head.splitlines()[0], answer[:300]
    if b"chunked" not in head:
        return rest
    pieces, at = [], 0
    while True:
        end = rest.index(b"\r\n", at)
        size = int(rest[at:end], 16)
        if not size:
            return b"".join(pieces)
        pieces.append(rest[end + 2:end + 2 + size])
        at = end + 2 + size + 2


def assert_in_schema(daemon, data: dict) -> None:
    """yanglint takes the whole datastore, as any client could validate it."""
    file = daemon.dir / "data.json"
    file.write_text(json.dumps(data))
    done = subprocess.run(["yanglint", "-p", str(YANG), "-t", "data", str(YANG / "kamuee.yang"), str(file)],
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_whole_datastore_is_as_the_schema_says(daemon):
    data = json.loads(body_of(daemon.ask("GET", "/restconf/data")))["ietf-restconf:data"]
    assert {"kamuee:port", "kamuee:vport", "kamuee:vr", "kamuee:interface", "kamuee:state"} <= set(data)
    state = data["kamuee:state"]
    assert set(state) == {"system", "port", "port-history", "lag", "interface", "thread", "drop",
                          "punt", "queue", "policer", "program", "gpu", "tunnel", "linux-tunnel", "icmp", "ledger", "vr", "neighbor", "journal", "capture",
                          "nexthop", "counted-prefix", "label",
                          "mirror", "mirror-session", "multicast", "flow-sample", "audit", "alarm", "alarm-history", "configuration", "latency",
                          "acl", "acl-redirect", "address-set", "sflow", "ipfix", "crash", "upgrade"}
    assert_in_schema(daemon, data)


# The IETF's own modules, from packages (frr, libyang-tools). Their ietf-ip is RFC 7277's, which separates state: leaves that RFC 8344 has in
# /interfaces are in /interfaces-state there.
IETF = [Path("/usr/share/yang/ietf-interfaces.yang"),
        *(file for name in ("iana-if-type", "ietf-ip") for file in Path("/usr/share/doc").glob(f"libyang?-tools/examples/{name}.yang"))]
CONFIGURED = {"enabled", "description"}                                            # of an interface: not in /interfaces-state


def assert_in_ietf(daemon, interfaces: list[dict]) -> None:
    ip = {"ietf-ip:ipv4", "ietf-ip:ipv6"}
    trees = {"ietf-interfaces:interfaces": [{name: leaf for name, leaf in i.items() if name not in ip} for i in interfaces],
             "ietf-interfaces:interfaces-state": [{name: leaf for name, leaf in i.items() if name not in CONFIGURED} for i in interfaces]}
    file = daemon.dir / "ietf.json"
    file.write_text(json.dumps({top: {"interface": entries} for top, entries in trees.items()}))
    folders = [word for module in IETF for word in ("-p", str(module.parent))]
    done = subprocess.run(["yanglint", *folders, "-F", "ietf-interfaces:if-mib", "-t", "data", *map(str, IETF), str(file)], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def interfaces(daemon) -> list[dict]:
    return json.loads(body_of(daemon.ask("GET", "/restconf/data/ietf-interfaces:interfaces")))["ietf-interfaces:interfaces"]["interface"]


def test_interfaces_are_as_the_models_of_the_ietf_say_whatever_the_kernel_has(daemon):
    def ip(family: str) -> dict:
        return next(i for i in interfaces(daemon) if i["name"] == "p0").get(f"ietf-ip:{family}", {})

    def addresses(family: str) -> dict:
        return {a["ip"]: a["prefix-length"] for a in ip(family).get("address", [])}

    def neighbors(family: str) -> dict:
        return {n["ip"]: (n["link-layer-address"], n["origin"]) for n in ip(family).get("neighbor", [])}

    mac = "02:00:00:00:00:{:02}".format
    assert_in_ietf(daemon, interfaces(daemon))
    assert addresses("ipv4") == {"10.0.0.1": 24} and addresses("ipv6")["2001:db8::1"] == 64
    for line in ("address add 10.9.0.1/30 dev p0", "address add 2001:db8:9::1/126 dev p0 nodad",
                 "neighbor replace 10.9.0.2 lladdr 02:00:00:00:00:08 nud permanent dev p0",
                 "neighbor replace 10.0.0.9 lladdr 02:00:00:00:00:09 nud reachable dev p0",
                 "neighbor replace 2001:db8:9::2 lladdr 02:00:00:00:00:07 nud stale dev p0"):
        daemon.run(f"ip {line}")
    eventually(lambda: {"10.9.0.2", "10.0.0.9"} <= set(neighbors("ipv4")) and "2001:db8:9::2" in neighbors("ipv6"), 10, "the neighbors are told")
    assert addresses("ipv4") == {"10.0.0.1": 24, "10.9.0.1": 30} and addresses("ipv6")["2001:db8:9::1"] == 126
    ours = {f"{a['ip']}/{a['prefix-length']}": a for a in daemon.client.state("interface=p0")[0]["address"]}
    assert {"10.0.0.1/24", "10.9.0.1/30", "2001:db8:9::1/126"} <= set(ours) and not any(a["secondary"] for a in ours.values())
    assert neighbors("ipv4")["10.9.0.2"] == (mac(8), "static") and neighbors("ipv4")["10.0.0.9"] == (mac(9), "dynamic")
    assert neighbors("ipv6")["2001:db8:9::2"] == (mac(7), "dynamic")
    daemon.configure("set port p0 mtu 1400")
    assert ip("ipv4")["mtu"] == ip("ipv6")["mtu"] == 1400
    assert_in_ietf(daemon, interfaces(daemon))
    for line in ("address delete 10.9.0.1/30 dev p0", "address delete 2001:db8:9::1/126 dev p0", "neighbor delete 10.9.0.2 dev p0"):
        daemon.run(f"ip {line}")
    eventually(lambda: addresses("ipv4") == {"10.0.0.1": 24} and "2001:db8:9::1" not in addresses("ipv6") and "10.9.0.2" not in neighbors("ipv4"), 10,
               lambda: str(ip("ipv4")))
    daemon.configure("set port p0 mtu 1200")                                       # less than IPv6 may have: the model has no leaf for it
    assert ip("ipv4")["mtu"] == 1200 and "mtu" not in ip("ipv6")
    assert_in_ietf(daemon, interfaces(daemon))
    daemon.configure("delete port p0 mtu")
    assert "2001:db8:1::/48" in [row["prefix"] for row in daemon.client.rows("routes=default,ipv6", "route")], "Linux keeps IPv6 on p0"


@pytest.mark.parametrize("family", ["ipv4", "ipv6"])
def test_routes_are_as_the_schema_says(daemon, family):
    table = json.loads(body_of(daemon.ask("GET", ROUTES.replace("ipv4", family))))["kamuee:routes"]
    assert table[0]["route"]
    assert_in_schema(daemon, {"kamuee:state": {"routes": table}})


def test_output_of_operations_is_as_the_schema_says(daemon):
    for name, given in {"lookup": {"address": ["192.0.2.1", "198.51.100.1", "203.0.113.1", "2001:db8:1::1"]}, "audit": {},
                        "configuration": {}, "complete": {"line": "set port "}}.items():
        answer = daemon.ask("POST", f"/restconf/operations/kamuee:{name}", json.dumps({"kamuee:input": given}).encode())
        output = json.loads(body_of(answer))["kamuee:output"]
        file = daemon.dir / "reply.json"
        file.write_text(json.dumps({f"kamuee:{name}": output}))
        done = subprocess.run(["yanglint", "-p", str(YANG), "-t", "reply", str(YANG / "kamuee.yang"), str(file)],
                              capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr


def test_lookup_says_what_the_fib_does(daemon):
    found = {r["address"]: r for r in daemon.client.call(
        "lookup", address=["192.0.2.1", "198.51.100.1", "203.0.113.1", "10.0.0.1", "2001:db8:1::1"])["result"]}
    assert (found["192.0.2.1"]["prefix"], found["192.0.2.1"]["kind"]) == ("192.0.2.0/24", "adjacency")
    assert (found["192.0.2.1"]["interface"], found["192.0.2.1"]["gateway"]) == ("p0", "10.0.0.2")
    assert found["198.51.100.1"]["kind"] == "blackhole"
    assert found["203.0.113.1"]["nexthop"] == 0 and "prefix" not in found["203.0.113.1"]
    assert found["10.0.0.1"]["kind"] == "local"
    assert found["2001:db8:1::1"]["prefix"] == "2001:db8:1::/48"


def test_routes_are_filtered_by_prefix_protocol_and_type(daemon):
    def prefixes(**query: str) -> list[str]:
        return [row["prefix"] for row in daemon.client.rows("routes=default,ipv4", "route", query)]
    assert prefixes(prefix="192.0.2.0/24", match="exact") == ["192.0.2.0/24"]
    assert prefixes(prefix="192.0.2.77/32", match="longest") == ["192.0.2.0/24"]
    assert prefixes(prefix="203.0.113.1/32", match="longest") == []
    assert prefixes(type="blackhole") == ["198.51.100.0/24"]
    assert set(prefixes(prefix="10.0.0.0/8", match="longer", protocol="kernel")) >= {"10.0.0.0/24", "10.0.0.1/32"}


def test_a_long_table_streams_whole_and_costs_no_memory(daemon, many_routes):
    before, start = resident(daemon), time.monotonic()
    n = sum(1 for row in daemon.client.rows("routes=default,ipv4", "route") if row["prefix"].endswith(".0/24"))
    print(f"{n} routes in {time.monotonic() - start:.2f} s")
    assert n >= N_ROUTES
    assert resident(daemon) - before < 8 << 20


def test_readers_that_stall_or_leave_harm_nobody(daemon, many_routes):
    before = resident(daemon)
    stalled = [daemon.ask("GET", ROUTES, keep=True) for _ in range(40)]
    waits = []
    for _ in range(20):
        start = time.monotonic()
        daemon.client.state("ledger")
        waits.append(time.monotonic() - start)
    print(f"slowest answer beside 40 stalled readers: {max(waits) * 1000:.1f} ms")
    assert sorted(waits)[len(waits) // 2] < 1        # none waits for a reader; one may wait for a busy machine
    assert resident(daemon) - before < 40 * 512 << 10
    daemon.run("ip route add 203.0.113.0/24 via 10.0.0.2")           # and the table goes on changing
    eventually(lambda: list(daemon.client.rows("routes=default,ipv4", "route", {"prefix": "203.0.113.0/24"})), 30, "the new route")
    daemon.run("ip route del 203.0.113.0/24")
    for connection in stalled[:36]:
        connection.close()                                           # some leave,
    rows = sum(1 for _ in daemon.client.rows("routes=default,ipv4", "route"))
    for connection in stalled[36:]:                                  # some read on
        with connection:
            body = body_of(b"".join(iter(lambda c=connection: c.recv(1 << 20), b"")))
        assert abs(body.count(b'"prefix"') - rows) <= 1
        assert body.endswith(b"]}]}\n")
    assert daemon.client.state("ledger")["imbalance"] is not None


def test_garbage_on_the_socket_is_answered_in_json_or_not_at_all(daemon):
    for method, target, status in (("BREW", "/", 501), ("GET", "/nowhere", 404), ("GET", "/restconf/data/kamuee:prot", 404),
                                   ("TRACE", "/restconf/data/kamuee:port=p0", 405), ("DELETE", "/restconf/data/kamuee:state/port=p0", 405)):
        answer = daemon.ask(method, target)
        assert f" {status} ".encode() in answer.splitlines()[0]
        assert "ietf-restconf:errors" in json.loads(answer.partition(b"\r\n\r\n")[2])
    assert daemon.client.state("system")["pid"] > 0


def test_a_second_test_of_taps_is_told_that_one_is_under_way(daemon):
    def answers() -> list[bytes]:
        """Of two at once; of either order, as different workers may read them."""
        with daemon.ask("POST", "/restconf/operations/kamuee:test-tap", keep=True) as first:
            second = daemon.ask("POST", "/restconf/operations/kamuee:test-tap")
            return sorted([second, b"".join(iter(lambda: first.recv(65536), b""))], key=lambda answer: b" 409 " in answer.splitlines()[0])
    done, refused = eventually(lambda: (found := answers()) and b" 409 " in found[1].splitlines()[0] and found, what="the second one comes in time")
    assert b'"error-tag":"in-use"' in refused and body_of(done)


def test_the_socket_is_closed_to_strangers(daemon):
    assert daemon.socket.stat().st_mode & 0o777 == 0o660


def test_it_stops_cleanly_with_readers_in_the_middle_of_a_table(daemon, many_routes):
    readers = [daemon.ask("GET", ROUTES, keep=True) for _ in range(3)]
    daemon.stop()
    for connection in readers:
        connection.close()
    assert "AddressSanitizer" not in daemon.log.read_text()
