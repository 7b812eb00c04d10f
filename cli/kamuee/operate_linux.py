# SPDX-License-Identifier: BSD-3-Clause
"""ping, traceroute: Linux's programs in the namespace or VRF of a virtual router.

They take their own options, and the words of other routers that mean the same:

    ping 192.0.2.1 vr red source 10.0.0.1 count 3
"""
from __future__ import annotations

import json
import os
import signal
import subprocess
import sys

from kamuee.context import Context
from kamuee.errors import KamueeError, UsageError
from kamuee.grammar import Match

COUNT = "5"  # where nobody sits who could end it
ROUTERS = ("vr", "vrf", "routing-instance")
WORDS = {"ping": {"source": "-I", "interface": "-I", "count": "-c", "repeat": "-c", "size": "-s"},
         "traceroute": {"source": "-s", "interface": "-i"}}


def ping(context: Context, match: Match) -> int:
    """ping [ARGS…]"""
    return run(context, "ping", match.rest)


def traceroute(context: Context, match: Match) -> int:
    """traceroute [ARGS…]"""
    return run(context, "traceroute", match.rest)


def run(context: Context, program: str, words: list[str]) -> int:
    """Runs it until it ends; its exit code. Ctrl-C is its own."""
    if not words:
        raise UsageError(f"the command is not complete: {program}\nexpected: ADDRESS [vr VR] and options of "
                         f"{program}(8)")
    options, vr = translated(program, words)
    vr = vr or os.environ.get("KAMUEE_VR")
    if program == "ping" and "-c" not in options and not sys.stdin.isatty():
        options = ["-c", COUNT, *options]
    command = [*inside(context, vr), program, *options]
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, errors="replace",
                              preexec_fn=default_interrupt) as running:
            for line in running.stdout or ():
                context.line(line.rstrip("\n"))
        return running.returncode
    except FileNotFoundError as error:
        raise KamueeError(f"{error.filename} is not installed: apt install iputils-ping traceroute") from None
    finally:
        signal.signal(signal.SIGINT, before)


def default_interrupt() -> None:
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def translated(program: str, words: list[str]) -> tuple[list[str], str | None]:
    """(options of the program, name of the virtual router)"""
    known, options, vr, at = WORDS[program], [], None, 0
    while at < len(words):
        word, value = words[at], words[at + 1] if at + 1 < len(words) else None
        if word not in known and word not in ROUTERS:
            options.append(word)
            at += 1
            continue
        if value is None:
            raise UsageError(f"{program}: expected a value after '{word}'")
        if word in ROUTERS:
            vr = value
        else:
            options += [known[word], value]
        at += 2
    return options, vr


def inside(context: Context, vr: str | None) -> list[str]:
    """The command prefix for the namespace or VRF of kamueed or a virtual router; empty if we are there."""
    if not vr:
        return of_daemon(context)
    entry = context.client.one_or_all("vr", vr, "virtual router")[0]
    if namespace := entry.get("namespace"):
        return enter(named(context, namespace))
    if entry.get("table", 254) == 254:
        return of_daemon(context)
    return [*of_daemon(context), "ip", "vrf", "exec", device(context, vr, entry["table"])]


def named(context: Context, namespace: str) -> str:
    """The path of kamueed's /run/netns/NAME. What `ip netns exec` starts has mounts of its own: a name that it makes is an empty file for others."""
    path = f"/run/netns/{namespace}"
    try:
        if os.stat(path).st_dev != os.stat("/proc/self/ns/net").st_dev:
            path = f"/proc/{context.client.state('system')['pid']}/root{path}"
    except OSError:  # not there, or not ours to see: nsenter says so
        pass
    return path


def of_daemon(context: Context) -> list[str]:
    """The command prefix for kamueed's namespace, if it is not ours, as in a lab."""
    try:
        theirs = f"/proc/{context.client.state('system')['pid']}/ns/net"
        same = os.stat(theirs).st_ino == os.stat("/proc/self/ns/net").st_ino
    except (KamueeError, OSError):  # without kamueed, or without the right to look, we are where we are
        same = True
    return [] if same else enter(theirs)


def enter(path: str) -> list[str]:
    if os.geteuid() != 0:
        raise KamueeError(f"only root can enter {path}: try sudo kamuee …")
    return ["nsenter", f"--net={path}", "--"]


def device(context: Context, vr: str, table: int) -> str:
    """The VRF device of Linux with this table."""
    found = subprocess.run([*of_daemon(context), "ip", "-j", "-d", "link", "show", "type", "vrf"], capture_output=True,
                           text=True, check=False)
    for link in json.loads(found.stdout or "[]") if found.returncode == 0 else []:
        if link.get("linkinfo", {}).get("info_data", {}).get("table") == table:
            return link["ifname"]
    raise KamueeError(f"virtual router {vr} uses table {table}, but Linux has no VRF device for it; create one: "
                      f"ip link add {vr} type vrf table {table}")
