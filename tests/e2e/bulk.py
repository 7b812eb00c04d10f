# SPDX-License-Identifier: BSD-3-Clause
"""Round trips next to bulk TCP through a queue. `run` and `popen` are of the sending node; iperf3 -s listens at the target."""
import re
import subprocess
import time
from collections.abc import Callable

from support import eventually


def rtts(run: Callable[..., str], target: str, n: int = 200) -> list[float]:
    """Milliseconds, in order of length."""
    said = run(f"ping -n -c {n} -i 0.02 -W 1 {target}", timeout_s=60)
    found = sorted(float(ms) for ms in re.findall(r"time=([0-9.]+) ms", said))
    assert len(found) >= 0.9 * n, said[-300:]
    return found


def rtts_beside_bulk(run: Callable[..., str], popen: Callable[..., subprocess.Popen], target: str, waits: Callable[[], object]) -> tuple[float, float]:
    """Median and 99th percentile, once packets wait."""
    client = popen(["iperf3", "-c", target, "-t", "60", "-P", "2", "-C", "cubic"])
    try:
        eventually(waits, what="packets wait")
        time.sleep(1)                             # CoDel's interval, some times over
        found = rtts(run, target)
        assert client.poll() is None
    finally:
        client.kill()
        client.wait()
    return found[len(found) // 2], found[len(found) * 99 // 100]
