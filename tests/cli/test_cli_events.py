# SPDX-License-Identifier: BSD-3-Clause
"""Events as the stream brings them, whatever the pieces it comes in, and as a line tells them."""
import json
import re
from pathlib import Path

import pytest

from kamuee import events

HOP = {"interface": "p0", "gateway": "10.0.0.2", "weight": 1}
TOLD = [
    ("link-change", {"port": "p0", "status": "down"}, "link      p0 is down"),
    ("neighbor-change", {"vr": "default", "interface": "p0", "address": "10.0.0.2", "status": "resolved", "mac": "02:00:00:00:00:02"},
     "neighbor  default p0 10.0.0.2 resolved 02:00:00:00:00:02"),
    ("lag-member-change", {"lag": "lag0", "port": "p1", "status": "active"}, "lag       lag0 p1 is active"),
    ("lag-member-change", {"lag": "lag0", "port": "p1", "status": "inactive", "reason": "link down"}, "lag       lag0 p1 is inactive: link down"),
    ("route-change", {"time": "2026-11-22T08:00:00.000Z", "vr": "default", "prefix": "192.0.2.0/24", "cause": "kernel",
                      "to": {"protocol": "bgp", "kind": "adjacency", "nexthop": 7, "hop": [HOP]}},
     "route     default 192.0.2.0/24 now bgp adjacency via 10.0.0.2 dev p0 (kernel)"),
    ("route-change", {"vr": "red", "prefix": "192.0.2.0/24", "cause": "link", "from": {"protocol": "4", "kind": "blackhole"}},
     "route     red 192.0.2.0/24 removed (link), was 4 blackhole"),
    ("configuration-change", {"by": "alice", "lines": 1, "change": ["set port p0 mtu 1400"]},
     "configuration  1 lines by alice: set port p0 mtu 1400"),
    ("alarm-change", {"name": "fib-divergence", "subject": "", "status": "raised", "severity": "critical", "message": "12 routes differ"},
     "alarm     fib-divergence raised: 12 routes differ"),
    ("acl-match", {"acl": "in", "rule": 10}, "acl-match acl in rule 10"),
    ("events-missed", {"count": "12"}, "missed    12 events"),
]


def stream(*notifications):
    at = {"eventTime": "2026-11-22T08:00:00.123Z"}
    return b": events of kamueed\n\n" + b"".join(
        b"id: 1\ndata: " + json.dumps({"ietf-restconf:notification": {**at, f"kamuee:{name}": body}}).encode() + b"\n\n: keepalive\n\n"
        for name, body in notifications)


@pytest.mark.parametrize("name, body, line", TOLD)
def test_each_kind_of_event_is_a_line(name, body, line):
    event, = events.events([stream((name, body))])
    assert events.told(event) == f"2026-11-22 08:00:00.123  {line}"


def test_what_is_asked_for_are_events_of_the_schema():
    schema = (Path(__file__).parents[2] / "yang" / "kamuee.yang").read_text()
    assert set(events.KINDS.values()) <= set(re.findall(r"^  notification (\S+)", schema, re.M))


@pytest.mark.parametrize("size", [1, 7, 4096])
def test_events_come_whole_out_of_pieces(size):
    whole = stream(*((name, body) for name, body, _ in TOLD))
    found = list(events.events(whole[at:at + size] for at in range(0, len(whole), size)))
    assert [event["event"] for event in found] == [name for name, _, _ in TOLD]
