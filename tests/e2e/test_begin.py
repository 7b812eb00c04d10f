# SPDX-License-Identifier: BSD-3-Clause
"""kamueed is killed, and the kernel takes long to tell its routes: control packets do not wait for them, and all others arrive late."""
import os
import re
import subprocess
import time
from pathlib import Path

import pytest

from kamuee.lab import flows, measure

from support import Router, assert_reaches, eventually
from test_restart import FAR, LAB as RESTART_LAB, audit, established, is_up, routing

BFD_S = 3
SLOW_S = 5                                        # up to a second less: longer than BFD waits, shorter than kamueed does
PER_S, SECONDS = 100, 12.0
LAB = RESTART_LAB.replace("bfd 10 1000 1000", f"bfd {4 * BFD_S} 250 250")


@pytest.fixture(scope="module")
def lab(labs, kamueed):
    return routing(labs, LAB)


def start_slowly(lab, folder: Path) -> None:
    library = folder / "slow_dump.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", library, Path(__file__).with_name("slow_dump.c")], check=True)
    for place in (folder, library):
        place.chmod(0o755)
    before = dict(os.environ)
    os.environ.update({"LD_PRELOAD": str(library), "KAMUEE_SLOW_DUMP": str(SLOW_S)})
    try:
        lab["r"].start_kamueed()
    finally:
        os.environ.clear()
        os.environ.update(before)


def drops(lab) -> dict[str, int]:
    return {drop["name"]: int(drop["packets"]) for drop in Router(lab["r"]).state("drop")}


def from_h1(lab) -> int:
    """Packets that the router got from h1."""
    return measure.port_packets(lab["r"])["p0"][0]


def heard(lab) -> int:
    """BFD packets that r2 got from the router."""
    return lab["r2"].frr.json("show bfd peers counters")[0]["control-packet-input"]


def test_bfd_stays_up_and_packets_wait_for_their_route(lab, tmp_path):
    router, sessions, received = lab["r"], established(lab), from_h1(lab)
    traffic = flows.Traffic(lab["h1"].namespace, lab["r2"].namespace, [FAR], 2, PER_S, SECONDS)
    eventually(lambda: from_h1(lab) >= received + 20, what="each flow's first packet arrives")
    killed = time.monotonic()
    router.kill_kamueed()
    start_slowly(lab, tmp_path)
    silent, before = time.monotonic() - killed, heard(lab)
    eventually(lambda: "port_begin: ports forward: " in router.log.read_text().rsplit("main: ready", 1)[1], 30, "the routes are known")
    assert heard(lab) >= before + 2, "BFD passes while packets wait"
    said = re.findall(r"port_begin: ports forward: waited-ms=(\d+) kept=(\d+)", router.log.read_text())[-1]
    assert int(said[0]) > BFD_S * 1000, "longer than BFD waits"
    assert int(said[1]) > PER_S * 2, said
    lost = sum(len(one["lost"]) for one in traffic.result().values())
    assert lost <= 2 * PER_S * silent, "only packets sent before kamueed received again"
    if silent < BFD_S - 1:      # a machine with other work may start kamueed more slowly than BFD allows
        assert is_up(lab) and established(lab) == sessions
    eventually(lambda: is_up(lab), 60, "sessions return")
    found = drops(lab)
    assert not {name: n for name, n in found.items() if n and name in ("start_full", "ip4_no_route", "ip6_no_route", "tx_full")}, found
    audit(lab)
    assert_reaches(lab["h1"], FAR)
