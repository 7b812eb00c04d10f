# SPDX-License-Identifier: BSD-3-Clause
"""Patterns: matching, abbreviation, ambiguity, expected words."""
import re

import pytest

from kamuee import commands, foreign
from kamuee.client import Client
from kamuee.context import Context
from kamuee.errors import UsageError
from kamuee.grammar import Command, Grammar
from kamuee.output import FILTERS
from kamuee.session import Session

GRAMMAR = commands.grammar()


def grammar(*patterns, accepts=lambda name, word: True):
    return Grammar([Command(pattern, "", "") for pattern in patterns], accepts)


def match(line, found=GRAMMAR):
    matched = found.match(line.split())
    return matched.command.pattern, matched.args


@pytest.mark.parametrize("line, args", [
    ("a", {"a": "a"}), ("a b", {"a": "a", "b": "b"}), ("a X c", {"a": "a", "N": "X", "c": "c"}),
    ("a d", {"a": "a", "d": "d"}), ("a b e Y", {"a": "a", "b": "b", "e": "e", "M": "Y"}),
])
def test_brackets_may_be_left_out_and_bars_choose(line, args):
    assert match(line, grammar("a [b|N c|d] [e M]")) == ("a [b|N c|d] [e M]", args)


@pytest.mark.parametrize("line", ["b", "a c", "a b b", "a b e", "a X", "a e M M", ""])
def test_other_lines_do_not_match(line):
    with pytest.raises(UsageError):
        grammar("a [b|N c|d] [e M]", accepts=lambda name, word: word.isupper()).match(line.split())


def test_brackets_nest():
    found = grammar("a [b [c|d]] (x|y)")
    assert [bool(match(line, found)) for line in ("a x", "a b y", "a b c x", "a b d y")] == [True] * 4
    with pytest.raises(UsageError):
        found.match(["a", "c", "x"])


def test_rest_takes_every_word_to_the_end():
    assert grammar("set L…").match(["set", "a", "b", "-c"]).rest == ["a", "b", "-c"]
    with pytest.raises(UsageError):
        grammar("set L…").match(["set"])
    assert grammar("lab [L…]").match(["lab"]).rest == []


@pytest.mark.parametrize("pattern", ["a [b", "a b]", "a (b|c"])
def test_wrong_pattern_is_found_when_the_program_starts(pattern):
    with pytest.raises(ValueError):
        grammar(pattern)


def test_exact_word_wins_over_argument_and_longer_word():
    found = grammar("show [N]", "show all", "show allocation")
    assert match("show all", found)[0] == "show all"


def test_unique_beginning_of_a_keyword_is_enough():
    assert match("sh ipv4 ro sum") == ("show ipv4 route summary [vr VR]",
                                       {"show": "show", "ipv4": "ipv4", "route": "route", "summary": "summary"})


def test_ambiguous_beginning_lists_the_words():
    with pytest.raises(UsageError, match="'s' is ambiguous: save, set, show"):
        match("s port")


def test_shutdown_must_be_typed_in_full_with_its_name_and_not_while_editing():
    assert match("shutdown kamueed")[0] == "shutdown kamueed"
    for line in ("shutdown", "shut kamueed", "shutdown k", "shut"):
        with pytest.raises(UsageError):
            match(line)
    for line in ("shutdown", "shutdown kamueed"):
        with pytest.raises(UsageError, match="set port PORT enabled false"):
            commands.grammar(editing=True).match(line.split())


def test_unknown_word_says_where_and_what_was_expected():
    with pytest.raises(UsageError) as caught:
        match("show ipv4 routes")
    assert str(caught.value) == "show ipv4: 'routes' is not expected here\ndid you mean 'route'?\nexpected: mroute route"


def test_incomplete_command_says_what_is_missing():
    with pytest.raises(UsageError) as caught:
        match("port attach p0")
    assert str(caught.value) == ("the command is not complete: port attach p0\n"
                                 "expected: DEVARGS, a DPDK device: 0000:3b:00.0, net_af_packet0,iface=eth1, …")


def test_an_argument_out_of_range_is_told_its_range():
    with pytest.raises(UsageError) as caught:
        match("show mpls table label 5")
    assert str(caught.value) == "show mpls table label: '5' is not expected here\nexpected: MPLSLABEL, an MPLS label: 16 to 1048575"


def test_word_after_the_end_is_refused():
    with pytest.raises(UsageError, match="expected: the end of the line"):
        match("show icmp now")


@pytest.mark.parametrize("word, name", [("192.0.2.0/24", "PREFIX"), ("192.0.2.1", "ADDRESS"), ("::/0", "PREFIX"),
                                        ("2001:db8::1", "ADDRESS")])
def test_prefix_and_address_are_told_apart(word, name):
    assert match(f"show ipv4 route {word}")[1][name] == word


@pytest.mark.parametrize("word", ["192.0.2.0/33", "192.0.2", "1.2.3.4/", "::/129", "1.2.3.4/8x", "300.1.1.1", "x", "1.2.3.4/-1"])
def test_word_that_is_neither_prefix_nor_address_is_refused(word):
    with pytest.raises(UsageError):
        match(f"show ipv4 route {word}")


def test_port_whose_name_begins_a_keyword_is_not_lost():
    assert match("show port stat0")[1]["PORT"] == "stat0"


@pytest.mark.parametrize("line, said", [
    ("show ip bgp", "show ip: use the routing daemon"), ("show prot", "did you mean 'port'?"), ("show arp vlan 7", "try: show neighbor"),
    ("no port p0", "try: delete …"), ("commit", "'configure' first"),
    ("do show port", "every command also works in configure mode"), ("clear interfaces statistics", "try: clear counters"),
    ("clear drops", "drop counters cannot be cleared"),
    ("show port | grep -v p0", "try: include"), ("show running-config | compare", "try: compare"),
    ("configure set vr blue", "try: set …, delete …; without 'configure'"), ("conf 'set vr blue'", "load merge FILE"),
    ("configure 'delete vr blue' 'set vr red'", "load merge FILE"),
    ("moniter", "did you mean 'monitor'?"),
])
def test_habits_from_other_routers_are_told_what_to_type(line, said):
    session = Session(commands.grammar(), Context(Client("/nowhere")))
    with pytest.raises(UsageError, match=re.escape(said)):
        session.run(session.split(line))


def test_what_is_done_for_another_router_only_looks():
    for ours in foreign.LOOKS.values():
        assert ours.split()[0] in ("show", "lookup", "compare") and any(commands.grammar(editing).walk(ours.split()) for editing in (False, True)), ours


def test_what_an_error_advises_exists():
    """Each 'try: …' of the hints is a command, or the beginning of one, outside or while editing."""
    for text in foreign.HINTS.values():
        for advice in re.split("[;|]", text.removeprefix("try: "))[0].split(", ") if text.startswith("try: ") else []:
            words = [word for word in advice.removeprefix("then ").split() if not word.isupper() and word != "…"]
            assert words[0] in ("journalctl", "kamuee", "vtysh", "line") or any(commands.grammar(editing).walk(words) for editing in (False, True)), advice
    for said in foreign.FILTERS.values():
        assert not said.startswith("did you mean") or re.search("'(.*)'", said)[1] in FILTERS


def test_conf_t_begins_to_edit():
    assert commands.grammar().match(["conf", "t"]).command.run == "configure:begin"
