# SPDX-License-Identifier: BSD-3-Clause
"""show version, show system, show memory"""
from __future__ import annotations

from kamuee import __version__, render
from kamuee.context import Context
from kamuee.grammar import Match
from kamuee.render import Column, duration, iec, right
from kamuee.show_port import text

REGIONS = (Column("Region"), right("Reserved"), right("Used"), Column("Pages"))


def version(context: Context, match: Match) -> None:
    found = context.client.state("system")
    if context.options.json:
        context.json({"version": found.get("version"), "dpdk-version": found.get("dpdk-version"),
                      "cli-version": __version__})
    else:
        context.lines(render.fields([("kamueed", found.get("version")), ("DPDK", dpdk_version(found)),
                                     ("kamuee", __version__)], context.room, indent=0))


def system(context: Context, match: Match) -> None:
    found = context.client.state("system")
    if context.options.json:
        context.json({name: value for name, value in found.items() if name != "region"})
        return
    context.lines(render.fields([
        ("kamueed", found.get("version")),
        ("DPDK", dpdk_version(found)),
        ("process", text(found, "pid")),
        ("up", duration(found.get("uptime"))),
        ("resident memory", iec(found.get("rss"))),
        ("DPDK memory", dpdk_memory(found)),
        ("lookup kernel", found.get("lookup-kernel")),
        ("fib divergence", fib_divergence(found)),
    ], context.room, indent=0))


def fib_divergence(found: dict) -> str | None:
    """What audits of the FIB found; 0 is right."""
    if "fib-divergence" not in found:
        return None
    if "last-audit" not in found:
        return "no audit yet"
    return f"{found['fib-divergence']:,} in {found['audits']:,} audits, the last {duration(found['last-audit'])} ago"


def dpdk_version(found: dict) -> str | None:
    """The version alone; DPDK puts its name before it."""
    return found.get("dpdk-version", "").removeprefix("DPDK ") or None


def dpdk_memory(found: dict) -> str | None:
    if "memory" not in found:
        return None
    return f"{found['memory']} MiB in {found.get('pages', 'unknown')} pages"


def memory(context: Context, match: Match) -> None:
    found = context.client.state("system")
    regions = sorted(found.get("region", []), key=lambda region: (-region.get("used", 0), -region.get("bytes", 0)))
    if context.options.json:
        context.json({"rss": found.get("rss"), "memory": found.get("memory"), "pages": found.get("pages"),
                      "region": regions})
        return
    rows = [[region["name"], iec(region.get("bytes")), iec(region.get("used")), region.get("pages")] for region in regions]
    context.lines(render.table(REGIONS, rows, context.width))
    context.line()
    context.lines(render.fields([("resident memory", iec(found.get("rss"))), ("DPDK memory", dpdk_memory(found))],
                                context.room, indent=0))
