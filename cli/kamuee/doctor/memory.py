# SPDX-License-Identifier: BSD-3-Clause
"""Huge pages, and memory for the tables."""
from __future__ import annotations

import re
from collections.abc import Iterator

from kamuee.doctor.facts import Facts
from kamuee.doctor.finding import Check, Finding, absent, good

POOL_MIB = 512         # DPDK's memory unless configured: what a few ports with default queues take
TABLES_MIB = 340       # everything else of kamueed with a full table of 1.06 million prefixes (docs/measurements.md)
NODES = "/sys/devices/system/node"


def sizes(facts: Facts, folder: str) -> Iterator[tuple[int, int, int]]:
    """(KiB of a page, pages, free ones) for each size of a folder of hugepages-…kB."""
    for name in facts.host.names(folder):
        found = re.fullmatch(r"hugepages-(\d+)kB", name)
        if found:
            yield (int(found[1]), facts.host.number(f"{folder}/{name}/nr_hugepages") or 0,
                   facts.host.number(f"{folder}/{name}/free_hugepages") or 0)


def wanted_mib(facts: Facts) -> int:
    configured = facts.setting("memory")
    return int(configured) if configured and configured.isdigit() else POOL_MIB


def huge_pages(facts: Facts) -> Iterator[Finding]:
    name = "huge-pages"
    if facts.setting("huge-pages") == "never":
        yield good(name, "configuration", "huge-pages never")
        return
    running = (facts.state or {}).get("system", {})
    if running.get("pages") == "huge":
        yield good(name, "kamueed", f"{running.get('memory', '?')} MiB in huge pages")
        return
    nodes = [n for n in facts.host.names(NODES) if re.fullmatch(r"node\d+", n)]
    folders = {node: f"{NODES}/{node}/hugepages" for node in nodes} or {"machine": "/sys/kernel/mm/hugepages"}
    if not any(facts.host.names(folder) for folder in folders.values()):
        yield Finding(name, "advice", "kernel", "not supported by this kernel", "CONFIG_HUGETLBFS",
                      "every TLB miss walks one more level; the 2015 paper calls huge pages mandatory")
        return
    need = wanted_mib(facts)
    cores = {facts.node_of_core(core) for core in facts.forwarders} - {None}
    for node, folder in folders.items():
        if cores and node != "machine" and int(node[4:]) not in cores:
            continue
        found = list(sizes(facts, folder))
        free = sum(kib * count for kib, _, count in found) // 1024
        said = ", ".join(f"{count} of {total} free, {kib // 1024} MiB each" for kib, total, count in found
                         if total) or "none reserved"
        if free >= need:
            yield good(name, node, said)
            continue
        pages = -(-need // 2)
        path = f"{folder}/hugepages-2048kB/nr_hugepages"
        fix = (f"echo {pages} > {path}",) if facts.host.exists(path) else ()
        yield Finding(name, "advice", node, said, f"{need} MiB free",
                      "kamueed falls back to ordinary memory: more TLB misses in every table and buffer",
                      fix, safe=bool(fix))


def transparent(facts: Facts) -> Iterator[Finding]:
    name, path = "transparent-huge-pages", "/sys/kernel/mm/transparent_hugepage/enabled"
    said = facts.host.text(path)
    if said is None:
        yield absent(name, "kernel", "not supported by this kernel: the FIB is in small pages")
        return
    chosen = re.search(r"\[(\w+)\]", said)
    now = chosen[1] if chosen else said
    if now in ("always", "madvise"):
        yield good(name, "kernel", now)
    else:
        yield Finding(name, "advice", "kernel", now, "madvise",
                      "the FIB is in small pages: TLB misses with a full table",
                      (f"echo madvise > {path}",), safe=True)


def room(facts: Facts) -> Iterator[Finding]:
    """Whether there is memory for DPDK (in ordinary pages) and for a full table."""
    lines = dict(re.findall(r"^(\w+):\s+(\d+) kB", facts.host.text("/proc/meminfo") or "", re.MULTILINE))
    if "MemAvailable" not in lines:
        yield absent("memory", "machine", "not reported by the kernel")
        return
    available = int(lines["MemAvailable"]) // 1024
    running = (facts.state or {}).get("system", {})
    if running.get("rss"):
        yield good("memory", "machine",
                   f"{available} MiB available in addition to kamueed's {int(running['rss']) >> 20} MiB")
        return
    need = TABLES_MIB + (wanted_mib(facts) if facts.setting("huge-pages") == "never" else 0)
    if available >= need:
        yield good("memory", "machine", f"{available} MiB available, {need} MiB needed for a full table")
    else:
        yield Finding("memory", "wrong", "machine", f"{available} MiB available", f"{need} MiB for a full table",
                      "the kernel kills kamueed or the routing daemon when memory runs out")


CHECKS = (Check("huge-pages", huge_pages), Check("transparent-huge-pages", transparent), Check("memory", room))
