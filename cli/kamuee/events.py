# SPDX-License-Identifier: BSD-3-Clause
"""monitor events: live events, until Ctrl-C."""
from __future__ import annotations

import json
import sys
from collections.abc import Iterator

from kamuee.client import plain
from kamuee.context import Context
from kamuee.grammar import Match

KINDS = {"link": "link-change", "lag": "lag-member-change", "neighbor": "neighbor-change", "route": "route-change",
         "configuration": "configuration-change", "alarm": "alarm-change"}


def run(context: Context, match: Match) -> int:
    wanted = [name for word, name in KINDS.items() if word in match.args]
    answer = context.client.events(" | ".join(f"/kamuee:{name}" for name in wanted))
    answer.wait_forever()
    try:
        if context.options.json:
            context.json_rows(json.dumps(event, ensure_ascii=False) for event in events(answer.body))
            return 0
        for event in events(answer.body):
            context.line(told(event))
            sys.stdout.flush()
    finally:
        answer.close()
    return 0


def events(body: Iterator[bytes]) -> Iterator[dict]:
    """{time, event, …} of each server-sent event."""
    rest = b""
    for block in body:
        *lines, rest = (rest + block).split(b"\n")
        for line in lines:
            if line.startswith(b"data: "):
                yield of(json.loads(line[6:])["ietf-restconf:notification"])


def of(notification: dict) -> dict:
    time = notification.pop("eventTime")
    (name, body), = notification.items()
    return {"event": name.partition(":")[2], "at": time, **plain(body)}


def told(event: dict) -> str:
    at = event["at"].replace("T", " ").rstrip("Z")
    return f"{at}  {SENTENCES.get(event['event'], rest_of)(event)}"


def rest_of(event: dict) -> str:
    return event["event"] + " " + " ".join(f"{k} {v}" for k, v in event.items() if k not in ("event", "at"))


def way(route: dict) -> str:
    hops = ", ".join(" ".join(filter(None, ("via " + hop["gateway"] if "gateway" in hop else "",
                                            "dev " + hop["interface"] if "interface" in hop else "")))
                     for hop in route.get("hop", []))
    return f"{route['protocol']} {route['kind']} {hops}".rstrip()


def route(event: dict) -> str:
    what = event.get("prefix") or "a next hop"
    if "to" not in event:
        return f"route     {event['vr']} {what} removed ({event['cause']}), was {way(event['from'])}"
    return f"route     {event['vr']} {what} now {way(event['to'])} ({event['cause']})"


SENTENCES = {
    "link-change": lambda e: f"link      {e['port']} is {e['status']}",
    "interface-change": lambda e: f"interface {e['interface']} is {e['status']}",
    "lag-member-change": lambda e: f"lag       {e['lag']} {e['port']} is {e['status']}"
                                   + (f": {e['reason']}" if "reason" in e else ""),
    "neighbor-change": lambda e: " ".join(filter(None, (
        "neighbor ", e["vr"], e["interface"], e["address"], e["status"], e.get("mac")))),
    "route-change": route,
    "configuration-change": lambda e: f"configuration  {e['lines']} lines by {e['by']}: " + "; ".join(e["change"][:3])
                                      + ("; …" if len(e["change"]) > 3 else ""),
    "alarm-change": lambda e: " ".join(filter(None, (
        "alarm    ", e["name"], e["subject"], e["status"]))) + f": {e['message']}",
    "events-missed": lambda e: f"missed    {e['count']} events",
}
