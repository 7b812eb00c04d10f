# SPDX-License-Identifier: BSD-3-Clause
"""`kamuee lab`: start, stop, list, show and exec for labs of network namespaces."""
import argparse
import json
import os
import signal
import sys
import time

from kamuee import inside
from kamuee.errors import KamueeError
from kamuee.lab.errors import LabError


def parser() -> argparse.ArgumentParser:
    json_option = argparse.ArgumentParser(add_help=False)
    json_option.add_argument("-j", "--json", action="store_true", help="print JSON")
    top = argparse.ArgumentParser(prog="kamuee lab", description="Topologies of network namespaces.",
                                  parents=[json_option])
    commands = top.add_subparsers(dest="command", required=True, metavar="COMMAND")
    sub = commands.add_parser("start", help="build the topology of a YAML file", parents=[json_option])
    sub.add_argument("file", metavar="FILE")
    sub.add_argument("--name", help="name of the lab (default: the name in the file)")
    sub.add_argument("--keep-broken", action="store_true", help="keep a failed start for inspection")
    sub = commands.add_parser("stop", help="stop a lab and remove everything it created", parents=[json_option])
    sub.add_argument("name", nargs="?", metavar="NAME")
    sub.add_argument("--all", action="store_true", help="all labs on this host")
    commands.add_parser("list", help="list the labs on this host", parents=[json_option])
    sub = commands.add_parser("show", help="nodes, interfaces and processes of a lab", parents=[json_option])
    sub.add_argument("name", metavar="NAME")
    sub = commands.add_parser("exec", help="run a command in a node (NODE, NODE.wire or NODE.VR)")
    sub.add_argument("name", metavar="NAME")
    sub.add_argument("node", metavar="NODE")
    sub.add_argument("argv", nargs=argparse.REMAINDER, metavar="CMD", help="default: a shell")
    return top


def main(argv: list[str] | None = None) -> int:
    options = parser().parse_args(argv)
    run = {"start": start, "stop": stop, "list": list_labs, "show": show, "exec": execute}[options.command]
    try:
        return run(options)
    except KamueeError as error:
        print(f"kamuee lab: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("kamuee lab: interrupted", file=sys.stderr)
        return 130


def start(options: argparse.Namespace) -> int:
    from kamuee.lab import schema
    from kamuee.lab.lab import Lab

    def interrupt(_signal, _frame) -> None:
        raise KeyboardInterrupt

    signal.signal(signal.SIGTERM, interrupt)      # so that a start that is stopped cleans up
    spec = schema.load(options.file, options.name)
    begun = time.monotonic()
    say = (lambda text: None) if options.json else (lambda text: print(f"  {text}", flush=True))
    if not options.json:
        print(f"lab {spec.name}: {len(spec.nodes)} nodes", flush=True)
    lab = Lab.start(spec, say, options.keep_broken)
    if options.json:
        print(json.dumps(lab.describe()))
    else:
        print(f"started in {time.monotonic() - begun:.1f} s; to inspect: kamuee lab show {spec.name}; "
              f"for a shell: kamuee lab exec {spec.name} {next(iter(spec.nodes))}")
    return 0


def stop(options: argparse.Namespace) -> int:
    from kamuee.lab import state
    if bool(options.name) == options.all:
        raise LabError(f"stop NAME or stop --all; there are: {', '.join(state.names()) or 'no labs'}")
    if os.geteuid() != 0:
        raise LabError("stopping a lab needs root: use sudo")
    names = state.names() if options.all else [options.name]
    for name in names:
        state.load(name).remove()
        if not options.json:
            print(f"lab {name} stopped")
    if options.json:
        print(json.dumps({"stopped": names}))
    return 0


def list_labs(options: argparse.Namespace) -> int:
    from kamuee.lab import state
    labs = [state.load(name) for name in state.names()]
    if options.json:
        print(json.dumps([{"name": lab.name, "state": lab.condition(), "started": lab.started,
                           "namespaces": len(lab.namespaces), "file": lab.file} for lab in labs]))
        return 0
    if not labs:
        print("no labs")
        return 0
    print(f"{'name':<24} {'state':<12} {'since':<17} {'namespaces':>10}  file")
    for lab in labs:
        since = time.strftime("%Y-%m-%d %H:%M", time.localtime(lab.started)) if lab.started else "-"
        print(f"{lab.name:<24} {lab.condition():<12} {since:<17} {len(lab.namespaces):>10}  {lab.file}")
    return 0


def show(options: argparse.Namespace) -> int:
    from kamuee.lab.lab import Lab
    described = Lab.attach(options.name, starting=True).describe()
    if options.json:
        print(json.dumps(described))
        return 0
    print(f"lab {described['name']} ({described['state']}), from {described['file']}")
    for name, node in described["nodes"].items():
        daemon = f", {node['daemon']}" if node["daemon"] != "none" else ""
        if "state" in node:
            by = f" (by {node['by']})" if node["by"] else ""
            daemon += f", {node['state']}{by}; console {node['console']}"
        print(f"\n{name}: {node['kind']}{daemon}; namespace {', '.join(node['namespaces'])}")
        for interface in node["interfaces"].values():
            notes = [f"vlan {interface['vlan']} on {interface['port']}"] if "vlan" in interface else []
            notes += [f"vr {interface['vr']}"] if "vr" in interface else []
            if card := node.get("cards", {}).get(interface["name"]):
                notes += [f"{card['kind']} {card['pci']}"]
            notes += interface.get("addresses", [])
            print(f"    {interface['name']:<10} {'  '.join(notes)}")
        if node["processes"]:
            running = "  ".join(f"{daemon} {pid}" for daemon, pid in node["processes"].items())
            print(f"    running    {running}")
    print("\nlinks:")
    for link in described["links"]:
        mtu = "" if link["mtu"] == 1500 else f"  mtu {link['mtu']}"
        print(f"    {link['ends'][0]} - {link['ends'][1]}{mtu}")
    return 0


def execute(options: argparse.Namespace) -> int:
    """Become the command: its input, output, signals and status are its own. In a machine: pass them on."""
    from kamuee.lab.lab import Lab
    from kamuee.lab.vmnode import VmNode
    name, _, sub = options.node.partition(".")
    node = Lab.attach(options.name)[name]
    if isinstance(node, VmNode) and not sub:
        return node.execute(options.argv)
    namespace = node.sub_namespace(sub) if sub else node.namespace
    frr, bird = getattr(node, "vr_frr", {}).get(sub) or getattr(node, "frr", None), getattr(node, "bird", None)
    is_router = hasattr(node, "socket")
    changed = inside.environment(socket=str(node.socket) if is_router else os.environ.get("KAMUEE_SOCKET"),
                                 name=name if is_router else None, vr=sub if is_router and sub in node.vrs else None,
                                 pathspace=frr.pathspace if frr else None, bird=str(bird.control) if bird else None)
    return inside.become(namespace.argv([]), options.argv, changed)
