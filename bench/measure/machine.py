# SPDX-License-Identifier: BSD-3-Clause
"""The machine a result belongs to, and whether it is quiet enough to measure on.

A number without its machine means nothing, so every result carries these facts. Busyness is measured
(what the cores did in the last second), not taken from the load average, which remembers minutes.
"""
import os
import platform
import shutil
import subprocess
import sys
import time
from pathlib import Path

from measure.program import Unavailable

BUSY_PERCENT = 10.0
SETTLE_S = 20.0


def read(path: str, default: str = "") -> str:
    try:
        return Path(path).read_text().strip()
    except OSError:
        return default


def last_core() -> int:
    """The core farthest from core 0, where interrupts and most other work run."""
    return max(os.sched_getaffinity(0))


def cpu_times() -> tuple[int, int]:
    """(busy, all) ticks of all cores since boot; time stolen by the hypervisor counts as busy."""
    ticks = [int(word) for word in read("/proc/stat").splitlines()[0].split()[1:9]]
    idle = ticks[3] + ticks[4]
    return sum(ticks) - idle, sum(ticks)


def busy_percent(over_s: float = 1.0) -> float:
    busy, total = cpu_times()
    time.sleep(over_s)
    busy_after, total_after = cpu_times()
    return 100.0 * (busy_after - busy) / max(1, total_after - total)


def settle(limit_percent: float = BUSY_PERCENT, patience_s: float = SETTLE_S) -> bool:
    """Wait until the machine is quiet (the kernel frees a big namespace in the background)."""
    end = time.monotonic() + patience_s
    while busy_percent(0.3) > limit_percent:
        if time.monotonic() > end:
            return False
    return True


def busiest(n: int = 3) -> list[str]:
    """The processes with the highest use, for the refusal."""
    out = subprocess.run(["ps", "-eo", "pcpu,pid,comm", "--sort=-pcpu", "--no-headers"], capture_output=True,
                         text=True).stdout
    return [" ".join(line.split()) for line in out.splitlines()[:n]]


def must_be_quiet(force: bool, over_s: float = 1.0) -> tuple[float, str]:
    """Percentage of the cores used by others, and a message if that is too much, which needs `force`."""
    percent = busy_percent(over_s)
    if percent <= BUSY_PERCENT:
        return percent, ""
    text = f"the machine is busy ({percent:.0f} % CPU), mostly by {'; '.join(busiest())}"
    if not force:
        raise Unavailable(f"{text}\nwait, or use --force to measure anyway")
    print(f"warning: {text}", file=sys.stderr)
    return percent, text


def caches() -> dict[str, str]:
    found = {}
    for index in sorted(Path("/sys/devices/system/cpu/cpu0/cache").glob("index*")):
        kind = {"Data": "d", "Instruction": "i"}.get(read(f"{index}/type"), "")
        kib = int(read(f"{index}/size", "0K").rstrip("K"))
        found[f"L{read(f'{index}/level')}{kind}"] = f"{kib} KiB" if kib < 1024 else f"{kib // 1024} MiB"
    return found


def tsc_mhz() -> float | None:
    """TSC frequency as the kernel printed it in BogoMIPS (2 x MHz on x86)."""
    for line in read("/proc/cpuinfo").splitlines():
        if line.startswith("bogomips"):
            return float(line.split(":")[1]) / 2
    return None


def cpu_field(name: str) -> str:
    for line in read("/proc/cpuinfo").splitlines():
        if line.split(":")[0].strip() == name:
            return line.split(":", 1)[1].strip()
    return ""


def git(*words: str) -> str:
    if not shutil.which("git"):
        return ""
    here = Path(__file__).resolve().parent
    return subprocess.run(["git", "-C", str(here), *words], capture_output=True, text=True).stdout.strip()


def facts() -> dict:
    memory_kib = int(read("/proc/meminfo").split()[1])
    flags = set(cpu_field("flags").split())
    return {
        "cpu": cpu_field("model name") or platform.machine(),
        "family/model/stepping": "/".join(cpu_field(n) for n in ("cpu family", "model", "stepping")),
        "cores": len(os.sched_getaffinity(0)),
        "hypervisor": "hypervisor" in flags,
        "vector": [f for f in ("avx2", "avx512f", "avx512vbmi", "avx512_vpopcntdq") if f in flags],
        "caches": caches(),
        "tsc-mhz": tsc_mhz(),
        "governor": read("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "none"),
        "memory-mib": memory_kib // 1024,
        "huge-pages": {p.name: read(f"{p}/nr_hugepages") for p in
                       sorted(Path("/sys/kernel/mm/hugepages").glob("hugepages-*"))},
        "transparent-huge-pages": read("/sys/kernel/mm/transparent_hugepage/enabled"),
        "kernel": platform.release(),
        "distribution": platform.freedesktop_os_release().get("PRETTY_NAME", ""),
        "commit": git("rev-parse", "--short", "HEAD"),
        "changed-files": len(git("status", "--porcelain", "--untracked-files=no").splitlines()),
    }


def load() -> dict:
    return {"load-average": os.getloadavg()[0], "busy-percent": round(busy_percent(), 1)}
