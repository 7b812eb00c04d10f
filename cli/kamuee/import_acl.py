# SPDX-License-Identifier: BSD-3-Clause
"""acl import, acl export: rules of other routers as set lines, and rules in force as files."""
from __future__ import annotations

import sys

from kamuee import acl_csv, acl_ios, acl_nft, configure, plain, show_acl
from kamuee.acl_text import List
from kamuee.context import Context
from kamuee.errors import KamueeError
from kamuee.grammar import Match

EXPLICIT_MAX = 10000  # rules that are well kept in the configuration


def run(context: Context, match: Match) -> None:
    """acl import (ios|nftables|csv) FILENAME [name NEWACL] [load]"""
    text, name = contents(match.args["FILENAME"]), match.args.get("NEWACL")
    if "csv" in match.args:
        found = acl_csv.read(text, name or "imported")
    else:
        found = acl_ios.read(text) if "ios" in match.args else acl_nft.read(text)
    if name and len(found) == 1:
        found[0].name = name
    elif name:
        raise KamueeError(f"the file has {len(found)} lists: 'name' works with a single list only")
    if not found:
        raise KamueeError("the file has no rules")
    if "load" in match.args:
        load(context, found)
    else:
        context.lines(line for entry in found for line in entry.lines())


def load(context: Context, found: list[List]) -> None:
    """Each list replaces the one of the same name."""
    for entry in found:
        if len(entry.rules) > EXPLICIT_MAX:
            raise KamueeError(f"{entry.name} has {len(entry.rules)} rules: more than {EXPLICIT_MAX} belong in a file "
                               f"('set acl {entry.name} file PATH')")
    known = {entry["name"] for entry in context.client.entries("acl")}
    gone = [f"delete acl {entry.name}" for entry in found if entry.name in known]
    configure.send(context, gone + [line for entry in found for line in entry.lines()])


def export(context: Context, match: Match) -> None:
    """acl export (native|csv) ACL"""
    rules = [(rule["number"], rule["line"]) for rule in show_acl.every_rule(context, match.args["ACL"])]
    if "csv" in match.args:
        context.lines(plain.lines(acl_csv.write(rules)))
    else:
        context.lines(f"{number} {line}" for number, line in rules)


def contents(name: str) -> str:
    try:
        if name == "-":
            return sys.stdin.read()
        with open(name, encoding="utf-8") as file:
            return file.read()
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "not UTF-8 text"
        raise KamueeError(f"cannot read {name}: {reason}") from None
