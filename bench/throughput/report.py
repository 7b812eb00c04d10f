# SPDX-License-Identifier: BSD-3-Clause
"""Results of `kamuee bench throughput` for people and programs: a page (HTML with its plots inside), rows as CSV,
everything as JSON.

JSON: {"started", "machine", "busy_percent", "forced", "quick", "cores", "plan", "device", "rows", "explained",
"losses", "ledger"}. Every row has test, peer, link, size, mean_bytes, percent6, directions, routes; the rest by test
(docs/features/bench-throughput.md).
"""
from __future__ import annotations

import base64
import csv
import html
import json
import tempfile
from collections.abc import Iterable
from pathlib import Path

from kamuee.render import count
from measure import machine, plot, report

STYLE = """body{font:15px/1.5 system-ui,sans-serif;max-width:70rem;margin:2rem auto;padding:0 1rem;color:#222}
h1{font-size:1.6rem}h2{font-size:1.2rem;margin-top:2rem}table{border-collapse:collapse;font-size:13px}
td,th{padding:.2rem .7rem;border-bottom:1px solid #ddd;text-align:left;font-variant-numeric:tabular-nums}
th{border-bottom:2px solid #888}img{max-width:100%}.note{color:#555}ol{font-size:12px;color:#333}"""
UNSEEN = 0.001      # share of packets without a latency from which it is said
HEADINGS = ("Test", "Size", "Load", "Mpps", "Gb/s", "Result")


def percent(ratio: float) -> str:
    return "0 %" if not ratio else f"{100 * ratio:.3g} %"


def outcome(row: dict) -> str:
    """The result of a row in a few words."""
    test = row["test"]
    if test == "throughput":
        return (f"loss ≤ {row['loss_ratio']:g}, {row['trials']} trials, {row['confirmed']} confirm, limit: "
                f"{row['limit']}")
    if test == "latency":
        found = row["latency_us"]
        if not found:
            return "none: nothing was received, or only while the tester was off its core"
        unseen = row["unseen"] / (row["unseen"] + row["seen"])
        return (f"p50 {found['p50']:.4g}, p99.9 {found['p99.9']:.4g}, max {found['max']:.4g} µs; jitter p50 "
                f"{row['jitter_us'].get('p50', 0):.3g} µs{f'; {percent(unseen)} unseen' if unseen > UNSEEN else ''}")
    if test == "loss":
        return f"{percent(row['ratio'])} lost, {row['forwarded_mpps']:.4g} Mpps forwarded"
    if test == "back-to-back":
        return (f"{count(row['frames'])} frames{' or more' if row['unlimited'] else ''}, {row['burst_ms']:.4g} ms, "
                f"buffer {row['buffer_ms']:.3g} ms")
    if test == "recovery":
        return f"{row['recovery_ms']:.0f} ms" if row[
            "overloaded"] else "no loss under overload: the tester is the limit"
    if test == "reset":
        return "did not recover" if row["reset_ms"] is None else f"{row['reset_ms']:,.0f} ms without a packet"
    return (f"{row['lost']:,} of {row['attempted']:,} lost in {row['minutes']:g} min, {row['lost_while_kept']:,} of "
            f"them while off its core, ledger {row['ledger_difference']}, p99.9 "
            f"{row['latency_us'].get('p99.9', 0):.4g} µs")


def cells(row: dict) -> list[str | None]:
    rate = row.get("mpps", row.get("overload_mpps"))
    return [row["test"], row["size"], f"{row['load']:g} %" if "load" in row else None, f"{rate:.4g}" if rate is not None
            else None, f"{row['gbps']:.4g}" if "gbps" in row else None,
            outcome(row) + (" (disturbed)" if row.get("disturbed") else "")]


# --- plots ---

def of(rows: Iterable[dict], test: str) -> list[dict]:
    return [row for row in rows if row["test"] == test]


def sizes_of(rows: Iterable[dict]) -> list[str]:
    return list(dict.fromkeys(row["size"] for row in rows))


def charts(rows: list[dict]) -> list[tuple[str, plot.Bars | plot.Lines]]:
    found: list[tuple[str, plot.Bars | plot.Lines]] = []
    rates = of(rows, "throughput")
    if rates:
        names = sizes_of(rates)
        found += [("Throughput", plot.Bars("Packets forwarded within the stated loss ratio", "Mpps", names,
                                           {"throughput": [row["mpps"] for row in rates],
                                            "flooded": [row["flood_mpps"] for row in rates]})),
                  ("Throughput in bits", plot.Bars("As on a wire, with preamble and gap", "Gb/s", names,
                                                   {"": [row["gbps"] for row in rates]}))]
    lossy = of(rows, "loss")
    if lossy:
        found.append(("Frame loss", plot.Lines("Loss against offered load", "offered, Mpps", "lost, %", {
            name: sorted((row["mpps"], 100 * row["ratio"]) for row in lossy if row["size"] == name)
            for name in sizes_of(lossy)})))
    for name in sizes_of(of(rows, "latency")):
        some = [row for row in of(rows, "latency") if row["size"] == name and row["steps"]]
        if some:
            found.append((f"Latency, {name} bytes", plot.Lines("By percentile", "1 / (1 − share of packets)", "µs", {
                f"{row['load']} % of throughput": [(1 / (1 - min(share, 0.999999)), value)
                                                   for value, share in row["steps"]] for row in some},
                log_x=True, log_y=True)))
    bursts = of(rows, "back-to-back")
    if bursts:
        found.append(("Back-to-back", plot.Bars("Longest burst without loss", "frames", sizes_of(bursts),
                                                {"": [row["frames"] for row in bursts]})))
    return found


def image(chart: plot.Bars | plot.Lines, directory: Path) -> str:
    path = directory / "chart.svg"
    plot.save(path, [chart])
    data = base64.b64encode(path.read_bytes()).decode()
    return f'<img alt="{html.escape(chart.title)}" src="data:image/svg+xml;base64,{data}">'


# --- the page ---

def table(headings: Iterable[str], rows: Iterable[Iterable]) -> list[str]:
    lines = ["<table>", "<tr>" + "".join(f"<th>{html.escape(h)}</th>" for h in headings) + "</tr>"]
    lines += ["<tr>" + "".join(f"<td>{html.escape(str(cell)) if cell is not None else ''}</td>" for cell in row)
              + "</tr>" for row in rows]
    return lines + ["</table>"]


def page(result: dict) -> str:
    device, plan = result["device"], result["plan"]
    lines = ["<!doctype html><html lang=en><meta charset=utf-8><title>kamuee bench throughput</title>",
             f"<style>{STYLE}</style>", f"<h1>RFC 2544: {html.escape(device['peer'])}</h1>",
             f"<p>Measured {result['started']}. {html.escape(result['cores'])}.</p>"]
    if result.get("failed"):
        lines.append(f"<p><b>Ended early</b>: {html.escape(result['failed'])}</p>")
    if result["forced"] and result["busy_percent"] > machine.BUSY_PERCENT:
        lines.append(f"<p><b>Measured on a busy machine</b> (--force): {result['busy_percent']} % of its cores were in "
                     "use before.</p>")
    lines += ["<h2>Results</h2>"] + table(HEADINGS, map(cells, result["rows"]))
    lines.append(f"<p class=note>Trials of {plan['seconds']:g} s (RFC 2544 wants 60). A packet that the device's "
                 "receive ring had no room for is lost. Latency is one-way, by time stamps in the packets; jitter is "
                 "RFC 3393's difference to the packet before, absolute. An IPv6 frame has at least 84 bytes.</p>")
    with tempfile.TemporaryDirectory() as directory:
        for heading, chart in charts(result["rows"]):
            lines += [f"<h2>{html.escape(heading)}</h2>", image(chart, Path(directory))]
    for row in of(result["rows"], "soak"):
        lines += ["<h2>Soak: packets lost, by second</h2>"] + table(
            ("Second", "Lost inside", "Ring full", "Device off its core, ms"), row["lost_at"])
        lines += [f"<p>The device counts: {html.escape(json.dumps(row['device_counts']))}</p>"]
    lines += ["<h2>Device and machine</h2>"] + table(("", ""), device.items())
    lines += [f"<p>{html.escape(line)}</p>" for line in report.machine_lines(result["machine"])]
    lines += ["<h2>How it was found</h2><ol>"] + [f"<li>{html.escape(line)}</li>"
                                                  for line in result["explained"]] + ["</ol></html>"]
    return "\n".join(lines) + "\n"


def flat(row: dict) -> dict:
    """A row of simple values: {"latency_us": {"p50": 3}} becomes latency_us.p50; lists stay in the JSON."""
    found = {}
    for name, value in row.items():
        if isinstance(value, dict):
            found.update({f"{name}.{inner}": v for inner, v in value.items()})
        elif not isinstance(value, list):
            found[name] = value
    return found


def write(directory: Path, result: dict) -> None:
    directory.mkdir(parents=True, exist_ok=True)
    rows = [flat(row) for row in result["rows"]]
    with (directory / "rows.csv").open("w", newline="") as file:
        out = csv.DictWriter(file, list(dict.fromkeys(name for row in rows for name in row)))
        out.writeheader()
        out.writerows(rows)
    (directory / "result.json").write_text(json.dumps(result, indent=1) + "\n")
    (directory / "report.html").write_text(page(result))
