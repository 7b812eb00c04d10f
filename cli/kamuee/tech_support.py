# SPDX-License-Identifier: BSD-3-Clause
"""show tech-support: collects diagnostics into one archive.

It has each `show` that needs no argument, as text and as JSON; the running configuration; the findings of `doctor` and
the files behind them; the state of Linux and the routing daemons, in kamueed's namespace; and the end of the log. It
names only our processes and those of routing daemons, and masks their secrets. A part that fails is in the archive with
its error.
"""
from __future__ import annotations

import io
import json
import os
import platform
import re
import shlex
import subprocess
import tarfile
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from kamuee import commands, operate_linux, show_log
from kamuee.context import Context
from kamuee.errors import KamueeError
from kamuee.grammar import Match
from kamuee.plain import lines as lines_of
from kamuee.session import Session

# A full table is 200 MB; the summary is enough.
LEFT_OUT = ("show ipv4 route", "show ipv6 route", "show route", "show route changes", "show tech-support", "show log")
LINUX = {
    "uname": "uname -a", "addresses": "ip -d addr", "links": "ip -s -d link", "rules": "ip rule",
    "rules-ipv6": "ip -6 rule", "routes": "ip route show table all", "routes-ipv6": "ip -6 route show table all",
    "vrfs": "ip -d link show type vrf", "neighbors": "ip -s neigh", "nexthops": "ip nexthop", "namespaces": "ip netns",
    "sockets": "ss -tuna", "counters": "nstat -az", "memory": "free -m",
    "processes": "ps -C {ours} -Lo pid,tid,psr,cls,rtprio,pcpu,stat,comm", "interrupts": "cat /proc/interrupts",
    "frr": "vtysh -c 'show running-config'", "frr-bgp": "vtysh -c 'show bgp summary'",
    "frr-zebra": "vtysh -c 'show zebra client summary'", "bird": "birdc show protocols",
    "log": "journalctl -u kamueed -n 5000 --no-pager", "log-frr": "journalctl -u frr -n 2000 --no-pager",
    "kernel-log": "dmesg --ctime",
}
OURS = ("kamueed,kamuee,zebra,bgpd,ospfd,ospf6d,isisd,ripd,ripngd,staticd,bfdd,pimd,pim6d,vrrpd,watchfrr,bird,"
        "keepalived,snmpd,lldpd")
SECRET = re.compile(r"(?i)\b(password(?: (?:clear|md5|\d))?|key-string|authentication-key|"
                    r"message-digest-key \d+ md5|secret|"
                    r"snmp-server community)\s+\S+")
LINES = 5000  # of each part of Linux
WAIT_S = 20


def plain(pattern: str) -> list[str] | None:
    """The shortest words that the pattern accepts; None: it needs an argument."""
    while "[" in pattern:
        pattern = re.sub(r"\[[^][]*\]…?", "", pattern)
    pattern = re.sub(r"\(([^()|]*)(\|[^()]*)?\)", r"\1", pattern)
    words = pattern.split()
    return None if any(word[0].isupper() for word in words) else words


def shows() -> Iterator[tuple[list[str], bool]]:
    """(words, whether it prints JSON) of every show without arguments."""
    for command in commands.COMMANDS:
        words = plain(command.pattern)
        if command.pattern.startswith("show ") and words and " ".join(words) not in LEFT_OUT:
            yield words, bool(command.json)


class Lines:
    """A sink that keeps its input."""

    def __init__(self) -> None:
        self.text: list[str] = []

    def line(self, text: str) -> None:
        self.text.append(text)

    def end(self) -> None:
        pass


def printed(context: Context, words: list[str], as_json: bool) -> str:
    """The output of a command, or its error."""
    kept = Lines()
    inner = Session(commands.grammar(),
                    replace(context, sink=kept, options=replace(context.options, json=as_json, wide=True)))
    try:
        inner.do(words, inner.context.options)
    except KamueeError as error:
        kept.text.append(f"error: {error}")
    return "\n".join(kept.text) + "\n"


def of_linux(command: str, where: Sequence[str] = ()) -> str:
    """The first lines of a command's output in kamueed's namespace (`where`), without secrets."""
    try:
        ran = subprocess.run([*where, *shlex.split(command.format(ours=OURS))], capture_output=True, text=True,
                             errors="replace",
                             timeout=WAIT_S, stdin=subprocess.DEVNULL)
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"error: {error}\n"
    lines = lines_of(ran.stdout)
    more = [f"… {len(lines) - LINES} more lines"] if len(lines) > LINES else []
    said = "".join(SECRET.sub(r"\1 <masked>", line) + "\n" for line in lines[:LINES] + more)
    return said + (f"error: exit code {ran.returncode}: {ran.stderr}" if ran.returncode else "")


def where_kamueed_is(context: Context) -> list[str]:
    try:
        return operate_linux.of_daemon(context)
    except KamueeError:
        return []


def doctors(context: Context) -> Iterator[tuple[str, bytes]]:
    from kamuee.doctor import command
    facts = command.gather(command.parse([]), context.client)
    yield "doctor.json", json.dumps([finding.json() for finding in command.findings(facts, [])], indent=2).encode()
    with tempfile.TemporaryDirectory() as folder:
        facts.host.record(f"{folder}/record")
        yield "doctor-record.tar.gz", Path(folder, "record").read_bytes()


def parts(context: Context) -> Iterator[tuple[str, bytes]]:
    """(name, content) of each file of the bundle."""
    for words, as_json in shows():
        name = "-".join(words)
        yield f"{name}.txt", printed(context, words, False).encode()
        if as_json:
            yield f"{name}.json", printed(context, words, True).encode()
    yield from doctors(context)
    where = where_kamueed_is(context)
    for name, command in LINUX.items():
        yield f"linux/{name}.txt", of_linux(command, where).encode()
    log = show_log.file(context, LINES) or ["error: no log file: kamueed logs elsewhere, or is not to be asked"]
    yield "linux/log-file.txt", "".join(f"{line}\n" for line in log).encode()


def write(file: str, mode: str, found: Iterator[tuple[str, bytes]], tell: Callable[[str], None]) -> tuple[int, int]:
    """Writes the parts into an archive under a folder of its name; returns their number, and bytes."""
    stem = re.sub(r"\.(tar\.gz|tgz)$", "", Path(file).name)
    n = size = 0
    with open(file, mode, opener=lambda path, flags: os.open(path, flags, 0o600)) as out, tarfile.open(fileobj=out, mode="w:gz") as archive:
        for name, content in found:
            entry = tarfile.TarInfo(f"{stem}/{name}")
            entry.size, entry.mtime, entry.mode = len(content), int(time.time()), 0o600
            archive.addfile(entry, io.BytesIO(content))
            n, size = n + 1, size + len(content)
            tell(name)
    return n, size


def run(context: Context, match: Match) -> None:
    """show tech-support [FILE]: by default a new temporary file, not one in the working directory."""
    name = f"kamuee-{platform.node()}-{time.strftime('%Y%m%d-%H%M%S')}.tar.gz"
    file = match.args.get("FILE") or os.path.join(tempfile.gettempdir(), name)
    try:
        n, size = write(file, "wb" if "FILE" in match.args else "xb", parts(context),
                        lambda name: context.line(f"  {name}") if context.options.wide else None)
    except OSError as error:
        raise KamueeError(f"{file}: {error.strerror}") from None
    context.line(f"written to {file}: {n} files, {size / 1e6:.1f} MB unpacked")
    context.line("It contains configuration, addresses and logs: review it before you share it.")
