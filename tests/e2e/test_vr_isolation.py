# SPDX-License-Identifier: BSD-3-Clause
"""One virtual router of eight does all it can to harm the others, at once; seven do not notice.

The lab and the streams are those of test_queue_isolation.py.

    SECONDS=30                 how long it goes on (default: 8)
"""
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from kamuee.lab import measure

from support import PATIENCE_S, eventually
from test_capture import KAMUEE
from test_flood import STALL_S, Witness
from test_queue_isolation import (LATE_S, N, WIRE_BITS, Flood, Streams, all_up, dropped, flaps, lab, queue_of, rx_missed, sessions,  # noqa: F401
                                  vr_lines)

pytestmark = [pytest.mark.storm, pytest.mark.alone]

HOSTILE = Path(__file__).with_name("hostile.py")
SECONDS = float(os.environ.get("SECONDS", "8"))
RATE, GUARANTEE = 20e6, 2e6
FRAME_NS = 1e9 * WIRE_BITS / RATE                 # one frame of the others on the wire


class Hostile:
    """One thing that the hostile virtual router does, until end()."""

    def __init__(self, popen, *words: str):
        self.proc = popen(["nice", "-n", "19", sys.executable, str(HOSTILE), *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert self.proc.stdout.readline() == b"ready\n"

    def end(self) -> int:
        said, _ = self.proc.communicate(timeout=PATIENCE_S)
        assert self.proc.returncode == 0
        return int(said)


def p99_ns(router) -> dict[int, int]:
    """What the 99th of 100 packets of each virtual router but the hostile one waited at most."""
    return {int(vr["name"][1:]): max((int(k["delay-p99"]) for k in vr["class"] if "delay-p99" in k), default=0)
            for vr in queue_of(router)["vr"] if vr["name"] not in ("v1", "default")}


def streams_alone(lab, router) -> dict[int, int]:
    with Streams(lab, {i: 0.95 * GUARANTEE for i in range(2, N + 1)}) as streams:
        time.sleep(SECONDS)
        streams.end()
    return p99_ns(router)


def hostile(lab) -> dict[str, object]:
    v1 = lab["r"].vrs["v1"]
    v1.run("ip addr add 10.9.0.1/16 dev i1")
    return {"flood": Flood(lab, 50_000), "churn": Hostile(v1.popen, "churn", "10000"), "scan": Hostile(v1.popen, "scan", "i1", "2000"),
            "ask": Hostile(lab["r"].popen, "ask", str(lab["r"].socket), "1000")}


def test_seven_do_not_notice_what_the_eighth_does(lab, router, sessions, tmp_path):  # noqa: F811
    router.configure(f"set port p1 queue rate {RATE:.0f}", *vr_lines(guarantee=f"{GUARANTEE:.0f}"), "set port p1 queue vr v1 weight 128",
                     "set queue-profile plain class 6 discipline tail-drop", *vr_lines(profile={i: "plain" for i in range(2, N + 1)}))
    eventually(lambda: all_up(sessions), 60, "BGP and BFD are up", 0.2)
    alone = streams_alone(lab, router)
    before, missed, drops = flaps(sessions), rx_missed(router), dropped(router)
    capture = subprocess.Popen([sys.executable, KAMUEE, "--socket", str(lab["r"].socket), "capture", "in", "interface", "i1", "write",
                                str(tmp_path / "v1.pcapng")], stdout=subprocess.DEVNULL)
    acts = hostile(lab)
    try:
        with Witness() as witness, Streams(lab, {i: 0.95 * GUARANTEE for i in range(2, N + 1)}) as streams:
            time.sleep(SECONDS)               # what is tested is that nothing happens in it
            waits = p99_ns(router)
            got = streams.end()
    finally:
        done = {name: act.end() for name, act in acts.items()}
        capture.terminate()
        capture.wait(PATIENCE_S)
        lab["r"].vrs["v1"].run("ip addr del 10.9.0.1/16 dev i1")
    now, missed, stall_s = flaps(sessions), rx_missed(router) - missed, witness.longest_s
    print(f"hostile: {done} in {SECONDS:.0f} s, {dropped(router)['v1'] - drops['v1']} dropped; rx missed {missed}; the others: "
          + ", ".join(f"{100 * g.received / g.sent:.2f} % of {g.sent}" for g in got.values())
          + f"; p99 of waits, us: alone {[w // 1000 for w in alone.values()]}, beside it {[w // 1000 for w in waits.values()]}"
          f"; the machine's longest stall {stall_s:.3f} s")
    assert all(n > SECONDS * 100 for n in done.values()), done
    assert dropped(router)["v1"] - drops["v1"] > done["flood"] / 10
    assert all(g.received + missed >= 0.99 * g.sent and g.sent > 0.85 * SECONDS * GUARANTEE / WIRE_BITS for g in got.values()), got
    assert now == before or stall_s >= STALL_S, f"a session went down, and the machine ran: {before} -> {now}"
    # A frame of the hostile one may be on the wire, and frames of the six within their guarantee. Packets that the sender has to catch up on
    # are a burst, which waits for the guarantee alone next to a flood, and this machine may not run the forwarder.
    assert all(waits[i] < 1.2 * alone[i] + N * FRAME_NS + 1e9 * (LATE_S + stall_s) for i in waits), (alone, waits)
    eventually(lambda: measure.ledger(lab["r"])["imbalance"] == 0, what="each packet is accounted for")
