# SPDX-License-Identifier: BSD-3-Clause
"""Virtual routers with the same routes have them in memory once, each over gateways of its own, and part where they differ."""
from concurrent.futures import ThreadPoolExecutor

import pytest

from kamuee.lab import measure

from support import assert_reaches, eventually, received, receiver, send

VRS = ("v0", "v1", "v2")
ROUTES = 3000
DIRECTORY = {"ipv4": 1 << 20, "ipv6": 8 << 20}  # each one's own, whatever its routes
SAMPLE = range(7, ROUTES, 61)


def text() -> str:
    """A host, three ports of r in a virtual router, and two ways to one far host; that for each of VRS."""
    nodes, ports, links = "", "", ""
    for k, vr in enumerate(VRS):
        nodes += f"""
  h{k}:
    kind: host
    interfaces: {{eth0: [10.{k}.1.2/24, "fd00:{k}:1::2/64"]}}
    routes: [default via 10.{k}.1.1, "default via fd00:{k}:1::1"]
  f{k}:
    kind: host
    interfaces: {{b: [10.{k}.2.2/24, "fd00:{k}:2::2/64"], c: [10.{k}.3.2/24, "fd00:{k}:3::2/64"]}}
    routes: [default via 10.{k}.2.1, "default via fd00:{k}:2::1"]"""
        ports += "".join(f"""
      {port}{k}: {{vr: {vr}, addresses: [10.{k}.{net}.1/24, "fd00:{k}:{net}::1/64"]}}""" for net, port in enumerate("abc", 1))
        links += f"""
  - [h{k}:eth0, r:a{k}]
  - [r:b{k}, f{k}:b]
  - [r:c{k}, f{k}:c]"""
    return f"""
nodes:{nodes}
  r:
    kind: kamuee
    vrs: {{{", ".join(f"{vr}: {{}}" for vr in VRS)}}}
    interfaces:{ports}
links:{links}
"""


def way(i: int) -> str:
    """By which of its far host's interfaces a router's packets for destination i come, as long as nothing is changed."""
    return "b" if i * 7 % 5 < 2 else "c"


def prefix(i: int, v6: bool) -> str:
    return f"2001:db8:{i:x}::/48" if v6 else f"20.{i >> 8}.{i & 255}.0/24"


def targets(which) -> list[str]:
    return [f"20.{i >> 8}.{i & 255}.1" for i in which] + [f"2001:db8:{i:x}::1" for i in which]


def routes(k: int, v6: bool, ways: dict[int, str]) -> list[str]:
    via = f"fd00:{k}" if v6 else f"10.{k}"
    end = "::2" if v6 else ".2"
    return [f"route replace {prefix(i, v6)} via {via}{':' if v6 else '.'}{'2' if at == 'b' else '3'}{end}" for i, at in ways.items()]


def put(lab, k: int, ways: dict[int, str]) -> None:
    for v6 in (False, True):
        lab["r"].vrs[VRS[k]].ip_batch(routes(k, v6, ways), v6)


def fibs(router) -> dict[tuple[str, str], dict]:
    return {(vr["name"], fib["family"]): fib for vr in measure.client(router).entries("vr") for fib in vr["fib"] if vr["name"] in VRS}


def shared(router) -> dict[tuple[str, str], int]:
    return {key: fib["shared-bytes"] for key, fib in fibs(router).items()}


def most_is_shared(router) -> bool:
    return all(fib["routes"] > ROUTES and fib["shared-bytes"] > 0.8 * (fib["bytes"] - DIRECTORY[family])
               for (_, family), fib in fibs(router).items())


def assert_forwards(lab, ways: list[dict[int, str]]) -> None:
    """All hosts send at once: each far host gets the packets of its own router, by the interfaces of that router's routes."""
    receivers = [receiver(lab[f"f{k}"]) for k in range(len(VRS))]
    count = 4 * len(targets(SAMPLE))
    with ThreadPoolExecutor() as pool:
        list(pool.map(lambda k: send(lab[f"h{k}"], targets(SAMPLE), count), range(len(VRS))))
    for k, proc in enumerate(receivers):
        got = received(proc, count)
        want = {at: 8 * sum(ways[k][i] == at for i in SAMPLE) for at in "bc"}
        assert (got["distinct"], got["packets"], got["interfaces"], sorted(got["sources"])) == \
               (count, count, want, [f"10.{k}.1.2", f"fd00:{k}:1::2"])


@pytest.fixture(scope="module")
def lab(labs, kamueed):
    lab = labs(text())
    for k in range(len(VRS)):
        lab[f"f{k}"].ip("route add local 20.0.0.0/8 dev lo")
        lab[f"f{k}"].ip("-6 route add local 2001:db8::/32 dev lo")
        assert_reaches(lab[f"h{k}"], f"10.{k}.2.2", f"10.{k}.3.2", f"fd00:{k}:2::2", f"fd00:{k}:3::2")
    with ThreadPoolExecutor() as pool:
        list(pool.map(lambda k: put(lab, k, {i: way(i) for i in range(ROUTES)}), range(len(VRS))))
    return lab


def test_equal_routers_share_nearly_all(lab):
    eventually(lambda: most_is_shared(lab["r"]), 60, lambda: fibs(lab["r"]))
    assert_forwards(lab, [{i: way(i) for i in range(ROUTES)}] * len(VRS))


@pytest.mark.parametrize("every", [1, 40], ids=["everywhere", "here-and-there"])
def test_a_router_parts_where_it_differs_and_comes_back(lab, every):
    router, usual = lab["r"], {i: way(i) for i in range(ROUTES)}
    eventually(lambda: most_is_shared(router), 60, lambda: fibs(router))
    before = shared(router)
    changed = {i: "c" if way(i) == "b" or i % 3 else "b" for i in range(7, ROUTES, every)}
    put(lab, 1, changed)
    eventually(lambda: not measure.fib_differences(router, "v1"), 30, lambda: measure.fib_differences(router, "v1"))
    now = shared(router)
    for family in DIRECTORY:
        assert now["v1", family] < before["v1", family] / 2 or (every > 1 and now["v1", family] < before["v1", family])
        assert [now[vr, family] for vr in ("v0", "v2")] == [before[vr, family] for vr in ("v0", "v2")]
    assert_forwards(lab, [usual, usual | changed, usual])
    put(lab, 1, {i: usual[i] for i in changed})
    eventually(lambda: shared(router) == before, 30, lambda: (before, shared(router)))
    assert_forwards(lab, [usual] * len(VRS))


def test_what_two_share_goes_with_the_last_but_one(lab):
    """All routes of v1 are deleted, then those of v2: v0 shares its memory until both are gone."""
    router, usual = lab["r"], {i: way(i) for i in range(ROUTES)}
    eventually(lambda: most_is_shared(router), 60, lambda: fibs(router))
    before = shared(router)
    for k in (1, 2):
        for v6 in (False, True):
            router.vrs[VRS[k]].ip_batch([f"route del {prefix(i, v6)}" for i in range(ROUTES)], v6)
        eventually(lambda: all(fib["routes"] < 100 for (vr, _), fib in fibs(router).items() if vr == VRS[k]), 30)
        now = shared(router)
        assert all(now["v0", family] == before["v0", family] if k == 1 else now["v0", family] < before["v0", family] / 10 for family in DIRECTORY)
    put(lab, 1, usual)
    put(lab, 2, usual)
    eventually(lambda: most_is_shared(router), 60, lambda: fibs(router))
    assert_forwards(lab, [usual] * len(VRS))
