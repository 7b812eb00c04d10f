# SPDX-License-Identifier: BSD-3-Clause
"""show acl, show acl-redirect, show address-set: lists and sets in force, and their matches."""
from __future__ import annotations

from collections.abc import Iterator

from kamuee import render
from kamuee.client import key
from kamuee.context import Context
from kamuee.errors import DaemonError, NotFound
from kamuee.grammar import Match
from kamuee.leaf import Leaf, listing
from kamuee.render import Column, count, iec, percent, right

LIST = (
    Leaf("name", Column("Name")),
    Leaf("rules", right("Rules"), show=count),
    Leaf("temporary-rules", right("Temporary", wide=True), show=count),
    Leaf("default", Column("Default")),
    Leaf("matched-packets", right("Matched"), show=count),
    Leaf("unmatched-packets", right("Not matched"), show=count),
    Leaf("bound", Column("Bound", wrap=True),
         show=lambda bound: ", ".join(f"{place['interface']} {place['direction']}" for place in bound) or None),
    Leaf("bytes", right("Memory", wide=True), show=iec),
    Leaf("file", Column("File", wide=True)),
)
REDIRECT = (
    Leaf("to", Column("Redirect to")),
    Leaf("redirected-packets", right("Redirected"), show=count),
    Leaf("no-way-packets", right("No way"), show=count),
)
SET = (
    Leaf("name", Column("Name")),
    Leaf("members-ipv4", right("IPv4"), show=count),
    Leaf("members-ipv6", right("IPv6"), show=count),
    Leaf("bytes", right("Memory"), show=iec),
    Leaf("file", Column("File", wrap=True)),
)
RULES = (right("Rule"), Column("", wrap=True), right("Packets"), right("Bytes"), right("Share"), right("Last hit"))
FINDINGS = (right("Rule"), Column("Finding"), right("By"), Column("", wrap=True))

SAYS = {
    "shadowed": "rule {by} matches all its packets, with another action",
    "contradicting": "rule {by} matches exactly the same packets, with another action",
    "redundant": "rule {by} matches all its packets, with the same action",
    "never-hit": "no match since its counters started",
}


def show(context: Context, match: Match) -> None:
    """show acl"""
    listing(context, LIST, context.client.entries("acl"), "no access lists")


def one(context: Context, name: str) -> dict:
    try:
        return context.client.state(f"acl={key(name)}")[0]
    except NotFound:
        raise DaemonError([f"there is no access list '{name}'; 'show acl' lists them"]) from None


def rules(context: Context, match: Match) -> None:
    """show acl ACL"""
    name = match.args["ACL"]
    if context.options.json:
        context.json(list(every_rule(context, name)))
        return
    entry = one(context, name)
    total = entry["matched-packets"] + entry["unmatched-packets"]
    rows = [[str(rule["number"]), rule["line"],
             *numbers(rule["packets"], rule["bytes"], total), render.duration(rule.get("last-hit"))]
            for rule in every_rule(context, name)]
    rows.append(["", f"{entry['default']} (default)",
                 *numbers(entry["unmatched-packets"], entry["unmatched-bytes"], total),
                 render.duration(entry.get("unmatched-last-hit"))])
    context.lines(render.table(RULES, rows, context.width, context.wide))


def numbers(packets: int, octets: int, total: int) -> list[str | None]:
    return [count(packets), count(octets), percent(packets, total) if total else None]


def every_rule(context: Context, name: str) -> Iterator[dict]:
    """All rules, requested in pages."""
    start = 0
    while start is not None:
        page = context.client.call("acl-rules", name=name, **{"from": start, "limit": 10000})
        yield from page.get("rule", ())
        start = page.get("next")


def redirects(context: Context, match: Match) -> None:
    """show acl-redirect"""
    listing(context, REDIRECT, context.client.entries("acl-redirect"), "no rule redirects packets")


def cost(context: Context, match: Match) -> None:
    """show acl ACL cost"""
    entry = one(context, match.args["ACL"])
    if context.options.json:
        context.json([entry])
        return
    price = entry["cost"]
    facts = [("rules", count(entry["rules"])),
             ("rules, all compared", count(price["few"]) if price.get("few") else None),
             ("compared on shelves", f"at most {count(price['shelf'])}" if price.get("shelf") else None),
             ("tuples", count(price["tuples"])),
             ("probes, worst packet", count(price["probes-max"])),
             ("probes, mean", price["probes-mean"]), ("longest block", count(price["block-max"])),
             ("address-only rules", count(price["address-only"])),
             ("memory", f"{iec(entry['bytes'])}, of which forwarders read {iec(price['reader-bytes'])}"),
             ("built in", f"{price['build-time']} ms")]
    context.line(f"Access list {entry['name']}")
    context.lines(f"  {what:<21} {value}" for what, value in facts if value is not None)


def lint(context: Context, match: Match) -> None:
    """show acl ACL lint"""
    found = every_finding(context, match.args["ACL"])
    if context.options.json:
        context.json({"rules": found["rules"], "all-compared": found["all-compared"], "finding": found["finding"]})
        return
    rows = [[str(f["number"]), f["kind"], str(f["by"]) if "by" in f else None, said(f)] for f in found["finding"]]
    if rows:
        context.lines(render.table(FINDINGS, rows, context.width, context.wide))
    context.line(f"{count(found['rules'])} rules, {count(sum(f.get('count', 1) for f in found['finding']))} findings")
    if not found["all-compared"]:
        context.line("Not all rules were compared: too many differ only in ranges.")


def every_finding(context: Context, name: str) -> dict:
    """Repeats the request until all rules are compared, then requests all pages."""
    findings: list[dict] = []
    while True:
        page = context.client.call("acl-lint", name=name, **{"from": len(findings), "limit": 10000})
        if page["progress"] < 100:
            context.progress(f"{name}: {page['progress']} % of {count(page['rules'])} rules")
            continue
        findings += page.get("finding", ())
        if "next" not in page:
            context.progress("")
            return {**page, "finding": findings}


def said(finding: dict) -> str:
    if "count" in finding:
        return (f"{count(finding['count'])} rules, from here to {finding['until']}: "
                "no match since their counters started")
    return SAYS[finding["kind"]].format(**finding)


def sets(context: Context, match: Match) -> None:
    """show address-set [SET]"""
    name = match.args.get("SET")
    found = context.client.entries("address-set")
    if name:
        found = [entry for entry in found if entry["name"] == name]
        if not found:
            raise DaemonError([f"there is no address set '{name}'; 'show address-set' lists them"])
    listing(context, SET, found, "no address sets")


def contains(context: Context, match: Match) -> None:
    """show address-set SET contains ADDRESS"""
    name, address = match.args["SET"], match.args["ADDRESS"]
    found = context.client.call("address-set-contains", name=name, address=[address])["result"]
    if context.options.json:
        context.json(found)
    elif "member" in found[0]:
        context.line(f"{address} is in {name}: {found[0]['member']}")
    else:
        context.line(f"{address} is not in {name}")
