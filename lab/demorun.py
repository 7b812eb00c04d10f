# SPDX-License-Identifier: BSD-3-Clause
"""One run of the demo: its steps in order, each of which fills in a part of the summary."""
import argparse
import json
import subprocess
import sys
import time

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from kamuee.feed import table as feed_table
from kamuee.feed.table import Table
from kamuee.lab import demoplan, measure, pinger, schema, state
from kamuee.lab.errors import LabError
from kamuee.lab.kamueenode import KamueeNode
from kamuee.lab.lab import Lab
from kamuee.lab.nodes import FeedNode, Host, Router

FIRST_PEERS = ["10.0.1.1", "fd00:1::1"]
SECOND_PEERS = ["10.0.2.1", "fd00:2::1"]
N_PINGS = 200
FIRST_ANSWER_S = 10
IPERF_S = 4
# A layer is complete with all routes, or with this share of them and no change for so long.
ALMOST_ALL = 0.995
REST_S = 8
# The tables rest when fewer messages than these come from the kernel, for so long; how long that is waited for.
QUIET_PER_S = 20
QUIET_S = 4
QUIET_TIMEOUT_S = 180


class Demo:
    def __init__(self, options: argparse.Namespace, console: Console):
        self.options, self.console = options, console
        self.summary = demoplan.Summary(router=options.router)
        self.lab: Lab | None = None
        self.begun = 0.0
        self.target = ""    # an address that answers, for the last words

    def run(self) -> None:
        table = self.load_table()
        self.start_lab(table)
        self.follow_table(table)
        if self.edge_is_kamueed:
            self.compare(table)
        self.send_traffic(table)
        self.take_stock()

    @property
    def edge(self) -> Router:
        return self.lab["edge"]

    @property
    def edge_is_kamueed(self) -> bool:
        return isinstance(self.edge, KamueeNode)

    def say(self, text: str) -> None:
        self.console.print(f"[bold]==[/bold] {text}", soft_wrap=True)

    # --- the table and the lab ---

    def load_table(self) -> Table:
        self.say("loading the table")
        options = self.options
        try:
            with self.console.status("   reading or generating it takes some seconds"):
                table = feed_table.load(options.prefixes, options.mrt, options.routes)
        except (OSError, ValueError) as error:
            raise LabError(str(error)) from None
        self.summary.table, self.summary.routes = table.origin, len(table)
        self.console.print(f"   {len(table.v4):,} IPv4 and {len(table.v6):,} IPv6 prefixes from {table.origin}",
                           soft_wrap=True)
        return table

    def start_lab(self, table: Table) -> None:
        """Both feeds read one file, so that a made-up table is made up only once."""
        path = state.base_dir() / f".{self.options.name}.prefixes"
        if not self.options.mrt:
            path.parent.mkdir(parents=True, exist_ok=True)
            table.write(str(path))
        self.summary.second_share = demoplan.second_share(self.options)
        text = demoplan.topology(self.options, str(path), self.summary.second_share)
        spec = schema.load_text(text, "demo.yaml.in", self.options.name)
        self.say(f"starting {len(spec.nodes)} nodes: customer, edge ({self.options.router} + FRR), isp1 (BIRD), "
                 "isp2 (FRR), internet, two feeds")
        begun = time.monotonic()
        try:
            self.lab = Lab.start(spec)
        finally:
            path.unlink(missing_ok=True)
        self.begun = time.monotonic()
        self.summary.start_seconds = round(self.begun - begun, 1)
        self.console.print(f"   running after {self.summary.start_seconds} s")

    # --- following the table ---

    def layers(self, table: Table) -> dict:
        """The counted layers: {layer: (function, number to reach)}."""
        n_first = len(table)
        n_second = max(1, int(n_first * self.summary.second_share))
        edge = self.edge
        layers = {
            "isp1 to BGP": (lambda: measure.count_received(edge, FIRST_PEERS), n_first),
            "isp2 to BGP": (lambda: measure.count_received(edge, SECOND_PEERS), n_second),
            "kernel": (lambda: measure.count_kernel(edge.namespace), n_first),
        }
        if self.edge_is_kamueed:
            layers["RIB"] = (lambda: measure.fib_counts(edge)["rib"], n_first)
            layers["FIB"] = (lambda: measure.fib_counts(edge)["fib"], n_first)
        return layers

    def follow_table(self, table: Table) -> None:
        self.say("receiving the full table")
        layers = self.layers(table)
        with Progress(TextColumn("   {task.description:<12}"), BarColumn(), MofNCompleteColumn(),
                      TimeElapsedColumn(), console=self.console, disable=self.options.json) as progress:
            bars = {layer: progress.add_task(layer, total=goal) for layer, (_, goal) in layers.items()}
            waiting = set(layers)
            reached: dict[str, tuple[int, float]] = {}       # last count, and when it was first seen
            while waiting:
                for layer in [layer for layer in layers if layer in waiting]:
                    count, goal = layers[layer]
                    n, now = count(), time.monotonic()
                    progress.update(bars[layer], completed=min(n, goal))
                    if n != reached.get(layer, (0, 0.0))[0]:
                        reached[layer] = n, now
                    # A router may refuse a few routes of a real table (a loop, a martian): rest is an end too.
                    at_rest = n >= goal * ALMOST_ALL and now - reached[layer][1] > REST_S
                    if n >= goal or at_rest:
                        self.summary.seconds_to[layer] = round(reached[layer][1] - self.begun, 1)
                        progress.stop_task(bars[layer])
                        waiting.discard(layer)
                if time.monotonic() - self.begun > demoplan.TABLE_TIMEOUT_S:
                    raise LabError(f"the table is incomplete after {demoplan.TABLE_TIMEOUT_S} s: waiting for "
                                   f"{', '.join(sorted(waiting))}; check the daemons (kamuee lab exec "
                                   f"{self.options.name} edge vtysh), then: kamuee demo stop")
                time.sleep(0.3)
        self.summary.seconds_to = {layer: self.summary.seconds_to[layer] for layer in layers}
        if self.edge_is_kamueed:
            self.settle()
        self.summary.counts = {layer: count() for layer, (count, _) in layers.items()}

    def settle(self) -> None:
        """Every layer has all prefixes, but BGP may still move them from one provider to the other, which no count
        shows: wait until the kernel has nothing more to tell."""
        end = time.monotonic() + QUIET_TIMEOUT_S
        last, last_at = measure.count_messages(self.edge), time.monotonic()
        quiet_since = last_at
        while (now := time.monotonic()) - quiet_since < QUIET_S:
            if now > end:
                self.console.print(f"   routes still change after {QUIET_TIMEOUT_S} s; measuring anyway")
                return
            time.sleep(0.5)
            count, at = measure.count_messages(self.edge), time.monotonic()
            if count - last > QUIET_PER_S * (at - last_at):
                quiet_since = at
            last, last_at = count, at

    # --- comparing FIB and kernel ---

    def compare(self, table: Table) -> None:
        self.say("comparing the FIB with the kernel's table")
        audit = measure.client(self.edge).call("audit", vr="default")
        addresses = demoplan.sample_addresses(table, demoplan.N_SAMPLES)
        different = measure.different_lookups(self.edge, addresses)
        summary = self.summary
        summary.fib_bytes = measure.fib_counts(self.edge)["bytes"]
        summary.lookups_compared, summary.lookups_different = len(addresses), len(different)
        summary.fib_equals_kernel = not different and audit["diverged"] == 0
        self.console.print(f"   audit: {audit['checked']:,} routes checked, {audit['diverged']:,} different; "
                           f"{len(addresses)} lookups, {len(different)} different")
        for address, (kernel, fib) in list(different.items())[:3]:
            summary.problems.append(f"lookup of {address}: kernel {kernel}, FIB {fib}")
        if audit["diverged"]:
            summary.problems.append(f"the audit found {audit['diverged']} routes different (and repaired them)")

    # --- traffic ---

    def send_traffic(self, table: Table) -> None:
        targets = demoplan.sample_addresses(table, 30)
        v4 = next(address for address in targets if ":" not in address)
        v6 = next(address for address in targets if ":" in address)
        self.target = v4
        for family, target in (("IPv4", v4), ("IPv6", v6)):
            self.say(f"{family}: ping, traceroute, iperf3 from the customer to {target}")
            self._ping(family, target)
            self._traceroute(family, target)
            self._iperf(family, target)
        self._many_destinations(targets)

    @property
    def customer(self) -> Host:
        return self.lab["customer"]

    def _ping(self, family: str, target: str) -> None:
        end = time.monotonic() + FIRST_ANSWER_S          # the neighbors on the way are resolved first, which is no loss
        while not self._pings(target, 1)["received"] and time.monotonic() < end:
            pass
        result = self._pings(target, N_PINGS)
        self.summary.ping_lost[family] = result["lost"]
        self.summary.ping_loss_percent[family] = 100.0 * len(result["lost"]) / result["sent"]
        self.summary.ping_ms[family] = result["median_ms"]
        self.console.print(f"   ping: {N_PINGS} sent, {self.summary.ping_loss_percent[family]:g} % lost, median "
                           f"{self.summary.ping_ms[family]} ms")
        if not result["received"]:
            self.summary.problems.append(f"no answer to ping of {target}")

    def _pings(self, target: str, count: int) -> dict:
        said = self.customer.run([sys.executable, pinger.__file__, target, "0.01", "--count", str(count)])
        return json.loads(said.partition("ready\n")[2])

    def _traceroute(self, family: str, target: str) -> None:
        said = self.customer.run(["traceroute", "-6" if family == "IPv6" else "-4", "-n", "-q", "1", "-w", "1",
                                  "-m", "8", target], check=False)
        hops = [line.split()[1] for line in said.split("\n")[1:] if len(line.split()) > 1]
        self.summary.traceroute[family] = hops
        self.console.print(f"   traceroute: {' > '.join(hops)}")
        # The last hop may answer with its interface's address instead of the requested one.
        internet = {address.split("/")[0] for interface in self.lab["internet"].node.interfaces.values()
                    for address in interface.addresses}
        if not hops or hops[-1] not in internet | {target}:
            self.summary.problems.append(f"traceroute does not reach {target}: {' > '.join(hops) or 'no answer'}")

    def _iperf(self, family: str, target: str) -> None:
        for direction, extra in (("up", []), ("down", ["-R"])):
            server = self.lab["internet"].popen(["iperf3", "-s", "-1", "--forceflush"], stdout=subprocess.PIPE)
            while b"listening" not in (line := server.stdout.readline()) and line:
                pass
            client = self.customer.popen(["iperf3", "-J", "-c", target, "-t", str(IPERF_S), "-O", "1"] + extra,
                                         stdout=-1)
            pps = self._watch_rate(client)
            reply = json.loads(client.communicate(timeout=30)[0] or "{}")
            server.kill()
            server.wait()
            received = reply.get("end", {}).get("sum_received", {}).get("bits_per_second")
            if received is None:
                self.summary.problems.append(f"iperf3 to {target}: {reply.get('error', 'no result')}")
                continue
            self.summary.iperf3_gbps[f"{family} {direction}"] = round(received / 1e9, 2)
            self.console.print(f"   iperf3 {direction}: {received / 1e9:.2f} Gb/s"
                               + (f", {pps:,} packets/s peak" if pps else ""))

    def _watch_rate(self, client) -> int:
        """Print packets per second of the ports, live, until `client` ends; returns the peak."""
        if not self.edge_is_kamueed:
            client.wait()
            return 0
        best, last, last_at = 0, measure.port_packets(self.edge), time.monotonic()
        with self.console.status("   measuring") as live:
            while client.poll() is None:
                time.sleep(1)
                now, at = measure.port_packets(self.edge), time.monotonic()
                rates = {port: [round((b - a) / (at - last_at)) for a, b in zip(last[port], counts)]
                         for port, counts in now.items() if port in last}
                live.update("   " + "   ".join(f"{port} rx {rx:,} tx {tx:,} pps"
                                                for port, (rx, tx) in rates.items()))
                best = max(best, sum(rx for rx, _ in rates.values()))
                last, last_at = now, at
        self.summary.peak_pps = max(self.summary.peak_pps, best)
        return best

    def _many_destinations(self, targets: list[str]) -> None:
        silent = [target for target in targets
                  if "1 received" not in self.customer.run(["ping", "-n", "-c", "1", "-W", "2", target],
                                                           check=False)]
        self.say(f"{len(targets)} destinations across the table: {len(targets) - len(silent)} answer")
        if silent:
            self.summary.problems.append(f"{len(silent)} of {len(targets)} destinations do not answer, "
                                         f"such as {silent[0]}")

    # --- the end ---

    def take_stock(self) -> None:
        summary = self.summary
        for daemon, pid in self.edge.pids().items():
            if daemon in ("kamueed", "bgpd", "zebra"):
                summary.rss_kib[daemon] = rss_kib(pid)
        forwarding = self.edge.run("sysctl -n net.ipv4.ip_forward net.ipv6.conf.all.forwarding").split()
        summary.kernel_forwarding = "off" if forwarding == ["0", "0"] else "on"
        if not self.edge_is_kamueed:
            return
        if summary.kernel_forwarding != "off":
            summary.problems.append("kernel forwarding is enabled in the edge's namespace")
        summary.drops = measure.drops(self.edge)
        for _ in range(20):
            summary.ledger_imbalance = measure.ledger(self.edge)["imbalance"]
            if summary.ledger_imbalance == 0:
                break
            time.sleep(0.1)
        else:
            summary.problems.append(f"the ledger does not balance: {summary.ledger_imbalance}")
        for feed in ("feed1", "feed2"):
            node = self.lab[feed]
            if isinstance(node, FeedNode) and not node.tell("status")["established"]:
                summary.problems.append(f"{feed} lost its BGP session")


def rss_kib(pid: int) -> int:
    with open(f"/proc/{pid}/status", encoding="ascii") as lines:
        for line in lines:
            if line.startswith("VmRSS:"):
                return int(line.split()[1])
    return 0
