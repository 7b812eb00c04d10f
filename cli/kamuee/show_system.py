# SPDX-License-Identifier: BSD-3-Clause
"""show version, show system, show memory"""
from __future__ import annotations

from kamuee import __version__
from kamuee.context import Context
from kamuee.grammar import Match
from kamuee.leaf import Leaf, details, given, table
from kamuee.render import Column, duration, iec, right


def fib_divergence(found: dict) -> str | None:
    """The number of differences found by FIB audits; 0 is right."""
    if "fib-divergence" not in found:
        return None
    if "last-audit" not in found:
        return "no audit yet"
    return f"{found['fib-divergence']:,} in {found['audits']:,} audits, the last {duration(found['last-audit'])} ago"


def dpdk_memory(found: dict) -> str | None:
    if "memory" not in found:
        return None
    return f"{found['memory']} MiB in {found.get('pages', 'unknown')} pages"


def yes(runs: bool) -> str | None:
    """Shown only while it is true."""
    return "yes, it is to stop" if runs else None


RUNNING = (
    Leaf("version", label="kamueed"),
    Leaf("dpdk-version", label="DPDK", show=lambda text: given(text.removeprefix("DPDK "))),
)
VERSION = (
    RUNNING[0],
    Leaf("commit", label="commit"),
    Leaf("build", label="build"),
    Leaf("build-id", label="build ID"),
    RUNNING[1],
    Leaf("libyang-version", label="libyang"),
)
MEMORY = (
    Leaf("rss", label="resident memory", show=iec),
    Leaf("", label="DPDK memory", show=dpdk_memory),
)
SYSTEM = (
    *RUNNING,
    Leaf("pid", label="process"),
    Leaf("uptime", label="up", show=duration),
    Leaf("draining", label="draining", show=yes),
    *MEMORY,
    Leaf("lookup-kernel", label="lookup kernel"),
    Leaf("", label="fib divergence", show=fib_divergence),
)
REGION = (
    Leaf("name", Column("Region")),
    Leaf("bytes", right("Reserved"), show=iec),
    Leaf("used", right("Used"), show=iec),
    Leaf("pages", Column("Pages")),
)


def version(context: Context, match: Match) -> None:
    found = context.client.state("system")
    if context.options.json:
        context.json({**{leaf.name: found[leaf.name] for leaf in VERSION if leaf.name in found}, "cli-version": __version__})
    else:
        own = Leaf("cli-version", label="kamuee")
        context.lines(details(context, (*VERSION, own), {**found, "cli-version": __version__}, indent=0))


def system(context: Context, match: Match) -> None:
    found = context.client.state("system")
    if context.options.json:
        context.json({name: value for name, value in found.items() if name != "region"})
    else:
        context.lines(details(context, SYSTEM, found, indent=0))


def memory(context: Context, match: Match) -> None:
    found = context.client.state("system")
    regions = sorted(found.get("region", []), key=lambda region: (-region.get("used", 0), -region.get("bytes", 0)))
    if context.options.json:
        context.json({**{name: found.get(name) for name in ("rss", "memory", "pages")}, "region": regions})
        return
    context.lines(table(context, REGION, regions))
    context.lines(["", *details(context, MEMORY, found, indent=0)])
