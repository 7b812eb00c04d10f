# SPDX-License-Identifier: BSD-3-Clause
"""The command line of the feed.

    python3 -m kamuee.feed run --local A --peer B --asn N [--nh6 X] [table] [--control SOCKET]
    python3 -m kamuee.feed tell SOCKET COMMAND...     status, announce, withdraw, churn, flap, stop
    python3 -m kamuee.feed write FILE [table]         the table as text, one prefix a line
    [table]: --prefixes FILE | --mrt FILE | --generate, and --routes N, --share F, --seed N
"""
import argparse
import json
import signal
import socket
import sys
import time

from kamuee.feed import table
from kamuee.feed.session import Session
from kamuee.feed.speaker import Routes, Speaker


def log(event: str, **more) -> None:
    print(json.dumps({"time": round(time.time(), 3), "event": event, **more}), flush=True)


def tell(control: str, *words: str, timeout_s: float = 10) -> dict:
    """Send one command to a running speaker; OSError if it is not there."""
    with socket.socket(socket.AF_UNIX) as sock:
        sock.settimeout(timeout_s)
        sock.connect(control)
        sock.sendall(" ".join(words).encode())
        return json.loads(sock.makefile("rb").readline())


def add_table_options(parser: argparse.ArgumentParser) -> None:
    source = parser.add_mutually_exclusive_group()
    source.add_argument("--prefixes", metavar="FILE", help="file of prefixes, one per line (also .gz, .bz2, .xz)")
    source.add_argument("--mrt", metavar="FILE", help="RIB dump of a route collector (TABLE_DUMP_V2)")
    source.add_argument("--generate", action="store_true", help="generate a table even if a file is found")
    parser.add_argument("--routes", type=int, metavar="N", help="announce only N routes; without --nh6 all of them IPv4")
    parser.add_argument("--share", type=float, default=1.0, metavar="F", help="announce this share of the table")
    parser.add_argument("--seed", type=int, default=1, help="seed of generated data (default 1)")


def load(options: argparse.Namespace) -> table.Table:
    families = ("ipv4", "ipv6") if getattr(options, "nh6", True) else ("ipv4",)
    source = table.load(options.prefixes, options.mrt, options.routes, options.seed, options.generate, families)
    if options.share < 1:
        source = source.shortened(max(1, int(len(source) * options.share)), options.seed)
    return source


def run(options: argparse.Namespace) -> int:
    begun = time.monotonic()
    source = load(options)
    routes = Routes(source, options.asn, options.nh4 or options.local, options.nh6, options.seed,
                    options.paths)
    log("encoded", v4=len(routes.v4), v6=len(routes.v6), updates=routes.n_updates,
        bytes=len(routes.wire), source=source.origin, seconds=round(time.monotonic() - begun, 2))
    speaker = Speaker(Session(options.local, options.peer, options.asn, options.hold), routes,
                      options.control, log)

    def stop(_signal, _frame) -> None:
        speaker.running = False

    signal.signal(signal.SIGTERM, stop)
    signal.signal(signal.SIGINT, stop)
    speaker.run()
    return 0


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python3 -m kamuee.feed", description="BGP route feed")
    commands = parser.add_subparsers(dest="command", required=True)
    sub = commands.add_parser("run", help="announce a table to a neighbor")
    sub.add_argument("--local", required=True, metavar="ADDRESS", help="local address")
    sub.add_argument("--peer", required=True, metavar="ADDRESS", help="the neighbor's address")
    sub.add_argument("--asn", type=int, required=True, help="local AS number")
    sub.add_argument("--nh4", metavar="ADDRESS", help="IPv4 next hop (default: the local address)")
    sub.add_argument("--nh6", metavar="ADDRESS", help="IPv6 next hop; without it IPv6 routes are not announced")
    sub.add_argument("--hold", type=int, default=90, metavar="S", help="hold time in seconds (default 90)")
    sub.add_argument("--paths", type=int, default=120_000, metavar="N",
                     help="distinct AS paths to generate for a table without paths (default 120000)")
    sub.add_argument("--control", metavar="SOCKET", help="UNIX socket for commands")
    add_table_options(sub)
    sub = commands.add_parser("tell", help="send a command to a running speaker")
    sub.add_argument("socket")
    sub.add_argument("words", nargs="+", metavar="COMMAND")
    sub = commands.add_parser("write", help="write the table as text")
    sub.add_argument("file")
    add_table_options(sub)
    options = parser.parse_args(argv)
    try:
        if options.command == "run":
            return run(options)
        if options.command == "tell":
            reply = tell(options.socket, *options.words)
            print(json.dumps(reply))
            return 1 if "error" in reply else 0
        load(options).write(options.file)
        return 0
    except (OSError, ValueError) as error:
        print(f"kamuee feed: {error}", file=sys.stderr)
        return 1
