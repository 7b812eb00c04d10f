# SPDX-License-Identifier: BSD-3-Clause
"""Everything that can go wrong, at random, for hours: `make soak HOURS=24 [SEED=N]`. Root; runs in namespaces of its own.

A lab of two hosts, a router with kamueed and FRR, and a BGP peer. One disturbance after the other is chosen by the seed, which is
printed first; the same seed makes the same sequence. After each one, kamueed has to be as it was: all targets reached, sessions up,
ledger and audit at 0. A disturbance that should cost no session must not cost one. At the end, memory and descriptors have not grown.

Exit code 0; or 1, with the seed, the number of the disturbance and what was found. The folder with kamueed's log is then kept.
"""
import argparse
import mmap
import os
import random
import shutil
import signal
import struct
import subprocess
import sys
import threading
import time
import traceback
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "cli"), str(ROOT / "tests/e2e")]

import conftest                                                                 # noqa: E402
import support                                                                  # noqa: E402
from kamuee.errors import KamueeError                                           # noqa: E402
from kamuee.lab import kamueenode, measure                                                     # noqa: E402
from support import Pinging, Router, eventually, pings                          # noqa: E402

LAB = """
nodes:
  h1: $HOST(1)
  r:
    kind: kamuee
    daemon: frr
    interfaces:
      p0: [10.1.0.1/24, "fd00:1::1/64"]
      p1: [10.12.0.1/24, "fd00:12::1/64"]
      p2: [10.2.0.1/24, "fd00:2::1/64"]
    asn: 65001
    neighbors: [{address: 10.12.0.2, asn: 65002}, {address: "fd00:12::2", asn: 65002}]
    networks: [10.1.0.0/24, "fd00:1::/64"]
  r2:
    kind: router
    daemon: bird
    interfaces: {p1: [10.12.0.2/24, "fd00:12::2/64"], lo: [198.51.100.1/32, "2001:db8:100::1/128"]}
    asn: 65002
    neighbors: [{address: 10.12.0.1, asn: 65001}, {address: "fd00:12::1", asn: 65001}]
    networks: [198.51.100.0/24, "2001:db8:100::/48"]
  h2: $HOST(2)
links:
  - [h1:eth0, r:p0]
  - [r:p1, r2:p1]
  - [r:p2, h2:eth0]
"""
TARGETS = ("10.2.0.2", "198.51.100.1", "fd00:2::2", "2001:db8:100::1")
STATE_BYTES = "8m"
PATIENCE_S = 90
ROUTES = 5000
FLOODS = ("local", "ttl", "glean", "arp", "martian", "fragment", "option", "icmp")
GROWTH = 1.25                                  # of resident memory between the first start and the last
DESCRIPTORS = 8                                # more than at the first start


class Found(Exception):
    """What a soak is there to find."""


class Soak:
    def __init__(self, lab, chance: random.Random, folder: Path):
        self.lab, self.chance, self.folder = lab, chance, folder
        self.node, self.router = lab["r"], Router(lab["r"])
        self.clock = None
        self.crashes = 0
        self.first: dict[str, int] = {}
        self.pid = 0

    # --- checks ---

    def sessions_lost(self) -> dict[str, int]:
        """How often each BGP session was lost since the routing daemon started."""
        found = self.node.frr.json("show bgp neighbors json")
        return {peer: neighbor["connectionsDropped"] for peer, neighbor in found.items() if isinstance(neighbor, dict)}

    def settle(self) -> None:
        eventually(lambda: measure.is_synced(self.node), PATIENCE_S, "the tables are taken over", 0.2)
        eventually(lambda: len(self.node.frr.sessions()) == 2 and all(self.node.frr.sessions().values()), PATIENCE_S, "the BGP sessions are up", 0.3)
        for target in TARGETS:
            eventually(lambda target=target: pings(self.lab["h1"], target, 20).lost == 0, PATIENCE_S, f"{target} is reached without loss", 0.3)

    def verify(self) -> None:
        eventually(lambda: measure.ledger(self.node)["imbalance"] == 0, 20, lambda: f"ledger: {measure.ledger(self.node)}")
        found = self.router.call("audit")
        if found["diverged"]:
            raise Found(f"audit: {found}")
        eventually(lambda: not measure.fib_differences(self.node), 20, lambda: f"FIB and kernel differ: {measure.fib_differences(self.node)}")
        if support.forwarded_by_kernel(self.node):
            raise Found("the kernel has forwarded packets")
        notes = len(list((self.node.run_dir / "state").glob("crash-*")))
        if notes > min(self.crashes, 8):
            raise Found(f"{notes} crash notes, but {self.crashes} crashes were made")

    def used(self) -> dict[str, int]:
        pid = self.node.kamueed_pid()
        return {"rss": int(self.router.state("system")["rss"]), "descriptors": len(os.listdir(f"/proc/{pid}/fd"))}

    # --- kamueed's life ---

    def start(self) -> None:
        before = dict(os.environ)
        os.environ.update({"LD_PRELOAD": str(self.folder / "clock.so"), "KAMUEE_CLOCK": str(self.folder / "clock")})
        try:
            self.node.start_kamueed()
        finally:
            os.environ.clear()
            os.environ.update(before)

    def restart(self) -> str:
        took = self.node.stop_kamueed()
        self.start()
        return f"stopped in {took:.2f} s"

    def restart_kept(self) -> str:
        """As systemd restarts it: the TAPs stay, and with them the sessions."""
        pid = self.node.kamueed_pid()
        os.kill(pid, signal.SIGUSR1)
        eventually(lambda: not self.node.kamueed_pid(), 20, "it ends")
        self.start()
        return ""

    def kill(self) -> str:
        time.sleep(self.chance.random())
        self.node.kill_kamueed()
        self.start()
        return ""

    def crash(self) -> str:
        pid, sent = self.node.kamueed_pid(), self.chance.choice((signal.SIGSEGV, signal.SIGABRT, signal.SIGBUS))
        self.crashes += 1
        os.kill(pid, sent)
        eventually(lambda: not self.node.kamueed_pid(), 20, "it ends")
        if not list((self.node.run_dir / "state").glob(f"crash-*-{pid}.untold")):
            raise Found(f"no note of the crash by {sent.name}")
        self.start()
        return sent.name

    def upgrade(self) -> str:
        """By itself, or by one that ends at once: then the old one goes on."""
        pid, fits = self.node.kamueed_pid(), self.chance.random() < 0.7
        binary = self.folder / "kamueed-new"
        binary.write_text("#!/bin/sh\nexit 7\n" if not fits else f'#!/bin/sh\nexec {kamueenode.find_kamueed()} "$@"\n')
        binary.chmod(0o755)
        done = subprocess.run([sys.executable, str(ROOT / "kamuee"), "--socket", str(self.node.socket), "upgrade", "--binary", str(binary)],
                              capture_output=True, text=True, timeout=120)
        if (done.returncode == 0) != fits or (self.node.kamueed_pid() == pid) == fits:
            raise Found(f"upgrade: {pid} -> {self.node.kamueed_pid()}, {done.stdout}{done.stderr}")
        return "done" if fits else "refused"

    # --- disturbances; GENTLE ones cost no session ---

    def churn(self) -> str:
        lines = []
        for _ in range(self.chance.randrange(100, ROUTES)):
            gateway = self.chance.choice(("via 10.2.0.2", "via 10.1.0.2 metric 5"))
            prefix = f"20.{self.chance.randrange(20)}.{self.chance.randrange(256)}.0/24"
            lines.append(f"route {self.chance.choice(('del', 'add', 'append', 'replace'))} {prefix} {gateway}")
        ran = self.node.popen(["sh", "-c", "exec ip -4 -force -batch - 2>/dev/null"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
        ran.communicate("\n".join(lines).encode() + b"\n", timeout=300)
        return f"{len(lines)} route changes"

    def flood(self) -> str:
        kinds = self.chance.sample(FLOODS, self.chance.randrange(1, 4))
        mac = self.router.state("interface=p0")[0]["mac"]
        sender = self.lab["h1"].popen([sys.executable, str(ROOT / "tests/e2e/flood.py"), "eth0", mac, "8000", *kinds], stdin=subprocess.PIPE,
                                      stdout=subprocess.PIPE)
        sender.stdout.readline()
        time.sleep(1 + 2 * self.chance.random())
        said = sender.communicate(b"\n", timeout=60)[0]
        if sender.returncode:
            raise Found("the flood's sender failed; its error is above")
        return f"{' '.join(kinds)}: {said.decode().strip()} frames"

    def daemon_killed(self) -> str:
        self.node.frr.kill()
        time.sleep(self.chance.random())
        self.node.frr.start()
        return "FRR"

    def link_flap(self) -> str:
        flaps = self.chance.randrange(1, 4)
        for _ in range(flaps):
            self.lab["r2"].ip("link set p1 down")
            time.sleep(self.chance.random() / 2)
            support.link_up(self.lab["r2"], "p1")
            time.sleep(self.chance.random() / 2)
        return f"{flaps} times"

    def api_load(self) -> str:
        parts = ("interface", "port", "drop", "routes=default,ipv4", "neighbor", "thread", "system", "alarm", "nexthop", "latency")
        end, counts = time.monotonic() + 1 + 2 * self.chance.random(), []

        def ask(seed: int) -> None:
            rnd, client, n = random.Random(seed), Router(self.node), 0
            while time.monotonic() < end:
                if rnd.random() < 0.2:
                    client.configure(f"set interface p0 description {'x' * rnd.randrange(1, 60)}")
                else:
                    client.state(rnd.choice(parts))
                n += 1
            counts.append(n)
        threads = [threading.Thread(target=ask, args=(self.chance.random(),)) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if len(counts) != 4:
            raise Found("a request of the API failed; its error is above")
        return f"{sum(counts)} requests"

    def memory_pressure(self) -> str:
        with open("/proc/meminfo", encoding="ascii") as info:
            free = next(int(line.split()[1]) for line in info if line.startswith("MemAvailable"))
        mib = min(2048, free // 1024 // 8)                     # others work on this machine
        subprocess.run([sys.executable, "-c", f"import time; x = bytearray(b'x') * ({mib} << 20); time.sleep(1)"], check=True, timeout=120)
        return f"{mib} MiB"

    def disk_full(self) -> str:
        filling = self.node.run_dir / "state" / "filling"
        refused = False
        with filling.open("wb", 0) as file:                    # a buffer's rest would fail once more when it is closed
            try:
                while True:
                    file.write(bytes(65536))
            except OSError:
                pass
        try:
            self.router.configure(f"set interface p0 description full-{self.chance.randrange(1000)}")
        except KamueeError as error:
            refused = True
            if "cannot store the revision" not in str(error):
                raise Found(f"disk full: {error}") from error
        how = self.chance.choice(("stays", "restart", "kill"))
        if how == "restart":
            self.node.stop_kamueed()
            self.start()
        elif how == "kill":
            self.node.kill_kamueed()
            self.start()
        filling.unlink()
        self.router.configure(f"set interface p0 description free-{self.chance.randrange(1000)}")
        return f"{'refused' if refused else 'not refused'}, {how}"

    def clock_jump(self) -> str:
        seconds = self.chance.choice((-86400, -3600, -5, 5, 3600, 86400, 0))
        self.clock[0:8] = struct.pack("q", seconds)
        time.sleep(1.5)
        return f"{seconds} s off"

    def nothing(self) -> str:
        pinging = [Pinging(self.lab["h1"], target) for target in TARGETS]
        time.sleep(1 + self.chance.random())
        results = [one.stop() for one in pinging]
        lost = sum(result.lost for result in results)
        if lost > 2:                                           # a busy machine may lose one
            raise Found(f"lost without a cause: {[result.said for result in results]}")
        return f"{sum(result.sent for result in results)} packets, {lost} lost"

    GENTLE = {"nothing", "churn", "flood", "restart_kept", "kill", "crash", "upgrade", "api_load", "memory_pressure", "clock_jump"}
    WEIGHTS = {"nothing": 3, "churn": 4, "flood": 3, "restart": 2, "restart_kept": 2, "kill": 3, "crash": 1, "upgrade": 3,
               "daemon_killed": 1, "link_flap": 2, "api_load": 3, "memory_pressure": 1, "disk_full": 2, "clock_jump": 2}

    def one(self, name: str) -> str:
        before = self.sessions_lost()
        said = getattr(self, name)()
        self.settle()
        self.verify()
        if name in self.GENTLE and self.sessions_lost() != before:
            raise Found(f"{name} cost a session: {before} -> {self.sessions_lost()}")
        used = self.used()
        if not self.first:
            self.first = used
        return f"{said}; rss {used['rss'] >> 20} MiB, {used['descriptors']} descriptors"

    def end(self) -> None:
        self.clock[0:8] = struct.pack("q", 0)
        self.restart()
        self.settle()
        self.verify()
        used = self.used()
        if used["rss"] > self.first["rss"] * GROWTH or used["descriptors"] > self.first["descriptors"] + DESCRIPTORS:
            raise Found(f"grown: {self.first} -> {used}")
        log = self.node.log.read_text(errors="replace")
        for word in ("bug: ", "AddressSanitizer", "alarm: raised: name=ledger", "alarm: raised: name=fib-divergence"):
            if word in log:
                raise Found(f"the log has: {next(line for line in log.splitlines() if word in line)}")


def prepare(folder: Path) -> mmap.mmap:
    subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", str(folder / "clock.so"), str(Path(__file__).with_name("clock.c"))], check=True)
    (folder / "clock").write_bytes(bytes(8))
    with (folder / "clock").open("r+b") as file:
        return mmap.mmap(file.fileno(), 8)


def lab_with_small_disk(labs: support.Labs):
    lab = labs(LAB)
    state = lab["r"].run_dir / "state"
    lab["r"].stop_kamueed()
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={STATE_BYTES}", "tmpfs", str(state)], check=True)
    return lab


def run(hours: float, seed: int, folder: Path) -> int:
    chance = random.Random(seed)
    labs = support.Labs("soak")
    end = time.monotonic() + hours * 3600
    n = 0
    print(f"soak: seed {seed}, {hours} hours; again: make soak HOURS={hours} SEED={seed}", flush=True)
    try:
        soak = Soak(lab_with_small_disk(labs), chance, folder)
        soak.clock = prepare(folder)
        soak.start()
        soak.settle()
        print(f"{n:5} start: {soak.one('nothing')}", flush=True)
        names, weights = list(Soak.WEIGHTS), list(Soak.WEIGHTS.values())
        while time.monotonic() < end:
            n += 1
            name = chance.choices(names, weights)[0]
            print(f"{n:5} {time.strftime('%H:%M:%S')} {name}: ", end="", flush=True)
            print(soak.one(name), flush=True)
        soak.end()
    except BaseException:
        traceback.print_exc()
        print(f"soak: seed {seed}, disturbance {n} FAILED; kamueed's log: {folder}/kamueed.log", flush=True)
        for running in labs.running:
            if running["r"].log.exists():
                shutil.copy(running["r"].log, folder / "kamueed.log")
        return 1
    finally:
        labs.stop()
    print(f"soak: {n} disturbances in {hours} hours, nothing found", flush=True)
    shutil.rmtree(folder)
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--hours", type=float, default=1.0)
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--folder", help="where the log of a failure is kept")
    given = parser.parse_args()
    if reason := conftest.why_not():
        sys.exit(f"soak: {reason}")
    folder = Path(given.folder or f"/tmp/kamuee-soak-{os.getpid()}")
    folder.mkdir(parents=True, exist_ok=True)
    conftest.isolate()
    return run(given.hours, given.seed if given.seed is not None else random.SystemRandom().randrange(1 << 31), folder)


if __name__ == "__main__":
    sys.exit(main())
