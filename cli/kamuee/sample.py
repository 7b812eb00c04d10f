# SPDX-License-Identifier: BSD-3-Clause
"""The monitor's data: a look at the router, and the rates between two looks.

before = look(client); …; after = look(client); measured(before, after) -> the JSON of `monitor -j`
"""
from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import NamedTuple

from kamuee.client import Client
from kamuee.rates import named, rate
from kamuee.show_interface import measured as interface_rates
from kamuee.show_port import measured as port_rates
from kamuee.show_queue import KINDS, dropped, longest


class Look(NamedTuple):
    at: float  # seconds, of the clock
    system: dict
    ports: dict[str, dict]
    interfaces: list[dict]
    threads: dict[str, dict]
    drops: dict[str, dict]
    ledger: dict
    vrs: list[dict]
    punts: dict[str, dict]
    alarms: list[dict]
    latency: dict[tuple[str, str], dict]
    queues: list[dict]


def look(client: Client, clock: Callable[[], float] = time.monotonic) -> Look:
    return Look(clock(), client.state("system"), named(client.entries("port")), client.entries("interface"),
                named(client.entries("thread")), named(client.entries("drop")), client.state("ledger"),
                client.entries("vr"), {entry["class"]: entry for entry in client.entries("punt")},
                client.entries("alarm"),
                {(pair["input"], pair["output"]): pair for pair in client.entries("latency")}, client.entries("queue"))


def measured(before: Look, after: Look) -> dict:
    """All data of the monitor, with rates per second."""
    seconds = max(after.at - before.at, 1e-6)
    if before.system.get("pid") != after.system.get("pid"):
        before = after  # another daemon: its counters began anew
    return {
        "seconds": round(seconds, 3),
        "version": after.system.get("version"),
        "uptime": after.system.get("uptime"),
        "rss": after.system.get("rss"),
        "port": ports(before, after, seconds),
        "interface": sub_interfaces(before, after, seconds),
        "thread": [thread(before.threads.get(name, {}), now, seconds) for name, now in after.threads.items()],
        "drop": drops(before, after, seconds),
        "table": tables(before, after, seconds),
        "punt": punts(before, after, seconds),
        "latency": latencies(before, after),
        "queue": queues(before, after, seconds),
        "alarm": [{key: alarm[key] for key in ("name", "subject", "severity", "message")} for alarm in after.alarms],
        "held": after.ledger.get("held", 0),
        "imbalance": after.ledger.get("imbalance", 0),
    }


def ports(before: Look, after: Look, seconds: float) -> list[dict]:
    was, now = port_drops(before), port_drops(after)
    kept = ("name", "rx-pps", "tx-pps", "rx-bps", "tx-bps")
    found = []
    for name, port in after.ports.items():
        by = port_rates(before.ports.get(name, {}), port, seconds)
        found.append({**{key: by[key] for key in kept}, "status": port.get("status"),
                      "drop-pps": rate(was.get(name), now.get(name), seconds)})
    return found


def sub_interfaces(before: Look, after: Look, seconds: float) -> list[dict]:
    """Interfaces that are not a port's own: VLANs, tunnels, ends of metalinks."""
    was = named(before.interfaces)
    found = []
    for interface in after.interfaces:
        if interface.get("kind") != "port":
            by = interface_rates(was.get(interface["name"], {}), interface, seconds)
            found.append({**{key: value for key, value in by.items() if key != "seconds"}, "status": interface.get("status")})
    return found


def port_drops(at: Look) -> dict[str, int]:
    """Packets dropped by input port, over all its interfaces."""
    sums: dict[str, int] = {}
    for interface in at.interfaces:
        name = interface.get("port", interface["name"])
        sums[name] = sums.get(name, 0) + interface.get("statistics", {}).get("drop-packets", 0)
    return sums


def thread(was: dict, now: dict, seconds: float) -> dict:
    """Load 0..1: of a forwarder the share of cycles spent on packets, of other threads the share of a core."""
    a, b = was.get("statistics", {}), now.get("statistics", {})
    busy = rate(a.get("busy-cycles"), b.get("busy-cycles"), seconds)
    idle = rate(a.get("idle-cycles"), b.get("idle-cycles"), seconds)
    cpu = rate(was.get("cpu-time"), now.get("cpu-time"), seconds)
    if busy is not None and idle is not None:
        load = busy / (busy + idle) if busy + idle > 0 else 0.0
    else:
        load = None if cpu is None else cpu / 1e9
    pps, bursts = (rate(a.get(key), b.get(key), seconds) for key in ("rx-packets", "bursts"))
    return {"name": now["name"], "role": now.get("role"), "core": now.get("core"),
            "load": None if load is None else round(load, 4), "pps": pps,
            "burst": round(pps / bursts, 1) if pps and bursts else None}


def punts(before: Look, after: Look, seconds: float) -> list[dict]:
    """All classes, the best first."""
    found = []
    for name, now in after.punts.items():
        was = before.punts.get(name, {})
        lost = [rate(was.get(key), now.get(key), seconds) for key in ("policed", "queue-full")]
        found.append({"class": name, "pps": rate(was.get("passed"), now.get("passed"), seconds),
                      "queued": now.get("queued"),
                      "drop-pps": None if None in lost else sum(lost)})
    return found


def latencies(before: Look, after: Look) -> list[dict]:
    """Quantiles of the packets measured in between, as the upper ends of their buckets, in ns."""
    found = []
    for pair, now in after.latency.items():
        was = {bucket["below"]: bucket["packets"] for bucket in before.latency.get(pair, {}).get("bucket", [])}
        grown = [(bucket["below"], bucket["packets"] - was.get(bucket["below"], 0)) for bucket in now["bucket"]]
        total = sum(packets for _, packets in grown)
        if before is after or total <= 0:
            continue
        found.append({"input": pair[0], "output": pair[1], "packets": total,
                      **{name: quantile(grown, total * part)
                         for name, part in (("median", 0.5), ("p99", 0.99), ("p999", 0.999))}})
    return found


def queues(before: Look, after: Look, seconds: float) -> list[dict]:
    """All clients of a port's queue; the daemon computes the rate of the last second."""
    was = {(queue["port"], kind, client["name"]): dropped(client) for queue, kind, client in queue_clients(before)}
    return [{"port": queue["port"], "client": f"{kind} {client['name']}", "bps": client.get("rate"),
             "guarantee": client.get("guarantee"), "most": min(client.get("maximum", queue["rate"]), queue["rate"]),
             "waiting": client.get("waiting-packets"), "p99": longest(client, "delay-p99"),
             "drop-pps": rate(was.get((queue["port"], kind, client["name"])), dropped(client), seconds)}
            for queue, kind, client in queue_clients(after)]


def queue_clients(at: Look) -> Iterator[tuple[dict, str, dict]]:
    return ((queue, kind, client) for queue in at.queues for kind in KINDS for client in queue.get(kind, []))


def quantile(grown: list[tuple[int, int]], wanted: float) -> int:
    below = 0
    for end, packets in grown:
        below += packets
        if below >= wanted:
            return end
    return grown[-1][0]


def drops(before: Look, after: Look, seconds: float) -> list[dict]:
    """Reasons that counted in between, the fastest first."""
    found = [{"name": name, "severity": now.get("severity"), "sentence": now.get("sentence"),
              "pps": rate(before.drops.get(name, {}).get("packets", 0), now["packets"], seconds)}
             for name, now in after.drops.items()]
    return sorted((entry for entry in found if entry["pps"]), key=lambda entry: -entry["pps"])


def tables(before: Look, after: Look, seconds: float) -> list[dict]:
    was = {(vr["name"], fib["family"]): fib for vr in before.vrs for fib in vr.get("fib", [])}
    return [{"vr": vr["name"], "family": fib["family"], "routes": fib.get("routes"), "bytes": fib.get("bytes"),
             "synced": vr.get("synced"),
             "updates-ps": rate(was.get((vr["name"], fib["family"]), {}).get("updates"), fib.get("updates"), seconds)}
            for vr in after.vrs for fib in vr.get("fib", [])]
