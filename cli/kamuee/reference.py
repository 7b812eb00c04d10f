# SPDX-License-Identifier: BSD-3-Clause
"""Generates the tables of docs/features/cli.md and wide.py, from the commands and the schema.

    PYTHONPATH=cli python3 -m kamuee.reference docs/features/cli.md

A part of the page is between '<!-- NAME: generated -->' and '<!-- NAME: end -->'. Tests check that page and wide.py
are up to date, and that the manual page has an entry for each command in the form that `mdoc` gives.
"""
from __future__ import annotations

import re
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from kamuee.commands import COMMANDS
from kamuee.grammar import TOKEN
from kamuee.options import OPTIONS
from kamuee.output import FILTERS
from kamuee.shapes import SHAPES, schema

WIDE = Path(__file__).parent / "wide.py"


def commands() -> Iterator[str]:
    yield "| Command | Effect | JSON |"
    yield "|---|---|---|"
    for command in COMMANDS:
        yield f"| {code(command.pattern)} | {command.help} | {command.json and code(command.json)} |"


def options() -> Iterator[str]:
    yield "| Option | Effect |"
    yield "|---|---|"
    for option in OPTIONS:
        names = ", ".join(name for name in (option.short, option.long) if name)
        yield f"| {code(f'{names} {option.value}'.strip())} | {option.help} |"


def filters() -> Iterator[str]:
    yield "| Filter | Effect |"
    yield "|---|---|"
    for name, help_ in FILTERS.items():
        takes = " EXPRESSION" if name in ("include", "exclude", "begin") else ""
        yield f"| {code(f'| {name}{takes}')} | {help_} |"


def shapes() -> Iterator[str]:
    for name, shape in SHAPES.items():
        yield f"- **{name}** `{shape}`"


PARTS = {"commands": commands, "options": options, "filters": filters, "shapes": shapes}


def code(text: str) -> str:
    """The text as code inside a table."""
    return f"`{text}`".replace("|", "\\|")


def filled(page: str) -> str:
    """The page with every generated part regenerated."""
    for name, lines in PARTS.items():
        begin, end = f"<!-- {name}: generated -->\n", f"<!-- {name}: end -->"
        if begin not in page or end not in page:
            raise SystemExit(f"the page has no section {name}: '{begin.strip()}' … '{end}'")
        before, _, rest = page.partition(begin)
        page = before + begin + "\n".join(lines()) + "\n" + end + rest.partition(end)[2]
    return page


def mdoc(pattern: str) -> str:
    """The pattern in the macros of a manual page."""
    signs = {"[": "Oo", "]": "Oc", "(": "Bro", ")": "Brc", "|": "|", "…": "No ..."}
    found, last = [], ""
    for token in TOKEN.findall(pattern):
        if token in signs:
            last = ""
            found.append(signs[token])
            continue
        macro = "Ar" if token[0].isupper() else "Ic"
        if macro != last:
            found.append(macro)
        found.append(token.replace("…", " ..."))
        last = macro
    return " ".join(found)


def parse_shape(text: str) -> Any:
    """A shape as nested dicts and lists; None is a plain value."""
    value, rest = shape_value(re.findall(r"[\[\]{},]|[\w-]+", text))
    if rest:
        raise ValueError(f"{text}: {' '.join(rest)} is too much")
    return value


def shape_value(tokens: list[str]) -> tuple[Any, list[str]]:
    if tokens[0] == "[":
        if tokens[1] == "]":
            return [None], tokens[2:]
        inner, rest = shape_value(tokens[1:])
        return [inner], rest[1:]
    members: dict[str, Any] = {}
    rest = tokens[1:]
    while rest[0] != "}":
        name, rest = rest[0], rest[1:]
        members[name] = None
        if rest[0] in "[{":
            members[name], rest = shape_value(rest)
        if rest[0] == ",":
            rest = rest[1:]
    return members, rest[1:]


def wide() -> str:
    """The text of wide.py."""
    module = schema.module()
    nodes = [module.at("state"), *module.all("rpc")]
    names = sorted({leaf.argument for node in nodes for _, leaf in node.leaves()
                    if leaf.one("type").argument in ("uint64", "int64")})
    head = WIDE.read_text(encoding="utf-8").partition("WIDE =")[0]
    return (f'{head}WIDE = frozenset("""\n' + textwrap.fill(" ".join(names), 116, initial_indent="    ",
            subsequent_indent="    ", break_on_hyphens=False) + '\n""".split())\n')


if __name__ == "__main__":
    WIDE.write_text(wide(), encoding="utf-8")
    for argument in sys.argv[1:]:
        path = Path(argument)
        path.write_text(filled(path.read_text(encoding="utf-8")), encoding="utf-8")
