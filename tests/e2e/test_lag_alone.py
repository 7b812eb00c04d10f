# SPDX-License-Identifier: BSD-3-Clause
"""A LAG of a kamueed of its own: what a commit refuses, a reload of the file, and LACPDUs that no partner sends."""
import socket
from pathlib import Path

import pytest

from kamuee.errors import DaemonError

from daemon import Daemon
from support import eventually
from wire import in_namespace, packet_socket

ROOT = Path(__file__).resolve().parents[2]
PORTS = "set port p0 kernel-interface a0\nset port p1 kernel-interface a1\nset port p2 kernel-interface a2\n"
LAG = PORTS + "set port lag0 lag member p0\nset port lag0 lag member p1\n"


@pytest.fixture(scope="module")
def daemon(kamueed):
    with Daemon(kamueed, "lag-e2e") as daemon:
        for i in range(3):                      # the test alone sends: Linux's router solicitations would be dropped and counted, too
            daemon.run(f"sysctl -qw net.ipv6.conf.b{i}.disable_ipv6=1")
        daemon.start(LAG)
        yield daemon


def lags(daemon) -> dict[str, list[str]]:
    return {lag["name"]: [member["name"] for member in lag["member"]] for lag in daemon.client.entries("lag")}


def interfaces(daemon) -> set[str]:
    return {interface["name"] for interface in daemon.client.entries("interface")}


NINE = [line for n in range(9) for line in (f"set port n{n} devargs net_null{n}", f"set port lag1 lag member n{n}")]


@pytest.mark.parametrize("lines, told", [
    (NINE, "port lag1 lag: 9 'member' are configured, expected at most 8"),
    (["set port lag1 lag member p0"], "port lag1: lag member 'p0' already belongs to lag0, expected a port of no other LAG"),
    (["set port lag1 lag member lag0"], "port lag1: lag member 'lag0' is a LAG itself, expected a port with a device"),
    (["set port lag0 lag member p9"], "port lag0 lag: 'member' refers to port 'p9', which does not exist; expected the name of a port "
                                      "(there is p0, p1, p2)"),
    (["set port lag1 lag mode lacp"], "port lag1: a LAG without members, expected at least one: 'set port lag1 lag member PORT'"),
    (["set port p0 mtu 1400"], "port lag0: lag member 'p0' has mtu 1400 and the LAG 1500, expected one for all: 'set port p0 mtu 1500'"),
    (["set port p0 mac 02:00:00:00:00:07"], "port lag0: lag member 'p0' has a mac, expected none: 'delete port p0 mac', 'set port lag0 mac …'"),
    (["set port lag0 rx-queues 2"], "port lag0: 'rx-queues' belongs to a LAG's members: set it there"),
    (["set port lag0 tx-queues 2"], "port lag0: 'tx-queues' belongs to a LAG's members: set it there"),
    (["set port lag0 rx-mode poll"], "port lag0: 'rx-mode' belongs to a LAG's members: set it there"),
    (["set port lag0 namespace red"], "port lag0: 'namespace' belongs to a LAG's members: set it there"),
    (["set thread 1 forwarder port lag0 rx-queue 0"], "thread 1: port 'lag0' is a LAG, which has no queues, expected one of its members"),
    (["set interface p0 description uplink"], "interface p0: port p0 is a member of lag0 and has no interface, expected 'interface lag0'"),
    (["set vport v7 port p0 vlan 7"], "vport v7: port 'p0' is a member of lag0 and has no sub-interfaces, expected 'port lag0'"),
    (["set port p2 mirror rx to port p0"], "mirror to port 'p0': it is a member of lag0, expected a port of no LAG"),
    (["set port p2 mirror rx to port lag0"], "mirror to port 'lag0': it is a LAG, expected a port with a device"),
    (["set multicast route default 239.1.1.1 any input p0"], "multicast route: interface 'p0' is a member of lag0, expected 'lag0'"),
    (["set port lag0 lag mode active-backup", "set port lag0 lag primary p2"], "port lag0: lag primary 'p2' is not a member, expected one of its members"),
    (["set port lag0 lag primary p0"], "port lag0: 'lag primary' is for mode active-backup, with LACP all members are used"),
    (["set port lag0 lag min-links 3"], "port lag0: 'lag min-links' is 3, expected at most 2, the number of its members"),
    (["set port lag0 lag mode active-backup", "set port lag0 lag min-links 2"],
     "port lag0: 'lag min-links' is 2, but with active-backup one member is used: delete it, or set mode lacp"),
], ids=lambda value: value if isinstance(value, str) else " ".join(value[-1].split()[1:]))
def test_what_no_lag_can_be_is_refused(daemon, lines, told):
    with pytest.raises(DaemonError) as error:
        daemon.configure(*lines)
    assert told in str(error.value)
    assert lags(daemon) == {"lag0": ["p0", "p1"]} and interfaces(daemon) == {"lag0", "p2"}


def test_a_reload_of_the_file_changes_members_and_settings(daemon):
    assert "configuration reloaded" in daemon.reload(LAG + "set port lag0 lag member p2\nset port lag0 lag min-links 2\nset port lag0 lag lacp rate slow\n")
    assert lags(daemon) == {"lag0": ["p0", "p1", "p2"]} and interfaces(daemon) == {"lag0"}
    state = daemon.client.state("lag=lag0")[0]
    assert (state["min-links"], state["rate"]) == (2, "slow")
    assert "configuration not reloaded" in daemon.reload(LAG + "set port lag0 lag member lag0\n")
    assert lags(daemon) == {"lag0": ["p0", "p1", "p2"]}
    assert "configuration reloaded" in daemon.reload(PORTS)
    assert lags(daemon) == {} and interfaces(daemon) == {"p0", "p1", "p2"} and not {"lag0"} & daemon.links()
    assert "configuration reloaded" in daemon.reload(LAG)
    assert lags(daemon) == {"lag0": ["p0", "p1"]} and interfaces(daemon) == {"lag0", "p2"}


# --- frames ---

GROUP, OTHER_GROUP, US = "0180c2000002", "0180c2000003", "020000000099"
ACTOR = bytes.fromhex("0114 8000 020000000099 0001 8000 0001 07 000000")
PARTNER = bytes.fromhex("0214 0000 000000000000 0000 0000 0000 02 000000")


def lacpdu(actor: bytes = ACTOR, partner: bytes = PARTNER, collector: bytes = b"\3\x10", terminator: bytes = b"\0\0") -> bytes:
    return b"\1\1" + actor + partner + collector + bytes(14) + terminator + bytes(50)


def frame(payload: bytes, to: str = GROUP, tag: bytes = b"") -> bytes:
    return bytes.fromhex(to) + bytes.fromhex(US) + tag + b"\x88\x09" + payload


def looped(daemon) -> bytes:
    mac = bytes.fromhex(daemon.client.state("lag=lag0")[0]["mac"].replace(":", ""))
    return lacpdu(ACTOR[:4] + mac + ACTOR[10:])


MARKER = bytes.fromhex("0201 0110 0001 020000000099 00000007 0000 0000")
WRONG = [
    ("slow_tagged", lambda d: frame(lacpdu(), tag=b"\x81\0\0\7")),
    ("slow_destination", lambda d: frame(lacpdu(), OTHER_GROUP)),
    ("slow_truncated", lambda d: frame(lacpdu()[:109])),
    ("slow_truncated", lambda d: frame(MARKER + bytes(24))),
    ("slow_subtype", lambda d: frame(b"\x0a" + bytes(109))),
    ("lacp_length", lambda d: frame(lacpdu(actor=b"\1\x13" + ACTOR[2:]))),
    ("lacp_length", lambda d: frame(lacpdu(partner=b"\2\x15" + PARTNER[2:]))),
    ("lacp_length", lambda d: frame(lacpdu(collector=b"\3\0"))),
    ("lacp_length", lambda d: frame(lacpdu(terminator=b"\0\1"))),
    ("lacp_length", lambda d: frame(MARKER[:3] + b"\x0f" + MARKER[4:] + bytes(90))),
    ("lacp_looped", lambda d: frame(looped(d))),
    ("lag_inactive", lambda d: bytes.fromhex(d.client.state("lag=lag0")[0]["mac"].replace(":", "") + US) + b"\x08\0" + bytes(46)),
]


@pytest.fixture
def partner(daemon):
    sock = in_namespace(daemon.name, lambda: packet_socket("b0"))
    yield sock
    sock.close()


def drops(daemon) -> dict[str, int]:
    return {drop["name"]: int(drop["packets"]) for drop in daemon.client.entries("drop") if int(drop["packets"])}


def is_grown(daemon, before: dict[str, int], name: str, by: int) -> bool:
    return drops(daemon).get(name, 0) - before.get(name, 0) >= by


@pytest.mark.parametrize("name, make", WRONG, ids=[f"{name}-{n}" for n, (name, _) in enumerate(WRONG)])
def test_a_wrong_frame_is_dropped_by_its_reason(daemon, partner, name, make):
    eventually(lambda: daemon.client.state("lag=lag0")[0]["member"][0]["link"] == "up", 20)
    before = drops(daemon)
    for _ in range(3):
        partner.send(make(daemon))
    eventually(lambda: is_grown(daemon, before, name, 3), 10, lambda: f"{name}: {before} {drops(daemon)}")
    after = drops(daemon)
    assert after.get(name, 0) - before.get(name, 0) == 3
    assert {reason for reason in after if reason.startswith(("slow_", "lacp_")) and after[reason] != before.get(reason, 0)} <= {name}


def test_more_lacpdus_than_any_partner_sends_are_dropped(daemon, partner):
    before = drops(daemon)
    for _ in range(200):
        partner.send(frame(lacpdu()))
    eventually(lambda: is_grown(daemon, before, "slow_policed", 100), 10, lambda: f"{before} {drops(daemon)}")
    eventually(lambda: daemon.client.state("lag=lag0")[0]["member"][0]["lacp"]["partner"]["system"] == "02:00:00:00:00:99", 10, "control has got one")


def test_a_marker_is_answered(daemon, partner):
    partner.settimeout(0.2)
    answer = frame(MARKER[:2] + b"\2" + MARKER[3:] + bytes(90))[12:]

    def is_answered() -> bool:
        partner.send(frame(MARKER + bytes(90)))
        heard, address = partner.recvfrom(2048)
        return address[2] != socket.PACKET_OUTGOING and heard[12:] == answer
    eventually(is_answered, 10, "the answer to a marker", 0.01)


def test_without_lacp_a_lacpdu_is_not_expected(daemon, partner):
    daemon.configure("set port lag0 lag mode active-backup")
    before = drops(daemon)
    for _ in range(3):
        partner.send(frame(lacpdu()))
    eventually(lambda: is_grown(daemon, before, "lacp_not_configured", 3), 10, lambda: f"{before} {drops(daemon)}")
    daemon.configure("set port lag0 lag mode lacp")


def test_each_reason_has_its_test():
    names = {line.partition("(")[2].partition(",")[0] for line in (ROOT / "src/data/table/drops.def").read_text().splitlines() if line.startswith("DROP(")}
    assert {name.lower() for name in names if name.lower().startswith(("slow_", "lacp_"))} == \
        {name for name, _ in WRONG if name != "lag_inactive"} | {"slow_policed", "lacp_not_configured"}
