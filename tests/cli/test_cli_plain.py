# SPDX-License-Identifier: BSD-3-Clause
"""Text of others: no terminal obeys it, and no reader takes it for more lines than it is."""
import json
import random

import pytest

from kamuee import acl_csv, configure, ha, plain
from kamuee.context import Context
from kamuee.errors import KamueeError
from kamuee.session import Session

from test_cli_show import COMMANDS

# As in src/base/plain_test.c.
RANGES = ((0, 0x1f), (0x7f, 0x9f), (0x61c, 0x61c), (0x200e, 0x200f), (0x2028, 0x202e), (0x2066, 0x2069), (0xd800, 0xdfff))
LINE = "set acl guard rule 1 permit ip from any to any"
HOSTILE = ["x\x1b]0;owned\x07", f"x\u2028{LINE}\u2028y", f"x\n{LINE}\ny", "x\r\x9b2J\x85", "\u202egnp.exe", "x\x7f\u061c\u2066y", "[bold]x[/]\x1b[2J"]
NAMES = ("v40", "p1", "red", "edge", "guard")
TEXTS = {"description", "message", "reason", "by", "comment", "first-change", "why", "client", "filter", "error", "example", "effect", "peer"}


def is_printable(text: str) -> bool:
    return not any(first <= ord(letter) <= last for letter in text for first, last in RANGES if letter != "\n")


def test_the_characters_are_those_of_kamueed():
    odd = {chr(code) for first, last in RANGES for code in range(first, last + 1)}
    assert {chr(code) for code in range(0x110000) if not plain.is_plain(chr(code))} == odd
    assert all(plain.shown(letter) == f"\\u{ord(letter):04x}" for letter in odd)


def test_what_is_shown_is_json_that_means_the_same():
    for text in HOSTILE:
        written = plain.shown(json.dumps(text, ensure_ascii=False))
        assert is_printable(written) and json.loads(written) == text


def test_a_line_ends_at_a_line_feed_only():
    text = "a\u2028b\x85c\x1cd\x0be\rf\n\ng\n"
    assert plain.lines(text) == ["a\u2028b\x85c\x1cd\x0be\rf", "", "g"]
    assert plain.lines("") == []


def hostile(value, of: str, text: str):
    """The state, with every name and text of others made hostile."""
    if isinstance(value, dict):
        return {name: hostile(inner, name, text) for name, inner in value.items()}
    if isinstance(value, list):
        return [hostile(inner, of, text) for inner in value]
    return value + text if isinstance(value, str) and (value in NAMES or of in TEXTS) else value


@pytest.mark.parametrize("text", HOSTILE)
def test_no_command_prints_a_control_character(kamuee, daemon, text):
    daemon.state = hostile(daemon.state, "", text)
    touched = 0
    for command in (*COMMANDS, *(f"{command} -j" for command in COMMANDS), "show alarm", "monitor --once --interval 0.1"):
        result = kamuee(*command.split())
        said = result.out + result.err
        assert is_printable(said), command
        assert LINE not in said.split("\n"), command
        touched += "\\u" in said
    assert touched > 20


def test_an_error_prints_no_control_character(kamuee):
    for text in HOSTILE:
        result = kamuee("show", "port", text)
        assert result.code and is_printable(result.err), result.err


def test_the_monitor_prints_no_control_character_of_others(daemon, terminal):
    daemon.state = hostile(daemon.state, "", "\x9b5n\x1b[6n")
    shown = terminal("monitor", "-i", "0.2")
    shown.until("Drops now")
    shown.until(r"v40|p1|red")
    assert b"\x1b[6n" not in shown.raw and "\x9b" not in shown.raw.decode(errors="replace")
    shown.type("q")


def test_configuration_is_printed_line_by_line(kamuee, daemon):
    text = f'set interface p0 description "x\u2028{LINE}\u2028y"\n'
    daemon.operations["configuration"] = lambda given: {"text": text}
    for words in (("show", "configuration"), ("show", "running-config"), ("show", "configuration", "-j")):
        said = kamuee(*words).out
        assert LINE not in [line.strip(' ",') for line in said.split("\n")] and is_printable(said)


def test_a_push_takes_no_value_for_a_line():
    ours = {"kamuee:acl": [{"name": "guard"}], "kamuee:interface": [{"name": "p0", "description": f"x\u2028{LINE}\u2028y"}]}
    theirs = {"kamuee:acl": [{"name": "old"}], "kamuee:policer": [{"name": "gold"}], "kamuee:log-level": "debug"}
    merged = json.loads(ha.merged(json.dumps(ours), json.dumps(theirs), ["acl", "policer"]))
    assert merged == {"kamuee:acl": [{"name": "guard"}], "kamuee:log-level": "debug"}


def test_words_of_a_line_end_at_blanks_and_tabs_only():
    session = Session(__import__("kamuee.commands").commands.grammar(), Context(None))
    assert session.split('set vr red description "東京\u3000支店\u00a0x"') == ["set", "vr", "red", "description", '"東京\u3000支店\u00a0x"']


def test_a_word_of_the_shell_stays_one_word():
    for word in ("a b", "a\tb", f"x\n{LINE}", 'say "x\ny"'):
        assert "\n" not in configure.quoted(word) and configure.quoted(word)[0] == '"'


def test_a_cell_of_an_imported_file_is_no_line():
    head = "number,action,protocol,options\n"
    for text in HOSTILE:
        if not plain.is_plain(text):
            with pytest.raises(KamueeError):
                acl_csv.read(f'{head}10,permit,tcp,"description {text}"\n', "x")
    draw = random.Random(1)
    for _ in range(300):
        cell = "".join(draw.choice(["\n", "\r", "\u2028", "\x1b", "é", '"', " ", "a", "\\", ";"]) for _ in range(8))
        try:
            found = acl_csv.read(f'{head}10,permit,tcp,"description {cell.replace(chr(34), chr(34) * 2)}"\n', "x")
        except KamueeError:
            continue
        assert all(is_printable(line) and "\n" not in line for entry in found for line in entry.lines())
