# SPDX-License-Identifier: BSD-3-Clause
"""What a hostile tenant does besides flooding, each in a process of its own until its input closes; then prints how often.

    hostile.py churn PER_S              in the virtual router's namespace: routes change their next hop and back
    hostile.py scan INTERFACE PER_S     asks for hosts that do not exist, of the /16 on the interface
    hostile.py ask SOCKET PER_S         asks the API for interfaces and counters
"""
import select
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator

SLICE_S = 0.01


def paced(per_s: int, act: Callable[[int, int], None]) -> int:
    """act(first, n) in slices until stdin closes. What could not be done in time is left out."""
    done, due = 0, time.monotonic()
    while not select.select([sys.stdin], [], [], 0)[0]:
        now = time.monotonic()
        due = max(due, now - 1)
        n = int((now - due) * per_s)
        if n:
            act(done, n)
            done += n
            due += n / per_s
        time.sleep(SLICE_S)
    return done


def churn(per_s: str) -> int:
    batch = subprocess.Popen(["ip", "-batch", "-"], stdin=subprocess.PIPE, text=True)

    def act(first: int, n: int) -> None:
        batch.stdin.write("".join(f"route replace 60.{i >> 8 & 255}.{i & 255}.0/24 via 10.2.0.{2 + (i >> 16) % 2}\n"
                                  for i in range(first, first + n)))
        batch.stdin.flush()

    done = paced(int(per_s), act)
    batch.stdin.close()
    assert batch.wait(60) == 0
    return done


def scan(interface: str, per_s: str) -> int:
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, interface.encode())

    def act(first: int, n: int) -> None:
        for i in range(first, first + n):
            sock.sendto(b"", (f"10.9.{i >> 8 & 255}.{i & 255 or 1}", 9))

    return paced(int(per_s), act)


def ask(path: str, per_s: str) -> int:
    targets = ("kamuee:state/interface?limit=5", "kamuee:state/vr=v1", "kamuee:state/interface=o1/statistics")

    def connected() -> socket.socket:
        sock = socket.socket(socket.AF_UNIX)
        sock.connect(path)
        return sock

    def answers(sock: socket.socket) -> Iterator[bytes]:
        while part := sock.recv(1 << 16):
            yield part

    sock = connected()

    def act(first: int, n: int) -> None:
        nonlocal sock
        for i in range(first, first + n):
            sock.sendall(b"GET /restconf/data/%s HTTP/1.1\r\nHost: k\r\n\r\n" % targets[i % len(targets)].encode())
            read = b""
            for part in answers(sock):
                read += part
                head, _, body = read.partition(b"\r\n\r\n")
                length = [line for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:")]
                if length and len(body) >= int(length[0].split(b":")[1]):
                    break
            else:
                sock = connected()                # we are too much for it: that is what limits are for

    return paced(int(per_s), act)


if __name__ == "__main__":
    what = {"churn": churn, "scan": scan, "ask": ask}[sys.argv[1]]
    print("ready", flush=True)
    print(what(*sys.argv[2:]), flush=True)
