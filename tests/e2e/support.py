# SPDX-License-Identifier: BSD-3-Clause
"""What the end-to-end tests share: waiting, labs, ping, streams of numbered packets."""
import contextlib
import ctypes
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from kamuee.client import Client
from kamuee.lab import pinger, schema
from kamuee.lab.kamueenode import KamueeNode
from kamuee.lab.lab import Lab
from kamuee.lab.nodes import BaseNode

KEEP = bool(os.environ.get("KEEP"))
STREAM = Path(__file__).with_name("stream.py")
PINGER = pinger.__file__
PATIENCE_S = 30
LINE = """
nodes:
  h1: $HOST4(1)
  r:
    kind: kamuee
    interfaces: {p0: [10.1.0.1/24], p1: [10.2.0.1/24]}
  h2: $HOST4(2)
links:
  - [h1:eth0, r:p0]
  - [r:p1, h2:eth0]
"""


def two_hosts(kind: str = "kamuee", interfaces: Sequence[str] = (), settings: Sequence[str] = (), h2: Sequence[str] = (),
              lo: Sequence[str] = (), nodes: str = "", links: Sequence[str] = ()) -> str:
    """A lab's text: hosts h1 and h2 at ports p0 and p1 of router r, with both families; more interfaces and settings of r,
    addresses of h2 and of its lo, nodes, links."""
    at_h2 = {"eth0": ["10.2.0.2/24", "fd00:2::2/64", *h2], **({"lo": list(lo)} if lo else {})}
    return "\n".join([
        "nodes:",
        "  h1: $HOST(1)",
        "  h2:",
        "    kind: host",
        "    interfaces:",
        *(f"      {name}: {json.dumps(addresses)}" for name, addresses in at_h2.items()),
        "    routes: [default via 10.2.0.1, 'default via fd00:2::1']",
        "  r:",
        f"    kind: {kind}",
        *(f"    {line}" for line in settings),
        "    interfaces:",
        "      p0: [10.1.0.1/24, 'fd00:1::1/64']",
        "      p1: [10.2.0.1/24, 'fd00:2::1/64']",
        *(f"      {line}" for line in interfaces),
        nodes.strip("\n"),
        "links:",
        "  - [h1:eth0, r:p0]",
        "  - [r:p1, h2:eth0]",
        *(f"  - [{link}]" for link in links), ""])


def ways(n: int, lo: Sequence[str], kind: str = "kamuee") -> str:
    """A lab's text: host h1 at port p0 of router r, and n links from its ports p1… to host far, which has the addresses `lo`."""
    def links(host: int) -> list[str]:
        return [f'      p{i}: [10.12.{i}.{host}/24, "fd00:{11 + i}::{host}/64"]' for i in range(1, n + 1)]
    return "\n".join([
        "nodes:", "  h1: $HOST(1)",
        "  r:", f"    kind: {kind}", "    interfaces:", '      p0: [10.1.0.1/24, "fd00:1::1/64"]', *links(1),
        "  far:", "    kind: host", "    interfaces:", *links(2), f"      lo: {json.dumps(list(lo))}",
        '    routes: [default via 10.12.1.1, "default via fd00:12::1"]',
        "links:", "  - [h1:eth0, r:p0]", *(f"  - [r:p{i}, far:p{i}]" for i in range(1, n + 1)), ""])


@contextlib.contextmanager
def small_pages():
    """Programs started meanwhile get no transparent huge pages: khugepaged would add 2 MiB to their memory whenever it likes."""
    thp_disable, prctl = 41, ctypes.CDLL(None, use_errno=True).prctl
    assert prctl(thp_disable, 1, 0, 0, 0) == 0, os.strerror(ctypes.get_errno())
    try:
        yield
    finally:
        prctl(thp_disable, 0, 0, 0, 0)


def eventually(true: Callable[[], object], timeout_s: float = PATIENCE_S,
               what: str | Callable[[], str] = "", step_s: float = 0.05) -> object:
    """Wait until `true()` is; the last value or error and `what` stand in the failure."""
    end = time.monotonic() + timeout_s
    while True:
        error = None
        try:
            value = true()
            if value:
                return value
        except Exception as caught:                  # it may well fail until it is up
            value, error = None, caught
        if time.monotonic() > end:
            said = what() if callable(what) else what
            raise AssertionError(f"not within {timeout_s} s: {said or 'a condition'}; last: {error or value!r}")
        time.sleep(step_s)


def expanded(text: str) -> str:
    """In a lab's text: $HOST(N) is a host with the addresses 10.N.0.2 and fd00:N::2 behind a router with .1 and ::1; $HOST4(N): IPv4 only;
    $HOST(N ADDRESS…): with these addresses of lo, too; $VLAN(N): the same in VLAN N."""
    def node(host: re.Match) -> str:
        kind, n, both = host[1], host[3], not host[2]
        addresses, routes = [f"10.{n}.0.2/24"], [f"default via 10.{n}.0.1"]
        interfaces = {"eth0": addresses + [f"fd00:{n}::2/64"] * both} | ({"lo": host[4].split()} if host[4] else {})
        return json.dumps({"kind": "host", "interfaces": interfaces, "routes": routes + [f"default via fd00:{n}::1"] * both}
                          | ({"vlan": int(n)} if kind == "VLAN" else {}))
    return re.sub(r"\$(HOST|VLAN)(4?)\((\d+)((?: [^)]*)?)\)", node, text)


class Labs:
    """The labs of one test module."""

    def __init__(self, prefix: str):
        self.prefix = "e2e-" + prefix.replace("_", "-")[:16]
        self.running: list[Lab] = []

    def __call__(self, text: str, kind: str = "kamuee") -> Lab:
        name = f"{self.prefix}-{len(self.running)}"
        spec = schema.load_text(expanded(text).replace("$ROUTER", kind), f"{name}.yaml", name)
        lab = Lab.start(spec, keep_broken=KEEP)
        self.running.append(lab)
        return lab

    def stop(self) -> None:
        for lab in reversed(self.running):
            if not KEEP:
                lab.stop()
        self.running.clear()


class Router(Client):
    """A kamueed as its operator has it."""

    def __init__(self, node: KamueeNode):
        super().__init__(str(node.socket))

    def configure(self, *lines: str) -> list[str]:
        """What changed."""
        return self.call("configure", line=list(lines)).get("change", [])

    def assert_ledger(self) -> None:
        """Each packet has its end; one that is between two counters has it soon."""
        eventually(lambda: self.state("ledger")["imbalance"] == 0, 10, lambda: f"the ledger balances: {self.state('ledger')}")

    def hits(self, acl: str) -> dict[int, int]:
        """{number of a rule: packets}; 0: what no rule matched."""
        found = {rule["number"]: rule["packets"] for rule in self.call("acl-rules", name=acl).get("rule", ())}
        return found | {0: self.state(f"acl={acl}")[0]["unmatched-packets"]}

    def named(self, path: str, name: str) -> dict | None:
        """The entry of a list of the state that has this name; None: there is none."""
        return next((row for row in self.entries(path) if row["name"] == name), None)

    def dropped(self, reason: str) -> int:
        return self.named("drop", reason)["packets"]

    def metrics(self) -> str:
        return self._ask("GET", "/metrics", None, PATIENCE_S).read().decode()


def forwarded_by_kernel(node: BaseNode) -> int:
    """Packets that the kernel has sent on in a node's namespaces."""
    total = 0
    for namespace in node.namespaces():
        said = namespace.run("cat /proc/net/snmp /proc/net/snmp6")
        names, values = re.findall(r"^Ip: (.*)$", said, re.M)
        total += int(dict(zip(names.split(), values.split()))["ForwDatagrams"])
        total += int(re.search(r"^Ip6OutForwDatagrams\s+(\d+)", said, re.M)[1])
    return total


def link_up(node: BaseNode, interface: str) -> None:
    """Sets a link up like its manager (zebra, networkd, a script): Linux removed its IPv6 addresses when it went down."""
    node.ip(f"link set dev {interface} up")
    for address in node.node.interfaces[interface].addresses:
        node.ip(f"addr replace {address} dev {interface}")


def bridge(node: BaseNode, *interfaces: str) -> None:
    """Makes a switch of a node."""
    node.ip("link add br0 type bridge")
    for name in interfaces:
        node.ip(f"link set dev {name} master br0")
    node.ip("link set dev br0 up")


# --- ping ---

@dataclass
class Pinged:
    sent: int
    received: int
    said: str

    @property
    def lost(self) -> int:
        return self.sent - self.received


def ping(node: BaseNode, target: str, count: int = 3, interval_s: float = 0.02, extra: str = "") -> Pinged:
    """What `ping` says. Not for counting losses: it leaves before the last answers (lab/pinger.py); see pings()."""
    said = node.run(f"ping -n -c {count} -i {interval_s} -W 1 {extra} {target}", check=False,
                    timeout_s=count * max(interval_s, 0.01) + 30)
    found = re.search(r"(\d+) packets transmitted, (\d+) received", said)
    return Pinged(int(found[1]), int(found[2]), said) if found else Pinged(count, 0, said)


def reaches(node: BaseNode, target: str) -> bool:
    return ping(node, target, 1).received == 1


def assert_reaches(node: BaseNode, *targets: str, timeout_s: float = PATIENCE_S) -> None:
    for target in targets:
        eventually(lambda target=target: reaches(node, target), timeout_s, f"{node.name} reaches {target}")


def pinged(said: bytes | str) -> Pinged:
    result = json.loads(said)
    return Pinged(result["sent"], result["received"],
                  f"{result['sent']} sent, lost (number, seconds since the start): {result['lost'][:20]}")


def pings(node: BaseNode, target: str, count: int = 50, interval_s: float = 0.005, *options: str) -> Pinged:
    """Each request has its outcome, however late the answer is (to 3 s). Options: --size BYTES, --ttl N, --may-fragment."""
    said = node.run([sys.executable, PINGER, target, str(interval_s), "--count", str(count), *options],
                    timeout_s=60 + count * interval_s)
    return pinged(said.partition("ready\n")[2])


def assert_no_loss(node: BaseNode, target: str, count: int = 50, *options: str) -> None:
    result = pings(node, target, count, 0.005, *options)
    assert result.lost == 0, f"{node.name} to {target}: {result.said}"


class Pinging:
    """Pings in the background; stop() gives the result, with number and time of each lost one."""

    def __init__(self, node: BaseNode, target: str, interval_s: float = 0.005):
        self.proc = node.popen([sys.executable, PINGER, target, str(interval_s)],
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert self.proc.stdout.readline().strip() == b"ready"

    def stop(self, at_least: int = 0) -> Pinged:
        """Continues until `at_least` are sent: on a fast machine the load next to them may end too soon."""
        return pinged(self.proc.communicate(b"%d\n" % at_least, timeout=300)[0])


def hops(node: BaseNode, target: str, extra: str = "") -> list[str]:
    """The hops on the way to `target`; several probes per hop: a different answer is marked by '!='."""
    said = node.run(f"traceroute -n -q 1 -w 1 -m 6 {'-6' if ':' in target else '-4'} {extra} {target}")
    found = [re.findall(r"\d+\.\d+\.\d+\.\d+|[0-9a-f]+:[0-9a-f:]+", line) for line in said.splitlines()[1:]]
    return ["!=".join(sorted(set(line))) or "*" for line in found]


# --- numbered packets ---

def receiver(node: BaseNode, port: int = 7000) -> subprocess.Popen:
    """Start counting UDP packets at a node; finish with `received()`."""
    proc = node.popen([sys.executable, str(STREAM), "receive", str(port)], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert proc.stdout.readline().strip() == b"ready"
    return proc


def received(proc: subprocess.Popen, wanted: int = 1 << 62) -> dict:
    """{'packets': n, 'distinct': n, 'sources': {address: n}, 'interfaces': {name: n}}

    The receiver waits for `wanted` distinct packets, but no longer than some seconds of silence.
    """
    return json.loads(proc.communicate(b"%d\n" % wanted, timeout=300)[0])


def send(node: BaseNode, targets: list[str], count: int, flows: int = 1, per_s: int = 2000,
         port: int = 7000, size: int = 64) -> None:
    """Send `count` numbered UDP packets, spread over `targets` and `flows` source ports."""
    node.run([sys.executable, str(STREAM), "send", str(port), str(count), str(flows), str(per_s), str(size),
              *targets], timeout_s=60 + count / per_s)


def build_program(file: Path, body: str, declared: str = "", **macros: object) -> str:
    """Builds a packet program of a body of C, as program_fixture.c says."""
    here = Path(__file__).resolve().parent
    subprocess.run(["gcc", "-O2", "-shared", "-fPIC", f"-I{here.parents[1] / 'src/data'}", f"-DBODY={' '.join(body.split())}", f'-DDECLARED="{declared}"',
                    *(f"-D{key}={value}" for key, value in macros.items()), str(here / "program_fixture.c"), "-o", str(file)], check=True)
    return str(file)


def rx_packets(node: BaseNode, interface: str) -> int:
    return node.ip_json(f"-s link show dev {interface}")[0]["stats64"]["rx"]["packets"]


def kernel_has(node: BaseNode, prefix: str, namespace=None) -> bool:
    """Does the kernel's main table have this prefix?"""
    family = "-6" if ":" in prefix else "-4"
    return bool((namespace or node.namespace).ip_json(f"{family} route show exact {prefix}"))
