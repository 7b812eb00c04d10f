# SPDX-License-Identifier: BSD-3-Clause
"""What the journal answers, as kamueed sends it."""
BGP = {"protocol": "bgp", "kind": "adjacency", "nexthop": 7,
       "hop": [{"interface": "p0", "gateway": "192.0.2.2", "weight": 1}]}
GROUP = {"protocol": "bgp", "kind": "group", "nexthop": 9, "more-hops": 4,
         "hop": [{"interface": "p0", "gateway": "192.0.2.2", "weight": 2},
                 {"interface": "v40", "gateway": "fe80::a8bb:ccff:fedd:eeff", "weight": 1}]}
ONE_LEG = {**GROUP, "protocol": "unspec", "hop": GROUP["hop"][:1]}
del ONE_LEG["more-hops"]
BLACKHOLE = {"protocol": "static", "kind": "blackhole", "nexthop": 2, "hop": []}

AT = {"time": "2026-11-21T22:00:00.000Z", "since": "2026-11-21T21:05:10.123Z", "known": True, "prefix": "10.1.0.0/16", **GROUP}
CHANGES = {
    "since": "2026-11-21T21:05:10.123Z", "complete": True, "cut": False, "change": [
        {"time": "2026-11-21T22:05:13.000Z", "vr": "default", "cause": "link",
         "from": {**GROUP, "protocol": "unspec"}, "to": ONE_LEG},
        {"time": "2026-11-21T22:05:12.250Z", "vr": "red", "prefix": "2001:db8:1234::/48", "cause": "audit", "from": BGP},
        {"time": "2026-11-21T22:05:11.124Z", "vr": "default", "prefix": "10.1.0.0/16", "cause": "kernel", "from": BGP,
         "to": BLACKHOLE},
        {"time": "2026-11-21T22:05:10.123Z", "vr": "default", "prefix": "10.1.0.0/16", "cause": "kernel", "to": BGP}]}
