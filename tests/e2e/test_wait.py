# SPDX-License-Identifier: BSD-3-Clause
"""Nothing that the schema lets a client ask keeps another client waiting: each resource and operation, of a full router.

The other client asks for something small, over and over. Time in which control, one of its workers (which may hold a lock, such
as that of libyang's dictionary) or the client was ready to run and got no core is taken off (schedstat): others on the machine cause it.
The best of three tries counts. So a busy machine forgives; an idle one has nothing to take off.
"""
import json
import os
import re
import socket
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import schema
from daemon import Daemon
from support import eventually

ROUTES, NEIGHBORS, RULES, LISTS, VPORTS, MEMBERS = 100_000, 5_000, 10_000, 200, 500, 5_000
WAIT_S = 0.1
TRIES = 3
LONG = "\n".join(f"set acl long rule {i + 1} permit tcp from 10.{i >> 8}.{i & 255}.0/24 to any port {i + 1}" for i in range(60_000))
MODULE = schema.module()
STATE = MODULE.one("container", "state").all("container", "list", "leaf", "leaf-list")
CONFIG = [node for node in MODULE.all("container", "list", "leaf", "leaf-list") if node.argument != "state"]
# Operations and their inputs. A changing operation gets an input without effect, or an impossible one.
INPUT = {
    "configure": [{"line": ["set port p0 mtu 1500"], "check": True}, {"text": LONG, "check": True, "flows": {}}, {"line": ["set port p0 mtu 1501"]}],
    "confirm": [{}], "session-open": [{}], "session-close": [{"session": 9999}],
    "edit": [{"session": 9999, "line": ["set port p0 mtu 1500"]}], "configuration": [{}, {"format": "json"}, {"file": True}],
    "compare": [{}, {"file": True}], "complete": [{"line": "set acl big rule "}, {"line": "set interface "}], "save-configuration": [{}],
    "port-attach": [{"name": "p0", "devargs": "net_null0"}], "port-detach": [{"name": "p9"}], "port-start": [{"name": "p9"}],
    "port-stop": [{"name": "p9"}], "lookup": [{"vr": "default", "address": [f"20.{i >> 8}.{i & 255}.1" for i in range(4096)]}],
    "explain": [{"interface": "p0", "destination": "20.0.0.1"}],
    "explain-at": [{"interface": "p0", "destination": "20.0.0.1", "ago": "1"}], "flows": [{"limit": 1000}], "trace": [], "audit": [{}],
    "route-changes": [{}, {"limit": 10000}], "route-at": [{"address": "20.0.1.1", "ago": 1}], "web-address": [{}], "test-tap": [{}],
    "capture": [], "acl-rules": [{"name": "big", "limit": 10000}], "acl-lint": [{"name": "big", "limit": 10000}], "clear-counters": [{}],
    "clear-alarm": [{"name": "session-down"}], "clear-acl": [{}], "acl-change": [{"name": "big", "lease": 60}], "reload": [{}],
    "address-set-contains": [{"name": "s", "address": [f"198.18.{i >> 8}.{i & 255}" for i in range(4096)]}],
    "address-set-change": [{"name": "s", "add": [f"198.51.{i >> 8}.{i & 255}" for i in range(4096)]}], "shutdown": [], "upgrade": [{"binary": "/nowhere"}],
    "silence-alarm": [{"name": "buffers"}], "clear-neighbor": [{}], "vr-lines": [{"name": "nobody"}],
    "program-replace": [{"name": "none"}], "gpu-reopen": [{"name": "none"}], "program-table": [{"name": "none", "table": "t"}],
    "program-table-set": [{"name": "none", "table": "t", "key": "1"}],
    "vr-rename": [{"name": "nobody", "new-name": "somebody"}],
}
PATHS = [*(f"kamuee:state/{node.argument}" for node in STATE if node.argument != "routes"), "kamuee:state", "",
         *(f"kamuee:{node.argument}" for node in CONFIG), "kamuee:acl=big", "kamuee:acl=big/rule", "kamuee:acl=big/rule=5000",
         "kamuee:acl?fields=name", "kamuee:acl?limit=1", "kamuee:acl?depth=2", "kamuee:vport=v7", "kamuee:state/acl=big",
         "kamuee:state/interface=v7", "kamuee:state/interface=v7/statistics", "kamuee:state/interface?fields=name", "kamuee:state/neighbor?limit=1",
         "kamuee:state/neighbor=default,p0,10.0.1.1", "kamuee:state/nexthop?limit=1&offset=4000", "kamuee:state/nexthop=4000", "kamuee:state?depth=1",
         "kamuee:state/routes=default,ipv4", "kamuee:state/routes=default,ipv4?fields=route/prefix", "kamuee:state/routes=default,ipv4?limit=10",
         "kamuee:state/routes=default,ipv4?prefix=20.0.1.0/24", "kamuee:state/routes=default,ipv4?protocol=bgp", "?depth=1", "?content=config",
         "?content=nonconfig", "?with-defaults=report-all", "ietf-interfaces:interfaces", "ietf-interfaces:interfaces/interface=v7",
         "ietf-interfaces:interfaces?depth=1", "ietf-routing:routing", "ietf-routing:routing/ribs", "ietf-routing:routing/ribs/rib=default-ipv4",
         "ietf-routing:routing/ribs/rib=default-ipv4/routes", "ietf-yang-library:yang-library", "ietf-yang-library:modules-state",
         "ietf-restconf-monitoring:restconf-state"]
ASKED = [*(("GET", f"/restconf/data{'/' if path[:1] not in ('', '?') else ''}{path}", b"") for path in PATHS),
         *(("POST", f"/restconf/operations/kamuee:{name}", json.dumps({"kamuee:input": given}).encode())
           for name, all_given in INPUT.items() for given in all_given),
         ("PUT", "/restconf/data/kamuee:port=p0/mtu", b'{"kamuee:mtu": 1502}'), ("DELETE", "/restconf/data/kamuee:port=p0/mtu", b""),
         ("PATCH", "/restconf/data", b'{"ietf-restconf:data": {"kamuee:port": [{"name": "p0", "mtu": 1503}]}}'),
         *(("GET", path, b"") for path in ("/metrics", "/restconf", "/restconf/operations", "/restconf/data/kamuee:port=nowhere"))]


def configuration() -> Iterator[str]:
    yield "set port p0 devargs net_af_packet0,iface=a0"
    yield "set port p1 devargs net_af_packet1,iface=a1"
    for i in range(VPORTS):
        yield f"set vport v{i} port p0 vlan {i + 10}"
    for i in range(MEMBERS):
        yield f"set address-set s prefix 198.18.{i >> 8}.{i & 255}"
    for i in range(RULES):
        yield f"set acl big rule {i + 1} permit tcp from 10.{i >> 8}.{i & 255}.0/24 to any port {i % 60000 + 1}"
    for i in range(LISTS):
        yield f"set acl l{i} rule 10 deny udp from 192.0.2.0/24 to any"
        yield f"set interface v{i} acl in l{i}"
    yield "set interface p0 acl in big"


def fill(daemon: Daemon) -> None:
    daemon.run("ip addr add 10.0.0.1/16 dev p0")
    daemon.run("ip link set p0 up")
    batch = daemon.dir / "batch"
    batch.write_text("".join(f"neigh add 10.0.{i >> 8}.{i & 255} lladdr 02:00:00:00:{i >> 8:02x}:{i & 255:02x} nud permanent dev p0\n"
                             for i in range(256, 256 + NEIGHBORS))
                     + "".join(f"route add 20.{i >> 16}.{i >> 8 & 255}.{i & 255}/32 via 10.0.{n >> 8}.{n & 255} proto bgp\n"
                               for i in range(ROUTES) for n in [i % NEIGHBORS + 256]))
    daemon.run(f"ip -batch {batch}")
    eventually(lambda: daemon.client.state("vr=default/fib=ipv4")[0]["routes"] >= ROUTES, 60, "the routes are in the FIB")


@pytest.fixture(scope="module")
def full(kamueed) -> Iterator[Daemon]:
    with Daemon(kamueed, "wait-e2e") as daemon:
        daemon.start("\n".join(configuration()) + "\n")
        fill(daemon)
        yield daemon


def run_delay_s(pid: int, thread: int) -> float:
    """How long a thread was ready to run and did not, because others of the machine did."""
    return int(Path(f"/proc/{pid}/task/{thread}/schedstat").read_text().split()[1]) / 1e9


def name_of(task: Path) -> str:
    try:
        return (task / "comm").read_text()
    except OSError:                                      # it has ended meanwhile
        return ""


class Other(threading.Thread):
    """Asks for something small until it is told to stop; `longest` is how long kamueed let it wait at most."""

    def __init__(self, daemon: Daemon) -> None:
        super().__init__()
        self.pid, self.longest, self.stopped, self.began = daemon.process.pid, 0.0, threading.Event(), threading.Event()
        workers = [int(task.name) for task in Path(f"/proc/{self.pid}/task").iterdir() if name_of(task).startswith("aside-")]
        assert len(workers) == 2
        self.threads = [self.pid, *workers]
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect(str(daemon.socket))

    def not_kamueeds(self) -> float:
        return sum(run_delay_s(self.pid, thread) for thread in self.threads) + run_delay_s(os.getpid(), threading.get_native_id())

    def run(self) -> None:
        with self.sock:
            while not self.stopped.is_set():
                delay, asked = self.not_kamueeds(), time.monotonic()
                self.sock.sendall(b"GET /restconf/yang-library-version HTTP/1.1\r\nHost: k\r\n\r\n")
                assert b" 200 " in self.sock.recv(4096)
                took = time.monotonic() - asked
                self.longest = max(self.longest, took - (self.not_kamueeds() - delay))
                self.began.set()
                time.sleep(0.001)


def waits(daemon: Daemon, method: str, target: str, body: bytes) -> float:
    """How long another client waited at most while this was answered."""
    other = Other(daemon)
    other.start()
    try:
        other.began.wait()
        other.longest = 0.0
        answer = daemon.ask(method, target, body)
        assert answer.startswith(b"HTTP/1.1 "), answer[:200]
    finally:
        other.stopped.set()
        other.join()
    return other.longest


def test_all_operations_are_asked():
    assert set(INPUT) == {rpc.argument for rpc in MODULE.all("rpc")}


@pytest.mark.parametrize("method, target, body", ASKED, ids=[f"{target} {body[:40].decode()}".replace("/restconf/", "") for _, target, body in ASKED])
def test_nobody_waits(full, method, target, body):
    assert_served(lambda: waits(full, method, target, body))


def assert_served(measure: Callable[[], float], again: Callable[[], None] = lambda: None, what: str = "") -> None:
    """The shortest wait of a few: others on this machine make it longer, never shorter. `again` puts back what a measurement changed."""
    longest = [measure()]
    while min(longest) >= WAIT_S and len(longest) < TRIES:
        again()
        longest.append(measure())
    assert min(longest) < WAIT_S, f"{what} another client waited {[round(s * 1000) for s in longest]} ms"


def operation(name: str, given: dict) -> tuple[str, str, bytes]:
    return "POST", f"/restconf/operations/kamuee:{name}", json.dumps({"kamuee:input": given}).encode()


def test_nobody_waits_for_a_session(full):
    """Requests that INPUT cannot have: a session's number is known only when it is open."""
    session = edited_session(full)
    asked = [operation("edit", {"session": session, "text": LONG}), operation("compare", {"session": session}),
             operation("configuration", {"session": session}), operation("complete", {"session": session, "line": "set acl long rule "}),
             operation("configure", {"session": session, "check": True}), ("GET", "/restconf/data/kamuee:state/configuration", b"")]
    for one in asked:
        assert_served(lambda one=one: waits(full, *one), what=f"{one[1]}:")
    full.client.call("session-close", session=session)
    assert_served(lambda: waits(full, *operation("session-close", {"session": edited_session(full)})))


def edited_session(full) -> int:
    session = full.client.call("session-open")["session"]
    full.client.call("edit", session=session, text=LONG)
    return session


def applied(full, lines: list[str], back: list[str]) -> None:
    assert_served(lambda: max(waits(full, *operation("configure", {"line": some})) for some in (lines, back)))


@pytest.mark.parametrize("count", [1, 50])
def test_nobody_waits_while_virtual_routers_are_added(full, count):
    """Each reads the kernel's tables first, 100,000 routes among them."""
    applied(full, [f"set vr slow{i} table {1000 + i}" for i in range(count)], [f"delete vr slow{i}" for i in range(count)])


def test_nobody_waits_while_vports_are_added(full):
    applied(full, [f"set vport w{i} port p0 vlan {2000 + i}" for i in range(200)], [f"delete vport w{i}" for i in range(200)])


def test_a_tap_that_vanishes_while_its_vport_is_deleted(full):
    """Control meets the kernel's event in the middle of the deletion, which waits for rib_manager."""
    for _ in range(10):
        full.client.call("configure", line=[f"set vport w{i} port p0 vlan {2000 + i}" for i in range(20)])
        batch = full.dir / "gone"
        batch.write_text("".join(f"link del w{i}\n" for i in range(20)))
        other = threading.Thread(target=lambda: full.run(f"ip -force -batch {batch}", check=False))
        other.start()
        full.client.call("configure", line=[f"delete vport w{i}" for i in range(20)])
        other.join()
    left = full.run("ip -o link show")
    assert ": w" not in left and not [i for i in full.client.state("interface") if i["name"].startswith("w")], left


def test_the_configuration_is_read_while_one_is_checked(full):
    began = time.monotonic()
    checked: list[float] = []
    check = threading.Thread(target=lambda: checked.append((full.ask(*operation("configure", {"text": LONG, "check": True})), time.monotonic())[1]))
    check.start()
    read = []
    while not checked and len(read) < 3:
        time.sleep(0.01 if read else 0.1)        # it has begun by the first
        assert "set acl big rule 10000 " in full.client.call("configuration")["text"]
        read.append(time.monotonic())
    check.join()
    assert len(read) == 3 and read[-1] < checked[0], f"began {began}, read {read}, checked {checked}"


def test_nobody_waits_while_the_port_of_all_routes_is_deleted(full):
    assert full.client.state("vr=default/fib=ipv4")[0]["routes"] >= ROUTES
    gone = ["delete port p0", "delete interface p0", *(f"delete interface v{i}" for i in range(LISTS)), *(f"delete vport v{i}" for i in range(VPORTS))]
    back = [line for line in configuration() if re.match(r"set (port p0|interface [pv]\d+|vport v\d+) ", line)]

    def measure() -> float:
        longest = waits(full, *operation("configure", {"line": gone}))
        eventually(lambda: full.client.state("vr=default/fib=ipv4")[0]["routes"] < 100, 60, "the routes left the FIB")
        return longest

    def again() -> None:
        full.client.call("configure", line=back)
        fill(full)

    assert_served(measure, again)
