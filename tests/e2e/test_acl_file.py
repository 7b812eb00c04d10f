# SPDX-License-Identifier: BSD-3-Clause
"""Access lists in files: rules beside them, files that change or break, thousands of changes while packets flow, lint of long lists."""
import re
import time

import pytest

from support import Pinging, assert_no_loss, reaches, two_hosts

LAB = two_hosts()
TARGETS = ("10.2.0.2", "fd00:2::2")
LONG = 100_000


def rules_of(router, name="edge"):
    found, start = {}, 0
    while start is not None:
        page = router.call("acl-rules", name=name, **{"from": start, "limit": 10000})
        found.update({rule["number"]: rule for rule in page.get("rule", ())})
        start = page.get("next")
    return found


def lint(router):
    """All findings, and how often it had to be asked."""
    found, asked = [], 0
    while True:
        asked += 1
        page = router.call("acl-lint", name="edge", **{"from": len(found), "limit": 10000})
        if page["progress"] < 100:
            continue
        found += page.get("finding", ())
        if "next" not in page:
            return found, asked


def line_of(i):
    if i % 2:
        return f"{1000 + i} deny udp from 2001:db8:{i >> 8:x}:{i & 255:x}::/64 to any port {1 + i % 60000}"
    return f"{1000 + i} deny tcp from 11.{i >> 8 & 255}.{i & 255}.0/24 to any port {1 + i % 60000}"


def test_rule_beside_a_long_file_comes_at_once_and_lint_tells_progress(lab, router, tmp_path):
    file = tmp_path / "edge.rules"
    shadowed = f"{1000 + LONG} permit tcp from 11.0.2.0/25 to any port 3"
    file.write_text("\n".join([*map(line_of, range(LONG)), shadowed]) + "\n")
    time.sleep(0.2)                                   # of a file that was written just now nothing is believed
    began = time.monotonic()
    router.configure(f"set acl edge file {file}", "set acl edge rule 10 permit icmp", "set interface p0 acl in edge")
    loading, adding = time.monotonic() - began, []
    assert_no_loss(lab["h1"], "10.2.0.2", 1)
    for number in (7, 6, 5):                          # the fastest counts: a busy machine may hold up one
        began = time.monotonic()
        router.configure(f"set acl edge rule {number} deny icmp")
        adding.append(time.monotonic() - began)
    assert not reaches(lab["h1"], "10.2.0.2")
    router.configure(*(f"delete acl edge rule {number}" for number in (7, 6, 5)))
    assert_no_loss(lab["h1"], "10.2.0.2", 1)
    assert min(adding) < loading / 5, f"{min(adding):.2f} s beside a file that took {loading:.2f} s"
    rules = rules_of(router)
    assert len(rules) == LONG + 2 and rules[10]["packets"] == 2 and rules[10]["last-hit"] < 30 and "last-hit" not in rules[1000]
    with pytest.raises(Exception, match="edge.rules:1: rule 1000 appears twice"):
        router.configure("set acl edge rule 1000 permit icmp")
    found, _ = lint(router)
    assert found[0] == {"number": 1000, "kind": "never-hit", "until": 999 + LONG, "count": LONG}
    assert {"number": 1000 + LONG, "kind": "shadowed", "by": 1002} in found and len(found) == 2


def test_file_that_changes_or_breaks(lab, router, tmp_path):
    file = tmp_path / "edge.rules"
    file.write_text("10 permit icmp\n20 permit icmp6\n")
    router.configure(f"set acl edge file {file}", "set interface p0 acl in edge")
    for target in TARGETS:
        assert_no_loss(lab["h1"], target, 1)
    file.write_text("10 deny icmp\n20 permit icmp6\n")
    router.call("reload", acl="edge")
    assert not reaches(lab["h1"], "10.2.0.2")
    assert_no_loss(lab["h1"], "fd00:2::2", 1)
    for text, why in (("10 permit icmp\n20 permti icmp6\n", ":2: unknown action 'permti'"), ("10 permit icmp\n10 deny ip\n", ":2: rule 10 appears twice"),
                      ("10 permit icmp mirror nowhere\n", "there is no mirror-session 'nowhere'"), ("", None)):
        file.write_text(text) if why else file.unlink()
        with pytest.raises(Exception, match=re.escape(why or f"{file}: cannot be read: No such file")):
            router.call("reload", acl="edge")
        assert not reaches(lab["h1"], "10.2.0.2"), "the old list stays in force"
        assert_no_loss(lab["h1"], "fd00:2::2", 1)
        assert sorted(rules_of(router)) == [10, 20]
    file.write_text("10 permit icmp\n")
    router.call("reload")
    assert_no_loss(lab["h1"], "10.2.0.2", 1)
    assert not reaches(lab["h1"], "fd00:2::2")


def test_ten_thousand_rules_are_edited_while_packets_flow_and_none_is_lost(lab, router, tmp_path):
    """Built aside, in place, back again, by file; each packet counted once, for one of two rules that both permit it."""
    file = tmp_path / "edge.rules"
    router.configure("set acl edge rule 900000 permit icmp", "set acl edge rule 900001 permit icmp6 icmp-type echo-request", "set interface p0 acl in edge")
    four, six = Pinging(lab["h1"], "10.2.0.2"), Pinging(lab["h1"], "fd00:2::2")
    for lines in range(10):
        file.write_text("".join(line_of(i) + "\n" for i in range(lines * 500, 10_000)))
        if lines:
            router.call("reload", acl="edge")
        else:
            router.configure(f"set acl edge file {file}")
        for i in range(10):
            router.configure(f"set acl edge rule {100 + i} deny tcp to any port {lines * 10 + i + 1}")   # in place
        router.configure(*(f"delete acl edge rule {100 + i}" for i in range(10)))                        # aside
    results = [four.stop(200), six.stop(200)]
    assert [r.lost for r in results] == [0, 0], [r.said for r in results]
    rules = rules_of(router)
    assert len(rules) == 10_000 - 4500 + 2
    assert rules[900000]["packets"] == results[0].sent
    assert rules[900001]["packets"] == results[1].sent
    router.assert_ledger()
