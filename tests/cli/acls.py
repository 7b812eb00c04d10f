# SPDX-License-Identifier: BSD-3-Clause
"""What a daemon answers about the access list 'edge' and the address set 'bad'."""

RULES = [
    (10, "permit tcp from any to any established", 120000000, 96000000000),
    (100, "permit tcp from set customers to any port 443 log every 100", 3456789, 2765432109),
    (110, 'deny ip from set bad to any description "blocklist of the day"', 0, 0),
    (120, "permit udp from 2001:db8::/32 port 1024-65535 to 2001:db8:53::1 port 53", 0, 0),
]


def rules(given):
    """In pages of two rules."""
    found = [{"number": n, "line": line, "packets": str(p), "bytes": str(b)} | ({"last-hit": n * 800 - 8000} if p else {})
             for n, line, p, b in RULES if n >= given["from"]]
    page = {"rules": len(RULES), "rule": found[:2]}
    return page | ({"next": found[2]["number"]} if len(found) > 2 else {})


FINDINGS = [{"number": 100, "kind": "redundant", "by": 10}, {"number": 110, "kind": "never-hit"},
            {"number": 120, "kind": "contradicting", "by": 100},
            {"number": 1000, "kind": "never-hit", "until": 999000, "count": 499001}]
pushed = [0]


def lint(given):
    """It takes three questions; then it is told in pages of two findings."""
    pushed[0] += given["from"] == 0
    if given["from"] == 0 and pushed[0] % 3:
        return {"rules": 499005, "progress": pushed[0] % 3 * 30}
    page = {"rules": 499005, "progress": 100, "all-compared": True, "finding": FINDINGS[given["from"]:given["from"] + 2]}
    return page | ({"next": given["from"] + 2} if given["from"] + 2 < len(FINDINGS) else {})


OPERATIONS = {
    "acl-rules": rules,
    "acl-lint": lint,
    "address-set-contains": lambda given: {"result": [{"address": given["address"][0], "member": "192.0.2.0/24"}]},
    "address-set-change": lambda given: {"skipped": 1},
    "clear-acl": lambda given: {},
    "program-table": lambda given: {"entry": [{"key": "167772161", "value": "7"}, {"key": "18446744073709551614", "value": "0"}]},
    "reload": lambda given: {},
}
