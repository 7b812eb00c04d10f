# SPDX-License-Identifier: BSD-3-Clause
"""The state of a small router, as kamueed sends it: 64-bit numbers as strings."""


def queue_class(number, weight, discipline, sent, waiting, delays, **dropped):
    entry = {"class": number, "discipline": discipline, "ecn": number == 6, "limit": 1250000, "rate": str(8 * sent), "sent-packets": str(sent),
             "sent-bytes": str(100 * sent), "marked-packets": str(sent // 9 if number == 6 else 0), "waiting-packets": str(waiting),
             "waiting-bytes": str(1500 * waiting),
             "dropped": {name: str(dropped.get(name.replace("-", "_"), 0))
                         for name in ("class-full", "client-full", "share-full", "codel", "old", "flow")}}
    entry |= {"weight": weight} if weight else {"strict-rate": "300000000"}
    return entry | dict(zip(("delay-p50", "delay-p99", "delay-max"), delays))


def queue_client(name, rate, configured, guarantee, maximum, weight):
    entry = {"name": name, "configured": configured, "weight": weight, "limit": 10000000, "reserve": 64, "rate": rate,
             "guaranteed-bytes": "9000", "waiting-packets": "405", "waiting-bytes": "607500",
             "class": [queue_class(1, 0, "tail-drop", 8000, 0, ("4000", "24000", "30100")),
                       queue_class(2, 20, "codel", 0, 0, ()),
                       queue_class(6, 20, "fq-codel", 1234567, 405, ("4800000", "9120000", "131072000"), codel=12, class_full=3456)]}
    return entry | ({"guarantee": guarantee} if guarantee else {}) | ({"maximum": maximum} if maximum else {})


def state():
    """A fresh copy for each test."""
    return {
        "system": {
            "version": "0.1.0", "commit": "0f915673aa10c1ab8ea0d6a4d8a5c60f4ee2a3a1", "build": "release, LTO, gcc 12.2.0",
            "build-id": "3f2b8c0d51a94e7786f0", "dpdk-version": "DPDK 22.11.4", "libyang-version": "2.1.30", "pid": 4242, "uptime": "183845", "memory": 512,
            "pages": "ordinary", "rss": "314572800", "lookup-kernel": "avx512",
            "audits": "12", "last-audit": "192", "fib-divergence": "2",
            "region": [{"name": "fib default ipv4", "bytes": "536870912", "used": "3879731", "pages": "ordinary"},
                       {"name": "mbuf pool 0", "bytes": "268435456", "used": "268435456", "pages": "ordinary"}]},
        "port": [port("p0", 0, rx=123456789012, tx=4242), port("p1", 1, rx=0, tx=0, status="down", speed=0)],
        "interface": [
            interface("p0", 1, "p0", 0, ["192.0.2.1/24", "192.0.2.7/24 secondary", "2001:db8::1/64"]),
            interface("v40", 2, "p0", 40, ["198.51.100.1/31", "2001:db8:aaaa:bbbb:cccc:dddd:eeee:ffff/64 tentative", "fe80::a8bb:ccff:fedd:eeff/64"],
                      kind="vport", vr="red")],
        "thread": [
            {"name": "control", "role": "control", "core": -1, "socket": -1, "cpu-time": "1500000000"},
            {"name": "rib_manager", "role": "rib_manager", "core": 0, "socket": 0,
             "cpu-time": "22750000000"},
            {"name": "forwarder/1", "role": "forwarder", "core": 1, "cpu-time": "3600000000000",
             "socket": 0,
             "queue": [{"port": "p0", "queue": 0, "packets": "123456789012", "bytes": "12345678901200", "remote": False, "rx-mode": "interrupt",
                        "depth": 64, "depth-max": 1023},
                       {"port": "p1", "queue": 0, "packets": "0", "bytes": "0", "remote": True, "rx-mode": "poll"}],
             "statistics": {"rx-packets": "123456789012", "tx-packets": "123456780000", "punt-packets": "9000",
                            "inject-packets": "4242", "drop-packets": "12", "held-packets": "0",
                            "polls": "999999999", "polls-idle": "1000", "bursts": "12345678901",
                            "busy-cycles": "750", "idle-cycles": "250"},
             "burst-size": [{"packets": 1 << i, "bursts": str(n)} for i, n in enumerate((500, 20, 0, 10, 0, 70, 400))],
             "stage": [{"name": name, "calls": str(calls), "packets": str(packets), "cycles": str(cycles)}
                       for name, calls, packets, cycles in (
                           ("rx", 1000, 64000, 512000), ("ether_in", 1000, 64000, 448000), ("ip4_in", 900, 51200, 409600),
                           ("ip4_fwd", 900, 51200, 1024000), ("ip6_in", 0, 0, 0), ("ip6_fwd", 0, 0, 0),
                           ("ether_out", 900, 51100, 357700), ("tx", 900, 51100, 459900), ("other", 7, 100, 84000))]}],
        "drop": [
            {"name": "ip4_ttl", "packets": "1234567", "severity": "normal",
             "sentence": "IPv4 TTL expired", "source": "RFC 1812 5.3.1"},
            {"name": "ip4_martian_src", "packets": "0", "severity": "attack",
             "sentence": "IPv4 source address is not a valid source", "source": "RFC 1812 5.3.7"},
            {"name": "inject_no_forwarder", "packets": "3", "severity": "config",
             "sentence": "no forwarder serves the port of the interface", "source": ""}],
        "punt": [
            {"class": "bfd", "rate": 20000, "burst": 2000, "queue": 256, "queued": 0, "passed": "86400",
             "policed": "0", "queue-full": "0"},
            {"class": "other", "rate": 20000, "burst": 4000, "queue": 512, "queued": 511, "passed": "123456789",
             "policed": "98765432109", "queue-full": "1234567890123"}],
        "icmp": {"rate": 100, "burst": 50, "total-rate": 0, "total-burst": 500, "sent": "4242", "limited": "1234567",
                 "forbidden": "7"},
        "capture": [
            {"id": 3, "client": "uid 0", "point": ["rx", "drop"], "port": "p0", "filter": "udp port 53 and host 192.0.2.1",
             "snaplen": 128, "seconds": "61", "taken": "12345", "bytes": "1234567", "sent": "12300", "missed": "678"},
            {"id": 4, "client": "uid 1000", "point": ["rx", "tx", "drop", "punt"], "snaplen": 9728, "seconds": "1",
             "taken": "0", "bytes": "0", "sent": "0", "missed": "0"}],
        "acl": [
            {"name": "edge", "default": "deny", "file": "/etc/kamuee/edge.rules", "rules": 100004, "matched-packets": "123456789",
             "matched-bytes": "98765432109", "unmatched-packets": "1000", "unmatched-bytes": "64000",
             "unmatched-last-hit": 90061, "bytes": "41943040", "age": "3600",
             "bound": [{"interface": "p0", "direction": "in"}, {"interface": "v40", "direction": "out"}],
             "cost": {"few": 0, "shelf": 43, "tuples": 61, "probes-max": 9,
                      "probes-mean": "1.3", "block-max": 7, "address-only": 2, "reader-bytes": "20971520",
                      "build-time": 812}},
            {"name": "lan", "default": "permit", "rules": 0, "matched-packets": "0", "matched-bytes": "0", "unmatched-packets": "0",
             "unmatched-bytes": "0", "bytes": "17000", "age": "1", "bound": [],
             "cost": {"few": 0, "shelf": 0, "tuples": 0, "probes-max": 0,
                      "probes-mean": "0.0", "block-max": 0,
                      "address-only": 0, "reader-bytes": "9000", "build-time": 0}}],
        "acl-redirect": [{"to": "192.0.2.9", "redirected-packets": "1234567", "no-way-packets": "12"},
                         {"to": "2001:db8:aaaa:bbbb:cccc:dddd:eeee:9", "redirected-packets": "0", "no-way-packets": "0"}],
        "address-set": [
            {"name": "bad", "file": "/var/lib/kamuee/bad.gz", "members-ipv4": "1000000", "members-ipv6": "12", "bytes": "41943040",
             "age": "60"},
            {"name": "customers", "members-ipv4": "3", "members-ipv6": "0", "bytes": "66000", "age": "86400"}],
        "port-history": [
            {"name": "p0", "interval": 10, "point": [point(second, 1_000_000 * second, 64_000_000 * second, 900_000 * second) for second in range(0, 150, 10)]},
            {"name": "p1", "interval": 10, "point": [point(0, 9_000_000, 576_000_000, 7), point(10, 10, 640, 7), point(20, 110, 7040, 7, 3)]}],
        "queue": [
            {"port": "p0", "active": True, "rate": "950000000", "configured-rate": "1000000000", "lowered": True, "core": 1, "packets": 16384,
             "waiting-packets": 1217, "dropped-port": "3", "dropped-ring": "0", "device-refused": "42",
             "vr": [queue_client("default", "74900000", False, guarantee=None, maximum=None, weight=1),
                    queue_client("red", "98765432", True, guarantee="100000000", maximum="1000000000", weight=10)],
             "vport": [queue_client("v40", "19999872", True, guarantee=None, maximum="20000000", weight=1)]},
            {"port": "p1", "active": False, "rate": "100000000", "configured-rate": "100000000", "lowered": False, "core": -1, "packets": 16384,
             "waiting-packets": 0, "dropped-port": "0", "dropped-ring": "0", "device-refused": "0", "vr": [], "vport": []}],
        "tunnel": [
            {"name": "t1", "kind": "gre", "made-by": "config", "local": "192.0.2.1", "remote": "198.51.100.1", "vr": "default", "interface-vr": "red",
             "key": 7, "status": "up", "nexthop": 12, "overhead": 28, "path-mtu": 1500, "mtu": 1472},
            {"name": "to-a-far-place", "kind": "vxlan", "made-by": "linux", "local": "2001:db8:1234::1", "remote": "2001:db8:1234::2", "vr": "wan",
             "interface-vr": "default", "vni": 77, "status": "no-route", "nexthop": 0, "overhead": 70, "mtu": 1430},
        ],
        "linux-tunnel": [
            {"vr": "default", "name": "gre2", "kind": "gre", "reason": "it has sequence numbers (seq)"},
            {"vr": "red", "name": "vx7", "kind": "vxlan", "reason": "it is a member of br0"},
        ],
        "policer": [
            {"interface": "p0", "direction": "in", "policer": "gold", "kind": "trtcm", "cir": "100000000", "cbs": "1250000",
             "pir": "2500000000", "pbs": "31250000", "color-aware": True, "color": [
                 {"color": "green", "action": "pass", "packets": "123456789", "bytes": "98765432109"},
                 {"color": "yellow", "action": "remark", "remark-dscp": 12, "packets": "4567", "bytes": "4567000"},
                 {"color": "red", "action": "drop", "packets": "89", "bytes": "89000"}]},
            {"interface": "v40", "direction": "out", "policer": "customer-of-a-long-name", "kind": "srtcm", "cir": "64000", "cbs": "16000",
             "ebs": "16000", "color-aware": False, "color": [
                 {"color": "green", "action": "pass", "packets": "0", "bytes": "0"},
                 {"color": "yellow", "action": "pass", "packets": "0", "bytes": "0"},
                 {"color": "red", "action": "drop", "packets": "0", "bytes": "0"}]}],
        "program": [
            {"name": "red:guard", "vr": "red", "hook": "input", "file": "/etc/kamuee/guard.so", "order": 10,
             "status": "off", "fault": "trap", "threads-off": 1, "source-hash": "ab12cd34", "signer": "build", "instructions": 41, "window": 64, "loads": 2,
             "seconds": 77, "packets": "123456789", "cycles": 38, "verdict": [
                 {"name": "continue", "packets": "123450000"}, {"name": "drop", "packets": "6789"}, {"name": "class", "packets": "0"}],
             "faults": "1", "fault-packets": "4567", "no-way": "0", "reason": [{"name": "syn-flood", "packets": "6789"}],
             "counter": [{"name": "syn", "value": "1234567"}], "table": [
                 {"name": "syn", "kind": "hash", "size": 1000000, "used": 12345, "read-only": False},
                 {"name": "limit", "kind": "array", "size": 1, "read-only": True}], "log": {"number": 7, "value": "42", "lines": 3}},
            {"name": "label", "vr": "default", "hook": "ether-type", "ether-type": "0x88b5", "file": "/etc/kamuee/label.so",
             "order": 100, "status": "running", "window": 128, "loads": 1, "seconds": 7, "packets": "0",
             "verdict": [{"name": "continue", "packets": "0"}, {"name": "drop", "packets": "0"}], "faults": "0", "fault-packets": "0",
             "no-way": "0", "reason": [], "counter": [], "table": []}],
        "gpu": [{
            "name": "g0", "device": 0, "status": "failed", "activity": "out of use, the CPU looks up", "why": "a batch was not answered in time",
            "vr": ["default", "red"], "tables": 4, "memory": "38797312", "copied": "41943040", "batches": "12345", "lookups": "1234567",
            "by-cpu": [{"cause": "split", "lookups": "1000"}, {"cause": "late", "lookups": "0"}, {"cause": "failure", "lookups": "23456"}],
            "sampled": "19290", "wrong": "0", "age-p50": 6144, "age-p99": 20480,
            "forwarder": [{"forwarder": 0, "verdict": "sends", "cpu-cycles": 53, "gpu-cycles": 31}]}],
        "mirror": [
            {"port": "p0", "direction": "both", "to-tap": "mon0", "sent": "123456789", "bytes": "98765432109", "missed": "12"},
            {"port": "p1", "direction": "rx", "to-port": "p3", "sent": "0", "bytes": "0", "missed": "0"}],
        "mirror-session": [{"name": "ids", "to-tap": "ids0", "sent": "1234567", "bytes": "987654321", "missed": "3"}],
        "sflow": {"status": "up", "sample-rate": 1000, "agent-address": "192.0.2.1", "interface": ["p0", "v40"], "samples": "123456",
                  "samples-missed": "7", "counter-samples": "89", "collector": [
                      {"address": "192.0.2.99", "port": 6343, "datagrams": "4567", "bytes": "1234567", "datagrams-lost": "0"},
                      {"address": "2001:db8::99", "port": 6343, "datagrams": "0", "bytes": "0", "datagrams-lost": "12",
                       "error": "Network is unreachable"}]},
        "ipfix": {"status": "up", "sample-rate": 100, "samples": "123456", "samples-missed": "0", "samples-no-ip": "3", "flows-now": 2345,
                  "flows-max": 65536, "flows": "98765", "flows-no-room": "0", "collector": [
                      {"address": "192.0.2.99", "port": 4739, "datagrams": "4567", "bytes": "1234567", "datagrams-lost": "0"}]},
        "ledger": {"rx": "1000000", "inject": "4242", "tx": "990000", "punt": "9000", "held": "3", "drops": "5239",
                   "imbalance": "0"},
        "vr": [vr("default", 0, 254, 901899, 160147), vr("red", 1, 10, 12, 0)],
        "neighbor": [
            {"vr": "default", "interface": "p0", "address": "192.0.2.2", "mac": "02:00:00:00:00:02",
             "status": "reachable", "nexthop": 7, "held": 0, "gateway": True, "in-use": True},
            {"vr": "red", "interface": "v40", "address": "2001:db8:aaaa:bbbb:cccc:dddd:eeee:ffff",
             "status": "incomplete", "nexthop": 8, "held": 3, "gateway": False, "in-use": True}],
        "label": [
            {"vr": "default", "label": 100, "protocol": "ldp", "active": True, "nexthop": 11, "kind": "encap", "hop": [
                {"interface": "p0", "gateway": "192.0.2.2", "labels": [200, 300], "weight": 1, "resolved": True, "alive": True}]},
            {"vr": "default", "label": 101, "protocol": "ldp", "active": True, "nexthop": 12, "kind": "group", "hop": [
                {"interface": "p0", "gateway": "192.0.2.2", "labels": [201], "weight": 1, "resolved": True, "alive": True},
                {"interface": "p1", "gateway": "fe80::a8bb:ccff:fedd:eeff", "weight": 1, "resolved": True, "alive": False}]},
            {"vr": "default", "label": 1048575, "protocol": "bgp", "active": True, "nexthop": 13, "kind": "encap", "hop": [
                {"interface": "vrf-red", "weight": 1, "resolved": True, "alive": True}]},
            {"vr": "red", "label": 102, "protocol": "static", "active": False, "hop": [
                {"interface": "eth0", "mac": "02:00:00:00:00:09", "weight": 1, "resolved": False, "alive": True}]}],
        "nexthop": [
            {"id": 1, "kind": "local", "references": 8, "in-use": False, "packets": "0"},
            {"id": 7, "kind": "adjacency", "vr": "default", "interface": "p0", "mtu": 1500, "gateway": "192.0.2.2",
             "mac": "02:00:00:00:00:02", "references": 901903, "in-use": True, "packets": "123456789012"},
            {"id": 8, "kind": "hold", "vr": "red", "interface": "v40", "mtu": 1500, "gateway": "fe80::a8bb:ccff:fedd:eeff",
             "references": 2, "in-use": True, "packets": "41152263004"},
            {"id": 9, "kind": "group", "vr": "default", "references": 1000000, "kernel-id": 20, "buckets": 128, "member": [
                {"nexthop": 7, "interface": "p0", "gateway": "192.0.2.2", "weight": 3, "buckets": 96, "alive": True},
                {"nexthop": 8, "interface": "v40", "gateway": "fe80::a8bb:ccff:fedd:eeff", "weight": 1, "buckets": 32, "alive": True},
                {"nexthop": 10, "interface": "p1", "gateway": "203.0.113.1", "weight": 1, "buckets": 0, "alive": False}]}],
        "journal": {"size": 64, "room": "1468006", "records": "1468006", "changes": "2345678",
                    "since": "2026-11-21T21:05:10.123Z", "ways": "12", "ways-cut": "0"},
        "audit": [
            {"vr": "default", "audits": "10", "ended": "192", "checked": "1062046", "prefixes": "1062050",
             "lookups": "4000000", "blocks": "1", "diverged": "2", "took": 1512, "longest-pause": 4100,
             "finding": [{"prefix": "10.1.0.0/16", "what": "missing from the FIB"},
                         {"prefix": "2001:db8::/32", "what": "in the kernel but not in the RIB"}], "fib-divergence": "2", "not-followed": "2",
             "unfollowed": [{"kind": "rule", "routes": "2", "example": "IPv4 rule 100: lookup 77",
                             "effect": "policy rules: forwarding uses a single table, by destination"}]},
            {"vr": "red", "audits": "0", "checked": "0", "prefixes": "0", "lookups": "0", "blocks": "0", "diverged": "0",
             "took": 0, "longest-pause": 0, "finding": [], "fib-divergence": "0", "not-followed": "0", "unfollowed": []}],
        "latency": [
            {"input": "p0", "output": "p1", "packets": "1048576", "mean": "1450", "median": "1200", "p90": "2100", "p99": "12300",
             "p999": "85000", "max": "1234567", "bucket": [{"below": "1300", "packets": "1000000"}, {"below": "90000", "packets": "48576"}]}],
        "configuration": {
            "file": "/etc/kamuee/kamuee.conf", "file-changed": True, "directory": "/var/lib/kamuee",
            "unconfirmed": {"by": "alice", "id": 118, "seconds": 240},
            "session": [{"id": 3, "by": "bob", "age": 4000, "idle": 20, "changes": 2}],
            "revision": [
                {"id": 119, "time": "2026-11-22T07:12:20.123Z", "by": "root (bob)", "changes": 1, "confirmed": False, "comment": "",
                 "first-change": "delete port p1"},
                {"back": 0, "id": 118, "time": "2026-11-22T07:09:20.123Z", "by": "alice", "changes": 2, "confirmed": False,
                 "first-change": "set port p0 mtu 9000", "comment": "the new uplink, which carries the customers of the eastern region as well"},
                {"back": 1, "id": 117, "time": "2026-11-21T22:05:10.000Z", "by": "/etc/kamuee/kamuee.conf", "comment": "at the start",
                 "changes": 0, "confirmed": True}]},
        "alarm": [
            {"name": "ledger", "subject": "", "severity": "critical", "since": "2026-11-21T21:05:10.123Z", "value": "3",
             "peak": "3", "count": 1, "message": "3 packets: packets appeared"},
            {"name": "link-flapping", "subject": "p1", "severity": "major", "since": "2026-11-21T21:05:12.123Z", "value": "5",
             "peak": "9", "count": 4, "message": "p1: 5 changes in a minute: the port's link is flapping"}],
        "alarm-history": [
            {"name": "buffers", "subject": "mbuf pool 0", "severity": "major", "since": "2026-11-21T20:00:00.000Z",
             "until": "2026-11-21T20:01:00.000Z", "value": "90", "peak": "99", "count": 2, "message": "mbuf pool 0: 90 percent"}],
        "upgrade": {"phase": "done", "time": "2026-11-26T22:05:12.250Z", "binary": "/usr/sbin/kamueed", "from": "0.1.0", "to": "0.1.1", "took": 1830,
                    "audited": 1062046, "lookups": 100000,
                    "port": [{"name": "p0", "blocked": 6570, "discarded": 3}, {"name": "m0", "discarded": 0}]},
        "crash": [
            {"time": "2026-11-21T19:00:00.000Z", "pid": 4711, "version": "0.1", "build-id": "e205c61f7803ee57af11cd6fcf5da8be3e86960a",
             "signal": "SIGSEGV", "thread": "forwarder/0", "stage": "ip4_fwd", "revision": "118",
             "file": "/var/lib/kamuee/crash-1795341600-4711.note", "note": "# kamuee crash note 1\n# end\n"}],
        "counted-prefix": [
            {"vr": "default", "prefix": "192.0.2.0/24", "active": True, "nexthop": 7, "packets": "1234567", "bytes": "987654321012"},
            {"vr": "default", "prefix": "2001:db8:aaaa:bbbb:cccc:dddd:eeee:0/112", "active": False, "packets": "7", "bytes": "700"},
            {"vr": "red", "prefix": "10.0.0.1/32", "active": False, "nexthop": 1, "packets": "0", "bytes": "0"}],
        "multicast": {
            "route": [
                mroute("default", "239.1.1.1", "any", "ipv4", "static", "p0", [("v40", 16)], 1234567),
                mroute("red", "232.0.0.1", "192.0.2.1", "ipv4", "kernel", "v40",
                       [(f"p{i}", 1) for i in range(9)] + [("pimreg", 1)], 7, slow=True),
                mroute("default", "ff3e::1", "2001:db8::1", "ipv6", "kernel", None, [], 0)],
            "join": [{"vr": "default", "interface": "p0", "group": "239.1.1.9"}]},
        "routes": {"ipv4": routes4(), "ipv6": routes6()},
    }


def point(second, rx, rx_bytes, tx, missed=0):
    return {"time": f"2026-11-22T07:{second // 60:02}:{second % 60:02}.000Z", "rx-packets": str(rx), "rx-bytes": str(rx_bytes), "tx-packets": str(tx),
            "tx-bytes": str(64 * tx), "rx-missed": str(missed)}


def mroute(vr, group, source, family, origin, entry, outputs, packets, slow=False):
    found = {"vr": vr, "group": group, "source": source, "family": family, "origin": origin, "by-kernel": slow,
             "output": [{"interface": name, "ttl": ttl} for name, ttl in outputs], "packets": str(packets),
             "bytes": str(packets * 1000), "wrong-interface": "2"}
    return found if entry is None else {**found, "input": entry}


def port(name, number, rx, tx, status="up", speed=10000):
    return {"name": name, "id": number, "driver": "net_af_packet", "devargs": f"net_af_packet{number},iface=eth{number}",
            "namespace": "", "status": status, "speed": speed, "duplex": "full", "mac": f"02:00:00:00:00:1{number}",
            "mtu": 1500, "rx-queues": 1, "tx-queues": 2, "rx-descriptors": 1024, "tx-descriptors": 1024,
            "socket": -1, "rx-mode": "interrupt", "promiscuous": True, "rss": ["ipv4", "ipv6", "tcp", "udp"], "offload": [],
            "statistics": {"rx-packets": str(rx), "rx-bytes": str(rx * 100), "tx-packets": str(tx),
                           "tx-bytes": str(tx * 100), "rx-missed": "7", "rx-errors": "1", "rx-no-buffer": "0",
                           "tx-errors": "2",
                           "queue": [{"queue": 0, "rx-packets": str(rx), "rx-bytes": str(rx * 100), "forwarder": 0}],
                           "extended": [{"name": "rx_good_packets", "value": str(rx)},
                                        {"name": "rx_dropped", "value": "0"}]},
            **({"cleared": {"time": "2026-11-21T21:05:12.345Z", "rx-packets": "0", "rx-bytes": "0", "tx-packets": "0", "tx-bytes": "0",
                            "rx-missed": "5", "rx-errors": "1", "rx-no-buffer": "0", "tx-errors": "0"}} if number else {})}


def address(said):
    """Of "192.0.2.7/24 secondary"."""
    prefix, _, mark = said.partition(" ")
    ip, length = prefix.split("/")
    return {"ip": ip, "prefix-length": int(length), "secondary": mark == "secondary", "status": mark if mark == "tentative" else "preferred"}


def interface(name, number, port_name, vlan, addresses, kind="port", vr="default"):
    return {"name": name, "id": number, "kind": kind, "port": port_name, "vlan": vlan, "vr": vr, "status": "up",
            "mac": "02:00:00:00:00:10", "mtu": 1500, "ifindex": 10 + number, "address": [address(said) for said in addresses],
            "urpf-ipv4": "strict" if vlan else "off", "urpf-ipv6": "off", "urpf-allow-default": bool(vlan),
            "redirect": bool(vlan), "sflow": bool(vlan), "ipfix": bool(vlan), "directed-broadcast": False,
            "statistics": {"rx-packets": "500", "rx-bytes": "50000", "tx-packets": "400", "tx-bytes": "40000",
                           "drop-packets": "12", "punt-packets": "9", "inject-packets": "8", "urpf-packets": "5",
                           "vlan-unknown-packets": "0" if vlan else "3",
                           "since": "2026-11-21T20:00:00.000Z"},
            **({"cleared": {"time": "2026-11-21T21:05:12.345Z", "rx-packets": "400", "rx-bytes": "40000", "tx-packets": "400", "tx-bytes": "40000",
                            "drop-packets": "2", "punt-packets": "0", "inject-packets": "1", "urpf-packets": "0",
                            "vlan-unknown-packets": "0"}} if vlan else {})}


def vr(name, number, table, n4, n6):
    return {"name": name, "id": number, "namespace": "", "table": table, "flow-hash": "l4", "flow-label": True,
            "flow-hash-seed": 4242, "synced": True, "messages": "1062100",
            "batches": "5000", "overruns": "0", "resyncs": "1", "swept": "0", "diverged": "0", "rules-ignored": "0", "not-followed": "0",
            "nexthops": "12", "neighbors": "3", "held": "0", "rib-bytes": "104857600",
            "budget": [{"name": "ipv4-routes", "unit": "routes", "used": str(n4), "waiting": "0", **({"limit": str(n4)} if number else {})},
                       {"name": "ipv6-routes", "unit": "routes", "used": str(n6), "limit": "4000000000", "waiting": "4000"},
                       {"name": "neighbors", "unit": "neighbors", "used": "9", "limit": "10", "refused": "12"},
                       {"name": "memory", "unit": "bytes", "used": "104857600", "limit": "209715200"},
                       {"name": "punt-rate", "unit": "packets/s", "used": "0"}],
            "ledger": {"rx": "123456789", "inject": "4242", "entered": "12", "tx": "123440042", "punt": "9000", "left": "7",
                       "drops": "11990", "held": "4", "imbalance": "0"},
            "fib": [{"family": family, "engine": "poptrie", "engine-faults": "0", "engine-rebuilds": "0",
                     "rib-routes": str(n + 3), "routes": str(n), "nodes": str(n // 10),
                     "leaves": str(n // 3), "bytes": str(4 * n), "shared-bytes": str(3 * n if n > 1000 else 0),
                     "control-bytes": str(32 * n), "updates": str(2 * n),
                     **({"memory-node": [{"node": node, "bytes": str(4 * n)} for node in range(2)]} if n > 1000 else {}),
                     "protocol": [{"name": "bgp", "routes": str(n)}, {"name": "kernel", "routes": "3"}]}
                    for family, n in (("ipv4", n4), ("ipv6", n6))]}


def hop(interface_name, gateway=None, **more):
    return {"interface": interface_name, **({"gateway": gateway} if gateway else {}), "weight": 1, "resolved": True,
            "alive": True, **more}


def route(prefix, kind="unicast", protocol="bgp", metric=20, active=True, nexthop=7, does="adjacency", hops=()):
    return {"prefix": prefix, "type": kind, "protocol": protocol, "metric": metric, "active": active,
            "nexthop": nexthop, "kind": does, "hop": list(hops)}


def routes4():
    return [
        route("0.0.0.0/0", protocol="static", metric=0, hops=[hop("p0", "192.0.2.2")]),
        route("10.0.0.0/8", "blackhole", "static", 0, does="blackhole"),
        route("192.0.2.0/24", "connected", "kernel", 0, does="glean", hops=[hop("p0")]),
        route("192.0.2.1/32", "local", "kernel", 0, does="local", hops=[hop("p0")]),
        route("198.51.100.0/24", does="group", hops=[hop("p0", "192.0.2.2", weight=2),
                                                     hop("v40", "198.51.100.9", resolved=False),
                                                     hop("p1", "203.0.113.1", alive=False)]),
        route("198.51.100.0/24", protocol="ospf", metric=110, active=False, hops=[hop("p1", "203.0.113.1")]),
    ]


def routes6():
    return [route("2001:db8:1234:5678:9abc:def0::/96", metric=1024,
                  hops=[hop("p0", "fe80::a8bb:ccff:fedd:eeff"), hop("v40", "fe80::a8bb:ccff:fedd:ee00")])]
