# SPDX-License-Identifier: BSD-3-Clause
"""docs/quickstart/virtual-networks.yaml as written: three virtual networks over three routers, each of which is killed in turn."""
import json
import subprocess
import time
from pathlib import Path

import pytest

from kamuee.lab import measure, schema
from kamuee.lab.lab import Lab

from support import Pinging, assert_no_loss, assert_reaches, eventually, hops

ROOT = Path(__file__).resolve().parents[2]
FILE = ROOT / "docs/quickstart/virtual-networks.yaml"
WAYS = {"red": ("reda", "redc", "10.0.3.2", "b"),       # from, to, its address, the router on the way
        "green": ("greena", "greenb", "10.0.2.2", "c"),
        "blue": ("blueb", "bluec", "10.0.3.2", "a")}
STEP_S = 0.02                                           # between two packets


def converged(lab, timeout_s: float) -> None:
    for source, _, target, _ in WAYS.values():
        eventually(lambda: len(hops(lab[source], target)) == 4, timeout_s, lambda: f"{source}: {hops(lab[source], target)}", 0.5)


@pytest.fixture(scope="module")
def lab(kamueed):
    lab = Lab.start(schema.load_text(FILE.read_text(), str(FILE), "e2e-networks"))
    try:
        converged(lab, 90)
        yield lab
    finally:
        lab.stop()


def settled(lab) -> None:
    for node in "abc":
        eventually(lambda: measure.ledger(lab[node])["imbalance"] == 0, 10, lambda: f"the ledger of {node}: {measure.ledger(lab[node])}")
        for vr in WAYS:
            eventually(lambda: not measure.fib_differences(lab[node], vr), 10, lambda: f"{measure.fib_differences(lab[node], vr)}")


def echoes(host) -> int:
    names, values = (line.split() for line in host.run("cat /proc/net/snmp").splitlines() if line.startswith("Icmp:"))
    return int(values[names.index("InEchos")])


def test_two_networks_have_the_same_addresses_and_do_not_meet(lab):
    red, blue = echoes(lab["redc"]), echoes(lab["bluec"])         # both are 10.0.3.2
    assert_no_loss(lab["reda"], "10.0.3.2", 50)
    assert echoes(lab["redc"]) - red >= 50 and echoes(lab["bluec"]) == blue
    assert_no_loss(lab["blueb"], "10.0.3.2", 50)
    assert echoes(lab["bluec"]) - blue >= 50
    settled(lab)


@pytest.mark.parametrize("network", WAYS)
def test_a_router_on_the_way_dies_and_its_networks_go_on_without_it(lab, network):
    source, _, target, on_the_way = WAYS[network]
    pinging = Pinging(lab[source], target, STEP_S)
    lab[on_the_way].kill_kamueed()
    eventually(lambda: len(hops(lab[source], target)) == 3, 30, lambda: f"the spare tunnel carries it: {hops(lab[source], target)}", 0.2)
    result = pinging.stop()
    print(f"{network}: {on_the_way} killed: {result.lost} of {result.sent} lost, {result.lost * STEP_S:.2f} s")
    assert result.sent > result.lost
    assert_reaches(lab[source], target)
    lab[on_the_way].start_kamueed()
    converged(lab, 60)                             # all networks: the next test begins with them
    settled(lab)


def udp(lab, host: str, target: str, mbit: int, seconds: int = 8):
    return lab[host].popen(["iperf3", "-J", "-u", "-c", target, "-b", f"{mbit}M", "-l", "1200", "-t", str(seconds)], stdout=subprocess.PIPE)


def told(client) -> dict:
    said = json.loads(client.communicate(timeout=60)[0])
    assert "sum" in said["end"], said.get("error", said)
    return said["end"]["sum"]


@pytest.mark.storm
@pytest.mark.alone
def test_a_network_gets_its_share_of_a_common_link_while_another_floods_it(lab):
    """Green's packets to b and blue's to c leave a by the same port: 20 Mb/s, 6 guaranteed to each."""
    for host in ("greenb", "bluec"):
        lab[host].popen(["iperf3", "-s"])
    for host in ("greenb", "bluec"):
        eventually(lambda: ":5201 " in lab[host].run("ss -ltn"), what=f"the iperf3 server of {host} listens")
    flood = udp(lab, "greena", "10.0.2.2", 30, 12)
    time.sleep(2)
    blue, green = told(udp(lab, "blueb", "10.0.3.2", 4)), told(flood)
    print(f"blue lost {blue['lost_percent']:.1f} % of 4 Mb/s, green {green['lost_percent']:.1f} % of 30")
    assert green["lost_percent"] > 20 and blue["lost_percent"] < 1
    settled(lab)
