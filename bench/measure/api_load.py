# SPDX-License-Identifier: BSD-3-Clause
"""What asks kamueed while it forwards, in a process group of its own that can be stopped between windows.

    load = Load(ns, socket, run_dir, "walks", cores, subagent)  # on these cores: requests, walks (the whole table by SNMP
                                                      and RESTCONF, Prometheus, too), busy, memory (ask nothing: the
                                                      first computes, the second fills memory); subagent: kamuee-snmp
    load.start(); load.go(); load.silent(); … ; load.halt(); load.counts(); load.end()

Beside requests at a rate, on one connection that stays open: one reader streams the table again and again, one collects
/metrics every second, and snmpbulkwalk walks the routes by a real snmpd and kamuee-snmp, again and again.
"""
import mmap
import os
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
from pathlib import Path

COUNTED = ("requests", "route-bytes", "tables", "scrapes", "snmp-rows")
MUST_MOVE = {"requests": ("requests",), "walks": ("requests", "route-bytes", "snmp-rows")}   # before a window counts
MOVING_S = 20.0
FILLED_BYTES = 64 << 20                    # at a time, by `memory`: more than caches hold
RATE = 1000                                # requests/s
LATE_S = 0.05                              # who stood still begins anew and does not catch up
SCRAPE_S = 1.0
ROUTES = ".1.3.6.1.2.1.4.24.7.1.7"         # inetCidrRouteIfIndex
REQUEST = b"GET /restconf/data/kamuee:state/ledger HTTP/1.1\r\nHost: k\r\n\r\n"
TABLE = b"GET /restconf/data/kamuee:state/routes=default,ipv4 HTTP/1.1\r\nHost: k\r\nConnection: close\r\n\r\n"
METRICS = b"GET /metrics HTTP/1.1\r\nHost: k\r\nConnection: close\r\n\r\n"
SNMPD = "rocommunity public\nagentaddress udp:127.0.0.1:1161\nmaster agentx\nagentXSocket {master}\n"


class Load:
    """The load, as the measuring process controls it."""

    def __init__(self, ns, socket_path: Path, run_dir: Path, kind: str, cores: set[int],
                 subagent: Path):
        # otherwise the kernel puts some of it on the forwarder's core, which never sleeps
        self.cores = cores
        self.ns, self.socket, self.dir, self.kind, self.subagent = ns, socket_path, run_dir, kind, subagent
        self.file = run_dir / f"counts-{kind}"
        self.per_second: dict[str, float] = {}
        self.file.write_bytes(bytes(8 * len(COUNTED)))
        self.process: subprocess.Popen | None = None

    def start(self) -> None:
        on = ",".join(map(str, sorted(self.cores)))
        argv = self.ns.argv(["taskset", "-c", on, "setpriv", "--pdeathsig", "KILL", sys.executable, __file__,
                             str(self.socket), str(self.file), str(self.dir), self.kind, str(self.subagent)])
        self.process = subprocess.Popen(argv, start_new_session=True)

    def signal(self, number: int) -> None:
        os.killpg(self.process.pid, number)

    def go(self) -> None:
        self.signal(signal.SIGCONT)

    def halt(self) -> None:
        self.signal(signal.SIGSTOP)

    def silent(self) -> list[str]:
        """Requests unanswered for MOVING_S: a client that was stopped for long must reopen its SNMP session."""
        before, end = self.counts(), time.monotonic() + MOVING_S
        while silent := [what for what in MUST_MOVE.get(self.kind, ()) if self.counts()[what] == before[what]]:
            if time.monotonic() > end:
                break
            time.sleep(0.05)
        return silent

    def counts(self) -> dict[str, int]:
        return dict(zip(COUNTED, struct.unpack(f"{len(COUNTED)}Q", self.file.read_bytes())))

    def end(self) -> None:
        if self.process:
            self.signal(signal.SIGKILL)
            self.process.wait()
        self.process = None


class Counts:
    def __init__(self, path: str):
        with open(path, "r+b") as file:
            self.map = mmap.mmap(file.fileno(), 8 * len(COUNTED))

    def add(self, what: str, n: int = 1) -> None:
        at = 8 * COUNTED.index(what)                # one thread writes each
        struct.pack_into("Q", self.map, at, struct.unpack_from("Q", self.map, at)[0] + n)


def connected(path: str) -> socket.socket:
    connection = socket.socket(socket.AF_UNIX)
    connection.connect(path)
    return connection


def read_answer(connection: socket.socket) -> None:
    answer = b""
    while b"\r\n\r\n" not in answer:
        answer += connection.recv(65536)
    head, _, body = answer.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 200"), head
    length = int(head.lower().partition(b"content-length: ")[2].split(b"\r\n")[0])
    while len(body) < length:
        body += connection.recv(65536)


def ask(path: str, counts: Counts) -> None:
    connection, due = connected(path), time.monotonic()
    while True:
        connection.sendall(REQUEST)
        read_answer(connection)
        counts.add("requests")
        due = max(due + 1 / RATE, time.monotonic() - LATE_S)
        if (early := due - time.monotonic()) > 0:
            time.sleep(early)


def read_tables(path: str, counts: Counts) -> None:
    while True:
        with connected(path) as connection:
            connection.sendall(TABLE)
            while part := connection.recv(1 << 16):
                counts.add("route-bytes", len(part))
        counts.add("tables")


def scrape(path: str, counts: Counts) -> None:
    while True:
        with connected(path) as connection:
            connection.sendall(METRICS)
            while connection.recv(1 << 16):
                pass
        counts.add("scrapes")
        time.sleep(SCRAPE_S)


def walk(counts: Counts) -> None:
    while True:
        with subprocess.Popen(["env", "MIBS=", "snmpbulkwalk", "-v2c", "-c", "public", "-On", "-Cr50", "-t", "20",
                               "127.0.0.1:1161", ROUTES],
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as program:
            for _ in program.stdout:
                counts.add("snmp-rows")
        time.sleep(0.1)                             # it does not answer yet


def main() -> None:
    path, file, run_dir, kind, subagent = sys.argv[1:]
    counts = Counts(file)
    while kind == "busy":
        pass
    while kind == "memory":
        bytearray(FILLED_BYTES)
    threads = [threading.Thread(target=ask, args=(path, counts))]
    if kind == "walks":
        config = Path(run_dir) / "snmpd.conf"
        config.write_text(SNMPD.format(master=f"{run_dir}/agentx"))
        subprocess.Popen(["env", "MIBS=", f"SNMP_PERSISTENT_DIR={run_dir}/snmp", "snmpd", "-f", "-Ln", "-C", "-c",
                          str(config), "-I", "-smux"])
        subprocess.Popen([subagent, "--socket", path, "--agentx", f"{run_dir}/agentx"])
        threads += [threading.Thread(target=read_tables, args=(path, counts)),
                    threading.Thread(target=scrape, args=(path, counts)), threading.Thread(target=walk, args=(counts,))]
    for thread in threads:
        thread.start()


if __name__ == "__main__":
    main()
