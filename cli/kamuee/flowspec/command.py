# SPDX-License-Identifier: BSD-3-Clause
"""`kamuee flowspec`: run, check, show, clear."""
from __future__ import annotations

import argparse
import os
import sys

from kamuee.client import Client, key, socket_path
from kamuee.errors import EXIT_ERROR, EXIT_OK, KamueeError, NotFound, complain
from kamuee.flowspec.setup import Setup, load


def parser() -> argparse.ArgumentParser:
    top = argparse.ArgumentParser(prog="kamuee flowspec", description="Flow specifications of BGP as rules of access lists: kamuee-flowspec(8).")
    top.add_argument("--config", metavar="FILE", help="default: $KAMUEE_FLOWSPEC, or /etc/kamuee/flowspec.conf")
    top.add_argument("--socket", metavar="PATH", help="kamueed's socket")
    commands = top.add_subparsers(dest="command", required=True, metavar="COMMAND")
    commands.add_parser("run", help="take routes from the speaker until it ends; with ExaBGP, as its process")
    commands.add_parser("check", help="check the file, and what it needs of kamueed")
    show = commands.add_parser("show", help="routes, and what became of them")
    show.add_argument("--peer", metavar="ADDRESS", help="only those of the peer")
    show.add_argument("--unused", action="store_true", help="only rules that no packet has matched")
    show.add_argument("-j", "--json", action="store_true", help="print JSON")
    commands.add_parser("clear", help="delete the rules at once; a running process brings them back")
    return top


def main(argv: list[str] | None = None) -> int:
    options = parser().parse_args(argv)
    client = Client(socket_path(options.socket))
    try:
        return {"run": run, "check": check, "show": show, "clear": clear}[options.command](options, client)
    except KamueeError as error:
        complain(error)
        return error.code


def run(options: argparse.Namespace, client: Client) -> int:
    from kamuee.flowspec.adapter import Adapter
    setup = load(options.config)
    if not os.access(os.path.dirname(setup.state) or ".", os.W_OK):
        raise KamueeError(f"{setup.state}: the directory cannot be written: create it, or set 'state' in {setup.path}")
    return Adapter(setup, client).run()


def check(options: argparse.Namespace, client: Client) -> int:
    setup = load(options.config)
    wrong = list(problems(setup, client))
    for line in wrong:
        print(f"error: {line}", file=sys.stderr)
    if not wrong:
        print(f"{setup.path}: speaker {setup.speaker}, {len(setup.peers)} peers, {sum(map(len, setup.targets.values()))} lists")
    return EXIT_ERROR if wrong else EXIT_OK


def problems(setup: Setup, client: Client):
    """What kamueed lacks, with the remedy."""
    for vr, targets in setup.targets.items():
        for target in targets:
            try:
                (entry,) = client.state(f"acl={key(target.acl)}")
            except NotFound:
                yield f"there is no acl '{target.acl}': kamuee set acl {target.acl} default permit"
                continue
            if not entry.get("bound"):
                yield f"acl {target.acl} is bound nowhere: kamuee set vr {vr} acl in {target.acl}, or set interface NAME acl in {target.acl}"
            page = client.call("acl-rules", name=target.acl, limit=1, **{"from": target.first})
            first = next((row["number"] for row in page.get("rule", ())), target.last + 1)
            if first <= target.last and not entry.get("temporary-rules"):
                yield f"acl {target.acl} rule {first} is of the configuration, and {target.first}-{target.last} are for flowspec: change one of them"
    for name, ways in setup.redirects.items():
        for address in ways.values():
            (row,) = client.call("lookup", address=[address])["result"]
            if not row.get("prefix"):
                yield f"redirect {name}: there is no route to {address}"


def show(options: argparse.Namespace, client: Client) -> int:
    from kamuee import options as line_options
    from kamuee.context import Context, terminal_width
    from kamuee.show_flowspec import table
    given = line_options.parse(["-j"] if options.json else []).line
    table(Context(client, options=given, width=terminal_width()), load(options.config).state, options.peer, options.unused)
    return EXIT_OK


def clear(options: argparse.Namespace, client: Client) -> int:
    for targets in load(options.config).targets.values():
        for target in targets:
            client.call("acl-change", name=target.acl, replace=True)
    return EXIT_OK
