# SPDX-License-Identifier: BSD-3-Clause
"""kamueed is killed and started again while routes change: the first audit after it finds nothing. KILLS=200 for a long run."""
import os
import random
import subprocess
import time

import pytest

from kamuee.lab import measure

from support import LINE, assert_reaches, eventually

pytestmark = pytest.mark.kill

KILLS = int(os.environ.get("KILLS", "5"))
PREFIXES = 60000 if KILLS > 5 else 20000
CHANGES = 6000
GATEWAYS = ("via 10.2.0.2", "via 10.1.0.2 metric 5")       # each prefix has both
IPV6 = 4000


def prefix(n: int) -> str:
    return f"20.{n >> 8}.{n & 255}.0/24"


def prefix6(n: int) -> str:
    return f"2001:db8:{n:x}::/48"


def feed(lab, family: str, lines: list[str]) -> None:
    lab["r"].popen(["ip", family, "-force", "-batch", "-"], stdin=subprocess.PIPE).communicate("\n".join(lines).encode() + b"\n", timeout=300)


@pytest.fixture(scope="module")
def lab(labs, kamueed):
    lab = labs(LINE)
    assert_reaches(lab["h1"], "10.2.0.2")
    lab["r"].ip("-6 addr add fd00:2::1/64 dev p1 nodad")
    feed(lab, "-4", [f"route add {prefix(n)} {gateway}" for n in range(PREFIXES) for gateway in GATEWAYS])
    feed(lab, "-6", [f"route add {prefix6(n)} via fd00:2::2 metric {metric}" for n in range(IPV6) for metric in (5, 9)])
    return lab


def changes(chance: random.Random, family: str) -> list[str]:
    lines = []
    for _ in range(CHANGES if family == "-4" else CHANGES // 4):
        if family == "-4":
            n, gateway = prefix(chance.randrange(PREFIXES)), chance.choice(GATEWAYS)
            lines.append(f"route {chance.choice(('del', 'del', 'add', 'append', 'replace'))} {n} {gateway}")
        else:
            n = prefix6(chance.randrange(IPV6))
            lines.append(f"route {chance.choice(('del', 'add', 'append', 'replace'))} {n} via fd00:2::{chance.choice('23')} "
                         f"metric {chance.choice('59')}")
    return lines


class Churn:
    """Both families change until stop()."""

    def __init__(self, lab, folder, seed: int):
        self.go_on = folder / "go-on"
        self.go_on.touch()
        self.proc = []
        for family in ("-4", "-6"):
            batch = folder / f"batch{family}"
            batch.write_text("\n".join(changes(random.Random(seed), family)) + "\n")
            self.proc.append(lab["r"].popen(["sh", "-c", f"while [ -e {self.go_on} ]; do ip {family} -force -batch {batch}; done"]))

    def stop(self) -> None:
        self.go_on.unlink()
        for proc in self.proc:
            proc.wait(60)


def test_a_killed_kamueed_has_all_routes_again_however_much_they_change(lab, tmp_path):
    router, chance = lab["r"], random.Random(1)
    for kill in range(KILLS):
        churn = Churn(lab, tmp_path, kill)
        try:
            time.sleep(chance.random() / 4)                       # at any moment of it
            router.kill_kamueed()
            router.start_kamueed()
            eventually(lambda: measure.is_synced(router), 60, "the tables are taken over")
        finally:
            churn.stop()
        found = measure.client(router).call("audit")
        assert found["diverged"] == 0, (kill, found)
        assert found["checked"] > PREFIXES
    assert not measure.fib_differences(router)
