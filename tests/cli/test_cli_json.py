# SPDX-License-Identifier: BSD-3-Clause
"""JSON: each command prints its one documented shape, numbers are numbers."""
import json

import pytest

from kamuee import commands, reference, shapes

import acls
import history
from packet_traces import PASSAGES

EXAMPLES = {
    "port": ("show port", "show port p0", "show port statistics"),
    "interface-rates": ("show interface statistics pps -i 0.1", "show interface v40 statistics bps -i 0.1"),
    "port-rates": ("show port statistics pps -i 0.1", "show port p0 statistics bps -i 0.1"),
    "interface": ("show interface", "show interface v40 statistics"),
    "route": ("show ipv4 route", "show ipv6 route", "show ipv4 route 10.0.0.0/8", "show ipv4 route protocol bgp"),
    "route-summary": ("show ipv4 route summary", "show ipv6 route summary vr red"),
    "mroute": ("show ipv4 mroute", "show ipv6 mroute vr default"),
    "label": ("show mpls table", "show mpls table label 100", "show mpls table vr red"),
    "neighbor": ("show neighbor", "show neighbor vr red"),
    "counted-prefix": ("show route counters", "show route counters vr red"),
    "nexthop": ("show nexthop", "show nexthop 7", "show nexthop-group", "show nexthop-group 9"),
    "thread": ("show thread", "show thread statistics", "show thread stages", "show thread queues"),
    "drops": ("show drops", "show drops all"),
    "punt": ("show punt",),
    "icmp": ("show icmp",),
    "capture": ("show capture",),
    "acl": ("show acl", "show acl edge cost"),
    "acl-rules": ("show acl edge",),
    "acl-lint": ("show acl edge lint",),
    "acl-redirect": ("show acl-redirect",),
    "address-set": ("show address-set", "show address-set bad"),
    "address-set-contains": ("show address-set bad contains 192.0.2.1",),
    "flowspec": ("show flowspec", "show flowspec peer 192.0.2.9 unused"),
    "lag": ("show lag",),
    "queue": ("show queue", "show queue p0", "show queue p0 vr red", "show queue vport v40 class 6", "show queue class 1"),
    "policer": ("show policer",),
    "program": ("show program", "show program red:guard"),
    "program-table": ("show program red:guard table syn",),
    "tunnel": ("show tunnel",),
    "linux-tunnel": ("show linux-tunnel",),
    "mirror": ("show mirror",),
    "mirror-session": ("show mirror-session",),
    "gpu": ("show gpu",),
    "sflow": ("show sflow",),
    "ipfix": ("show ipfix",),
    "flows": ("show flows", "show flows 3 in p0 vr red"),
    "port-history": ("show port-history", "show port-history p0"),
    "ledger": ("show ledger",),
    "ledger-vr": ("show ledger vr red",),
    "fib": ("show fib", "show fib vr red"),
    "vr": ("show vr", "show vr red"),
    "memory": ("show memory",),
    "version": ("show version",),
    "system": ("show system",),
    "running-config": ("show running-config",),
    "revision": ("show configuration revisions",),
    "configuration-session": ("show configuration sessions",),
    "monitor": ("monitor --once -i 0.1",),
    "change": ("set port p0 mtu 9000", "delete port p0"),
    "lookup": ("lookup 192.0.2.1",),
    "event": ("monitor events", "monitor events link alarm"),
    "trace": ("trace in p0", "trace in v40 filter icmp count 3"),
    "explain": ("explain in p0 src 10.0.0.1 dst 10.0.0.2", "explain in v40 hex 0102"),
    "explain-at": ("explain in p0 src 10.0.0.1 dst 10.0.0.2 at 22:05:10", "explain in v40 hex 0102 at 2026-11-21T20:00:00"),
    "audit": ("audit",),
    "audit-report": ("show audit", "show audit vr red"),
    "latency": ("show latency",),
    "web": ("web",),
    "alarm": ("show alarm",),
    "alarm-history": ("show alarm history",),
    "crash": ("show crash",),
    "upgrade": ("show upgrade",),
    "journal": ("show journal",),
    "route-at": ("show ipv4 route 10.1.2.3 at 22:05:10", "show ipv6 route 2001:db8::/32 at 2026-11-21T20:00:00"),
    "route-changes": ("show route changes", "show route changes last 1h prefix 10.0.0.0/8 longer vr red"),
    "test-tap": ("test tap", "test tap p0"),
}


@pytest.fixture
def operations(daemon):
    daemon.operations = {
        "configuration": lambda given: {"text": "set port p0 devargs net_null0\nset port p0 mtu 9000\n"},
        "configure": lambda given: {"change": given["line"]},
        **acls.OPERATIONS,
        "lookup": lambda given: {"result": [{"address": given["address"][0], "prefix": "192.0.2.0/24", "nexthop": 3,
                                             "kind": "glean", "interface": "p0", "gateway": "192.0.2.9"}]},
        "explain": lambda given: PASSAGES["error"],
        "explain-at": lambda given: {"time": history.AT["time"], "as-now": ["queue of port p0"], "packet": [PASSAGES["error"]]},
        "trace": lambda given: {"passage": [{"time": "2026-11-21T23:04:31.402113Z", **one} for one in PASSAGES.values()]},
        "flows": lambda given: {"flow": [{"interface": "p0", "vr": "default", "source": "10.0.0.1", "destination": "10.0.0.2", "protocol": 6, "tos": 0,
                                          "source-port": 7, "destination-port": 80, "packets": "16", "bytes": "960", "idle": 1}], "flows": 1, "bytes": "960"},
        "web-address": lambda given: {"url": ["http://127.0.0.1:8080/#00ff"]},
        "audit": lambda given: {"checked": "1062046", "prefixes": "1062046", "lookups": "7", "blocks": "0", "diverged": "0",
                                "took": 7, "longest-pause": 9, "finding": []},
        "route-at": lambda given: history.AT,
        "route-changes": lambda given: history.CHANGES,
        "test-tap": lambda given: {"result": [{"interface": "p0", "family": "ipv4", "socket": "tcp", "passed": True,
                                               "reason": ""}]},
    }


def test_every_shape_has_an_example():
    assert set(EXAMPLES) == set(shapes.SHAPES)


@pytest.mark.parametrize("name, line", [(name, line) for name, lines in EXAMPLES.items() for line in lines])
def test_output_has_the_documented_shape(kamuee, operations, name, line):
    assert commands.grammar().match([w for w in line.split() if w[0] != "-" and w != "0.1"]).command.json == name
    result = kamuee(*line.split(), "-j")
    assert (result.code, result.err) == (0, "")
    check(json.loads(result.out), reference.parse_shape(shapes.SHAPES[name]), name)


def check(value, shape, where):
    """Members are the shape's, 64-bit numbers are not strings."""
    if isinstance(shape, list):
        assert isinstance(value, list), where
        for entry in value:
            check(entry, shape[0], where)
    elif isinstance(shape, dict):
        assert isinstance(value, dict), where
        assert set(value) <= set(shape), where
        for name, inner in value.items():
            check(inner, shape[name], f"{where}/{name}")
    else:
        assert not isinstance(value, (dict, list)), where
        assert not (isinstance(value, str) and value.isdigit()), f"{where}: {value} is a string"


def test_numbers_above_2_to_53_keep_all_digits(kamuee, daemon):
    daemon.state["ledger"]["rx"] = str(2**64 - 1)
    assert json.loads(kamuee("show", "ledger", "-j").out)["rx"] == 2**64 - 1


def test_name_of_digits_stays_a_name(kamuee, daemon):
    daemon.state["port"][0]["name"] = "10"
    assert json.loads(kamuee("show", "port", "10", "-j").out)[0]["name"] == "10"


def test_empty_lists_are_empty_arrays(kamuee, daemon):
    del daemon.state["neighbor"]
    daemon.state["port"] = []
    daemon.routes = lambda family: []
    for line in ("show port", "show neighbor", "show ipv4 route"):
        assert json.loads(kamuee(*line.split(), "-j").out) == []


def test_filter_json_is_the_same_as_the_option(kamuee):
    assert kamuee("-c", "show vr | json").out == kamuee("show", "vr", "-j").out


def test_command_without_json_refuses_the_option(kamuee):
    result = kamuee("save", "-j")
    assert (result.code, result.err) == (2, "error: 'save' has no JSON output\n")
