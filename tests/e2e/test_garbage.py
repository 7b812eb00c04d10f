# SPDX-License-Identifier: BSD-3-Clause
"""Frames nobody should trust: the router survives, counts every one, and honest traffic goes on."""
import subprocess
import sys
import time
from pathlib import Path

import pytest

from kamuee.lab import measure

from support import Pinging, assert_no_loss, eventually

pytestmark = pytest.mark.storm

LAB = """
nodes:
  h1: $HOST(1)
  bad:
    kind: host
    interfaces: {eth0: [10.4.0.2/24]}
  r:
    kind: kamuee
    interfaces:
      p0: [10.1.0.1/24, "fd00:1::1/64"]
      p1: [10.2.0.1/24, "fd00:2::1/64"]
      p2: [10.4.0.1/24, "fd00:4::1/64"]
  h2: $HOST(2)
links:
  - [h1:eth0, r:p0]
  - [r:p1, h2:eth0]
  - [bad:eth0, r:p2]
"""
TARGETS = ("10.2.0.2", "fd00:2::2")
GARBAGE = Path(__file__).with_name("garbage.py")
N_FRAMES = 15_000
BURST = 250
QUIET_S = 1.0
FEW, QUIET_OF_FEW_S = 50, 0.1    # what still lacks is what the sender's kernel did not send, as a rule


def mac_of(lab, interface: str) -> str:
    return lab["r"].ip_json(f"link show dev {interface}")[0]["address"]


def flood(lab, seed: int) -> int:
    """Send the frames of a seed into p2, never more at once than a ring holds; returns how many got lost."""
    router, before = lab["r"], received_on_p2(lab)

    def arrived() -> int:
        assert router.kamueed_pid(), router.log.read_text()[-2000:]
        return received_on_p2(lab) - before

    sender = lab["bad"].popen([sys.executable, str(GARBAGE), "eth0", mac_of(lab, "p2"), str(seed)],
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    n_sent = n_eaten = 0
    for _ in range(N_FRAMES // BURST):
        sender.stdin.write(b"%d\n" % BURST)
        sender.stdin.flush()
        n_sent += int(sender.stdout.readline())
        n_eaten = n_sent - rest_of(arrived, n_sent - n_eaten, FEW)
    sender.stdin.close()
    sender.wait(60)
    assert n_sent > N_FRAMES * 0.95
    return n_sent - rest_of(arrived, n_sent)


def rest_of(count, wanted: int, few: int = 0) -> int:
    """The count once it is as wanted, or has not changed for QUIET_S; shorter if at most `few` are missing."""
    n, since = count(), time.monotonic()
    while n < wanted and time.monotonic() - since < (QUIET_OF_FEW_S if wanted - n <= few else QUIET_S):
        time.sleep(0.005)
        if (now := count()) != n:
            n, since = now, time.monotonic()
    return n


def received_on_p2(lab) -> int:
    return measure.port_packets(lab["r"])["p2"][0]


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_flood_of_garbage_harms_nobody_and_every_frame_is_accounted_for(lab, seed):
    router = lab["r"]
    pid = router.kamueed_pid()
    drops = measure.drops(router)
    pinging = [Pinging(lab["h1"], target, 0.01) for target in ("10.2.0.2", "fd00:2::2")]
    n_eaten = flood(lab, seed)
    for result in [one.stop(at_least=20) for one in pinging]:
        assert result.lost == 0, f"{result.said}; drops {drops} > {measure.drops(router)}"
    assert router.kamueed_pid() == pid, router.log.read_text()[-2000:]
    # The sender's kernel itself drops a few frames with broken tags.
    assert n_eaten < N_FRAMES * 0.005
    eventually(lambda: measure.ledger(router)["imbalance"] == 0, 30, lambda: str(measure.ledger(router)))
    assert_no_loss(lab["h1"], "10.2.0.2", 50)


def test_the_reasons_of_the_drops_have_names(lab):
    reasons = measure.drops(lab["r"])
    assert len(reasons) >= 8, reasons
    for word in ("VERSION", "CHECKSUM", "MARTIAN"):
        assert any(word in name.upper().replace("-", "_") for name in reasons), (word, reasons)
