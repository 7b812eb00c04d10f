# SPDX-License-Identifier: BSD-3-Clause
"""The structure behind the FIB is changed while packets flow and routes come and go."""
import pytest

from kamuee.errors import DaemonError
from kamuee.lab import measure

from support import Pinging, assert_reaches, eventually, two_hosts

LAB = two_hosts(settings=["memory: 1024",
                          # DPDK takes more huge pages than that while there are free ones, but here memory must run out.
                          "set: [set huge-pages never]",
                          "routes: [192.0.2.0/24 via 10.2.0.2, '2001:db8:2::/48 via fd00:2::2']"],
                lo=["192.0.2.1/32", "2001:db8:2::1/128"])
TARGETS = ("192.0.2.1", "2001:db8:2::1")


def engines(router) -> list[str]:
    return [fib["engine"] for vr in measure.client(router).entries("vr") for fib in vr["fib"]]


def configure(router, line: str) -> None:
    measure.client(router).call("configure", line=[line])


def test_engine_changes_live_without_the_loss_of_a_packet(lab):
    router = lab["r"]
    pings = [Pinging(lab["h1"], target) for target in TARGETS]
    for engine in ("dir24_8", "lpm", "poptrie") * 3:
        configure(router, f"set fib-engine {engine}")
        assert engines(router) == [engine, engine]
        churn = [f"route add 198.51.{i // 256}.{i % 256}/32 via 10.2.0.2" for i in range(600)]
        router.namespace.ip_batch(churn)
        router.namespace.ip_batch([line.replace(" add ", " del ") for line in churn])
        assert measure.client(router).call("audit")["diverged"] == 0
    for result in [pinging.stop(at_least=100) for pinging in pings]:
        assert result.lost == 0, result.said


def test_engine_without_memory_is_refused_and_the_old_one_stays(lab):
    router = lab["r"]
    configure(router, "set fib-engine poptrie")
    lines = [f"set vr v{i} table {1000 + i} fib-engine dir24_8" for i in range(12)]
    with pytest.raises(DaemonError, match=r"set memory \d+"):
        measure.client(router).call("configure", line=lines)
    assert engines(router) == ["poptrie", "poptrie"]
    assert_reaches(lab["h1"], TARGETS[0])


def fill_memory(router, names: list[str]) -> None:
    """Adds virtual routers, whose names it appends, until the memory for DPDK's engines is used up."""
    while True:
        name = f"v{len(names)}"
        try:
            configure(router, f"set vr {name} table {1000 + len(names)} fib-engine lpm")
        except DaemonError as e:
            assert "set memory" in str(e)
            return
        names.append(name)


def test_engine_that_fills_up_gives_way_to_poptrie_and_packets_flow_on(lab):
    """Hosts in networks of their own cost rte_lpm a group each; more groups need a larger table, for which there is no memory."""
    router = lab["r"]
    configure(router, "set fib-engine lpm")
    names: list[str] = []
    pinging = Pinging(lab["h1"], TARGETS[0])
    routes: list[str] = []
    while engines(router)[0] == "lpm" and len(routes) < 100_000:
        fill_memory(router, names)      # again: a table that was retired before is freed a grace period later
        more = [f"route add {20 + i // 65536}.{i // 256 % 256}.{i % 256}.1/32 via 10.2.0.2" for i in range(len(routes), len(routes) + 5000)]
        router.namespace.ip_batch(more)
        routes += more
        eventually(lambda: routes_in_fib(router) >= len(routes), 60, lambda: f"{len(routes)} routes are in the FIB: {routes_in_fib(router)}")
    assert names and engines(router)[:2] == ["poptrie", "lpm"]
    assert measure.client(router).call("lookup", address=["20.1.2.1"])["result"][0]["prefix"] == "20.1.2.1/32"
    result = pinging.stop(at_least=100)
    assert result.lost == 0, result.said
    router.namespace.ip_batch([line.replace(" add ", " del ") for line in routes])
    configure(router, "delete fib-engine")
    measure.client(router).call("configure", line=[f"delete vr {name}" for name in names])


def routes_in_fib(router) -> int:
    return measure.client(router).entries("vr")[0]["fib"][0]["routes"]
