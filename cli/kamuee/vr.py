# SPDX-License-Identifier: BSD-3-Clause
"""vr create, delete, start, stop, rename, export, enter: a virtual router with its configuration and its routing daemon.

kamueed has the configuration and the namespace; the daemon is started and stopped here (routing.py), because kamueed
starts no programs. What can fail is done in an order that leaves nothing half done: first what kamueed may refuse.
"""
from __future__ import annotations

import os
import re
from string import Template

from kamuee import configuration, configure, inside, operate_linux, plain, routing
from kamuee.context import Context
from kamuee.errors import DaemonError, KamueeError, NotFound, UsageError
from kamuee.grammar import Match

OWN = ("namespace", "table", "description")     # leaves that 'from' does not copy: each virtual router has others


def router_of(context: Context, name: str) -> dict:
    if name == "default":
        raise DaemonError(["'default' always exists: its routing daemon is the host's own"])
    return context.client.one_or_all("vr", name, "virtual router")[0]


def lines_of(context: Context, name: str) -> dict:
    """{line, use} of the configuration."""
    try:
        return context.client.call("vr-lines", name=name)
    except NotFound:
        raise DaemonError([f"there is no virtual router {name}; 'show vr' lists them"]) from None


def as_root(what: str) -> None:
    if os.geteuid() != 0:
        raise KamueeError(f"only root can {what} a routing daemon: try sudo kamuee …")


def prefix_of(context: Context, router: dict) -> list[str]:
    return operate_linux.inside(context, router["name"])


# --- create -----------------------------------------------------------------------------------

def create(context: Context, match: Match) -> None:
    """vr create NEWVR [daemon DAEMON] [from VR], vr create NEWVR [daemon DAEMON] template FILENAME [VALUE…]"""
    name, daemon = match.args["NEWVR"], match.args.get("DAEMON")
    if any(router["name"] == name for router in context.client.entries("vr")):
        raise DaemonError([f"virtual router {name} already exists"])
    begin = f"set vr {configure.quoted(name)}"
    lines = [begin] + [f"{begin} routing-daemon {daemon}"] * bool(daemon)
    if source := match.args.get("VR"):
        lines += copied(context, source, begin)
    if file := match.args.get("FILENAME"):
        try:
            commit(context, "\n".join([filled(file, name, match.rest), *lines]))
        except DaemonError as error:
            raise DaemonError([placed(file, message) for message in error.messages], error.tag) from None
    else:
        commit(context, "\n".join(lines), brief=not source)
    if context.options.check:
        return
    own = routing.of(router_of(context, name))
    if own:
        start_daemon(context, name)
    told = f"; its {own.kind.upper()}: {own.config}" if own else ""
    if not context.options.json:
        context.line(f"virtual router {name} created{told}")


def commit(context: Context, text: str, brief: bool = False) -> None:
    if context.editing.session is not None:
        raise UsageError("leave configure mode first: this takes effect at once")
    configure.commit_now(context, context.options.check, context.options.confirmed, context.options.comment, brief=brief,
                         text=text)


def copied(context: Context, source: str, begin: str) -> list[str]:
    """The settings of another one, as lines that begin so, and its lists and policers; not its interfaces, which are its own."""
    name = begin.removeprefix("set vr ")
    lines = lines_of(context, source)["line"]
    settings = [line.removeprefix(f"set vr {source} ") for line in lines if line.startswith(f"set vr {source} ")]
    owned = [line.replace(f" vr {source}", f" vr {name}", 1) for line in lines if re.match(rf"set (acl|address-set|policer) {re.escape(source)}:", line)]
    mine = [f"{begin} {setting}" for setting in settings if setting.split()[0] not in OWN]
    return [line.replace(f" {source}:", f" {name}:") for line in (*mine, *owned)]


def filled(file: str, name: str, given: list[str]) -> str:
    """The template with its values, line by line, so that kamueed's numbers of lines are the file's."""
    values = {"NAME": name}
    for word in given:
        key, equals, value = word.partition("=")
        if not equals or not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", key) or not value or not value.isprintable():
            raise UsageError(f"'{word}' is not valid, expected a value of the template: port=p1")
        values[key] = value
    found, used = [], set()
    for number, line in enumerate(plain.lines(configuration.read(file)), 1):
        text = Template(line)
        if line.strip() and not line.lstrip().startswith("#") and line.split()[0] != "set":
            raise UsageError(f"{file}:{number}: '{line.split()[0]}': a template has only 'set' lines and comments")
        try:
            found.append(text.substitute(values))
        except KeyError as error:
            raise UsageError(f"{file}:{number}: ${error.args[0]} has no value: add {error.args[0]}=VALUE") from None
        except ValueError:
            raise UsageError(f"{file}:{number}: '$' without a name; a dollar sign is written '$$'") from None
        used |= {word for word in values if re.search(rf"\$\{{?{word}\b", line)}
    if unused := sorted(values.keys() - used - {"NAME"}):
        raise UsageError(f"{file} has no ${unused[0]}")
    return "\n".join(found)


def placed(file: str, message: str) -> str:
    return re.sub(r"^line (\d+): ", rf"{file}:\1: ", message, flags=re.M)


# --- delete, rename, export -------------------------------------------------------------------

def delete(context: Context, match: Match) -> None:
    """vr delete VR [force]"""
    name = match.args["VR"]
    router, found = router_of(context, name), lines_of(context, name)
    uses = found.get("use", [])
    if uses and "force" not in match.args:
        used = ", ".join(dict.fromkeys(line.removeprefix("delete ") for line in uses))
        raise DaemonError([f"virtual router {name} is in use: {used}",
                           f"delete these first, or 'vr delete {name} force', which removes their configuration too"])
    lines = [*dict.fromkeys(uses), f"delete vr {name}"]
    context.client.call("configure", line=lines, check=True)     # refused before its daemon stops
    own = routing.of(router)
    runs = bool(own and own.pids())
    if context.options.check:
        commit(context, "\n".join(lines))
        return
    if own and runs:
        as_root("stop")
        routing.stop(own)
    try:
        commit(context, "\n".join(lines))
    except KamueeError:
        if own and runs:
            routing.start(own, prefix_of(context, router))
        raise
    stays = f"; {own.config} stays" if own and own.config.exists() else ""
    context.line(f"virtual router {name} deleted{stays}")


def rename(context: Context, match: Match) -> None:
    """vr rename VR NEWVR"""
    name, new = match.args["VR"], match.args["NEWVR"]
    router = router_of(context, name)
    own = routing.of(router)
    runs = bool(own and own.pids())
    if runs:
        as_root("rename")
    answer = context.client.call("vr-rename", name=name, new_name=new)
    if own and runs:
        routing.stop(own)
    if own:
        own.move(new)
    context.lines(f"note: {text}" for text in answer.get("note", []))
    if own and runs:
        start_daemon(context, new)
    context.line(f"virtual router {name} is now {new}" + (f"; its {own.kind.upper()} was restarted" if own and runs else ""))


def export(context: Context, match: Match) -> None:
    """vr export VR [FILENAME]"""
    name = match.args["VR"]
    lines = list(dict.fromkeys(lines_of(context, name)["line"]))
    interfaces = {line.split()[2] for line in lines if line.startswith("set interface ")}
    vports = {line.split()[2] for line in lines if line.startswith("set vport ")}
    ports = {line.split()[4] for line in lines if re.match(r"set vport \S+ port ", line)} | (interfaces - vports)
    own = routing.of(router_of(context, name))
    head = [f"# virtual router {name}"]
    head += [f"# needs port {port}" for port in sorted(ports)]
    head += [f"# routing daemon: copy {own.config}"] if own else []
    configuration.write(context, match.args.get("FILENAME", "-"), "\n".join([*head, *lines]) + "\n")


# --- start, stop, enter -----------------------------------------------------------------------

def start_daemon(context: Context, name: str) -> None:
    router = router_of(context, name)
    own = routing.of(router)
    if own is None:
        return
    as_root("start")
    routing.start(own, prefix_of(context, router))


def start(context: Context, match: Match) -> None:
    """vr start VR"""
    name = match.args["VR"]
    if router_of(context, name).get("enabled") is False:
        commit(context, f"delete vr {name} enabled")
    start_daemon(context, name)
    context.line(f"virtual router {name} started")


def stop(context: Context, match: Match) -> None:
    """vr stop VR"""
    name = match.args["VR"]
    router = router_of(context, name)
    if own := routing.of(router):
        as_root("stop")
        routing.stop(own)
    if router.get("enabled") is not False:
        commit(context, f"set vr {name} enabled false")
    context.line(f"virtual router {name} stopped; its configuration stays")


def daemon(context: Context, match: Match) -> None:
    """vr daemon (start|stop) VR: run by systemd's units; acts here and now, without systemd."""
    name = match.args["VR"]
    router = router_of(context, name)
    own = routing.of(router)
    if own is None:
        raise DaemonError([f"virtual router {name} has no routing daemon of its own: set vr {name} routing-daemon frr"])
    as_root("start")
    if "stop" in match.args:
        own.stop()
    else:
        routing.start_here(own, prefix_of(context, router))


def enter(context: Context, match: Match) -> int:
    """vr enter VR [ARGS…]"""
    name = match.args["VR"]
    router = context.client.one_or_all("vr", name, "virtual router")[0]
    own = routing.of(router)
    changed = inside.environment(socket=context.client.path, name=os.environ.get("KAMUEE_NAME"), vr=name,
                                 **(own.inside() if own else {}))
    return inside.become(prefix_of(context, router), match.rest, changed)
