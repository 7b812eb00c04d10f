# SPDX-License-Identifier: BSD-3-Clause
"""What a run of the demo consists of: the lab, the addresses to look up, and the summary."""
import argparse
import json
import os
import random
import string
from dataclasses import dataclass, field
from pathlib import Path

TEMPLATE = Path(__file__).with_name("demo.yaml.in")
# With less free memory than this, the second provider announces a tenth of the table only.
BOTH_FULL_KIB = 8 << 20
N_SAMPLES = 500
TABLE_TIMEOUT_S = 400


@dataclass
class Summary:
    """What `-j` prints and summary.json holds; times in seconds after the feeds began to announce."""
    router: str = "kamueed"
    table: str = ""
    routes: int = 0
    second_share: float = 1.0
    start_seconds: float = 0.0
    seconds_to: dict[str, float] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)
    fib_bytes: int = 0
    rss_kib: dict[str, int] = field(default_factory=dict)
    fib_equals_kernel: bool | None = None
    lookups_compared: int = 0
    lookups_different: int = 0
    ping_loss_percent: dict[str, float] = field(default_factory=dict)
    ping_lost: dict[str, list] = field(default_factory=dict)     # (number, seconds since the first) of each
    ping_ms: dict[str, float] = field(default_factory=dict)
    traceroute: dict[str, list[str]] = field(default_factory=dict)
    iperf3_gbps: dict[str, float] = field(default_factory=dict)
    peak_pps: int = 0
    drops: dict[str, int] = field(default_factory=dict)
    ledger_imbalance: int | None = None
    kernel_forwarding: str = ""
    problems: list[str] = field(default_factory=list)


def available_kib() -> int:
    for line in Path("/proc/meminfo").read_text().strip().split("\n"):
        if line.startswith("MemAvailable:"):
            return int(line.split()[1])
    return 0


def second_share(options: argparse.Namespace) -> float:
    if options.second is not None:
        return options.second
    return 1.0 if available_kib() > BOTH_FULL_KIB else 0.1


def topology(options: argparse.Namespace, prefixes_file: str | None, share: float) -> str:
    """The lab file of the demo."""
    kernel = options.router == "kernel"
    customer = '[203.0.113.1/24, "2001:db8:40::1/64"]'
    if options.mrt:
        table = f"mrt: {json.dumps(os.path.abspath(options.mrt))}"
        if options.routes:
            table += f"\n    routes_count: {options.routes}"
    else:
        table = f"prefixes: {json.dumps(prefixes_file)}"
    text = string.Template(TEMPLATE.read_text(encoding="utf-8")).substitute(
        edge_kind="router" if kernel else "kamuee",
        customer_vlan="" if kernel else "vlan: 40",
        edge_customer=f"p2: {customer}" if kernel else
        f"p2: []\n      v40: {{vlan: 40, port: p2, addresses: {customer}}}",
        edge_extra="" if kernel else "set: [set interface p0 fast-reroute true, set interface p1 fast-reroute true]",
        table=table, second_share=f"{share:g}")
    return text


def sample_addresses(table, n: int) -> list[str]:
    """Addresses inside prefixes of the table, two thirds of them IPv4."""
    from kamuee.feed import prefix
    rnd = random.Random(40)
    n_v6 = min(n // 3, len(table.v6))
    chosen = [(nlri, False) for nlri in rnd.sample(table.v4, min(n - n_v6, len(table.v4)))]
    chosen += [(nlri, True) for nlri in rnd.sample(table.v6, n_v6)]
    return [prefix.first_host(nlri, v6) for nlri, v6 in chosen]
