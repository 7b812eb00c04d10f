# SPDX-License-Identifier: BSD-3-Clause
"""Requests made at random from the schema, to a living kamueed: none may end in a status of 5xx, hang, or end kamueed.

    make fuzz-api SECONDS=3600 [SEED=1]        root; against a build with sanitizers: BUILD=build-asan

Paths, bodies, set lines, queries and headers follow yang/kamuee.yang (api_request.py), and are then spoilt now and then. Sessions
are opened, edited, committed and left; commits wait to be confirmed and go back; streams are listened to and left; some clients
send slowly, some leave in the middle. The one status of 5xx allowed is 501, for a method that does not exist (RFC 9110, 15.6.2).
What is open in the end tells of leaks: descriptors, sessions of a listener, and with sanitizers memory.
"""
import json
import os
import socket
import sys
import time
from collections import deque
from contextlib import suppress
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path += [str(ROOT / "cli"), str(ROOT / "tests" / "e2e"), str(Path(__file__).resolve().parent)]

from kamuee.errors import DaemonError                                           # noqa: E402

from api_request import METHODS, Maker, Request                                 # noqa: E402

SLICE_S = 5             # patience is counted in slices, so that a machine that stood still is no hang
SLICES = 12
GARBAGE_S = 0.05
DESCRIPTORS_MORE = 40   # than at the beginning: ports and listeners that requests have made
ROUTES = 300
CONFIGURATION = ("set port p0 devargs net_null0\nset port p1 devargs net_null1 enabled false\nset vport v7 port p0 vlan 7\n"
                 "set vr red table 77\nset interface v7 vr red\nset journal size 1\n"
                 "set address-set bad prefix 192.0.2.0/24\nset acl web rule 10 permit tcp from any to any port 443\n"
                 "set acl web rule 20 deny ip from set bad log\nset interface p0 acl in web\n")


class Hang(Exception):
    pass


def exchange(connection: socket.socket, request: Request, slow: bool) -> bytes:
    """The beginning of the answer; nothing when the other end closes without one."""
    try:
        if slow:
            for at in range(0, len(request.data), 1 + len(request.data) // 5):
                connection.sendall(request.data[at:at + 1 + len(request.data) // 5])
                time.sleep(0.001)
        else:
            connection.sendall(request.data)
        for _ in range(SLICES if request.whole and not request.left else 1):
            try:
                return connection.recv(65536)
            except TimeoutError:
                continue
    except ConnectionError:
        return b""
    if request.whole and not request.left:
        raise Hang(f"no answer in {SLICES * SLICE_S} s: {request.data!r}")
    return b""


def send(path: str, request: Request, slow: bool = False) -> bytes:
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(SLICE_S if request.whole and not request.left else GARBAGE_S)
        connection.connect(path)
        return exchange(connection, request, slow)


def status_of(answer: bytes) -> int:
    """0: no answer."""
    word = answer.split(b" ", 2)
    return int(word[1]) if answer.startswith(b"HTTP/1.") and len(word) > 1 and word[1].isdigit() else 0


def learn(maker: Maker, request: Request, answer: bytes) -> None:
    """Sessions that were opened; not more than there is room for."""
    if request.operation == "session-open" and status_of(answer) == 200:
        maker.session.append(json.loads(answer.partition(b"\r\n\r\n")[2])["kamuee:output"]["session"])
        del maker.session[:-8]


def descriptors(daemon) -> int:
    return len(os.listdir(f"/proc/{daemon.process.pid}/fd"))


def sanitizers_said(daemon) -> str:
    """What AddressSanitizer and UBSan wrote, each place once."""
    lines = daemon.log.read_text(errors="replace").splitlines()
    return "\n".join(line for line in lines if "runtime error:" in line or "ERROR: AddressSanitizer" in line)


def judge(daemon, request: Request, status: int) -> None:
    unknown = request.data.partition(b" ")[0].decode("latin-1") not in METHODS
    assert status < 500 or (status == 501 and unknown), f"status {status}: {request.data!r}"
    assert daemon.process.poll() is None, f"kamueed has ended: {request.data!r}\n{daemon.log.read_text(errors='replace')[-3000:]}"


def judge_end(daemon) -> None:
    with suppress(DaemonError):
        daemon.configure("delete drain")        # else its end takes as long as a request has said
    assert not sanitizers_said(daemon), sanitizers_said(daemon)
    assert daemon.client.state("system")["pid"] > 0


def run(daemon, seconds: float, seed: int, tell=None) -> dict[int, int]:
    """How many requests ended in which status. Raises when one should not have."""
    maker, worked, seen, slowest = Maker(seed), 0.0, {}, (0.0, b"")
    before, last, told = descriptors(daemon), deque(maxlen=30), time.monotonic()
    try:
        while worked < seconds:
            began = time.monotonic()
            request = maker.request()
            last.append(request.data)
            answer = send(str(daemon.socket), request, maker.chance(1))
            took = time.monotonic() - began
            worked += min(took, SLICE_S)        # the time that the machine stood still is not counted
            slowest = max(slowest, (took, request.data[:200]))
            status = status_of(answer)
            seen[status] = seen.get(status, 0) + 1
            judge(daemon, request, status)
            learn(maker, request, answer)
            if tell and time.monotonic() - told > 60:
                tell(f"{worked:.0f} s: {sum(seen.values())} requests, {descriptors(daemon)} descriptors, slowest {slowest[0]:.2f} s {slowest[1]!r}")
                told, slowest = time.monotonic(), (0.0, b"")
    except Exception:
        print(f"seed {seed}; the last requests:", *last, sep="\n")
        raise
    judge_end(daemon)
    assert descriptors(daemon) <= before + DESCRIPTORS_MORE, f"descriptors: {before} became {descriptors(daemon)}"
    return dict(sorted(seen.items()))


def add_routes(daemon) -> None:
    batch = daemon.dir / "routes"
    batch.write_text("".join(f"route add blackhole 10.9.{i // 250}.{i % 250}/32 proto static\n" for i in range(ROUTES)))
    daemon.run(f"ip -batch {batch}")


def main() -> None:
    from daemon import Daemon
    binary, seconds, seed = sys.argv[1], float(sys.argv[2]), int(sys.argv[3])
    daemon = Daemon(binary, "api-fuzz")
    try:
        add_routes(daemon)
        daemon.start(CONFIGURATION)
        print(f"fuzz-api: seed {seed}, {seconds:g} s: requests by status: "
              f"{run(daemon, seconds, seed, lambda text: print(text, flush=True))}")
    except BaseException:
        print(daemon.log.read_text(errors="replace")[-6000:])
        raise
    finally:
        daemon.end()        # not 0 when memory was lost


if __name__ == "__main__":
    main()
