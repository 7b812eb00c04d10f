# SPDX-License-Identifier: BSD-3-Clause
"""The journal's commands, and the times that people type."""
from datetime import datetime, timedelta, timezone

import pytest

from kamuee.moment import duration, moment

import history

NOW = datetime(2026, 11, 21, 22, 10, 0, tzinfo=timezone.utc)


@pytest.fixture(autouse=True)
def journal(daemon):
    daemon.operations = {"route-at": lambda given: history.AT, "route-changes": lambda given: history.CHANGES}


def test_route_at_a_time(kamuee, daemon):
    result = kamuee("show", "ipv4", "route", "10.1.2.3", "at", "-5m")
    name, given = daemon.asked[-1][1:]
    assert (name, given["address"], 300000 <= int(given["ago"]) < 300010) == ("route-at", "10.1.2.3", True)
    assert result.out == """\
Route 10.1.0.0/16
  at        2026-11-21 22:00:00.000
  protocol  bgp
  next hop  9, group
    via 192.0.2.2, p0, weight 2
    via fe80::a8bb:ccff:fedd:eeff, v40
    and 4 more
"""


def test_route_of_a_prefix_in_a_virtual_router(kamuee, daemon):
    assert kamuee("show", "ipv6", "route", "2001:db8::/32", "at", "2026-01-02T03:04:05", "vr", "red").code == 0
    given = daemon.asked[-1][2]
    assert (given["prefix"], given["vr"], "address" in given) == ("2001:db8::/32", "red", False)


@pytest.mark.parametrize("answer, message", [
    ({"known": False}, "the journal does not go back to 2026-11-21 22:00:00.000: it starts at 2026-11-21 21:05:10.123"),
    ({"known": True}, "there was no route for 10.1.2.3 at 2026-11-21 22:00:00.000"),
])
def test_what_nobody_knows_and_what_was_not_there_are_told(kamuee, daemon, answer, message):
    daemon.operations["route-at"] = lambda given: {"time": history.AT["time"], "since": history.AT["since"], **answer}
    result = kamuee("show", "ipv4", "route", "10.1.2.3", "at", "-5m")
    assert (result.code, result.out, result.err) == (1, "", f"error: {message}\n")


def test_changes_oldest_first_within_80_columns(kamuee, daemon):
    result = kamuee("show", "route", "changes", "last", "1h30m", "prefix", "10.0.0.0/8", "longer")
    assert daemon.asked[-1][2] == {"prefix": "10.0.0.0/8", "longer": True, "ago": "5400000"}
    assert result.out == """\
2026-11-21 22:05:10.123 10.1.0.0/16 added by kernel: bgp via 192.0.2.2, p0
2026-11-21 22:05:11.124 10.1.0.0/16 changed by kernel: bgp via 192.0.2.2, p0 ->
        static blackhole
2026-11-21 22:05:12.250 2001:db8:1234::/48 in red removed by audit: bgp via
        192.0.2.2, p0
2026-11-21 22:05:13.000 next hop 9 changed by link: via 192.0.2.2, p0, weight 2
        | via fe80::a8bb:ccff:fedd:eeff, v40 | and 4 more -> via 192.0.2.2, p0,
        weight 2
"""


@pytest.mark.parametrize("answer, last", [
    ({"change": []}, "no route changes in the FIB"),
    ({"complete": False}, "the journal starts at 2026-11-21 21:05:10.123"),
    ({"cut": True, "complete": False}, "only the newest 4 changes: ask for a shorter time or one prefix"),
])
def test_reach_and_limit_are_told(kamuee, daemon, answer, last):
    daemon.operations["route-changes"] = lambda given: {**history.CHANGES, **answer}
    assert kamuee("show", "route", "changes").out.splitlines()[-1] == last


def test_a_time_ahead_and_a_wrong_one_are_refused(kamuee):
    result = kamuee("show", "ipv4", "route", "10.1.2.3", "at", "2099-01-01")
    assert (result.code, "is in the future" in result.err) == (2, True)
    assert kamuee("show", "ipv4", "route", "10.1.2.3", "at", "-5x").code == 2
    assert kamuee("show", "ipv4", "route", "2001:db8::1", "at", "-5m").code == 2


@pytest.mark.parametrize("word, meant", [
    ("-5m", NOW - timedelta(minutes=5)), ("-1h30m", NOW - timedelta(minutes=90)), ("-2d", NOW - timedelta(days=2)),
    ("22:05:10", NOW - timedelta(minutes=4, seconds=50)), ("22:15", NOW - timedelta(days=1) + timedelta(minutes=5)),
    ("2026-11-21T22:00:00Z", NOW - timedelta(minutes=10)), ("2026-11-21T23:00:00+01:00", NOW - timedelta(minutes=10)),
    ("-", None), ("-5", None), ("5m", None), ("25:00", None), ("-99999999999d", None), ("yesterday", None),
])
def test_times(word, meant):
    assert moment(word, NOW) == meant


@pytest.mark.parametrize("word, meant", [("30s", timedelta(seconds=30)), ("1d2h", timedelta(hours=26)), ("", None), ("10", None)])
def test_durations(word, meant):
    assert duration(word) == meant
